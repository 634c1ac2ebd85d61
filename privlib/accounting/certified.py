"""Two-sided certified (epsilon, delta) of composed subsampled Gaussians: the accountant to use.

Every bound is for the worst direction of the adjacency (see ``mechanisms``), proved in ``contour`` with discretization,
truncation and floating-point error included. What is assumed: IEEE double arithmetic, elementary functions within 2
units in the last place, and Gaussian noise with real-valued (not floating-point) outcomes.
"""

from __future__ import annotations

import math

import torch

from privlib.accounting import gdp, replaced, single
from privlib.accounting.contour import (
    COMFORTABLE_WORK,
    MAX_WORK,
    LossSum,
    Profile,
    build_profile,
    chernoff_bound,
    chernoff_epsilon,
    log_delta_estimate,
    saddle_point,
    saddle_point_for_delta,
)
from privlib.accounting.fallback import grid_interval, grid_step
from privlib.accounting.transform import LossPair
from privlib.mechanisms import Composition, Mechanism, SubsampledGaussian, components_of
from privlib.numerics import check_delta, check_epsilon, check_positive, one_thread
from privlib.types import AccountingError, Adjacency, Interval

_FINE = 1e-9
_MAX_PROFILES = 25
#: Down to this step the grid accountant is quicker than a long contour sum.
_COARSE_STEP = 3e-5
#: Digits (in nats) that a contour left of the saddle point may cost, for a shorter period.
_SPEND = 10.0
#: Outward gaps tried around a root, relative to the distance over which delta changes by a factor e.
_GAPS = torch.logspace(-13, 1, 57, dtype=torch.float64)


def subsampled_gaussian_epsilon(
    gdp_mu: float,
    sampling_probability: float,
    count: int,
    delta: float,
    *,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE_ONE,
    tolerance: float = 1e-3,
    device: torch.device | str = "cpu",
) -> Interval:
    """Epsilon at ``delta`` of ``count`` Poisson-subsampled Gaussian outputs; see ``epsilon_interval``."""
    mechanism = SubsampledGaussian(gdp_mu, sampling_probability, count, adjacency)
    return epsilon_interval(mechanism, delta, tolerance=tolerance, device=device)


@one_thread()
def epsilon_interval(
    mechanism: Mechanism, delta: float, *, tolerance: float = 1e-3, device: torch.device | str = "cpu"
) -> Interval:
    r"""The smallest epsilon for which the mechanism is (epsilon, delta)-differentially private, bracketed.

    Args:
        mechanism: a subsampled Gaussian or a composition of several.
        delta: in (0, 1).
        tolerance: width that must not be exceeded under ``ADD_OR_REMOVE_ONE``; usually the result is far narrower
            (1e-9). Under ``REPLACE_ONE`` with subsampling the ends are different mechanisms (``pld.replaced_profile``;
            adding or removing) and the width is what it is.
        device: where the transform is evaluated.

    Returns:
        Interval in nats. ``Interval(0, 0)`` only where delta(0) <= delta is proved, i.e. the total variation distance
        is at most delta; epsilon is never negative.

    Raises:
        ValueError: a parameter outside its range.
        AccountingError: the tolerance cannot be reached in double precision.
    """
    delta = check_delta(delta)
    tolerance = check_positive("tolerance", tolerance)
    components = components_of(mechanism)
    device = torch.device(device)
    if components[0].adjacency is Adjacency.ADD_OR_REMOVE_ONE:
        return _epsilon(components, 1.0, delta, tolerance, device)
    if all(component.sampling_probability == 1.0 for component in components):
        return _epsilon(components, 2.0, delta, tolerance, device)
    # A record whose contribution is clipped to nothing may be replaced by any other: adding or removing is a special
    # case.
    lower = _epsilon(components, 1.0, delta, tolerance, device).lower
    return Interval(lower, max(lower, _replaced_epsilon(components, delta, tolerance, device)))


@one_thread()
def delta_interval(
    mechanism: Mechanism, epsilon: float, *, relative: float = 1e-6, device: torch.device | str = "cpu"
) -> Interval:
    """The smallest delta for which the mechanism is (epsilon, delta)-differentially private, bracketed.

    Args:
        mechanism: as in ``epsilon_interval``.
        epsilon: in [0, inf).
        relative: width relative to the value that must not be exceeded under ``ADD_OR_REMOVE_ONE``, positive.
        device: where the transform is evaluated.

    Raises:
        ValueError: a parameter outside its range.
        AccountingError: the width cannot be reached in double precision (few outputs with a small q, above all).
    """
    epsilon = check_epsilon(epsilon)
    relative = check_positive("relative", relative)
    components = components_of(mechanism)
    device = torch.device(device)
    if components[0].adjacency is Adjacency.ADD_OR_REMOVE_ONE:
        return _delta(components, 1.0, epsilon, relative, device)
    if all(component.sampling_probability == 1.0 for component in components):
        return _delta(components, 2.0, epsilon, relative, device)
    lower = _delta(components, 1.0, epsilon, relative, device).lower
    return Interval(lower, max(lower, _replaced_delta(components, epsilon, relative, device)))


def _split(components: tuple[SubsampledGaussian, ...], shift: float) -> tuple[tuple[tuple[LossPair, int], ...], float]:
    """Distinct subsampled pairs with their counts, and the GDP parameter of the full-batch rest."""
    counts: dict[LossPair, int] = {}
    pure_squares = []
    for component in components:
        mu = shift * component.gdp_mu
        if mu == 0.0:
            continue
        if component.sampling_probability == 1.0:
            pure_squares.append(component.count * mu * mu)
        else:
            pair = LossPair(mu, component.sampling_probability)
            counts[pair] = counts.get(pair, 0) + component.count
    return tuple(counts.items()), math.sqrt(math.fsum(pure_squares))


def _directions(components: tuple[SubsampledGaussian, ...], shift: float, device: torch.device) -> tuple[LossSum, ...]:
    terms, pure_mu = _split(components, shift)
    return tuple(LossSum(terms, pure_mu, remove, device) for remove in (True, False)) if terms else ()


def _total_variation_bound(terms: tuple[tuple[LossPair, int], ...], pure_mu: float) -> float:
    """Upper bound of delta(0) by subadditivity of the total variation distance."""
    total = gdp.delta_for_epsilon(pure_mu, 0.0)
    for pair, count in terms:
        total += count * pair.q * math.erf(pair.mu / math.sqrt(8.0))
    return total * (1.0 + 1e-12)


def _epsilon(
    components: tuple[SubsampledGaussian, ...], shift: float, delta: float, tolerance: float, device: torch.device
) -> Interval:
    terms, pure_mu = _split(components, shift)
    if not terms:
        return gdp.epsilon_interval(pure_mu, delta)
    if _total_variation_bound(terms, pure_mu) <= delta:
        return Interval(0.0, 0.0)
    if _is_single(terms, pure_mu):
        return single.epsilon_interval(terms[0][0].mu, terms[0][0].q, delta)
    removed, added = _directions(components, shift, device)
    plain = Composition(
        tuple(SubsampledGaussian(shift * c.gdp_mu, c.sampling_probability, c.count) for c in components)
    )
    step = grid_step(plain.count, (removed, added), delta, tolerance)
    work = COMFORTABLE_WORK if step and step > _COARSE_STEP else MAX_WORK
    try:
        interval = _epsilon_one(removed, delta, tolerance, work)
        if not _is_cheaper(added, removed, delta, interval.lower):
            other = _epsilon_one(added, delta, tolerance, work)
            interval = Interval(max(interval.lower, other.lower), max(interval.upper, other.upper))
    except AccountingError:
        if step is None:
            raise
        return grid_interval(plain, delta, step, tolerance)
    if interval.width <= tolerance:
        return interval
    if step is not None:
        return grid_interval(plain, delta, step, tolerance)
    raise AccountingError(
        f"epsilon lies in [{interval.lower:.9g}, {interval.upper:.9g}], wider than tolerance = {tolerance:g}; "
        "this is the best that double precision proves for these parameters"
    )


def _is_cheaper(added: LossSum, removed: LossSum, delta: float, epsilon: float) -> bool:
    """Whether adding a record is proved to cost less than ``epsilon``, so that this direction need not be inverted."""
    return added.largest() <= epsilon or chernoff_bound(added, delta, saddle_point(removed, epsilon)) <= epsilon


def _replaced_epsilon(
    components: tuple[SubsampledGaussian, ...], delta: float, tolerance: float, device: torch.device
) -> float:
    """Upper end of epsilon when a record is replaced: closed form for one output, the symmetric profile for several."""
    terms, pure_mu = _split(components, 2.0)
    if not terms or _total_variation_bound(terms, pure_mu) <= delta or _is_single(terms, pure_mu):
        return _epsilon(components, 2.0, delta, tolerance, device).upper
    loss = LossSum(terms, pure_mu, True, torch.device("cpu"))
    return replaced.epsilon_upper(Composition(components), loss, delta)


def _replaced_delta(
    components: tuple[SubsampledGaussian, ...], epsilon: float, relative: float, device: torch.device
) -> float:
    """Upper end of delta when a record is replaced; as ``_replaced_epsilon``."""
    terms, pure_mu = _split(components, 2.0)
    if not terms or _is_single(terms, pure_mu):
        return _delta(components, 2.0, epsilon, relative, device).upper
    loss = LossSum(terms, pure_mu, True, torch.device("cpu"))
    return replaced.delta_upper(Composition(components), loss, epsilon)


def _is_single(terms: tuple[tuple[LossPair, int], ...], pure_mu: float) -> bool:
    return len(terms) == 1 and terms[0][1] == 1 and pure_mu == 0.0


def _epsilon_one(loss: LossSum, delta: float, tolerance: float, work: float) -> Interval:
    """Bracket of the root of ``delta(eps) = delta`` in one direction.

    Newton's method on ``log delta``, with a profile built anew wherever the root leaves the last one's neighbourhood:
    the saddle-point guess it starts from can be far off where rare outputs with a huge loss take over.
    """
    log_delta = math.log(delta)
    saddle, guess = saddle_point_for_delta(loss, delta)
    low, high = 0.0, min(loss.largest(), chernoff_epsilon(loss, delta, saddle))
    epsilon = min(max(guess, 0.0), high)
    spend = _SPEND
    for _ in range(_MAX_PROFILES):
        required = _required(loss, epsilon, tolerance)
        profile = build_profile(
            loss, epsilon, scale=log_delta, relative=_FINE, required=required, spend=spend, work=work
        )
        root, scale = _local_root(profile, epsilon, log_delta)
        if abs(root - epsilon) <= 3.0 * scale or (epsilon == 0.0 and root <= 0.0):
            return _outward(profile, max(root, 0.0), scale, delta)
        below, _, above = profile.bounds(torch.tensor([epsilon], dtype=torch.float64, device=loss.device))
        if float(above) <= delta:
            high = epsilon
        elif float(below) > delta:
            low = epsilon
        elif math.isnan(root) and spend == _SPEND:
            spend = 1.0
            continue
        epsilon = root if low < root < high else 0.5 * (low + high)
    raise AccountingError(
        f"the search for epsilon at delta = {delta:g} did not settle between {low:.9g} and {high:.9g}"
    )


def _required(loss: LossSum, epsilon: float, tolerance: float) -> float:
    """Relative error of delta that keeps a bracket of epsilon within the tolerance."""
    return max(_FINE, min(0.05, 0.2 * tolerance * saddle_point(loss, epsilon)))


def _local_root(profile: Profile, epsilon: float, log_delta: float) -> tuple[float, float]:
    """Where the profile's value meets delta, to first order beyond a few e-foldings, and the e-folding length there.

    NaN for the root where the value is lost in the profile's error, which says only that delta(epsilon) is far below
    delta.
    """
    device = profile.omegas.device
    start, scale = epsilon, 1.0 / profile.c
    for _ in range(40):
        step = 1e-4 * scale
        points = torch.tensor([epsilon - step, epsilon, epsilon + step], dtype=torch.float64, device=device)
        lower, value, upper = profile.bounds(points)
        values = value.tolist()
        if min(values) <= 0.0 or values[0] <= values[2] or float(upper[1] - lower[1]) > values[1]:
            return math.nan, scale
        scale = 2.0 * step / (math.log(values[0]) - math.log(values[2]))
        move = (math.log(values[1]) - log_delta) * scale
        epsilon += move
        if abs(move) <= 1e-13 * max(scale, abs(epsilon)) or abs(epsilon - start) > 3.0 * scale:
            return epsilon, scale
    return epsilon, scale


def _outward(profile: Profile, root: float, scale: float, delta: float) -> Interval:
    """The closest points on either side of the root at which the inequality is seen to hold."""
    gaps = torch.cat([torch.zeros_like(_GAPS[:1]), scale * _GAPS]).to(profile.omegas.device)
    above, below = root + gaps, torch.clamp(root - gaps, min=0.0)
    high, low = profile.bounds(above)[2], profile.bounds(below)[0]
    upper = next((e for e, d in zip(above.tolist(), high.tolist(), strict=True) if d <= delta), math.inf)
    lower = next((e for e, d in zip(below.tolist(), low.tolist(), strict=True) if d > delta), 0.0)
    return Interval(lower, upper)


def _delta(
    components: tuple[SubsampledGaussian, ...], shift: float, epsilon: float, relative: float, device: torch.device
) -> Interval:
    terms, pure_mu = _split(components, shift)
    if not terms:
        return gdp.delta_interval(pure_mu, epsilon)
    if _is_single(terms, pure_mu):
        low, high = single.log_delta_bounds(terms[0][0].mu, terms[0][0].q, epsilon)
        return Interval(math.exp(low), min(1.0, max(math.exp(high), math.ulp(0.0))))
    lowers, uppers = [0.0], [0.0]
    for loss in _directions(components, shift, device):
        if epsilon >= loss.largest():
            continue
        scale, spend = log_delta_estimate(loss, epsilon), _SPEND
        for _ in range(_MAX_PROFILES):
            profile = build_profile(
                loss,
                epsilon,
                scale=scale,
                relative=min(_FINE, relative),
                required=0.2 * relative,
                spend=spend,
                work=MAX_WORK,
            )
            low, value, high = profile.bounds(torch.tensor([epsilon], dtype=torch.float64, device=device))
            if float(high - low) <= relative * float(high) or float(high) <= 0.0:
                break
            scale, spend = min(scale - 1.0, math.log(float(high))), 1.0
        lowers.append(float(low))
        # An upper end that underflows is rounded up, not to zero.
        uppers.append(min(1.0, max(float(high), math.ulp(0.0))))
    interval = Interval(min(1.0, max(lowers)), max(uppers))
    if interval.width > relative * interval.upper:
        raise AccountingError(
            f"delta lies in [{interval.lower:.9g}, {interval.upper:.9g}], wider than relative = {relative:g} allows; "
            "this is the best that double precision proves for these parameters"
        )
    return interval
