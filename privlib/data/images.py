"""A set of images in memory: bytes as the files hold them, and the unit scale that denoisers work on."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch


def to_unit(pixels: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Bytes 0..255 to the unit scale [-1, 1] of every denoiser: ``pixels / 127.5 - 1``."""
    if pixels.dtype != torch.uint8:
        raise ValueError(f"pixels must be uint8, got {pixels.dtype}; images on the unit scale need no conversion")
    return pixels.to(dtype).div_(127.5).sub_(1.0)


def to_bytes(images: torch.Tensor) -> torch.Tensor:
    """The unit scale to bytes: clamped to [-1, 1], rounded to the nearest level; the exact inverse of ``to_unit``."""
    if not images.is_floating_point():
        raise ValueError(f"images must be floating point on the unit scale, got {images.dtype}")
    if not bool(torch.isfinite(images).all()):
        raise ValueError("images must be finite, got NaN or infinity")
    return images.clamp(-1.0, 1.0).add(1.0).mul_(127.5).round_().to(torch.uint8)


def check_unit_images(images: torch.Tensor, name: str = "images") -> torch.Tensor:
    """Return ``images``; raise ValueError unless they are data on the unit scale.

    That is: at least one image, shape (n, channels, height, width), floating point, every value finite and within
    [-1, 1]. Noisy images leave that range and are not meant. One pass over the values, no copy.
    """
    if not isinstance(images, torch.Tensor):
        raise ValueError(f"{name} must be a tensor, got {type(images).__name__}")
    if images.ndim != 4 or images.numel() == 0:
        raise ValueError(
            f"{name} must have shape (n, channels, height, width), none of them 0, got {tuple(images.shape)}"
        )
    if not images.is_floating_point():
        raise ValueError(f"{name} must be floating point on the unit scale, got {images.dtype}; see to_unit")
    low, high = (float(end) for end in torch.aminmax(images.detach()))
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"{name} must be finite, got NaN")
    if low < -1.0 or high > 1.0:
        raise ValueError(f"{name} must lie in [-1, 1], got values from {low:.6g} to {high:.6g}; see to_unit")
    return images


def check_split(split: str, accepted: Collection[str]) -> None:
    """Raise ValueError unless ``split`` is one of the accepted names."""
    if split not in accepted:
        raise ValueError(f"split must be one of {', '.join(accepted)}, got {split!r}")


@dataclass(frozen=True)
class ImageSet:
    """Images with their classes and captions.

    Attributes:
        name: what to call the set on a page, such as ``emoji/private``.
        pixels: uint8, shape (n, channels, height, width), channels 1 or 3.
        labels: int64, shape (n,), index into ``class_names``.
        class_names: names of the classes.
        captions: one for each image, or empty when the set has none.

    Raises:
        ValueError: an empty set, a wrong shape or dtype, labels without a name, captions that do not match.
    """

    name: str
    pixels: torch.Tensor = field(repr=False)
    labels: torch.Tensor = field(repr=False)
    class_names: tuple[str, ...]
    captions: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.pixels.dtype != torch.uint8 or self.pixels.ndim != 4 or self.pixels.shape[1] not in (1, 3):
            raise ValueError(
                f"{self.name}: pixels must be uint8 of shape (n, 1 or 3, height, width), "
                f"got {self.pixels.dtype} of shape {tuple(self.pixels.shape)}"
            )
        if len(self.pixels) == 0:
            raise ValueError(f"{self.name}: there is no image")
        if self.labels.dtype != torch.int64 or self.labels.shape != (len(self.pixels),):
            raise ValueError(
                f"{self.name}: labels must be int64 of shape ({len(self.pixels)},), "
                f"got {self.labels.dtype} of shape {tuple(self.labels.shape)}"
            )
        if int(self.labels.min()) < 0 or int(self.labels.max()) >= len(self.class_names):
            raise ValueError(f"{self.name}: labels must lie in 0..{len(self.class_names) - 1}, one for each class name")
        if self.captions and len(self.captions) != len(self.pixels):
            raise ValueError(f"{self.name}: {len(self.captions)} captions for {len(self.pixels)} images")

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(channels, height, width)."""
        return tuple(self.pixels.shape[1:])

    def unit(self, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """All images on the unit scale [-1, 1], shape (n, channels, height, width)."""
        return to_unit(self.pixels, dtype)

    def subset(self, indices: Sequence[int] | torch.Tensor, *, name: str | None = None) -> ImageSet:
        """The images at ``indices`` (whole numbers, not a mask), in that order; an image may come twice."""
        chosen = torch.as_tensor(indices)
        if chosen.ndim != 1 or chosen.numel() == 0 or chosen.dtype is torch.bool or chosen.is_floating_point():
            raise ValueError(
                f"{self.name}: indices must be a non-empty list of whole numbers, "
                f"got {chosen.dtype} of shape {tuple(chosen.shape)}"
            )
        captions = tuple(self.captions[i] for i in chosen.tolist()) if self.captions else ()
        return replace(
            self, name=name or self.name, pixels=self.pixels[chosen], labels=self.labels[chosen], captions=captions
        )

    def draw(self, count: int, *, seed: int) -> ImageSet:
        """``count`` different images, a random choice that depends on ``seed`` and the size of the set only."""
        if not 1 <= count <= len(self):
            raise ValueError(f"count must lie in 1..{len(self)} for {self.name}, got {count}")
        order = torch.randperm(len(self), generator=torch.Generator().manual_seed(seed))
        return self.subset(order[:count])

    @cached_property
    def sha256(self) -> str:
        """Checksum of the shape, the pixels and the labels: what a result made from this set depends on."""
        digest = hashlib.sha256(repr((tuple(self.pixels.shape), self.class_names)).encode())
        digest.update(self.pixels.contiguous().numpy().tobytes())
        digest.update(self.labels.contiguous().numpy().tobytes())
        return digest.hexdigest()
