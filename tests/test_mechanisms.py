"""Frozen descriptions of what a sampler releases."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from privlib.accounting import certified, clt, edgeworth, pld, rdp, tradeoff
from privlib.mechanisms import (
    Composition,
    SubsampledGaussian,
    ancestral_gdp_mu,
    block_gdp_mu,
    block_mechanism,
    components_of,
    output_wise_block,
    per_step_composition,
    pooled,
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


def test_ancestral_mu_is_mean_shift_over_noise() -> None:
    sigmas = [8.0, 5.0, 1.0, 0.2]
    mus = ancestral_gdp_mu(sigmas, sensitivity=0.7)
    assert mus.shape == (3,) and mus.dtype == torch.float64
    for i, (t, s) in enumerate(zip(sigmas, sigmas[1:], strict=False)):
        shift, noise = (1 - s**2 / t**2) * 0.7, s * math.sqrt(1 - s**2 / t**2)
        assert float(mus[i]) == pytest.approx(shift / noise, rel=1e-14)


def test_ancestral_steps_telescope_and_cost_more_than_euler_maruyama_on_a_coarse_grid() -> None:
    gaps = []
    for num_steps in (39, 400, 4000):
        sigmas = edm_sigmas(num_steps, sigma_min=0.5)
        ancestral, euler = (f(sigmas, sensitivity=1.0) for f in (ancestral_gdp_mu, reverse_sde_gdp_mu))
        assert float((ancestral**2).sum()) == pytest.approx(1 / 0.5**2 - 1 / 80**2, rel=1e-12)
        assert bool((ancestral > euler).all())
        gaps.append(float((ancestral**2).sum() / (euler**2).sum()) - 1.0)
    assert gaps[0] > 0.05 and gaps[0] > gaps[1] > gaps[2] and gaps[2] < 0.005


@pytest.mark.parametrize("gdp_mu", [reverse_sde_gdp_mu, ancestral_gdp_mu])
def test_one_sensitivity_for_each_step(gdp_mu) -> None:
    sigmas, sensitivities = [8.0, 5.0, 1.0], [0.7, 0.0]
    unit = gdp_mu(sigmas, sensitivity=1.0)
    for given_as in (sensitivities, tuple(sensitivities), torch.tensor(sensitivities, dtype=torch.float64)):
        mus = gdp_mu(sigmas, sensitivity=given_as)
        assert mus.tolist() == pytest.approx([0.7 * float(unit[0]), 0.0], rel=1e-15)
    for wrong in ([1.0], [1.0, 1.0, 1.0], [], torch.tensor(1.0), torch.ones(2, 1), [[1.0], [1.0]], "12"):
        with pytest.raises(ValueError, match="sensitivity must be a number"):
            gdp_mu(sigmas, sensitivity=wrong)
    for wrong in ([1.0, -0.1], [1.0, math.nan], [math.inf, 1.0], -1.0, math.nan):
        with pytest.raises(ValueError, match=r"sensitivity must lie in \[0, inf\)"):
            gdp_mu(sigmas, sensitivity=wrong)


def test_block_is_the_root_of_the_squares() -> None:
    block = block_mechanism(iter([3.0, 4.0]), 0.5, count=7, adjacency=Adjacency.REPLACE_ONE)
    assert block == SubsampledGaussian(5.0, 0.5, 7, Adjacency.REPLACE_ONE)
    sigmas = edm_sigmas(39)
    mus = reverse_sde_gdp_mu(sigmas, sensitivity=0.5)[:22]
    named = output_wise_block(sigmas, 0.55, batch_size=25, num_records=50_000, count=10, beta=2.0)
    built = block_mechanism(mus.tolist(), 25 / 50_000, count=10)
    assert built.gdp_mu == pytest.approx(named.gdp_mu, rel=1e-14)
    assert dataclasses.replace(built, gdp_mu=named.gdp_mu) == named
    with pytest.raises(ValueError, match="at least one private step"):
        block_mechanism([], 0.5)
    with pytest.raises(ValueError, match="gdp_mu"):
        block_mechanism([1.0, -1.0], 0.5)


@given(
    counts=st.lists(st.integers(1, 100), min_size=1, max_size=5),
    mus=st.lists(st.floats(0.0, 10.0), min_size=1, max_size=3),
    adjacency=st.sampled_from(Adjacency),
)
def test_pooled_batches_are_the_mechanism_of_all(counts: list[int], mus: list[float], adjacency: Adjacency) -> None:
    for make in (block_mechanism, per_step_composition):
        batches = [make(mus, 0.3, count=count, adjacency=adjacency) for count in counts]
        assert pooled(batches) == make(mus, 0.3, count=sum(counts), adjacency=adjacency)


def test_different_mechanisms_are_not_pooled() -> None:
    one = SubsampledGaussian(1.0, 0.5, 2)
    for other in (
        SubsampledGaussian(1.1, 0.5, 2),
        SubsampledGaussian(1.0, 0.4, 2),
        SubsampledGaussian(1.0, 0.5, 2, Adjacency.REPLACE_ONE),
        Composition((one,)),
        Composition((one, one)),
    ):
        with pytest.raises(ValueError, match="equal but for their counts"):
            pooled([one, other])
    with pytest.raises(ValueError, match="at least one mechanism"):
        pooled([])
    with pytest.raises(ValueError, match="no proved sensitivity"):
        pooled([one, None])


@pytest.mark.parametrize(
    "accountant",
    [
        lambda mechanism: certified.epsilon_interval(mechanism, 1e-5),
        lambda mechanism: certified.delta_interval(mechanism, 1.0),
        lambda mechanism: pld.epsilon_upper(mechanism, 1e-5, step=1e-3),
        lambda mechanism: rdp.rdp_epsilon(mechanism, 1e-5),
        lambda mechanism: tradeoff.attack_success_from_tradeoff(mechanism),
        lambda mechanism: clt.clt_epsilon_estimate(mechanism, 1e-5),
        lambda mechanism: edgeworth.edgeworth_epsilon_estimate(mechanism, 1e-5),
    ],
    ids=["epsilon", "delta", "pld", "rdp", "tradeoff", "clt", "edgeworth"],
)
def test_accountants_refuse_a_run_without_a_mechanism(accountant) -> None:
    with pytest.raises(ValueError, match="mechanism is None: the denoiser of that run has no proved sensitivity"):
        accountant(None)


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
