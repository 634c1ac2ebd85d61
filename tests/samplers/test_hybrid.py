"""Samplers against a plain rewriting of the algorithm, and their mechanisms against sums by hand."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from privlib.accounting.certified import epsilon_interval
from privlib.mechanisms import Composition, SubsampledGaussian
from privlib.samplers.hybrid import full_batch, output_wise, per_step, reference
from privlib.samplers.noise import Purpose, SampleNoise
from privlib.samplers.path import Plan, PublicTail, public_heun, public_sde
from privlib.samplers.runs import Run
from privlib.samplers.steps import ANCESTRAL, EULER_MARUYAMA
from privlib.schedules import edm_sigmas, num_block_steps
from privlib.types import Adjacency
from tests.samplers.oracles import GaussianData, ProvedSums, Sums, Unit

LEVELS = (4.0, 2.0, 1.0, 0.5, 0.2)
Q = 0.4


def draw(sampler, private, plan, *, count: int = 3, seed: int = 7, **arguments) -> Run:
    if sampler is not full_batch:
        arguments = {"sampling_probability": Q, **arguments}
    return sampler(private, plan, count=count, seed=seed, **arguments)


SAMPLERS = pytest.mark.parametrize("sampler", [output_wise, per_step, full_batch], ids=lambda f: f.__name__)


def by_hand(sampler, private: Sums, plan: Plan, public: GaussianData, *, sample: int, seed: int) -> np.ndarray:
    """One sample of the algorithm in numpy, written without the library's loops and updates."""
    noise = SampleNoise(seed, range(sample, sample + 1), private.image_shape)

    def normal(purpose: Purpose, step: int = 0) -> np.ndarray:
        return noise.normal(purpose, step)[0].numpy()

    def block(step: int) -> list[int]:
        if sampler is full_batch:
            return list(range(private.num_records))
        (words,) = noise.words(Purpose.BLOCK, step if sampler is per_step else 0, private.num_records)
        return [j for j, word in enumerate(words.tolist()) if word < int(Q * 2**64)]

    records, grid, k = private.records.numpy(), plan.sigmas, plan.num_private_steps
    x, left = grid[0] * normal(Purpose.INITIAL), grid[0]
    for i in range(k):
        t, s = grid[i], grid[i + 1]
        denoised = 0.5 * x / (1 + t) + t / (1 + t) * records[block(i)].sum(axis=0)
        z = normal(Purpose.PRIVATE_STEP, i)
        if plan.step is EULER_MARUYAMA:
            x = x + 2 * (t - s) / t * (denoised - x) + np.sqrt(2 * t * (t - s)) * z
            left = np.sqrt((1 - 2 * (t - s) / t) ** 2 * left**2 + 2 * t * (t - s))
        else:
            left = s
            x = denoised + s**2 / t**2 * (x - denoised) + np.sqrt(s**2 * (1 - s**2 / t**2)) * z
    start = k - plan.tail.num_renoise_steps
    x = x + np.sqrt(grid[start] ** 2 - left**2) * normal(Purpose.RENOISE)
    for i in range(start, len(grid) - 1):
        t, s = grid[i], grid[i + 1]
        if plan.tail.solver is public_heun:
            d = (x - public(x, t)) / t
            ahead = x + (s - t) * d
            x = x + (s - t) * (d + (ahead - public(ahead, s)) / s) / 2
        else:
            estimate, z = public(x, t), normal(Purpose.PUBLIC_STEP, i)
            x = estimate + s**2 / t**2 * (x - estimate) + np.sqrt(s**2 * (1 - s**2 / t**2)) * z
    return public(x, grid[-1])


@SAMPLERS
@pytest.mark.parametrize("step", [EULER_MARUYAMA, ANCESTRAL], ids=lambda step: step.name)
@pytest.mark.parametrize("solver", [public_heun, public_sde], ids=lambda f: f.__name__)
def test_samplers_do_what_the_algorithm_says(sampler, step, solver) -> None:
    private, public = Sums(), GaussianData()
    plan = Plan(LEVELS, 3, step, PublicTail(public, 2, solver))
    run = draw(sampler, private, plan, first_sample=5)
    assert run.images.shape == (3, 2, 2) and run.images.dtype == torch.float64 and run.sigma == 0.0
    for i in range(3):
        expected = by_hand(sampler, private, plan, public, sample=5 + i, seed=7)
        np.testing.assert_allclose(run.images[i].numpy(), expected, rtol=1e-11, atol=1e-12)


@SAMPLERS
@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(1, 7), max_size=4), seed=st.integers(0, 2**64 - 1), step=st.sampled_from([EULER_MARUYAMA, ANCESTRAL]))  # fmt: skip # noqa: E501
def test_samples_do_not_depend_on_the_batch(sampler, cuts: list[int], seed: int, step) -> None:
    """Eight samples at once or in any parts: the same bits."""
    private, plan = ProvedSums(), Plan(LEVELS, 3, step, PublicTail(GaussianData(), 1, public_sde))
    whole = draw(sampler, private, plan, count=8, seed=seed).images
    edges = sorted({0, 8, *cuts})
    parts = [
        draw(sampler, private, plan, count=b - a, seed=seed, first_sample=a).images
        for a, b in zip(edges, edges[1:], strict=False)
    ]
    assert torch.equal(torch.cat(parts), whole)
    assert len({tuple(image.flatten().tolist()) for image in whole}) == 8


def states_of(sampler, private, plan, **arguments) -> list[torch.Tensor]:
    states = []
    run = draw(sampler, private, plan, observe=lambda i, sigma, x, denoised: states.append(x.clone()), **arguments)
    return [*states, run.images]


def test_output_wise_and_per_step_differ_in_their_blocks_only() -> None:
    private, plan = ProvedSums(num_records=20), Plan(LEVELS, 4)
    a, b = states_of(output_wise, private, plan), states_of(per_step, private, plan)
    assert len(a) == len(b) == 5
    assert torch.equal(a[0], b[0]) and torch.equal(a[1], b[1])  # same noise, and the same block in the first step
    assert not torch.isclose(a[2], b[2]).any()
    # With all records in every block nothing is left to differ, with none neither: initial and step noise are shared.
    for q in (1.0, 2.0**-64):
        whole = [states_of(s, private, plan, sampling_probability=q) for s in (output_wise, per_step)]
        assert all(torch.equal(x, y) for x, y in zip(*whole, strict=True))
    full = states_of(full_batch, private, plan)
    all_in = states_of(per_step, private, plan, sampling_probability=1.0)
    assert all(torch.equal(x, y) for x, y in zip(full, all_in, strict=True))


@pytest.mark.parametrize(("percent", "printed"), [(55, 0.69), (62, 1.56), (65, 2.09), (67, 2.84)])
def test_mechanism_of_the_papers_blocks(percent: int, printed: float) -> None:
    """Table 7 prints the GDP parameter of a block on the N = 39 grid at sensitivity 1."""
    sigmas = edm_sigmas(39)
    plan = Plan(sigmas, num_block_steps(percent / 100, 39))
    run = output_wise(Unit(), plan, sampling_probability=25 / 50_000, count=2, seed=0)
    mechanism = run.mechanism
    assert isinstance(mechanism, SubsampledGaussian)
    assert round(mechanism.gdp_mu, 2) == printed
    assert (mechanism.sampling_probability, mechanism.count) == (0.0005, 2)
    assert mechanism.adjacency is Adjacency.ADD_OR_REMOVE_ONE
    assert 1.2 < run.sigma / float(sigmas[plan.num_private_steps]) < 1.3  # see test_path


def test_a_run_of_the_papers_size_costs_the_papers_epsilon() -> None:
    """Table 11: 55 %, B = 25, 50,000 outputs at delta = 1e-5 is certified at 0.299."""
    plan = Plan(edm_sigmas(39), num_block_steps(0.55, 39))
    run = output_wise(Unit(), plan, sampling_probability=25 / 50_000, count=1, seed=0)
    cost = epsilon_interval(dataclasses.replace(run.mechanism, count=50_000), 1e-5)
    assert 0.297 < cost.lower <= cost.upper < 0.2995


def squares(private: ProvedSums, k: int, formula) -> list[float]:
    return [(private.reach(t) * formula(t, s)) ** 2 for t, s in zip(LEVELS[:k], LEVELS[1 : k + 1], strict=True)]


@pytest.mark.parametrize(
    ("step", "formula"),
    [
        (EULER_MARUYAMA, lambda t, s: math.sqrt(2 * (t - s) / t**3)),
        (ANCESTRAL, lambda t, s: math.sqrt((t * t - s * s) / (t * s) ** 2)),
    ],
    ids=["Euler-Maruyama", "ancestral"],
)
def test_mechanisms_by_hand(step, formula) -> None:
    """A sensitivity that changes with sigma, the probability and the count of the run; the tail is free."""
    private = ProvedSums(scale=0.3)
    by_step = squares(private, 3, formula)
    for tail in (None, PublicTail(GaussianData(), 2)):
        plan = Plan(LEVELS, 3, step, tail, Adjacency.REPLACE_ONE)
        block, fresh, full = (draw(s, private, plan, count=4).mechanism for s in (output_wise, per_step, full_batch))
        for mechanism, q in ((block, Q), (full, 1.0)):
            assert mechanism.gdp_mu == pytest.approx(math.sqrt(sum(by_step)), rel=1e-13)
            assert (mechanism.sampling_probability, mechanism.count) == (q, 4)
            assert mechanism.adjacency is Adjacency.REPLACE_ONE
        assert isinstance(fresh, Composition) and fresh.count == 12
        assert [c.gdp_mu**2 for c in fresh.components] == pytest.approx(by_step, rel=1e-13)
        assert {(c.sampling_probability, c.count, c.adjacency) for c in fresh.components} == {
            (Q, 4, Adjacency.REPLACE_ONE)
        }


@pytest.mark.parametrize("step", [EULER_MARUYAMA, ANCESTRAL], ids=lambda step: step.name)
def test_charge_is_the_loss_of_the_whole_path(step) -> None:
    """Log-likelihood ratio of all states, one record in against out: normal with mean mu^2 / 2 and variance mu^2."""
    private, plan = ProvedSums(num_records=1, image_shape=(2,), scale=0.8), Plan(LEVELS, 3, step)
    count = 4000
    states = [x.numpy() for x in states_of(full_batch, private, plan, count=count)]
    record, loss = private.records[0].numpy(), np.zeros(count)
    for t, s, x, y in zip(LEVELS, LEVELS[1:], states, states[1:], strict=False):
        if step is EULER_MARUYAMA:
            weight, spread = 2 * (t - s) / t, math.sqrt(2 * t * (t - s))
        else:
            weight, spread = 1 - (s / t) ** 2, s * math.sqrt(1 - (s / t) ** 2)
        without = (1 - weight) * x + weight * 0.5 * x / (1 + t)
        record_in = without + weight * private.reach(t) * record
        loss += (((y - without) ** 2).sum(1) - ((y - record_in) ** 2).sum(1)) / (2 * spread**2)
    mu = full_batch(private, plan, count=1, seed=0).mechanism.gdp_mu
    assert loss.mean() == pytest.approx(mu**2 / 2, abs=4 * mu / math.sqrt(count))
    assert loss.var() == pytest.approx(mu**2, rel=4 * math.sqrt(2 / count))


@SAMPLERS
def test_without_a_proof_there_is_no_mechanism_and_no_epsilon(sampler) -> None:
    run = draw(sampler, Sums(), Plan(LEVELS, 3))
    assert run.mechanism is None
    with pytest.raises(ValueError, match="no proved sensitivity"):
        epsilon_interval(run.mechanism, 1e-5)


@SAMPLERS
def test_a_bad_sensitivity_is_refused_before_any_sampling(sampler) -> None:
    class Untouched(Sums):
        def __call__(self, x, sigma):
            raise AssertionError("the records were touched")

        def on_blocks(self, blocks):
            return self

        def sensitivity(self, sigma: float) -> float:
            return -1.0 if sigma == 1.0 else 1.0

    with pytest.raises(ValueError, match="sensitivity must lie in"):
        draw(sampler, Untouched(), Plan(LEVELS, 3))


@SAMPLERS
def test_observer_sees_every_evaluation(sampler) -> None:
    private, public, seen = ProvedSums(), GaussianData(), []
    plan = Plan(LEVELS, 3, tail=PublicTail(public, 2))
    run = draw(sampler, private, plan, observe=lambda *shown: seen.append(shown))
    assert [index for index, *_ in seen] == [0, 1, 2, 1, 2, 3, 4]
    assert [sigma for _, sigma, *_ in seen] == [LEVELS[i] for i in (0, 1, 2, 1, 2, 3, 4)]
    assert all(x.shape == denoised.shape == (3, 2, 2) for *_, x, denoised in seen)
    for _, sigma, x, denoised in seen[3:]:
        assert torch.equal(denoised, public(x, sigma))
    assert torch.equal(run.images, seen[-1][3])


def test_settings_and_time() -> None:
    plan = Plan(LEVELS, 3, ANCESTRAL, PublicTail(GaussianData(), 2, public_sde))
    run = draw(per_step, ProvedSums(), plan)
    assert run.settings == {
        "sampler": "per-step",
        "step": "ancestral",
        "num_private_steps": 3,
        "handoff_sigma": 0.5,
        "handoff_noise": 0.5,
        "num_renoise_steps": 2,
        "solver": "public_sde",
        "sampling_probability": Q,
        "seed": 7,
    }
    assert run.seconds > 0.0
    stopped = draw(full_batch, ProvedSums(), Plan(LEVELS, 3))
    assert stopped.settings["solver"] is None and stopped.settings["sampling_probability"] == 1.0
    assert stopped.sigma == 1.0  # Euler-Maruyama steps of ratio 1/2 leave twice the noise


def test_reference_is_the_solver_alone_and_promises_nothing() -> None:
    public = GaussianData()
    for solver in (public_heun, public_sde):
        run = reference(public, LEVELS, image_shape=(2, 2), count=2, seed=7, first_sample=1, solver=solver)
        noise = SampleNoise(7, range(1, 3), (2, 2))
        x = 4.0 * noise.normal(Purpose.INITIAL)
        assert torch.equal(run.images, solver(public, x, LEVELS, 0, noise, lambda *shown: None))
        assert run.mechanism is None and run.sigma == 0.0 and run.settings["solver"] == solver.__name__
    # The same initial noise as the private samplers.
    first = states_of(full_batch, ProvedSums(), Plan(LEVELS, 1), first_sample=1, count=2)[0]
    assert torch.equal(first, x)


@SAMPLERS
def test_no_graph_is_kept(sampler) -> None:
    weight = torch.ones((), dtype=torch.float64, requires_grad=True)
    plan = Plan(LEVELS, 2, tail=PublicTail(lambda x, sigma: weight * x / 2))
    assert not draw(sampler, ProvedSums(), plan).images.requires_grad
    assert not reference(plan.tail.denoiser, LEVELS, image_shape=(2,), count=1, seed=0).images.requires_grad


@SAMPLERS
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"count": 0}, "count"),
        ({"count": 1.5}, "count"),
        ({"first_sample": -1}, "first_sample"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_arguments(sampler, arguments: dict, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        draw(sampler, ProvedSums(), Plan(LEVELS, 2), **arguments)


def test_bad_sampling_probability() -> None:
    for sampler in (output_wise, per_step):
        for q in (0.0, 1.5):
            with pytest.raises(ValueError, match="sampling_probability"):
                draw(sampler, ProvedSums(), Plan(LEVELS, 2), sampling_probability=q)


def test_values_that_are_not_finite_do_not_leave_the_sampler() -> None:
    plan = Plan(LEVELS, 2, tail=PublicTail(lambda x, sigma: x * math.nan))
    with pytest.raises(ValueError, match="images must be finite"):
        draw(output_wise, ProvedSums(), plan)
