"""Frozen descriptions of what a sampler releases."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from privlib.mechanisms import (
    Composition,
    SubsampledGaussian,
    block_gdp_mu,
    components_of,
    per_step_composition,
    reverse_sde_gdp_mu,
)
from privlib.schedules import edm_sigmas
from privlib.types import Adjacency


def test_step_mu_is_mean_shift_over_noise() -> None:
    sigmas = [8.0, 5.0, 1.0, 0.2]
    mus = reverse_sde_gdp_mu(sigmas, sensitivity=0.7)
    assert mus.shape == (3,) and mus.dtype == torch.float64
    for i, (t, s) in enumerate(zip(sigmas, sigmas[1:], strict=False)):
        shift, noise = 2 * (t - s) / t * 0.7, math.sqrt(2 * t * (t - s))
        assert float(mus[i]) == pytest.approx(shift / noise, rel=1e-14)


@pytest.mark.parametrize(("steps", "printed"), [(22, 0.6946), (25, 1.5610), (26, 2.0904), (27, 2.8351), (28, 3.8988)])
def test_block_mu_is_the_root_of_squares_and_the_printed_one(steps: int, printed: float) -> None:
    sigmas = edm_sigmas(39)
    value = block_gdp_mu(sigmas, steps)
    assert value == pytest.approx(printed, abs=5e-5)
    squares = reverse_sde_gdp_mu(sigmas, sensitivity=1.0)[:steps] ** 2
    assert value == pytest.approx(math.sqrt(math.fsum(squares.tolist())), rel=1e-14)
    assert block_gdp_mu(sigmas, steps, beta=4.0) == pytest.approx(value / 4, rel=1e-14)


def test_components_and_counts() -> None:
    parts = per_step_composition([0.1, 0.2], 0.5, count=3)
    assert parts.count == 6 and parts.adjacency is Adjacency.ADD_OR_REMOVE_ONE
    assert components_of(parts) == parts.components
    single = SubsampledGaussian(1, 1, 2)
    assert components_of(single) == (single,) and single.gdp_mu == 1.0 and isinstance(single.gdp_mu, float)
    with pytest.raises(dataclasses.FrozenInstanceError):
        single.count = 3
    assert hash(single) == hash(SubsampledGaussian(1.0, 1.0, 2))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((-1.0,), "gdp_mu"),
        ((math.nan,), "gdp_mu"),
        ((True,), "gdp_mu"),
        ((1.0, 0.0), "sampling_probability"),
        ((1.0, 1.1), "sampling_probability"),
        ((1.0, True), "sampling_probability"),
        ((1.0, 0.5, 0), "count"),
        ((1.0, 0.5, 1.5), "count"),
        ((1.0, 0.5, True), "count"),
        ((1.0, 0.5, 1, "replace_one"), "adjacency"),
    ],
)
def test_bad_mechanism(arguments: tuple, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        SubsampledGaussian(*arguments)


def test_bad_compositions() -> None:
    with pytest.raises(ValueError, match="components must hold at least one"):
        Composition(())
    with pytest.raises(ValueError, match="one adjacency"):
        Composition((SubsampledGaussian(1.0), SubsampledGaussian(1.0, adjacency=Adjacency.REPLACE_ONE)))
    with pytest.raises(ValueError, match="mechanism must be"):
        components_of(1.0)


def test_bad_grids_and_blocks() -> None:
    for bad in ([], [1.0, 2.0], [1.0, math.nan]):
        with pytest.raises(ValueError, match="sigmas"):
            reverse_sde_gdp_mu(bad, sensitivity=1.0)
    with pytest.raises(ValueError, match="at least 2 levels"):
        reverse_sde_gdp_mu([1.0], sensitivity=1.0)
    with pytest.raises(ValueError, match=r"\[0, inf\)"):
        reverse_sde_gdp_mu([2.0, 1.0], sensitivity=-1.0)
    for steps in (0, 3, 1.0):
        with pytest.raises(ValueError, match="num_steps"):
            block_gdp_mu([3.0, 2.0, 1.0], steps)
    with pytest.raises(ValueError, match="beta"):
        block_gdp_mu([2.0, 1.0], 1, beta=0.0)
