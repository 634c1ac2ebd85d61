"""Poisson sampling: each record enters a block on its own, with one public probability."""

from __future__ import annotations

import numpy as np

from privlib.denoisers.blocks import Blocks
from privlib.numerics import check_count, check_probability
from privlib.samplers.noise import Purpose, SampleNoise


def poisson_blocks(noise: SampleNoise, num_records: int, sampling_probability: float, *, step: int = 0) -> Blocks:
    """A random block for each sample of a batch.

    Record j enters the block of sample i if the j-th 64-bit word of that sample's stream lies below
    ``floor(sampling_probability * 2^64)``. Records are independent of each other; the chance is never above
    ``sampling_probability``, not even by rounding, and below it by less than 2^-64; and whether record j takes part
    does not depend on which other records there are. A block can be empty.

    Args:
        noise: whose samples get a block each.
        num_records: number of private records.
        sampling_probability: q in (0, 1]. For an expected block of B out of a public, nominal data set size n use
            ``B / n``: q must not be computed from a private count (see ``mechanisms``).
        step: step of the sampler that the blocks are for.

    Returns:
        blocks with increasing record indices in each row. Time O(len(noise.samples) * num_records), about 0.3 ms for
        50,000 records.
    """
    num_records = check_count(num_records, "num_records", minimum=0)
    threshold = int(check_probability(sampling_probability) * 2.0**64)  # a float times a power of two is exact
    return Blocks.from_lists(
        [
            np.flatnonzero(words < np.uint64(threshold)).tolist() if threshold < 2**64 else list(range(num_records))
            for words in noise.words(Purpose.BLOCK, step, num_records)
        ]
    )
