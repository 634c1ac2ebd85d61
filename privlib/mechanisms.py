r"""What a sampler run releases, as frozen descriptions that the accountants charge for.

The privacy argument, step by step
----------------------------------
*One step.* The reverse-time variance-exploding SDE, discretized from noise level ``t`` to ``s < t``, is

.. math:: x_s = x_t + \frac{2(t-s)}{t}\,\bigl(E(x_t, t) - x_t\bigr) + \sqrt{2t(t-s)}\;z,\qquad z \sim N(0, I).

Everything but the denoiser output ``E`` is independent of the private records once ``x_t`` is given. If adding or
removing one record moves ``E`` by at most ``sensitivity`` in L2 norm, the mean of ``x_s`` moves by at most
``2(t-s)/t * sensitivity`` and the noise has standard deviation ``sqrt(2t(t-s))`` in every direction: the step is a
Gaussian mechanism, ``gdp_mu``-GDP with ``gdp_mu^2 = 2(t-s)/t^3 * sensitivity^2``.

*One block.* Steps that reuse the same records compose adaptively, and Gaussian mechanisms compose exactly:
``gdp_mu_block^2 = sum of gdp_mu_i^2``. Whatever follows without touching private records (public re-noising, a public
neural denoiser) is post-processing and free.

*One output from a random block.* Each record enters the block independently with ``sampling_probability`` q. For every
possible choice of the other records, the run is a Gaussian mechanism that sees the extra record with probability q, so
under ``ADD_OR_REMOVE_ONE`` the pairs ``((1-q) N(0,1) + q N(mu,1), N(0,1))`` and its reverse dominate (Zhu, Dong and
Wang 2022, Theorem 11), and domination survives composition over ``count`` outputs.

*Replacing a record.* Under ``REPLACE_ONE`` the clipped contribution can move from ``+C`` to ``-C``: twice the distance.
With subsampling, write the two output laws as ``(1-q) m0 + q m1`` and ``(1-q) m0 + q m1'``. By advanced joint convexity
(Balle, Barthe and Gaboardi 2018, Theorem 2) their divergence is at most ``q`` times a convex combination of the
divergences of ``m1`` from ``m0`` (distance C) and from ``m1'`` (distance 2C). Both are at most that of two Gaussians 2C
apart, hence for one output the remove direction of the add-or-remove pair at ``2 * gdp_mu`` bounds both orders. For
several outputs that pair is not enough: a composition also depends on the profile at negative epsilons, where both
orders have to be bounded at once, and two outputs at q = 0.9, gdp_mu = 1 do cost more. Compositions are charged the
symmetric profile of ``accounting.pld``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from privlib.numerics import check_count, check_gdp_mu, check_positive, check_probability, check_sigmas
from privlib.schedules import num_block_steps
from privlib.types import Adjacency


@dataclass(frozen=True)
class SubsampledGaussian:
    """``count`` outputs, each a Gaussian mechanism on a Poisson sample of the records.

    Attributes:
        gdp_mu: GDP parameter of one output given that the record is in its block, under adding or removing it.
        sampling_probability: chance that a record enters a block, in (0, 1]; 1 is the full batch.
        count: number of outputs released (composed), at least 1.
        adjacency: neighbouring relation that is charged.
    """

    gdp_mu: float
    sampling_probability: float = 1.0
    count: int = 1
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE_ONE

    def __post_init__(self) -> None:
        object.__setattr__(self, "gdp_mu", check_gdp_mu(self.gdp_mu))
        object.__setattr__(self, "sampling_probability", check_probability(self.sampling_probability))
        object.__setattr__(self, "count", check_count(self.count))
        if not isinstance(self.adjacency, Adjacency):
            raise ValueError(f"adjacency must be one of {[a.name for a in Adjacency]}, got {self.adjacency!r}")


@dataclass(frozen=True)
class Composition:
    """Adaptive composition of several subsampled Gaussians under one adjacency (such as a fresh block each step)."""

    components: tuple[SubsampledGaussian, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", tuple(self.components))
        if not self.components:
            raise ValueError("components must hold at least one mechanism, got an empty sequence")
        if len({component.adjacency for component in self.components}) > 1:
            raise ValueError("components must share one adjacency, got a mixture")

    @property
    def adjacency(self) -> Adjacency:
        return self.components[0].adjacency

    @property
    def count(self) -> int:
        return sum(component.count for component in self.components)


Mechanism = SubsampledGaussian | Composition


def components_of(mechanism: Mechanism) -> tuple[SubsampledGaussian, ...]:
    """The mechanism as a tuple of subsampled Gaussians."""
    if isinstance(mechanism, SubsampledGaussian):
        return (mechanism,)
    if isinstance(mechanism, Composition):
        return mechanism.components
    raise ValueError(f"mechanism must be a SubsampledGaussian or a Composition, got {mechanism!r}")


def reverse_sde_gdp_mu(sigmas: object, *, sensitivity: float) -> torch.Tensor:
    r"""GDP parameter of every Euler-Maruyama step of the reverse SDE on a decreasing noise grid.

    .. math:: \mu_i = \Delta \sqrt{2 (t_i - t_{i+1}) / t_i^3}

    Args:
        sigmas: decreasing noise levels, shape (N,), N >= 2.
        sensitivity: L2 distance that one record can move the denoiser output, same unit as ``sigmas``, non-negative.
            The paper's numbers need ``sensitivity = 1 / beta`` at every step.

    Returns:
        float64 tensor of shape (N - 1,): entry i belongs to the step from ``sigmas[i]`` to ``sigmas[i + 1]``.
    """
    levels = check_sigmas(sigmas)
    if levels.numel() < 2:
        raise ValueError("sigmas must hold at least 2 levels, since a step needs one to arrive at")
    sensitivity = check_gdp_mu(sensitivity)
    start, end = levels[:-1], levels[1:]
    return sensitivity * torch.sqrt(2.0 * (start - end) / start) / start


def block_gdp_mu(sigmas: object, num_steps: int, *, beta: float = 1.0) -> float:
    """GDP parameter of the first ``num_steps`` steps on one reused block, with sensitivity ``1 / beta``.

    Args:
        sigmas: decreasing noise levels.
        num_steps: length of the private block, from 1 to ``len(sigmas) - 1``.
        beta: public normalization of the clipped denoiser, positive.
    """
    per_step = reverse_sde_gdp_mu(sigmas, sensitivity=1.0 / check_positive("beta", beta))
    num_steps = check_count(num_steps, "num_steps")
    if num_steps > per_step.numel():
        raise ValueError(f"num_steps must lie in 1..{per_step.numel()} for this grid, got {num_steps}")
    return math.sqrt(float((per_step[:num_steps] ** 2).sum()))


def output_wise_block(
    sigmas: object,
    fraction: float,
    *,
    batch_size: int,
    num_records: int,
    count: int,
    beta: float = 1.0,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE_ONE,
) -> SubsampledGaussian:
    """The paper's sampler: one random block for each output, reused over the first ``fraction`` of the grid, then a
    public tail.

    Args:
        sigmas: decreasing noise levels, shape (N,).
        fraction: share of the grid that the private block covers, in (0, 1] (see ``schedules.num_block_steps``).
        batch_size: expected number of records in a block, from 1 to ``num_records``.
        num_records: number of private records n; the sampling probability is ``batch_size / num_records``.
        count: number of outputs.
        beta: public normalization of the clipped denoiser, positive; the sensitivity charged is ``1 / beta``.
        adjacency: neighbouring relation.
    """
    levels = check_sigmas(sigmas)
    num_records = check_count(num_records, "num_records")
    batch_size = check_count(batch_size, "batch_size")
    if batch_size > num_records:
        raise ValueError(f"batch_size must lie in 1..num_records = {num_records}, got {batch_size}")
    gdp_mu = block_gdp_mu(levels, num_block_steps(fraction, levels.numel()), beta=beta)
    return SubsampledGaussian(gdp_mu, batch_size / num_records, count, adjacency)


def per_step_composition(
    gdp_mus: Iterable[float],
    sampling_probability: float,
    *,
    count: int = 1,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE_ONE,
) -> Composition:
    """A fresh Poisson block at each step: one subsampled Gaussian for each, ``count`` outputs of the whole path."""
    return Composition(tuple(SubsampledGaussian(float(mu), sampling_probability, count, adjacency) for mu in gdp_mus))
