"""LPIPS: a learned perceptual distance between the two images of a pair."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from privlib.metrics.features import check_images, chunk_size
from privlib.metrics.weights import WeightFile

#: The ImageNet networks of torchvision under the linear heads of LPIPS 0.1, which torchmetrics carries.
TRUNKS = {
    "alex": WeightFile(
        title="the AlexNet weights under LPIPS",
        url="https://download.pytorch.org/models/alexnet-owt-7be5be79.pth",
        sha256="7be5be791159472b1fbf3c69796f7cb30dca7ad8466c2df70058c37116cdee02",
        megabytes=244,
    ),
    "vgg": WeightFile(
        title="the VGG-16 weights under LPIPS",
        url="https://download.pytorch.org/models/vgg16-397923af.pth",
        sha256="397923af8e79cdbb6a7127f12361acd7a2f83e06b05044ddf496e83de57a5bf0",
        megabytes=553,
    ),
    "squeeze": WeightFile(
        title="the SqueezeNet weights under LPIPS",
        url="https://download.pytorch.org/models/squeezenet1_1-b8a52dc0.pth",
        sha256="b8a52dc049b60e4b6ab68ad0df457362afab8b6304b2febdc1650a5dab4d7e7b",
        megabytes=5,
    ),
}

#: The trunks halve the side of an image up to five times.
MIN_SIDE = 32


@dataclass(frozen=True)
class Lpips:
    r"""The distance between images x and y of a pair: with :math:`\hat f_l` the unit-norm features of layer l,

    .. math:: d(x, y) = \sum_l \operatorname{mean}_{h, w} \,
        w_l^\top \bigl(\hat f_l(x)_{hw} - \hat f_l(y)_{hw}\bigr)^2 .

    Attributes:
        name: version and trunk, as a page shows them. Distances of different trunks cannot be compared.
        network: pairs of images on [-1, 1] to distances, in evaluation mode.
        device: of the network.
    """

    name: str
    network: torch.nn.Module = field(repr=False)
    device: torch.device = torch.device("cpu")

    def __call__(self, images: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
        """Distances, float64, shape (pairs,), for images (pairs, 3, height, width) on the unit scale.

        The images are taken at their own size, at least 32 by 32; the heads were fitted on patches of 64 by 64.

        Raises:
            ValueError: shapes that differ, smaller images, images of another dtype, not finite, or far outside [-1, 1].
        """
        if images.shape != others.shape:
            raise ValueError(
                f"images and others must have the same shape, got {tuple(images.shape)} and {tuple(others.shape)}"
            )
        check_images(images)
        check_images(others)
        if min(images.shape[2:]) < MIN_SIDE:
            raise ValueError(f"images must be at least {MIN_SIDE} by {MIN_SIDE}, got {tuple(images.shape[2:])}")
        chunk = chunk_size(self.device)
        with torch.no_grad():
            distances = [
                self.network(*(x.to(self.device, torch.float32).clamp(-1.0, 1.0) for x in pair)).flatten()
                for pair in zip(images.split(chunk), others.split(chunk), strict=True)
            ]
        return torch.cat(distances).to(images.device, torch.float64)


def load_lpips(*, trunk: str = "alex", device: str | torch.device = "cpu") -> Lpips:
    """LPIPS 0.1 with one of its three trunks.

    Args:
        trunk: ``alex`` (the one its authors recommend for comparing images), ``vgg`` or ``squeeze``.
        device: where it runs.

    Raises:
        ValueError: another trunk.
        DataError: the weights of the trunk are neither in the cache nor to be downloaded, or differ from their
            checksum; the message says what to put where.

    Source: Zhang et al. 2018; torchmetrics, which carries the published heads and their code (BSD-2-Clause).
    """
    if trunk not in TRUNKS:
        raise ValueError(f"trunk must be one of {', '.join(TRUNKS)}, got {trunk!r}")
    # The checksum comes first: torchvision takes what lies in the cache as it is.
    TRUNKS[trunk].fetch()
    from torchmetrics.image.lpip import LearnedPerceptualImagePatchSimilarity  # takes a second to import

    device = torch.device(device)
    network = LearnedPerceptualImagePatchSimilarity(net_type=trunk).net
    return Lpips(name=f"LPIPS 0.1 ({trunk})", network=network.eval().to(device), device=device)
