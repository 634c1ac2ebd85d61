"""The narrowest interval that an accountant reaches within limits, or the cheapest one of a given width.

The discretization is halved while that is cheap; then the cost of what is wanted is extrapolated from the last two
attempts, and the search goes there at once, or to where the limits are about used up. The time that counts is that of
the last attempt alone.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass

from tests.benchmarks.attempts import Limits, Outcome, attempt, say
from tests.benchmarks.cases import Case, target_width

_CHEAP_SECONDS = 3.0
#: Shares of the limits that an extrapolated attempt may be predicted to take.
_TIME_SHARE, _SPACE_SHARE = 0.85, 0.9
#: delta_error of prv_accountant over delta: too small to widen the interval, and cost grows with its logarithm only.
_DELTA_SHARE = 1e-5


class Kind(enum.StrEnum):
    """What an interval stands for."""

    EQUAL = "width as asked for"
    NARROWEST = "narrowest within the limits"
    STOPPED = "stopped early"
    NONE = "no interval"


@dataclass(frozen=True)
class Found:
    """The best interval that one accountant reached.

    Attributes:
        width: infinite if there is no interval.
        kind: one of the texts of ``Kind``.
        outcomes: the processes that together give the interval; none if there is no interval.
        failure: why there is no interval, or why it is not narrower.
    """

    accountant: str
    case: Case
    lower: float | None
    upper: float | None
    seconds: float
    memory: int
    memory_added: int
    width: float
    kind: Kind
    outcomes: tuple[Outcome, ...]
    failure: str | None


def _found(
    case: Case, accountant: str, outcomes: tuple[Outcome, ...], width: float, failure: str | None, exhaust: bool = True
) -> Found:
    lowers = [r.lower for o in outcomes for r in o.results if r.lower is not None]
    uppers = [r.upper for o in outcomes for r in o.results if r.upper is not None]
    whole = bool(lowers and uppers)
    reached = min(uppers) - max(lowers) if whole else math.inf
    wide = Kind.NARROWEST if exhaust else Kind.STOPPED
    return Found(
        accountant=accountant,
        case=case,
        lower=max(lowers) if whole else None,
        upper=min(uppers) if whole else None,
        seconds=math.fsum(o.seconds for o in outcomes),
        memory=max((o.memory for o in outcomes), default=0),
        memory_added=max((o.memory_added for o in outcomes), default=0),
        width=reached,
        kind=Kind.NONE if not whole else Kind.EQUAL if reached <= width else wide,
        outcomes=outcomes,
        failure=failure,
    )


def ours(case: Case, repeats: int = 1) -> Found:
    """The certified accountant in fresh processes; the one of median time counts."""
    outcomes = sorted((attempt("certified", [case], {}, Limits()) for _ in range(repeats)), key=lambda o: o.seconds)
    failures = [o.failure for o in outcomes if o.failure]
    if failures:
        return _found(case, "privlib", (), 0.0, failures[0])
    middle = outcomes[len(outcomes) // 2]
    return _found(case, "privlib", (middle,), target_width(middle.results[0].upper), None)


def prv(case: Case, width: float, limits: Limits, exhaust: bool) -> Found:
    """prv_accountant by its own error bounds: the interval is about ``2 eps_error`` wide."""

    def run(step: float) -> Outcome:
        return attempt("prv_accountant", [case], {"step": step, "delta_share": _DELTA_SHARE}, limits)

    def width_of(outcome: Outcome) -> float:
        return outcome.results[0].upper - outcome.results[0].lower

    best, failure = _refine(run, width_of, 0.49 * width, width, limits, limits.seconds, exhaust)
    return _found(case, "prv_accountant", () if best is None else (best,), width, failure, exhaust)


def dp(case: Case, width: float, limits: Limits, exhaust: bool) -> Found:
    """dp_accounting: connect-the-dots above, to a twentieth of the width, and privacy buckets below."""
    upper, failure = _converged_upper(case, 0.05 * width, limits)
    if upper is None:
        return _found(case, "dp_accounting", (), width, failure)
    top = upper.results[0].upper

    def run(step: float) -> Outcome:
        return attempt("dp_accounting_lower", [case], {"step": step}, limits)

    def width_of(outcome: Outcome) -> float:
        return top - outcome.results[0].lower

    # Rounding down loses half a step for each output.
    goal = 0.95 * width / (0.5 * case.count)
    best, failure = _refine(run, width_of, goal, width, limits, limits.seconds - upper.seconds, exhaust)
    return _found(case, "dp_accounting", () if best is None else (upper, best), width, failure, exhaust)


def _converged_upper(case: Case, change: float, limits: Limits) -> tuple[Outcome | None, str | None]:
    """The first upper end that improves on that of a four times coarser step by less than ``change``.

    Its error is of second order in the step, so it is far coarser than the lower end.
    """
    step, last = 1.25e-4 * limits.coarsest * min(1.0, (50_000 / case.count) ** 0.5), None
    while True:
        outcome = attempt("dp_accounting_upper", [case], {"step": step}, limits)
        if outcome.failure or not math.isfinite(outcome.results[0].upper):
            return last, outcome.failure or "no finite upper end"
        if last is not None and last.results[0].upper - outcome.results[0].upper <= change:
            return outcome, None
        if 4.0 * outcome.seconds > 0.5 * limits.seconds or 4.0 * outcome.space_added > _SPACE_SHARE * limits.memory:
            return outcome, None
        step, last = 0.25 * step, outcome


def _refine(
    run: Callable[[float], Outcome],
    width_of: Callable[[Outcome], float],
    goal: float,
    width: float,
    limits: Limits,
    seconds: float,
    exhaust: bool,
) -> tuple[Outcome | None, str | None]:
    """The first outcome of at most ``width``, or the best within the limits and why it is not better.

    Args:
        goal: step at which the width is expected to be met.
        seconds: what is left of the time limit for this end of the interval.
        exhaust: go on to the limits where the goal is predicted to lie beyond them; else stop with the prediction.
    """
    step, best, previous, failure, missed = goal * limits.coarsest, None, None, None, False
    coarsest = 60.0 * step
    while True:
        outcome = run(step)
        if outcome.failure:
            if best is None and step < coarsest:
                step *= 4.0
                continue
            failure = failure or outcome.failure
            if best is None or missed or not exhaust:
                return best, failure
            # One more try half-way (in logarithm) to the best so far, for a limit that was just missed.
            missed, step = True, math.sqrt(step * best.settings["step"])
            continue
        previous, best = best, outcome
        if width_of(best) <= width:
            return best, None
        if failure is not None:
            return best, failure
        if step <= goal:
            goal = step * min(0.95, 0.95 * width / width_of(best))
        if best.seconds <= _CHEAP_SECONDS:
            step = max(goal, 0.5 * step)
            continue
        power = _power(previous, best)
        by_time = step * (best.seconds / (_TIME_SHARE * seconds)) ** (1.0 / power)
        by_space = step * best.space_added / (_SPACE_SHARE * limits.memory)
        within = max(by_time, by_space)
        if within <= goal:
            step = goal
            continue
        failure = (
            f"width {width:.3g} would take about {best.seconds * (step / goal) ** power:,.0f} s "
            f"and {best.space_added * (step / goal) / 2**30:,.1f} GiB"
        )
        say(failure)
        if not exhaust or within > 0.8 * step:
            return best, failure
        step = within


def _power(previous: Outcome | None, last: Outcome) -> float:
    """Exponent with which time grows as the step falls, between linear and a little more."""
    if previous is None or previous.seconds <= 0.0:
        return 1.1
    ratio = math.log(last.seconds / previous.seconds) / math.log(previous.settings["step"] / last.settings["step"])
    return min(1.3, max(1.0, ratio))
