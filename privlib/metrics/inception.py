"""The Inception network of FID: with its features a Fréchet distance is FID, and a kernel distance is KID."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import torch
from torch.nn.functional import avg_pool2d, max_pool2d
from torchvision.models import inception

from privlib.data.locate import DataError
from privlib.metrics.features import check_images, chunk_size
from privlib.metrics.weights import WeightFile
from privlib.numerics import check_count

#: The TensorFlow network of Heusel et al., ported by pytorch-fid; torch-fidelity publishes the same bytes. Apache-2.0.
FID_INCEPTION = WeightFile(
    title="the Inception weights of FID",
    url="https://github.com/mseitzer/pytorch-fid/releases/download/fid_weights/pt_inception-2015-12-05-6726825d.pth",
    sha256="6726825d0af5f729cebd5821db510b11b1cfad8faad88a03f1befd49fb9129b2",
    megabytes=96,
)

#: Side of the network's input.
SIDE = 299


@dataclass(frozen=True)
class Inception:
    """The 2,048 pooled features of the Inception network of FID, and the class logits of the Inception score.

    Attributes:
        name, stand_in_for: see FeatureExtractor.
        network: prepared images (batch, 3, 299, 299) to features (batch, 2048), in evaluation mode.
        classes: from features to logits without the bias, as the Inception score wants them, shape (1008, 2048).
        device: of both.
    """

    name: str
    network: torch.nn.Module = field(repr=False)
    classes: torch.Tensor = field(repr=False)
    stand_in_for: str = ""
    device: torch.device = torch.device("cpu")

    def prepare(self, images: torch.Tensor) -> torch.Tensor:
        """Bytes, as a saved image holds them, resized as TensorFlow 1 does it, on the scale (v - 128) / 128."""
        images = images.to(self.device, torch.float32)
        pixels = images.clamp(-1.0, 1.0).add(1.0).mul(127.5).round()
        rows, columns = (_resampling(old).to(pixels) for old in pixels.shape[2:])
        return (rows @ pixels @ columns.T).sub(128.0).div(128.0)

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Features, float32, shape (batch, 2048), for images (batch, 3, height, width) on the unit scale.

        Raises:
            ValueError: images of another shape or dtype, not finite, or far outside [-1, 1].
        """
        check_images(images)
        chunks = images.split(chunk_size(self.device))
        with torch.no_grad():
            return torch.cat([self.network(self.prepare(chunk)).to(images.device) for chunk in chunks])

    def probabilities(self, features: torch.Tensor) -> torch.Tensor:
        """The softmax of the logits, float64, shape (n, 1008), for features (n, 2048)."""
        return (features.to(torch.float64) @ self.classes.to(features.device, torch.float64).T).softmax(1)


def load_inception(*, weights: str | Path | None = None, device: str | torch.device = "cpu") -> Inception:
    """The network with which FID, KID and the Inception score are defined.

    Args:
        weights: path of a file in the format of the published one; None downloads that (96 MB) on the first call and
            checks it. Any file but that one is named after its own name and stands in for Inception-v3.
        device: where it runs.

    Raises:
        DataError: the weights are neither in the cache nor to be downloaded, differ from their checksum, or belong to
            another network; the message says what to put where.

    Cost: about 6 GFLOP an image.
    Source: Heusel et al. 2017; pytorch-fid and torch-fidelity, whose features these are to rounding.
    """
    tensors, released = FID_INCEPTION.read(weights)
    device = torch.device(device)
    blocks = [inception.BasicConv2d, _BlockA, inception.InceptionB, _BlockC, inception.InceptionD, _BlockE]
    network = inception.Inception3(
        num_classes=1008,
        aux_logits=False,
        inception_blocks=[*blocks, inception.InceptionAux],
        init_weights=False,
    )
    network.Mixed_7c = _LastBlock(2048)
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        name = FID_INCEPTION.file_name if weights is None else Path(weights).name
        raise DataError(f"{name} does not hold the Inception network of FID: {error}") from error
    classes = network.fc.weight.detach().clone()
    network.fc = torch.nn.Identity()
    name = "Inception-v3 of FID (2015-12-05)" if released else f"Inception-type network {Path(weights).name}"
    return Inception(
        name=name,
        network=network.eval().requires_grad_(False).to(device),
        classes=classes.to(device),
        stand_in_for="" if released else "Inception-v3",
        device=device,
    )


def _mean_of_neighbours(x: torch.Tensor) -> torch.Tensor:
    """TensorFlow's average pooling: at a border it averages over the pixels that there are."""
    return avg_pool2d(x, kernel_size=3, stride=1, padding=1, count_include_pad=False)


# torchvision's blocks with another pooling in their last branch, which is computed anew: it is one of the cheapest.
class _BlockA(inception.InceptionA):
    def _forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [*super()._forward(x)[:-1], self.branch_pool(_mean_of_neighbours(x))]


class _BlockC(inception.InceptionC):
    def _forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [*super()._forward(x)[:-1], self.branch_pool(_mean_of_neighbours(x))]


class _BlockE(inception.InceptionE):
    def _forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [*super()._forward(x)[:-1], self.branch_pool(_mean_of_neighbours(x))]


class _LastBlock(inception.InceptionE):
    """The published network takes a maximum here, where the paper that describes it takes an average."""

    def _forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [*super()._forward(x)[:-1], self.branch_pool(max_pool2d(x, kernel_size=3, stride=1, padding=1))]


def _resampling(old: int) -> torch.Tensor:
    """The matrix (299, old) of TensorFlow 1's bilinear resize: sample i lies at i * old / 299, no half pixel added.

    Nothing is smoothed when the image shrinks, which FID inherits.
    """
    position = torch.arange(SIDE, dtype=torch.float64) * old / SIDE
    below = position.long()
    above = (below + 1).clamp_max(old - 1)
    matrix = torch.zeros(SIDE, old, dtype=torch.float64)
    rows = torch.arange(SIDE)
    matrix[rows, below] += 1.0 - (position - below)
    matrix[rows, above] += position - below
    return matrix


@dataclass(frozen=True)
class InceptionScore:
    """Mean and standard deviation of the score over the parts; the deviation is no standard error of the mean."""

    mean: float
    deviation: float
    parts: int


def inception_score(probabilities: torch.Tensor, *, parts: int = 10) -> InceptionScore:
    r"""How sure a classifier is of each image, and how varied its answers are.

    .. math:: \exp\bigl(\mathbb{E}_x\, \mathrm{KL}(p(y \mid x) \,\|\, p(y))\bigr),
        \quad p(y) = \mathbb{E}_x\, p(y \mid x)

    in each of ``parts`` consecutive parts. It is between 1 and the number of images of a part, too low on average, and
    with fewer than thousands of images a part far too low; it knows nothing of the data that were to be imitated.

    Args:
        probabilities: of classes, rows sum to 1, shape (n, classes); those of another network than ``load_inception``
            give another score.
        parts: number of parts of equal size, up to one image.

    Raises:
        ValueError: probabilities that are none, or fewer than two images a part.

    Source: Salimans et al. 2016.
    """
    check_count(parts, "parts")
    if probabilities.ndim != 2 or len(probabilities) < 2 * parts:
        raise ValueError(
            f"probabilities must have shape (n, classes) with n of at least {2 * parts} for {parts} parts, "
            f"got {tuple(probabilities.shape)}"
        )
    values = probabilities.to(torch.float64)
    if float(values.min()) < 0.0 or not torch.allclose(values.sum(1), values.new_ones(()), atol=1e-4):
        raise ValueError("probabilities must not be negative, and each row must sum to 1")
    ends = [i * len(values) // parts for i in range(parts + 1)]
    scores = []
    for start, end in pairwise(ends):
        part = values[start:end]
        terms = torch.xlogy(part, part) - torch.xlogy(part, part.mean(0))
        scores.append(float(terms.sum(1).mean().exp()))
    scores = torch.tensor(scores, dtype=torch.float64)
    return InceptionScore(float(scores.mean()), float(scores.std(correction=0)), parts)
