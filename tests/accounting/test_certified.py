"""The two-sided accountant against closed forms, independent inversions, dp_accounting and the printed numbers."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from privlib.accounting import certified, contour, gdp, pld, single
from privlib.accounting.certified import delta_interval, epsilon_interval, subsampled_gaussian_epsilon
from privlib.mechanisms import Composition, SubsampledGaussian, block_gdp_mu, per_step_composition, reverse_sde_gdp_mu
from privlib.schedules import edm_sigmas, num_block_steps
from privlib.types import AccountingError, Adjacency, Interval
from tests.accounting.reference import composed_delta, gaussian_delta, pair_delta, single_delta

REPLACE = Adjacency.REPLACE_ONE


def paper(percent: int) -> SubsampledGaussian:
    return SubsampledGaussian(block_gdp_mu(edm_sigmas(39), num_block_steps(percent / 100, 39)), 25 / 50_000, 50_000)


# --- exact values ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percent", "printed", "unit"),
    [(55, 0.2988, 1e-4), (62, 1.691, 1e-3), (65, 6.289, 1e-3), (67, 25.696, 1e-3), (70, 108.444, 1e-3)],
)
def test_printed_upper_bounds(percent: int, printed: float, unit: float) -> None:
    # The printed bounds are those of a grid: at most this much above the exact value, and never below it.
    interval = epsilon_interval(paper(percent), 1e-5)
    assert interval.upper <= printed + unit / 2
    assert interval.upper >= printed - unit / 2 - 4e-4 - 1e-5 * printed
    assert interval.width <= 1e-6


@pytest.mark.parametrize("mu", [1e-3, 0.7, 5.0, 44.0])
@pytest.mark.parametrize("delta", [1e-15, 1e-5, 0.3])
def test_full_batch_is_the_exact_gaussian(mu: float, delta: float) -> None:
    exact = gdp.epsilon_for_delta(mu * 2.0, delta)
    interval = epsilon_interval(SubsampledGaussian(mu, 1.0, 4), delta)
    assert interval.lower <= exact * (1 + 1e-12) and exact * (1 - 1e-12) <= interval.upper
    assert interval.width <= 1e-7 * (1 + exact)
    # Two records apart is twice the distance.
    assert epsilon_interval(SubsampledGaussian(mu, 1.0, 1, REPLACE), delta) == interval


def test_one_output_is_the_closed_form() -> None:
    assert subsampled_gaussian_epsilon(1.1, 0.03, 1, 1e-5) == single.epsilon_interval(1.1, 0.03, 1e-5)


@pytest.mark.parametrize(("mu", "q"), [(0.7, 0.3), (1.5, 0.6), (0.3, 0.9)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_two_outputs_against_mpmath(mu: float, q: float, epsilon: float) -> None:
    exact = max(pair_delta(mu, q, lambda e, d=d: single_delta(mu, q, e, d), epsilon, d) for d in (True, False))
    interval = delta_interval(SubsampledGaussian(mu, q, 2), epsilon, relative=1e-2)
    assert interval.lower <= exact * (1 + 1e-9) and exact * (1 - 1e-9) <= interval.upper
    bracket = subsampled_gaussian_epsilon(mu, q, 2, exact, tolerance=0.02)
    assert bracket.lower <= epsilon * (1 + 1e-8) and epsilon * (1 - 1e-8) <= bracket.upper


@pytest.mark.parametrize(("mu", "q", "pure"), [(1.0, 0.05, 0.8), (3.0, 1e-3, 0.4), (0.5, 0.9, 2.0)])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0])
def test_subsampled_beside_full_batch_against_mpmath(mu: float, q: float, pure: float, epsilon: float) -> None:
    profile = lambda e: gaussian_delta(mpmath.mpf(pure), e)
    exact = max(pair_delta(mu, q, profile, epsilon, d) for d in (True, False))
    mechanism = Composition((SubsampledGaussian(mu, q), SubsampledGaussian(pure)))
    interval = delta_interval(mechanism, epsilon)
    assert interval.lower <= exact * (1 + 1e-10) and exact * (1 - 1e-10) <= interval.upper
    assert interval.width <= 1e-6 * interval.upper
    assert epsilon == 0.0 or abs(epsilon_interval(mechanism, exact).midpoint - epsilon) <= 1e-6


def test_composition_of_halves_equals_the_whole_in_any_order() -> None:
    whole = subsampled_gaussian_epsilon(0.9, 0.02, 600, 1e-6)
    part = SubsampledGaussian(0.9, 0.02, 300)
    for mechanism in (
        Composition((part, part)),
        Composition((SubsampledGaussian(0.9, 0.02, 599), SubsampledGaussian(0.9, 0.02))),
    ):
        halves = epsilon_interval(mechanism, 1e-6)
        assert halves.lower <= whole.upper and whole.lower <= halves.upper and halves.width < 1e-6
    a, b = SubsampledGaussian(0.5, 0.1, 50), SubsampledGaussian(1.2, 0.01, 70)
    one, other = (epsilon_interval(Composition(parts), 1e-6) for parts in ((a, b), (b, a)))
    assert abs(one.midpoint - other.midpoint) < 1e-7
    exact = composed_delta(
        [(0.5, 0.1, 50), (1.2, 0.01, 70)],
        one.midpoint,
        True,
        0.5
        * contour.saddle_point(
            contour.LossSum(
                ((contour.LossPair(0.5, 0.1), 50), (contour.LossPair(1.2, 0.01), 70)), 0.0, True, torch.device("cpu")
            ),
            one.midpoint,
        ),
    )
    assert exact == pytest.approx(1e-6, rel=1e-6)


def test_per_step_composition() -> None:
    mus = reverse_sde_gdp_mu(edm_sigmas(39), sensitivity=1.0)[:10].tolist()
    interval = epsilon_interval(per_step_composition(mus, 0.5), 1e-5)
    assert 1 / (1 + math.exp(-interval.midpoint)) == pytest.approx(0.5204, abs=5e-5)  # Table 13, 3T/4


# --- the reference implementation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mu", "q", "count", "delta"),
    [(1.0, 0.02, 300, 1e-5), (0.4, 0.3, 60, 1e-8), (2.5, 0.001, 200, 1e-4), (0.2, 0.999, 30, 1e-3)],
)
def test_brackets_overlap_dp_accounting(mu: float, q: float, count: int, delta: float) -> None:
    mechanism = SubsampledGaussian(mu, q, count)
    ours = epsilon_interval(mechanism, delta)
    assert pld.epsilon_lower(mechanism, delta, step=1e-3) <= ours.upper
    assert ours.lower <= pld.epsilon_upper(mechanism, delta, step=1e-3) + 1e-9


# --- invariants over fresh parameters -------------------------------------------------------------------------------

mus = st.floats(0.05, 6.0)
probabilities = st.floats(math.log(1e-5), math.log(0.9)).map(math.exp)
counts = st.floats(math.log(20.0), math.log(1e7)).map(lambda v: round(math.exp(v)))
deltas = st.floats(math.log(1e-15), math.log(0.3)).map(math.exp)


def certified_or_refused(mechanism: SubsampledGaussian, delta: float) -> Interval:
    """A few outputs with rare, huge losses are refused, or left to the slow grid: that is loud, not wrong."""
    directions = certified._directions((mechanism,), 1.0, torch.device("cpu"))
    if any(loss.cumulants(1e-3)[1] > 2000.0 for loss in directions):  # an epsilon far beyond any use, and slow
        reject()
    try:
        brackets = [certified._epsilon_one(loss, delta, 1e-3, contour.COMFORTABLE_WORK) for loss in directions]
    except AccountingError:
        reject()
    return Interval(max(b.lower for b in brackets), max(b.upper for b in brackets))


@settings(max_examples=6, deadline=None)
@given(mu=mus, q=probabilities, count=counts, delta=deltas, factor=st.floats(1.001, 2.0), which=st.integers(0, 3))
def test_bracket_and_monotonicity(mu: float, q: float, count: int, delta: float, factor: float, which: int) -> None:
    base = certified_or_refused(SubsampledGaussian(mu, q, count), delta)
    assert 0.0 <= base.lower <= base.upper
    larger = [
        (mu * factor, q, count, delta),
        (mu, min(0.95, q * factor), count, delta),
        (mu, q, math.ceil(count * factor), delta),
        (mu, q, count, delta / factor),
    ][which]
    other = certified_or_refused(SubsampledGaussian(*larger[:3]), larger[3])
    # Comparing the far ends cannot raise a false alarm.
    assert base.lower <= other.upper


@settings(max_examples=6, deadline=None)
@given(mu=mus, q=probabilities, count=counts, delta=deltas)
def test_round_trip_and_plain_inversion(mu: float, q: float, count: int, delta: float) -> None:
    mechanism = SubsampledGaussian(mu, q, count)
    bracket = certified_or_refused(mechanism, delta)
    if bracket.upper == 0.0:
        assert delta_interval(mechanism, 0.0, relative=1e-3).lower <= delta
        return
    for loss in certified._directions((mechanism,), 1.0, torch.device("cpu")):
        if bracket.upper >= loss.largest():
            continue
        try:
            profile = contour.build_profile(
                loss,
                bracket.upper,
                scale=math.log(delta),
                relative=1e-9,
                required=1e-2,
                spend=1.0,
                work=contour.COMFORTABLE_WORK,
            )
        except AccountingError:  # the direction that costs less may be out of reach here
            continue
        low, _, _ = (float(t) for t in profile.bounds(torch.tensor([bracket.upper], dtype=torch.float64)))
        assert low <= delta * (1 + 1e-9)
    removed = certified._directions((mechanism,), 1.0, torch.device("cpu"))[0]
    below = contour.chernoff_epsilon(removed, delta, contour.saddle_point(removed, bracket.upper))
    assert bracket.lower <= below * (1 + 1e-9)


@settings(max_examples=6, deadline=None)
@given(mu=st.floats(0.1, 3.0), q=st.floats(1e-3, 0.5), count=st.integers(30, 3000), log_delta=st.floats(-18.0, -3.0))
def test_against_plain_inversion(mu: float, q: float, count: int, log_delta: float) -> None:
    delta = math.exp(log_delta)
    removed, added = certified._directions((SubsampledGaussian(mu, q, count),), 1.0, torch.device("cpu"))
    interval = certified_or_refused(SubsampledGaussian(mu, q, count), delta)
    if interval.upper < 0.01 or interval.upper > 60.0:
        reject()
    c = contour.saddle_point(removed, interval.midpoint)
    if c * mu * 1.5 > 25.0:  # beyond the plain quadrature
        reject()
    remove = composed_delta([(mu, q, count)], interval.midpoint, True, 0.5 * c)
    assert remove <= delta * (1 + 1e-4)
    if interval.upper < 0.9 * added.largest():
        c = contour.saddle_point(added, interval.midpoint)
        add = composed_delta([(mu, q, count)], interval.midpoint, False, 0.5 * c)
    else:
        add = 0.0
    assert max(remove, add) == pytest.approx(delta, rel=1e-4)


# --- zeros, adjacency, extremes -------------------------------------------------------------------------------------


def test_trap_2_zero_is_never_reported_for_lack_of_precision() -> None:
    assert epsilon_interval(SubsampledGaussian(0.0, 0.5, 100), 1e-5) == Interval(0.0, 0.0)
    assert subsampled_gaussian_epsilon(1.0, 1e-8, 10, 1e-5) == Interval(0.0, 0.0)  # total variation below delta
    for mu, q, count, delta in [(1e-3, 1e-2, 10_000, 1e-8), (0.01, 1e-3, 100_000, 1e-12), (1e-6, 0.5, 10**7, 1e-9)]:
        interval = subsampled_gaussian_epsilon(mu, q, count, delta)
        assert 0.0 < interval.lower <= interval.upper <= interval.lower * 1.01


def test_trap_8_zero_at_large_delta_is_proved_by_delta_at_zero() -> None:
    mechanism = SubsampledGaussian(0.5, 0.2, 40)
    at_zero = delta_interval(mechanism, 0.0)
    assert at_zero.width <= 1e-6 * at_zero.upper
    assert epsilon_interval(mechanism, at_zero.upper * (1 + 1e-6)) == Interval(0.0, 0.0)
    above = epsilon_interval(mechanism, at_zero.lower * (1 - 1e-4))
    assert above.lower > 0.0


def test_trap_4_deltas_far_below_a_fourier_noise_floor() -> None:
    # Epsilon keeps growing as delta falls, as the saddle-point approximation says it does.
    values = [subsampled_gaussian_epsilon(0.5, 0.1, 500, delta) for delta in (1e-12, 1e-18, 1e-60, 1e-200)]
    assert all(a.upper < b.lower for a, b in zip(values, values[1:], strict=False))
    assert all(v.width < 1e-3 for v in values)
    removed = contour.LossSum(((contour.LossPair(0.5, 0.1), 500),), 0.0, True, torch.device("cpu"))
    for value, delta in zip(values, (1e-12, 1e-18, 1e-60, 1e-200), strict=True):
        assert contour.log_delta_estimate(removed, value.midpoint) == pytest.approx(math.log(delta), abs=0.01)


def test_trap_5_lower_end_is_not_above_the_truth() -> None:
    for delta in (1e-3, 1e-6, 1e-9):
        assert epsilon_interval(
            Composition((SubsampledGaussian(1.0, 0.999999, 9),)), delta, tolerance=0.02
        ).lower <= gdp.epsilon_for_delta(3.0, delta)


def test_trap_6_width_and_not_only_bracketing() -> None:
    for count in (1000, 50_000, 10_000_000):
        interval = subsampled_gaussian_epsilon(0.3, 1e-3, count, 1e-5)
        assert interval.width <= 1e-6 * (1.0 + interval.upper)


@pytest.mark.parametrize(
    ("mu", "q", "count"), [(5.0, 0.9, 80), (1.0, 0.01, 10_000_000), (1e-3, 1e-5, 10_000_000), (1e-6, 0.5, 10_000_000)]
)
def test_trap_7_large_and_tiny_epsilon(mu: float, q: float, count: int) -> None:
    interval = subsampled_gaussian_epsilon(mu, q, count, 1e-5 if mu > 0.1 else 1e-9)
    assert 0.0 < interval.lower and interval.width <= 1e-5 * interval.upper and interval.upper < 2000.0


def test_trap_9_the_central_limit_is_below_and_our_bracket_is_not() -> None:
    interval = subsampled_gaussian_epsilon(1 / 0.6, 0.01, 1000, 1e-5)
    assert 7.38 <= interval.lower <= interval.upper <= 7.435  # the trap's 7.43 is rounded
    mechanism = SubsampledGaussian(1 / 0.6, 0.01, 1000)
    assert interval.upper <= pld.epsilon_upper(mechanism, 1e-5, step=1e-3) <= interval.upper + 0.01
    limit = gdp.epsilon_for_delta(0.01 * math.sqrt(1000 * math.expm1(1 / 0.36)), 1e-5)
    assert limit == pytest.approx(5.56, abs=0.01) and limit < interval.lower


def test_trap_1_replacing_costs_at_least_adding_or_removing() -> None:
    assert epsilon_interval(SubsampledGaussian(1.0, 1.0, 1, REPLACE), 1e-5).midpoint == pytest.approx(9.997, abs=1e-3)
    for mu, q, count in [(0.5, 0.01, 1000), (1.0, 0.9, 2), (0.7, 0.3, 1), (0.05, 0.05, 200)]:
        plain = epsilon_interval(SubsampledGaussian(mu, q, count), 1e-5)
        replaced = epsilon_interval(SubsampledGaussian(mu, q, count, REPLACE), 1e-5)
        assert replaced.upper >= plain.upper and replaced.lower <= plain.upper
        doubled = epsilon_interval(SubsampledGaussian(2 * mu, q, count), 1e-5)
        assert replaced.upper >= doubled.lower


def test_replacing_two_outputs_is_not_charged_as_adding_at_twice_the_shift() -> None:
    # By quadrature on the plane, flipping a record at q = 0.9, gdp_mu = 1 costs delta(0) = 0.77628 after two outputs.
    interval = delta_interval(SubsampledGaussian(1.0, 0.9, 2, REPLACE), 0.0, relative=0.01)
    assert interval.lower < 0.7762 < interval.upper
    assert epsilon_interval(SubsampledGaussian(1.0, 0.9, 2, REPLACE), 0.77).lower == 0.0 or interval.upper > 0.77


def test_replacing_below_the_grid_noise_is_refused() -> None:
    with pytest.raises(AccountingError, match="delta must be at least"):
        epsilon_interval(SubsampledGaussian(0.5, 0.1, 500, REPLACE), 1e-12)


def test_what_cannot_be_proved_is_refused() -> None:
    with pytest.raises(AccountingError):
        subsampled_gaussian_epsilon(6.0, 1e-5, 2, 1e-15)


def test_delta_interval_round_trip() -> None:
    mechanism = SubsampledGaussian(0.7, 0.02, 400)
    bracket = epsilon_interval(mechanism, 1e-6)
    assert delta_interval(mechanism, bracket.upper).lower <= 1e-6 <= delta_interval(mechanism, bracket.lower).upper
    assert delta_interval(mechanism, bracket.upper).upper <= 1e-6 * (1 + 1e-6)


def test_refinement_converges() -> None:
    mechanism = SubsampledGaussian(0.7, 0.02, 400)
    fine = delta_interval(mechanism, 1.0, relative=1e-6)
    coarse = delta_interval(mechanism, 1.0, relative=1e-2)
    assert coarse.lower <= fine.upper and fine.lower <= coarse.upper and fine.width <= 1e-6 * fine.upper


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1.0, 0.1, 1, 1e-5), r"gdp_mu .*\[0, inf\)"),
        ((math.nan, 0.1, 1, 1e-5), r"gdp_mu .*\[0, inf\)"),
        ((math.inf, 0.1, 1, 1e-5), r"gdp_mu .*\[0, inf\)"),
        ((1.0, 0.0, 1, 1e-5), r"sampling_probability .*\(0, 1\]"),
        ((1.0, 1.5, 1, 1e-5), r"sampling_probability .*\(0, 1\]"),
        ((1.0, math.nan, 1, 1e-5), r"sampling_probability .*\(0, 1\]"),
        ((1.0, 0.1, 0, 1e-5), "count .*at least 1"),
        ((1.0, 0.1, 2.0, 1e-5), "count .*at least 1"),
        ((1.0, 0.1, True, 1e-5), "count .*at least 1"),
        ((1.0, 0.1, 1, 0.0), r"delta .*\(0, 1\)"),
        ((1.0, 0.1, 1, 1.0), r"delta .*\(0, 1\)"),
        ((1.0, 0.1, 1, math.nan), r"delta .*\(0, 1\)"),
        ((True, 0.1, 1, 1e-5), "gdp_mu"),
    ],
)
def test_bad_input(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        subsampled_gaussian_epsilon(*arguments)


def test_bad_tolerance_and_epsilon() -> None:
    mechanism = SubsampledGaussian(1.0, 0.1, 5)
    for bad in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match=r"tolerance .*\(0, inf\)"):
            epsilon_interval(mechanism, 1e-5, tolerance=bad)
        with pytest.raises(ValueError, match=r"relative .*\(0, inf\)"):
            delta_interval(mechanism, 1.0, relative=bad)
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"epsilon .*\[0, inf\)"):
            delta_interval(mechanism, bad)
    with pytest.raises(ValueError, match="mechanism"):
        epsilon_interval("gaussian", 1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: CPU and GPU cannot be compared")
def test_cpu_and_gpu_agree() -> None:
    for mechanism in (paper(62), SubsampledGaussian(1.0, 0.01, 1000)):
        here, there = (epsilon_interval(mechanism, 1e-5, device=device) for device in ("cpu", "cuda"))
        assert here.lower <= there.upper and there.lower <= here.upper and there.width < 1e-6
