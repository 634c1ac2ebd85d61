"""The grid accountant as a stand-in for the contour: few and rarely sampled outputs, whose transform decays too slowly.

Its Fourier transform's rounding error is not part of dp_accounting's bounds. It is covered here by asking for a delta
that is off by ``grid_noise``, a thousand times more than the error was ever seen to be: these brackets are proved up to
that assumption, and refused where delta is not far above it.
"""

from __future__ import annotations

from collections.abc import Iterable

from privlib.accounting import pld
from privlib.accounting.contour import LossSum, chernoff_epsilon
from privlib.mechanisms import Mechanism
from privlib.types import AccountingError, Interval

#: Most cells that a grid may have: about 20 seconds.
_MAX_CELLS = 2e7


def grid_noise(count: int) -> float:
    """Delta that the rounding error of the grid accountant is charged over ``count`` outputs."""
    return pld.SMALLEST_DELTA + 1e-15 * count


def check_above_noise(delta: float, count: int) -> None:
    """Raise AccountingError unless ``delta`` is a thousand times the noise."""
    if delta < 1e3 * grid_noise(count):
        raise AccountingError(
            f"this bracket is computed on a grid: delta must be at least {1e3 * grid_noise(count):.3g} "
            f"for {count} outputs, got {delta:g}"
        )


def grid_step(count: int, losses: Iterable[LossSum], delta: float, tolerance: float) -> float | None:
    """Step at which the grid brackets epsilon within the tolerance, or None where it cannot or would take too long."""
    # Rounding down loses up to a step for each output; the rest of the tolerance is for the upper end.
    step = 0.8 * tolerance / count
    if delta < 1e3 * grid_noise(count) or 20.0 / step > _MAX_CELLS:
        return None
    reach = min(20.0 * _MAX_CELLS, max(chernoff_epsilon(loss, delta, 1.0) for loss in losses))
    return step if (reach + 10.0) / step <= _MAX_CELLS else None


def grid_interval(mechanism: Mechanism, delta: float, step: float, tolerance: float) -> Interval:
    """Bracket of epsilon for an add-or-remove mechanism on a grid of the given step.

    Raises:
        AccountingError: the bracket is wider than the tolerance.
    """
    noise = grid_noise(mechanism.count)
    interval = Interval(
        pld.epsilon_lower(mechanism, delta + noise, step=step), pld.epsilon_upper(mechanism, delta - noise, step=step)
    )
    if interval.width > tolerance:
        raise AccountingError(
            f"epsilon lies in [{interval.lower:.9g}, {interval.upper:.9g}] on a grid of step {step:g}, wider than "
            f"tolerance = {tolerance:g}"
        )
    return interval
