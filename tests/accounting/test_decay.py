"""The decay bound holds at every larger frequency, not only where it was asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from privlib.accounting.decay import log_decay
from privlib.accounting.transform import LossPair, line_values, tilted_moments


def bound(mu: float, q: float, r: float, omegas: torch.Tensor) -> torch.Tensor:
    pair = LossPair(mu, q)
    line = line_values(pair, r, torch.zeros(1, dtype=torch.float64))
    return log_decay(pair, r, float(line.log_modulus + line.relative_error), omegas)


def plain_log_modulus(mu: float, q: float, r: float, omegas: np.ndarray) -> np.ndarray:
    """``log |A(r + i omega)|/A(r)`` by plain quadrature."""
    x = np.arange(-12.0, 13.0 + max(0.0, r) * mu, 0.005)
    log_g = np.log1p(q * np.expm1(mu * x - mu * mu / 2))
    weight = np.exp(r * log_g - x * x / 2)
    weight /= weight.sum()
    return np.log(np.abs(np.exp(1j * np.outer(omegas, log_g)) @ weight) + 1e-300)


@settings(max_examples=40, deadline=None)
@given(
    mu=st.floats(0.05, 6.0),
    log_q=st.floats(math.log(1e-5), math.log(0.95)),
    r=st.one_of(st.floats(-5.0, -0.01), st.floats(1.01, 5.0)),
    seed=st.integers(0, 2**31),
)
def test_never_below_the_true_modulus_further_out(mu: float, log_q: float, r: float, seed: int) -> None:
    q = math.exp(log_q)
    generator = np.random.default_rng(seed)
    spread = float(tilted_moments((LossPair(mu, q),), r)[2]) ** 0.5
    grid = np.sort(np.exp(generator.uniform(math.log(0.01), math.log(60.0), 12))) / max(spread, 1e-9)
    values = bound(mu, q, r, torch.tensor(grid)).numpy()
    # Every true value at or beyond a frequency, and between two of them, lies below the bound there.
    between = np.concatenate([grid, generator.uniform(grid[0], 1.2 * grid[-1], 40)])
    between = between[between * 0.005 * mu < 0.5]  # where the plain quadrature resolves the oscillation
    true = plain_log_modulus(mu, q, r, between)
    for omega, value in zip(grid, values, strict=True):
        beyond = true[between >= omega]
        assert not beyond.size or beyond.max() <= value + 1e-12


@pytest.mark.parametrize(
    ("mu", "q", "r"), [(0.7, 5e-4, 1.5), (1.0, 0.01, -0.4), (3.0, 0.3, 2.0), (50.0, 0.01, 1.1), (1.0, 0.999999, -1.5)]
)
def test_non_increasing_and_never_positive(mu: float, q: float, r: float) -> None:
    values = bound(mu, q, r, torch.logspace(-3, 6, 200, dtype=torch.float64))
    assert bool(torch.isfinite(values).all()) and bool((values <= 0).all())
    assert bool((values.diff() <= 0).all())


def test_between_two_coarse_frequencies_the_bound_is_the_weaker_one() -> None:
    # A coarse grid must not claim at its left end what holds only there: the same point on a finer grid bounds more.
    coarse = torch.tensor([1.0, 40.0], dtype=torch.float64)
    true = plain_log_modulus(0.7, 0.3, 1.5, np.linspace(1.0, 120.0, 800))
    assert true.max() <= float(bound(0.7, 0.3, 1.5, coarse)[0]) + 1e-12


@pytest.mark.parametrize(("mu", "q", "r"), [(0.7, 5e-4, 1.5), (2.0, 0.1, 1.2), (1.0, 0.01, -0.5)])
def test_it_is_not_trivial(mu: float, q: float, r: float) -> None:
    spread = float(tilted_moments((LossPair(mu, q),), r)[2]) ** 0.5
    omegas = torch.logspace(-1, 1.5, 26, dtype=torch.float64) / spread
    values = bound(mu, q, r, omegas)
    true = line_values(LossPair(mu, q), r, torch.cat([torch.zeros(1, dtype=torch.float64), omegas])).log_modulus
    true = true[1:] - true[0]
    # Of what the modulus really loses at a small frequency, the bound finds a good part.
    assert float(values[3]) <= 0.3 * float(true[3]) < 0.0
