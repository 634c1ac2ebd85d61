"""How well a membership test can do against a path that draws a fresh block at each step and stops early."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from privlib.accounting.certified import epsilon_interval
from privlib.accounting.tradeoff import attack_success_from_epsilon, attack_success_from_tradeoff
from privlib.mechanisms import Composition, per_step_composition
from privlib.types import AccountingError, Interval


@dataclass(frozen=True)
class StoppedPath:
    """Bounds of the success rate of any test, with even odds that the record was used.

    Attributes:
        mechanism: what the path is charged as.
        delta: at which ``epsilon`` is stated.
        epsilon: certified interval.
        from_epsilon: ``1 / (1 + exp(-epsilon))`` at its upper end; it drops ``delta``, and so is no bound by itself.
        best_test: success rate of the best test there is, bracketed; None where no bracket could be proved.
    """

    mechanism: Composition = field(repr=False)
    delta: float
    epsilon: Interval
    from_epsilon: float
    best_test: Interval | None


def stopped_path(
    gdp_mus: Iterable[float], sampling_probability: float, *, delta: float, tolerance: float
) -> StoppedPath:
    """Bounds for one output of a path of subsampled Gaussian steps.

    Args:
        gdp_mus: GDP parameter of each step that is made.
        sampling_probability: chance that a record is in the block of a step, in (0, 1].
        delta: in (0, 1).
        tolerance: width that the interval of epsilon may have, nats, positive.

    Raises:
        ValueError: a parameter out of range, or no step.
        AccountingError: no interval of epsilon could be proved.
    """
    mechanism = per_step_composition(gdp_mus, sampling_probability)
    epsilon = epsilon_interval(mechanism, delta, tolerance=tolerance)
    try:
        best = attack_success_from_tradeoff(mechanism)
    except AccountingError:
        best = None
    return StoppedPath(mechanism, delta, epsilon, attack_success_from_epsilon(epsilon.upper), best)
