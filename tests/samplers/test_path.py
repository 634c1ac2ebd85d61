"""Loops and plans: the right levels in the right order, and clear errors."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from privlib.samplers.noise import Purpose, SampleNoise
from privlib.samplers.path import (
    CoarseHeun,
    Plan,
    PublicTail,
    denoise,
    private_steps,
    public_ancestral,
    public_euler_maruyama,
    public_heun,
    public_tail,
)
from privlib.samplers.steps import ANCESTRAL, EULER_MARUYAMA
from privlib.schedules import edm_sigmas, num_block_steps
from tests.samplers.oracles import GaussianData, ProvedSums, Sums

LEVELS = (4.0, 2.0, 1.0, 0.5)


class Recorder:
    """An observer that keeps what it was shown."""

    def __init__(self) -> None:
        self.indices, self.sigmas, self.states, self.outputs = [], [], [], []

    def __call__(self, index, sigma, x, denoised) -> None:
        self.indices.append(index)
        self.sigmas.append(sigma)
        self.states.append(x.clone())
        self.outputs.append(denoised.clone())


def test_private_steps_are_observed_from_pure_noise_to_the_hand_off() -> None:
    noise, seen, data = SampleNoise(2, range(3), (2,)), Recorder(), GaussianData()
    x = private_steps(Plan(LEVELS, 2), lambda i: data, noise, seen)
    assert seen.indices == [0, 1] and seen.sigmas == [4.0, 2.0]
    assert torch.equal(seen.states[0], 4.0 * noise.normal(Purpose.INITIAL))
    for state, output, sigma in zip(seen.states, seen.outputs, seen.sigmas, strict=True):
        assert torch.equal(output, data(state, sigma))
    expected = EULER_MARUYAMA.update(
        seen.states[1], seen.outputs[1], 2.0, 1.0, noise=noise.normal(Purpose.PRIVATE_STEP, 1)
    )
    assert torch.equal(x, expected)


@pytest.mark.parametrize("num_renoise_steps", [0, 1, 2])
def test_tail_starts_where_the_renoising_leads(num_renoise_steps: int) -> None:
    noise, seen, data = SampleNoise(2, range(3), (2,)), Recorder(), GaussianData()
    plan = Plan(LEVELS, 2, ANCESTRAL, tail=PublicTail(data, num_renoise_steps))
    x = torch.ones(3, 2, dtype=torch.float64)
    result = public_tail(plan, x, noise, seen)
    assert seen.indices == list(range(2 - num_renoise_steps, 4))
    assert seen.sigmas == list(LEVELS[2 - num_renoise_steps :])
    spread = math.sqrt(LEVELS[2 - num_renoise_steps] ** 2 - 1.0)
    torch.testing.assert_close(seen.states[0], x + spread * noise.normal(Purpose.RENOISE), rtol=1e-14, atol=1e-14)
    assert torch.equal(result, seen.outputs[-1])  # the step to zero is the denoised image


def test_a_coarse_tail_walks_its_own_grid_to_the_same_end() -> None:
    noise, seen, data = SampleNoise(2, range(3), (2,)), Recorder(), GaussianData()
    x = torch.tensor([[1.0, -2.0]] * 3, dtype=torch.float64)
    result = CoarseHeun(5, 0.1)(data, x, LEVELS, 1, noise, seen)
    assert seen.sigmas == edm_sigmas(5, sigma_min=0.1, sigma_max=2.0).tolist()
    assert torch.equal(result, seen.outputs[-1])
    exact = data(data.ode(x, 2.0, 0.01), 0.01)
    errors = [float((CoarseHeun(n, 0.01)(data, x, LEVELS, 1, noise, seen) - exact).abs().max()) for n in (20, 40, 80)]
    assert errors[2] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=1.0)  # second order
    assert errors[1] / errors[2] == pytest.approx(4.0, abs=0.6)


@pytest.mark.parametrize(
    ("arguments", "message"), [((1, 0.1), "num_levels"), ((5, 0.0), "sigma_min"), ((5, 2.0), "sigma_m")]
)
def test_a_coarse_tail_outside_its_range_is_refused(arguments: tuple, message: str) -> None:
    x = torch.ones(1, 2, dtype=torch.float64)
    with pytest.raises(ValueError, match=message):
        CoarseHeun(*arguments)(GaussianData(), x, LEVELS, 1, SampleNoise(2, range(1), (2,)), Recorder())


def test_tail_starts_at_the_noise_that_euler_maruyama_leaves() -> None:
    """Steps of ratio 3/4 from pure noise: the private denoiser says 0, so the state is noise of a known level."""
    levels = [4.0 * 0.75**i for i in range(30)]
    noise, seen = SampleNoise(3, range(20), (1000,)), Recorder()
    plan = Plan(levels, 20, tail=PublicTail(lambda x, sigma: 0.0 * x))
    x = private_steps(plan, lambda i: lambda state, sigma: 0.0 * state, noise)
    assert plan.handoff_noise == pytest.approx(float(x.std()), rel=5 / math.sqrt(2 * x.numel()))
    assert plan.handoff_noise == pytest.approx(levels[20] * math.sqrt(2 / (3 * 0.75 - 1)), rel=1e-3)
    public_tail(plan, x, noise, seen)
    assert seen.sigmas == [plan.handoff_noise, *levels[21:]] and torch.equal(seen.states[0], x)
    again, shown = dataclasses.replace(plan, tail=PublicTail(plan.tail.denoiser, 3)), Recorder()
    public_tail(again, x, noise, shown)
    assert shown.sigmas == levels[17:]
    assert float(shown.states[0].std()) == pytest.approx(levels[17], rel=5 / math.sqrt(2 * x.numel()))


@pytest.mark.parametrize(("percent", "excess"), [(55, 22), (70, 30)])
def test_excess_noise_at_the_papers_hand_offs(percent: int, excess: int) -> None:
    """The two ends that the page on sampling names."""
    plan = Plan(edm_sigmas(39), num_block_steps(percent / 100, 39))
    assert round(100 * (plan.handoff_noise / plan.sigmas[plan.num_private_steps] - 1)) == excess


@pytest.mark.parametrize(("step", "expected"), [(EULER_MARUYAMA, 2.0), (ANCESTRAL, 1.0)], ids=("em", "ancestral"))
def test_noise_at_the_hand_off_by_hand(step, expected: float) -> None:
    # Halving: Euler-Maruyama drops the state and draws noise of variance 2 * 2 * 1 on the way from 2 to 1.
    plan = Plan(LEVELS, 2, step)
    assert plan.handoff_noise == pytest.approx(expected, rel=1e-14) and plan.end_sigma == plan.handoff_noise


def test_no_tail_leaves_the_state_alone() -> None:
    x = torch.ones(3, 2, dtype=torch.float64)
    assert public_tail(Plan(LEVELS, 2), x, SampleNoise(0, range(3), (2,))) is x


def test_heun_tail_follows_the_ode() -> None:
    data, levels = GaussianData(0.3, 0.25), edm_sigmas(200).tolist()
    noise = SampleNoise(0, range(4), (5,))
    x = levels[0] * noise.normal(Purpose.INITIAL)
    result = public_heun(data, x, levels, 0, noise, lambda *seen: None)
    torch.testing.assert_close(result, data.ode(x, levels[0], 0.0), rtol=0.0, atol=1e-3)


@pytest.mark.parametrize("solver", [public_ancestral, public_euler_maruyama], ids=lambda f: f.__name__)
def test_stochastic_tail_has_the_law_of_the_data(solver) -> None:
    """Gaussian data N(0.3, 0.25): on a fine grid the samples must have that mean and variance."""
    data, levels = GaussianData(0.3, 0.25), edm_sigmas(300, sigma_max=20.0).tolist()
    noise = SampleNoise(1, range(20), (1000,))
    x = levels[0] * noise.normal(Purpose.INITIAL)
    result = solver(data, x, levels, 0, noise, lambda *seen: None)
    assert float(result.mean()) == pytest.approx(0.3, abs=5 * 0.5 / 20_000**0.5 + 0.005)
    assert float(result.var()) == pytest.approx(0.25, abs=5 * 0.25 * (2 / 20_000) ** 0.5 + 0.01)


def test_gdp_mus_take_the_sensitivity_where_the_denoiser_is_evaluated() -> None:
    private = ProvedSums(scale=0.7)
    for step, formula in (
        (EULER_MARUYAMA, lambda t, s: math.sqrt(2 * (t - s) / t**3)),
        (ANCESTRAL, lambda t, s: math.sqrt(1 / s**2 - 1 / t**2)),
    ):
        expected = [0.7 * 4 / 5 * formula(4.0, 2.0), 0.7 * 2 / 3 * formula(2.0, 1.0)]
        assert Plan(LEVELS, 2, step).gdp_mus(private) == pytest.approx(expected, rel=1e-14)
    assert Plan(LEVELS, 2).gdp_mus(Sums()) is None


def test_plan_is_a_frozen_value() -> None:
    plan = Plan(torch.tensor(LEVELS), 2)
    assert plan == Plan(list(LEVELS), 2) and plan.sigmas == LEVELS and hash(plan) == hash(Plan(LEVELS, 2))
    assert plan.end_sigma == 2.0 and dataclasses.replace(plan, tail=PublicTail(GaussianData())).end_sigma == 0.0


@pytest.mark.parametrize("steps", [0, 4, -1, 1.0, True])
def test_bad_number_of_private_steps(steps: object) -> None:
    with pytest.raises(ValueError, match="num_private_steps"):
        Plan(LEVELS, steps)


def test_bad_plans() -> None:
    with pytest.raises(ValueError, match="sigmas must be strictly decreasing"):
        Plan((1.0, 2.0), 1)
    with pytest.raises(ValueError, match=r"num_renoise_steps must lie in 0..num_private_steps = 2, got 3"):
        Plan(LEVELS, 2, tail=PublicTail(GaussianData(), 3))
    with pytest.raises(ValueError, match=r"num_renoise_steps = 1 leads to level 1, but steps .* leave noise of 1.74"):
        Plan((4.0, 2.0, 1.0, 0.2), 3, tail=PublicTail(GaussianData(), 1))
    for steps in (-1, 0.5):
        with pytest.raises(ValueError, match="num_renoise_steps"):
            PublicTail(GaussianData(), steps)


def test_denoiser_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must return the shape of x, \(3, 2\), got \(1, 2\)"):
        denoise(lambda x, sigma: x[:1], torch.zeros(3, 2), 1.0)
