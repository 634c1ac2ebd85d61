"""Single updates against closed forms."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from privlib.samplers.steps import ANCESTRAL, EULER_MARUYAMA, ancestral_step, euler_maruyama_step, heun_step, renoise
from privlib.schedules import edm_sigmas
from tests.samplers.oracles import GaussianData

PRIVATE_STEPS = pytest.mark.parametrize("step", [EULER_MARUYAMA, ANCESTRAL], ids=lambda step: step.name)


def batch(*values: float) -> torch.Tensor:
    return torch.tensor([values], dtype=torch.float64)


def coefficients(step, t: float, s: float) -> tuple[float, float, float]:
    """Factors of the state, the denoised image and the noise in one update, read off unit vectors."""
    one, zero = batch(1.0), batch(0.0)
    return (
        float(step.update(one, zero, t, s, noise=zero)),
        float(step.update(zero, one, t, s, noise=zero)),
        float(step.update(zero, zero, t, s, noise=one)),
    )


def test_euler_maruyama_by_hand() -> None:
    # t = 4, s = 1: factor 2 * 3 / 4 = 1.5 on the move, sqrt(2 * 4 * 3) = sqrt(24) on the noise.
    x, denoised, noise = batch(2.0, -1.0), batch(1.0, 1.0), batch(0.5, 0.0)
    expected = batch(2.0 - 1.5 + math.sqrt(24) * 0.5, -1.0 + 3.0)
    torch.testing.assert_close(euler_maruyama_step(x, denoised, 4.0, 1.0, noise=noise), expected, rtol=1e-15, atol=0.0)


def test_ancestral_by_hand() -> None:
    # t = 5, s = 3: the state keeps 9/25, the noise has standard deviation 3 * 4/5.
    x, denoised, noise = batch(2.0, -1.0), batch(1.0, 1.0), batch(0.5, 0.0)
    expected = batch(1.0 + 9 / 25 + 2.4 * 0.5, 1.0 - 18 / 25)
    torch.testing.assert_close(ancestral_step(x, denoised, 5.0, 3.0, noise=noise), expected, rtol=1e-15, atol=1e-16)


def test_renoise_by_hand() -> None:
    torch.testing.assert_close(renoise(batch(1.0), 3.0, 5.0, noise=batch(-2.0)), batch(1.0 - 8.0))


@PRIVATE_STEPS
@given(t=st.floats(0.01, 100.0), ratio=st.floats(0.01, 0.99), sensitivity=st.floats(0.0, 50.0))
def test_charge_is_mean_shift_over_noise(step, t: float, ratio: float, sensitivity: float) -> None:
    s = t * ratio
    state, denoised, noise = coefficients(step, t, s)
    assert state + denoised == pytest.approx(1.0, abs=1e-12)
    charged = float(step.gdp_mu([t, s], sensitivity=sensitivity))
    assert charged == pytest.approx(abs(denoised) * sensitivity / noise, rel=1e-9)


@given(t=st.floats(0.01, 100.0), ratio=st.floats(0.01, 0.99))
def test_ancestral_step_is_exact_for_one_image(t: float, ratio: float) -> None:
    """If all data are one image, x_t ~ N(image, t^2) must become x_s ~ N(image, s^2)."""
    s = t * ratio
    state, _, noise = coefficients(ANCESTRAL, t, s)
    assert state**2 * t**2 + noise**2 == pytest.approx(s**2, rel=1e-12)


@PRIVATE_STEPS
@given(t=st.floats(0.01, 100.0), ratio=st.floats(0.01, 0.99), level=st.floats(0.0, 200.0))
def test_noise_after_a_step_is_what_its_coefficients_say(step, t: float, ratio: float, level: float) -> None:
    state, _, noise = coefficients(step, t, t * ratio)
    assert step.noise_after(level, t, t * ratio) == pytest.approx(math.hypot(state * level, noise), rel=1e-12)


def chain_moments(step, data: GaussianData, sigmas: list[float]) -> tuple[float, float]:
    """Mean and variance of a coordinate after all steps from N(0, sigmas[0]^2), by recursion."""
    mean, variance = 0.0, sigmas[0] ** 2
    for t, s in zip(sigmas, sigmas[1:], strict=False):
        state, denoised, noise = coefficients(step, t, s)
        gain = data.variance / (data.variance + t**2)
        factor = state + denoised * gain
        mean = factor * mean + denoised * (1.0 - gain) * data.mean
        variance = factor**2 * variance + noise**2
    return mean, variance


@PRIVATE_STEPS
def test_chain_converges_to_the_marginals_of_gaussian_data(step) -> None:
    """On a fine grid a chain with the exact denoiser ends at N(mean, variance + s^2), with an error of first order."""
    data = GaussianData(0.3, 0.25)
    errors = []
    for num_steps in (200, 400):
        mean, variance = chain_moments(step, data, edm_sigmas(num_steps, sigma_min=0.1).tolist())
        assert mean == pytest.approx(0.3, abs=0.01)
        errors.append(abs(variance - (0.25 + 0.1**2)))
    assert errors[0] < 0.05 and errors[0] / errors[1] == pytest.approx(2.0, abs=0.2)


def test_heun_has_order_two() -> None:
    data, x = GaussianData(), batch(35.0, -120.0, 3.0)
    errors = []
    for num_steps in (41, 81, 161):
        sigmas, y = edm_sigmas(num_steps, sigma_min=0.05).tolist(), x
        for t, s in zip(sigmas, sigmas[1:], strict=False):
            y = heun_step(data, y, data(y, t), t, s)
        errors.append(float((y - data.ode(x, sigmas[0], sigmas[-1])).abs().max()))
    ratios = [errors[0] / errors[1], errors[1] / errors[2]]
    assert errors[-1] < 1e-3 and all(3.5 < ratio < 4.5 for ratio in ratios), (errors, ratios)


def test_heun_to_zero_is_the_denoised_image() -> None:
    x, denoised = batch(1.0, 2.0), batch(0.25, -0.5)
    result = heun_step(GaussianData(), x, denoised, 0.7, 0.0)
    assert torch.equal(result, denoised) and result.data_ptr() != denoised.data_ptr()


@pytest.mark.parametrize(
    ("t", "s"), [(1.0, 1.0), (1.0, 2.0), (1.0, -0.5), (math.nan, 1.0), (1.0, math.nan), (math.inf, 1.0), (1.0, 0.0)]
)
def test_levels_must_go_down(t: float, s: float) -> None:
    x = batch(1.0)
    for update in (euler_maruyama_step, ancestral_step):
        with pytest.raises(ValueError, match="0 < s < t"):
            update(x, x, t, s, noise=x)
    with pytest.raises(ValueError, match="0 < s < t"):
        renoise(x, s, t, noise=x)
    if s != 0.0:
        with pytest.raises(ValueError, match="0 <= s < t"):
            heun_step(GaussianData(), x, x, t, s)
