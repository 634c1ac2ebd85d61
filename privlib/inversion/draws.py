"""The random numbers of each picture: they depend on the seed, the picture and the step, and on nothing else.

That matters for privacy, not only for repeatability. A noisy mean is charged for one vector that comes, goes or is
replaced while all others stay; so the vector of a picture may not depend on which others there are, nor on its place
among them. Streams are therefore named by a checksum of the picture's pixels.

Philox4x64 is keyed by (seed, 0), the counter holds (0, step, 128 bits of the checksum), so streams cannot overlap.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
import torch

from privlib.numerics import check_count


def picture_keys(images: torch.Tensor) -> list[str]:
    """SHA-256 of the pixels of each picture, hexadecimal; equal pictures have equal keys."""
    rows = images.detach().cpu().to(torch.float32).contiguous()
    return [hashlib.sha256(row.numpy().tobytes()).hexdigest() for row in rows]


@dataclass(frozen=True)
class Draw:
    """What one step uses, a row for each picture.

    Attributes:
        templates: int64, shape (n,).
        times: int64, shape (n,).
        noise: float64, shape (n, *latent).
    """

    templates: torch.Tensor = field(repr=False)
    times: torch.Tensor = field(repr=False)
    noise: torch.Tensor = field(repr=False)


def draw(
    keys: list[str],
    step: int,
    *,
    seed: int,
    num_templates: int,
    num_times: int,
    shape: tuple[int, ...],
    first_time: int = 0,
) -> Draw:
    """Template, time and noise of every picture at one step, on the CPU.

    Args:
        keys: of the pictures, see ``picture_keys``.
        step: number of the step, from 0.
        seed: of the run, in 0..2^64 - 1.
        num_templates: templates are drawn uniformly.
        num_times, first_time: times are drawn uniformly from ``first_time`` to ``num_times - 1``, the noisiest.
        shape: of one latent.
    """
    if check_count(seed, "seed", minimum=0) >= 2**64:
        raise ValueError(f"seed must lie in 0..2^64 - 1, got {seed}")
    templates, times, noise = [], [], np.empty((len(keys), *shape))
    for row, key in zip(noise, keys, strict=True):
        words = [int(key[:16], 16), int(key[16:32], 16)]
        counter = np.array([0, step, *words], dtype=np.uint64)
        generator = np.random.Generator(np.random.Philox(key=np.array([seed, 0], dtype=np.uint64), counter=counter))
        templates.append(generator.integers(num_templates))
        times.append(generator.integers(first_time, num_times))
        generator.standard_normal(out=row)
    return Draw(torch.tensor(templates), torch.tensor(times), torch.from_numpy(noise))
