"""What is accounted for: the paper's blocks, the distinct mechanisms of its two sweeps, and two growth series."""

from __future__ import annotations

from dataclasses import dataclass

from privlib.mechanisms import block_gdp_mu
from privlib.schedules import edm_sigmas, num_block_steps

_GRID = 39
_OUTPUTS = 50_000
PERCENTS = (55, 62, 65, 67, 70)
#: Records and delta of the two data sets.
CIFAR10, CELEBA = (50_000, 1e-5), (162_770, 1e-6)
_BATCHES = (25, 50, 100, 200)
_REFINEMENTS = {62: (60, 70), 65: (60, 70, 80, 90, 120, 140), 67: (80, 90, 120, 140)}

COUNTS = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
#: GDP parameters that take epsilon from below 1 to about 1,000 at q = 25/50,000 and 50,000 outputs.
GROWING_MUS = (0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.5)


@dataclass(frozen=True)
class Case:
    """One subsampled Gaussian, composed, and delta; fields as in ``privlib.mechanisms.SubsampledGaussian``."""

    label: str
    gdp_mu: float
    sampling_probability: float
    count: int
    delta: float


def target_width(epsilon: float) -> float:
    """The width that is asked of an interval around ``epsilon``."""
    return max(0.002, 2e-4 * epsilon)


def block_case(percent: int, batch: int = 25, data: tuple[int, float] = CIFAR10) -> Case:
    """``percent`` of the steps on one reused block of about ``batch`` records."""
    records, delta = data
    gdp_mu = block_gdp_mu(edm_sigmas(_GRID), num_block_steps(percent / 100, _GRID))
    return Case(f"{percent} %, B = {batch}, n = {records}", gdp_mu, batch / records, _OUTPUTS, delta)


def sweep_cases() -> list[Case]:
    """The 52 distinct mechanisms of both sweeps; public re-noising changes none of them."""
    grid = [block_case(p, batch, data) for data in (CIFAR10, CELEBA) for p in PERCENTS for batch in _BATCHES]
    return grid + [block_case(p, batch, CELEBA) for p, batches in _REFINEMENTS.items() for batch in batches]


def count_cases() -> list[Case]:
    """The 62 % block with more and more outputs."""
    base = block_case(62)
    return [Case(f"{n:,} outputs", base.gdp_mu, base.sampling_probability, n, base.delta) for n in COUNTS]


def epsilon_cases() -> list[Case]:
    """50,000 outputs with a larger and larger GDP parameter."""
    base = block_case(62)
    return [Case(f"mu = {mu:g}", mu, base.sampling_probability, base.count, base.delta) for mu in GROWING_MUS]
