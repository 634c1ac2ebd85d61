"""Random numbers: functions of seed, purpose, sample and step alone, standard normal, independent."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from privlib.samplers.noise import Purpose, SampleNoise

SEEDS = st.integers(0, 2**64 - 1)


@settings(max_examples=40)
@given(seed=SEEDS, first=st.integers(0, 10**9), size=st.integers(1, 5), step=st.integers(0, 100))
def test_a_sample_does_not_depend_on_its_batch(seed: int, first: int, size: int, step: int) -> None:
    together = SampleNoise(seed, range(first, first + size), (3,)).normal(Purpose.PRIVATE_STEP, step)
    for i in range(size):
        alone = SampleNoise(seed, range(first + i, first + i + 1), (3,))
        alone.normal(Purpose.INITIAL)  # what was drawn before must not matter
        assert torch.equal(alone.normal(Purpose.PRIVATE_STEP, step)[0], together[i])


@settings(max_examples=40)
@given(seed=SEEDS, sample=st.integers(0, 10**9), step=st.integers(0, 100), purpose=st.sampled_from(Purpose))
def test_stream_is_philox_at_its_address(seed: int, sample: int, step: int, purpose: Purpose) -> None:
    counter, key = np.array([0, 0, step, sample], dtype=np.uint64), np.array([seed, purpose], dtype=np.uint64)
    noise = SampleNoise(seed, range(sample, sample + 1), (2, 5))
    expected = np.random.Generator(np.random.Philox(counter=counter, key=key)).standard_normal((2, 5))
    assert np.array_equal(noise.normal(purpose, step)[0].numpy(), expected)
    (words,) = noise.words(purpose, step, 7)
    assert np.array_equal(words, np.random.Philox(counter=counter, key=key).random_raw(7))


def test_no_two_streams_agree() -> None:
    """All bits of the seed count, unlike in ``torch.Generator`` on the CPU, which drops the upper half."""
    seen = {
        float(SampleNoise(seed, range(sample, sample + 1), (1,)).normal(purpose, step))
        for seed in (0, 1, 2**32, 2**32 + 1, 2**63)
        for sample in (0, 1, 2**32)
        for purpose in Purpose
        for step in (0, 1)
    }
    assert len(seen) == 5 * 3 * len(Purpose) * 2


def test_noise_is_standard_normal_and_uncorrelated() -> None:
    noise = SampleNoise(5, range(400), (5, 50))
    parts = [noise.normal(purpose, step) for purpose in (Purpose.INITIAL, Purpose.PRIVATE_STEP) for step in (0, 1)]
    for part in parts:
        assert part.dtype == torch.float64 and part.shape == (400, 5, 50)
        assert stats.kstest(part.flatten().numpy(), "norm").pvalue > 1e-3
        assert float(part.square().mean()) == pytest.approx(1.0, abs=5 * (2 / 1e5) ** 0.5)
    correlations = np.corrcoef([part.flatten().numpy() for part in parts])
    assert np.abs(correlations - np.eye(4)).max() < 5 / 1e5**0.5
    neighbours = np.corrcoef(parts[0].flatten(1).numpy())  # samples with each other
    assert np.abs(neighbours - np.eye(400)).max() < 6 / 250**0.5


@pytest.mark.parametrize("seed", [-1, 2**64, 0.5, True])
def test_bad_seed(seed: object) -> None:
    with pytest.raises(ValueError, match="seed"):
        SampleNoise(seed, range(1), (2,))


@pytest.mark.parametrize("samples", [range(0), range(-1, 2), [0, 1], 3])
def test_bad_samples(samples: object) -> None:
    with pytest.raises(ValueError, match="samples must be a non-empty range"):
        SampleNoise(0, samples, (2,))


@pytest.mark.parametrize("shape", [(), (0,), (2, -1), (1.5,)])
def test_bad_shape(shape: tuple) -> None:
    with pytest.raises(ValueError, match="shape"):
        SampleNoise(0, range(1), shape)
