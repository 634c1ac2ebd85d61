"""Noise grids against the formula and the printed noise levels."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from privlib.schedules import edm_sigmas, log_snr, num_block_steps


def test_formula_and_ends() -> None:
    sigmas = edm_sigmas(39)
    assert sigmas.dtype == torch.float64 and sigmas.shape == (39,)
    assert float(sigmas[0]) == 80.0 and float(sigmas[-1]) == 0.002
    for i in (1, 17, 37):
        exact = (80.0 ** (1 / 7) + i / 38 * (0.002 ** (1 / 7) - 80.0 ** (1 / 7))) ** 7
        assert float(sigmas[i]) == pytest.approx(exact, rel=1e-13)


def test_printed_noise_levels() -> None:
    # Hand-off levels of 55, 65, 70 % on N = 39; the windows 19.15-7.47 and 1.54-0.38; 10.2 at 32 % of N = 50.
    sigmas = edm_sigmas(39)
    for percent, printed, unit in ((55, 1.5, 0.1), (65, 0.52, 0.01), (70, 0.28, 0.01)):
        assert abs(float(sigmas[num_block_steps(percent / 100, 39) - 1]) - printed) <= 0.55 * unit
    assert [round(float(sigmas[i]), 2) for i in (9, 14, 21, 26)] == [19.15, 7.47, 1.54, 0.38]
    assert float(edm_sigmas(50)[16]) == pytest.approx(10.2, abs=0.05)


@given(
    num_steps=st.integers(2, 400), sigma_min=st.floats(1e-4, 1.0), span=st.floats(1.5, 1e5), rho=st.floats(0.5, 20.0)
)
def test_strictly_decreasing(num_steps: int, sigma_min: float, span: float, rho: float) -> None:
    sigmas = edm_sigmas(num_steps, sigma_min=sigma_min, sigma_max=sigma_min * span, rho=rho)
    assert bool((sigmas[1:] < sigmas[:-1]).all()) and float(sigmas[-1]) == sigma_min


@pytest.mark.parametrize(("percent", "steps"), [(55, 22), (62, 25), (65, 26), (67, 27), (70, 28)])
def test_block_steps_of_the_paper(percent: int, steps: int) -> None:
    assert num_block_steps(percent / 100, 39) == steps


def test_decimal_percentages_do_not_gain_a_step_from_binary_dust() -> None:
    assert num_block_steps(0.55, 40) == 22  # 0.55 * 40 is 22.000000000000004
    assert num_block_steps(1.0, 39) == 38 and num_block_steps(1e-9, 39) == 1


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"num_steps": 1}, "num_steps"),
        ({"num_steps": 2.5}, "num_steps"),
        ({"num_steps": True}, "num_steps"),
        ({"num_steps": 5, "sigma_min": 0.0}, "sigma_min"),
        ({"num_steps": 5, "sigma_max": -1.0}, "sigma_max"),
        ({"num_steps": 5, "rho": 0.0}, "rho"),
        ({"num_steps": 5, "sigma_min": 2.0, "sigma_max": 2.0}, "sigma_min"),
    ],
)
def test_bad_grid(arguments: dict, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        edm_sigmas(**arguments)


@pytest.mark.parametrize("fraction", [0.0, 1.01, -0.1, float("nan"), True])
def test_bad_fraction(fraction: float) -> None:
    with pytest.raises(ValueError, match=r"fraction .*\(0, 1\]"):
        num_block_steps(fraction, 39)


def test_log_snr_of_table_4() -> None:
    levels = edm_sigmas(50)[[0, 16, 23, 28, 32, 35]]
    printed = torch.tensor([-10.2, -6.0, -3.8, -1.9, -0.2, 1.3], dtype=torch.float64)
    assert float((log_snr(levels) - printed).abs().max()) <= 0.05
    assert float(log_snr(torch.tensor(0.5))) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("level", [0.0, -1.0, float("nan"), float("inf")])
def test_log_snr_of_no_level(level: float) -> None:
    with pytest.raises(ValueError, match=r"sigmas must lie in \(0, inf\)"):
        log_snr(torch.tensor([1.0, level]))
