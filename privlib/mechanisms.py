r"""What a sampler run releases, as frozen descriptions that the accountants charge for.

The privacy argument, step by step
----------------------------------
*One step.* The reverse-time variance-exploding SDE, discretized from noise level ``t`` to ``s < t``, is

.. math:: x_s = x_t + \frac{2(t-s)}{t}\,\bigl(E(x_t, t) - x_t\bigr) + \sqrt{2t(t-s)}\;z,\qquad z \sim N(0, I).

Everything but the denoiser output ``E`` is independent of the private records once ``x_t`` is given. If adding or
removing one record moves ``E`` by at most ``sensitivity`` in L2 norm, the mean of ``x_s`` moves by at most
``2(t-s)/t * sensitivity`` and the noise has standard deviation ``sqrt(2t(t-s))`` in every direction: the step is a
Gaussian mechanism, ``gdp_mu``-GDP with ``gdp_mu^2 = 2(t-s)/t^3 * sensitivity^2``.

*One ancestral step.* The step that draws from the exact law of ``x_s`` given ``x_t`` and a clean image, with ``E`` in
the place of the clean image, is

.. math:: x_s = E + \tfrac{s^2}{t^2}\,(x_t - E) + s\sqrt{1 - \tfrac{s^2}{t^2}}\;z.

``E`` moves its mean by at most ``(1 - s^2/t^2) * sensitivity``, so ``gdp_mu^2 = (1/s^2 - 1/t^2) * sensitivity^2``. With
one sensitivity for all steps the sum over a path telescopes: the charge depends on the first and the last level only.
On the same grid it is above the charge of the Euler-Maruyama steps, which it meets as the grid gets finer.

*One block.* Steps that reuse the same records compose adaptively, and Gaussian mechanisms compose exactly:
``gdp_mu_block^2 = sum of gdp_mu_i^2``. The sensitivity may differ from level to level, as long as each value is a
public function of the level and holds for every ``x``: then no ``gdp_mu_i`` depends on what earlier steps came to, and
the sum stands. The charge covers all states ``x`` of the private steps, not only the last one. It does not cover the
denoiser's outputs, which carry no noise of their own.

*After the block.* Whatever follows without touching private records is post-processing and free: adding public noise
to go back to a higher level, the steps of a denoiser that no private record has shaped.

*One output from a random block.* Each record enters the block independently with ``sampling_probability`` q. For every
possible choice of the other records, the run is a Gaussian mechanism that sees the extra record with probability q, so
under ``ADD_OR_REMOVE_ONE`` the pairs ``((1-q) N(0,1) + q N(mu,1), N(0,1))`` and its reverse dominate (Zhu, Dong and
Wang 2022, Theorem 11), and domination survives composition over ``count`` outputs. The argument needs a q that is the
same for both neighbours. Under adding or removing a record the number of records differs between them, so q is a public
setting; "a block of B out of n" means ``q = B / n`` with n a public, nominal size, not a count of the data.

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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch

from privlib.numerics import (
    check_count,
    check_gdp_mu,
    check_nonnegative,
    check_positive,
    check_probability,
    check_sigmas,
)
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
    """The mechanism as a tuple of subsampled Gaussians.

    Raises:
        ValueError: no mechanism; ``None`` is what a run has whose denoiser proves no sensitivity.
    """
    if mechanism is None:
        raise ValueError(
            "mechanism is None: the denoiser of that run has no proved sensitivity, so there is no guarantee to "
            "compute; sample with a denoiser that has a sensitivity method"
        )
    if isinstance(mechanism, SubsampledGaussian):
        return (mechanism,)
    if isinstance(mechanism, Composition):
        return mechanism.components
    raise ValueError(f"mechanism must be a SubsampledGaussian or a Composition, got {mechanism!r}")


def pooled(mechanisms: Iterable[Mechanism]) -> Mechanism:
    """One mechanism for batches of outputs that were made in the same way: their counts add up.

    Args:
        mechanisms: of the batches, equal but for the counts.

    Raises:
        ValueError: no mechanism, or mechanisms that differ in more than the counts.
    """
    mechanisms = list(mechanisms)
    if not mechanisms:
        raise ValueError("mechanisms must hold at least one mechanism, got an empty sequence")
    rows = [components_of(mechanism) for mechanism in mechanisms]
    if len({(type(m), *(replace(c, count=1) for c in row)) for m, row in zip(mechanisms, rows, strict=True)}) > 1:
        raise ValueError("mechanisms must be equal but for their counts; compose different ones as a Composition")
    components = tuple(replace(same[0], count=sum(c.count for c in same)) for same in zip(*rows, strict=True))
    return Composition(components) if isinstance(mechanisms[0], Composition) else components[0]


def _step_ends(
    sigmas: object, sensitivity: float | Sequence[float] | torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Start and end level of every step and the sensitivity at its start, each of shape (N - 1,)."""
    levels = check_sigmas(sigmas)
    if levels.numel() < 2:
        raise ValueError("sigmas must hold at least 2 levels, since a step needs one to arrive at")
    start, end = levels[:-1], levels[1:]
    if isinstance(sensitivity, (Sequence, torch.Tensor)):
        values = sensitivity.tolist() if isinstance(sensitivity, torch.Tensor) else list(sensitivity)
        if not isinstance(values, list) or len(values) != start.numel():
            raise ValueError(f"sensitivity must be a number or one number for each of {start.numel()} steps")
    else:
        values = [sensitivity] * start.numel()
    checked = [check_nonnegative("sensitivity", value) for value in values]
    return start, end, torch.tensor(checked, dtype=torch.float64, device=levels.device)


def reverse_sde_gdp_mu(sigmas: object, *, sensitivity: float | Sequence[float] | torch.Tensor) -> torch.Tensor:
    r"""GDP parameter of every Euler-Maruyama step of the reverse SDE on a decreasing noise grid.

    .. math:: \mu_i = \Delta_i \sqrt{2 (t_i - t_{i+1}) / t_i^3}

    Args:
        sigmas: decreasing noise levels, shape (N,), N >= 2.
        sensitivity: L2 distance that one record can move the denoiser output, same unit as ``sigmas``, non-negative:
            one number, or one for each step, at the level where it starts, shape (N - 1,). The paper's numbers need
            ``1 / beta`` at every step.

    Returns:
        float64 tensor of shape (N - 1,): entry i belongs to the step from ``sigmas[i]`` to ``sigmas[i + 1]``.

    Raises:
        ValueError: a bad grid, a negative sensitivity or the wrong number of them.
    """
    start, end, sensitivities = _step_ends(sigmas, sensitivity)
    return sensitivities * torch.sqrt(2.0 * (start - end) / start) / start


def ancestral_gdp_mu(sigmas: object, *, sensitivity: float | Sequence[float] | torch.Tensor) -> torch.Tensor:
    r"""GDP parameter of every ancestral step (exact posterior given the denoised image) on a decreasing noise grid.

    .. math:: \mu_i = \Delta_i \sqrt{1 / t_{i+1}^2 - 1 / t_i^2}

    Arguments, result and errors are those of ``reverse_sde_gdp_mu``.
    """
    start, end, sensitivities = _step_ends(sigmas, sensitivity)
    return sensitivities * torch.sqrt((start - end) / start * (start + end) / start) / end


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


def block_mechanism(
    gdp_mus: Iterable[float],
    sampling_probability: float,
    *,
    count: int = 1,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE_ONE,
) -> SubsampledGaussian:
    """One block for each output, reused in all its steps: ``gdp_mu`` is the root of the sum of the squares.

    Args:
        gdp_mus: GDP parameter of each private step, non-negative.
        sampling_probability: chance that a record enters a block, in (0, 1]; 1 is the full batch.
        count: number of outputs.
        adjacency: neighbouring relation.

    Raises:
        ValueError: no step at all, or a value outside its range.
    """
    squares = [check_gdp_mu(float(gdp_mu)) ** 2 for gdp_mu in gdp_mus]
    if not squares:
        raise ValueError("gdp_mus must hold at least one private step, got none")
    return SubsampledGaussian(math.sqrt(math.fsum(squares)), sampling_probability, count, adjacency)


def per_step_composition(
    gdp_mus: Iterable[float],
    sampling_probability: float,
    *,
    count: int = 1,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE_ONE,
) -> Composition:
    """A fresh Poisson block at each step: one subsampled Gaussian for each, ``count`` outputs of the whole path."""
    return Composition(tuple(SubsampledGaussian(float(mu), sampling_probability, count, adjacency) for mu in gdp_mus))
