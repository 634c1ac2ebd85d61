"""Random numbers that depend on the seed, the purpose, the sample and the step, and on nothing else.

Sample i gets the same numbers in a batch of one and in a batch of a thousand, on any device, whatever else was drawn
before; two samplers that run with one seed share their initial noise and the noise of every step. All numbers are drawn
in float64 on the CPU and then moved.

How: Philox4x64-10 (Salmon et al. 2011) is a keyed function of a 256-bit counter. The key is (seed, purpose), the upper
half of the counter is (step, sample), so no two streams overlap, by construction and not just probably. A seeded
Mersenne Twister would not do: ``torch.Generator`` on the CPU keeps 32 bits of its seed, and among 50,000 samples with a
32-bit seed each, two with the same one are to be feared.

One seed, one release
---------------------
The guarantee of a run is over fresh noise. A run that was interrupted and is repeated with its seed and settings gives
its outputs again, not new ones, and is charged once; on other hardware or library versions the repetition can differ by
rounding, so release one of the two. Another seed is another release, to be composed with the first. One seed under
*other* settings is the same noise again: right for comparisons on public data, but the two outputs may not both be
released, since noise that cancels hides nothing.

What is not claimed
-------------------
* The seed must stay secret where the records are: with the seed, noise and blocks can be computed and taken off. The
  pages of this project print their seeds because their "private" records are public.
* Philox is a statistical generator, not a cryptographic one (neither is the Mersenne Twister). A production release
  should take its bits from a secure source.
* Float64 normals are not exactly Gaussian, and their low bits can give away the mean (Mironov 2012; Holohan and Braghin
  2021). The accounting treats them as exact.
* How long a run takes is not protected.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from privlib.numerics import check_count


class Purpose(enum.IntEnum):
    """What random numbers are for; each purpose has streams of its own."""

    INITIAL = 0
    BLOCK = 1
    PRIVATE_STEP = 2
    RENOISE = 3
    PUBLIC_STEP = 4
    REDRAWN_STEP = 5


@dataclass(frozen=True)
class SampleNoise:
    """The random numbers of a batch of samples.

    Attributes:
        seed: of the run, in 0..2^64 - 1.
        samples: indices of the samples in the run, not negative.
        shape: of one sample, at least one axis.
        device: where normals are moved to.

    Raises:
        ValueError: a seed, index or shape outside its range.
    """

    seed: int
    samples: range
    shape: tuple[int, ...]
    device: torch.device | str = "cpu"

    def __post_init__(self) -> None:
        if check_count(self.seed, "seed", minimum=0) >= 2**64:
            raise ValueError(f"seed must lie in 0..2^64 - 1, got {self.seed}")
        if not isinstance(self.samples, range) or len(self.samples) == 0 or min(self.samples) < 0:
            raise ValueError(f"samples must be a non-empty range of indices from 0, got {self.samples!r}")
        object.__setattr__(self, "shape", tuple(check_count(size, "shape") for size in self.shape))
        if not self.shape:
            raise ValueError("shape must have at least one axis, got ()")

    def normal(self, purpose: Purpose, step: int = 0) -> torch.Tensor:
        """Standard normal noise of one step, float64, shape (len(samples), *shape), on ``device``."""
        values = np.empty((len(self.samples), *self.shape))
        for row, stream in zip(values, self._streams(purpose, step), strict=True):
            np.random.Generator(stream).standard_normal(out=row)
        return torch.from_numpy(values).to(self.device)

    def words(self, purpose: Purpose, step: int, num_words: int) -> Iterator[np.ndarray]:
        """For one sample after the other, ``num_words`` independent uniform 64-bit words, uint64."""
        for stream in self._streams(purpose, step):
            yield stream.random_raw(num_words)

    def _streams(self, purpose: Purpose, step: int) -> Iterator[np.random.Philox]:
        """The generator at the start of each sample's stream; one object, so a stream ends where the next begins."""
        stream = np.random.Philox(key=np.array([self.seed, purpose], dtype=np.uint64))
        state = stream.state
        for sample in self.samples:
            # The lower 128 bits count within a stream, the upper ones name it.
            state["state"]["counter"] = np.array([0, 0, step, sample], dtype=np.uint64)
            stream.state = state
            yield stream
