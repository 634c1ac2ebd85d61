"""Noisy aggregates: closed forms, dp_accounting, brute force over all samples, and the calibration of the noise."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy.special import ndtr

from privlib.accounting import certified, gdp, single
from privlib.accounting.aggregation import (
    calibrated,
    delta_interval,
    epsilon_interval,
    expected_noise_norm,
    guarantee,
    participation,
)
from privlib.accounting.mixtures import fixed_size_log_upper, line_log_bounds
from privlib.accounting.noise_table import noise_table
from privlib.aggregation import Bound, NoisyAggregate, Sampling
from privlib.mechanisms import SubsampledGaussian
from privlib.types import AccountingError, Adjacency

ADD, REPLACE = Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE
CASES = [
    (Sampling.ALL, ADD),
    (Sampling.ALL, REPLACE),
    (Sampling.POISSON, ADD),
    (Sampling.POISSON, REPLACE),
    (Sampling.FIXED_SIZE, REPLACE),
]


def aggregate(sampling, adjacency, *, n=47, m=12, z=1.5, k=1):
    sample_size = n if sampling is Sampling.ALL else m
    return NoisyAggregate(n, sample_size, 1.0, z, sampling, Bound.SPHERE, adjacency, k)


def hockey_stick(points, cell, first, second, epsilon):
    """``H(P || Q)`` of two uniform mixtures of unit Gaussians around ``first`` and ``second``, by the midpoint rule."""
    d = points.shape[1]

    def density(centres):
        squares = ((points[:, None, :] - centres[None]) ** 2).sum(-1)
        return np.exp(-0.5 * squares).mean(1) / (2 * math.pi) ** (d / 2)

    return cell * np.maximum(density(first) - math.exp(epsilon) * density(second), 0.0).sum()


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize(("adjacency", "factor"), [(ADD, 1.0), (REPLACE, 2.0)])
def test_everyone_takes_part_is_a_gaussian_of_k_times_the_length(adjacency, factor, k):
    mechanism = aggregate(Sampling.ALL, adjacency, z=2.0, k=k)
    mu = factor * k / 2.0
    assert gdp.epsilon_for_delta(mu, 1e-5) in epsilon_interval(mechanism, 1e-5)
    assert gdp.delta_for_epsilon(mu, 0.7) in delta_interval(mechanism, 0.7)
    assert mechanism.sensitivity == pytest.approx(mu * mechanism.noise_std)


@pytest.mark.parametrize("z", [2.0, 20.0])
def test_a_group_costs_less_than_the_generic_bound(z):
    """k members of an (epsilon, delta) mechanism: (k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1))."""
    alone, k = epsilon_interval(aggregate(Sampling.ALL, ADD, z=z), 1e-5), 3
    delta = 1e-5 * math.expm1(k * alone.lower) / math.expm1(alone.lower)
    assert epsilon_interval(aggregate(Sampling.ALL, ADD, z=z, k=k), delta).upper < k * alone.lower


@pytest.mark.parametrize(
    ("n", "m", "k"), [(10**6, 1000, 2), (202_599, 1000, 5), (10**6, 1000, 20), (50, 3, 5), (6, 5, 4)]
)
def test_chances_of_a_fixed_sample_keep_their_digits(n, m, k):
    exact = [
        Fraction(math.comb(k, i) * math.comb(n - k, m - i), math.comb(n, m)) if m >= i else 0 for i in range(k + 1)
    ]
    mechanism = NoisyAggregate(n, m, 1.0, 1.5, Sampling.FIXED_SIZE, adjacency=REPLACE, group_size=k)
    for found, true in zip(participation(mechanism), exact, strict=True):
        assert abs(Fraction(found) - true) <= Fraction(1, 10**14) * true


def test_the_ends_do_not_cross_in_a_large_set():
    mechanism = NoisyAggregate(10**6, 1000, 1.0, 1.5, Sampling.FIXED_SIZE, adjacency=REPLACE, group_size=2)
    assert delta_interval(mechanism, 0.5).upper >= math.exp(-16.49073791286882)  # the lower bound at exact weights
    interval = epsilon_interval(mechanism, 1e-7)
    assert 0.0 < interval.width < 0.1


def test_fixed_size_is_the_amplification_theorem():
    mechanism = aggregate(Sampling.FIXED_SIZE, REPLACE)
    q, mu = 12 / 47, 2 / 1.5
    for inner in (0.3, 1.0, 3.0):
        epsilon = math.log1p(q * math.expm1(inner))
        interval = delta_interval(mechanism, epsilon)
        assert interval.lower == pytest.approx(q * gdp.delta_for_epsilon(mu, inner), rel=1e-10)
        assert interval.upper == pytest.approx(interval.lower, rel=1e-10)


def test_one_picture_agrees_with_the_certified_accountant():
    poisson = aggregate(Sampling.POISSON, ADD)
    plain = SubsampledGaussian(1 / 1.5, 12 / 47)
    assert epsilon_interval(poisson, 1e-4) == certified.epsilon_interval(plain, 1e-4)
    # The general bracket is tighter than the library's for replaced records, and inside it.
    exact = epsilon_interval(aggregate(Sampling.POISSON, REPLACE), 1e-4)
    wide = certified.epsilon_interval(replace(plain, adjacency=REPLACE), 1e-4)
    assert wide.lower < exact.lower <= exact.upper < wide.upper and exact.width < 1e-9


def test_mixtures_reproduce_the_single_pair():
    for mu, q, epsilon in itertools.product((0.05, 0.8, 4.0), (0.01, 0.3, 0.97), (0.0, 0.2, 2.5)):
        weights = [1 - q, q]
        both = [line_log_bounds(weights, [1.0], mu, epsilon), line_log_bounds([1.0], weights, mu, epsilon)]
        low, high = single.log_delta_bounds(mu, q, epsilon)
        assert max(b[0] for b in both) == pytest.approx(low, rel=1e-10, abs=1e-8)
        assert max(b[1] for b in both) == pytest.approx(high, rel=1e-10, abs=1e-8)
        assert both[0][0] <= both[0][1] and both[1][0] <= both[1][1]
        assert fixed_size_log_upper(weights, mu, epsilon) == pytest.approx(both[0][1], abs=1e-8)


def test_groups_under_poisson_sampling_agree_with_dp_accounting():
    mechanism = aggregate(Sampling.POISSON, ADD, k=3)
    weights = participation(mechanism)
    reference = privacy_loss_distribution.from_mixture_gaussian_mechanism(
        standard_deviation=1.5,
        sensitivities=[0.0, 1.0, 2.0, 3.0],
        sampling_probs=weights,
        value_discretization_interval=2e-2,
        use_connect_dots=True,
    )
    for delta in (1e-2, 1e-5):
        ours = epsilon_interval(mechanism, delta)
        assert ours.lower <= reference.get_epsilon_for_delta(delta) <= ours.upper + 0.02


def test_one_picture_agrees_with_dp_accounting():
    for adjacency_mu, mechanism in [
        (1.5, aggregate(Sampling.POISSON, ADD)),
        (0.75, aggregate(Sampling.FIXED_SIZE, REPLACE)),
    ]:
        reference = privacy_loss_distribution.from_gaussian_mechanism(
            standard_deviation=adjacency_mu,
            value_discretization_interval=1e-4,
            sampling_prob=12 / 47,
            use_connect_dots=True,
        )
        assert reference.get_epsilon_for_delta(1e-4) == pytest.approx(epsilon_interval(mechanism, 1e-4).upper, abs=1e-4)


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.5])
@pytest.mark.parametrize(("n", "k"), [(6, 1), (6, 2), (4, 2)])  # of 4, some of the group is in every sample
def test_no_fixed_size_sample_of_any_pictures_exceeds_the_bound(n, k, epsilon):
    """All samples of all sorts of small data sets on a line, integrated; the aligned one attains the lower end."""
    m, z = 3, 1.3
    interval = delta_interval(aggregate(Sampling.FIXED_SIZE, REPLACE, n=n, m=m, z=z, k=k), epsilon)
    points = np.linspace(-14.0, 14.0, 4001)[:, None]
    samples = [list(s) for s in itertools.combinations(range(n), m)]
    rng = np.random.default_rng(3)
    found = []
    for trial in range(30):
        data = rng.uniform(-1, 1, n) if trial % 2 else rng.choice([-1.0, 1.0], n)
        other = data.copy()
        other[:k] = rng.choice([-1.0, 1.0], k)
        if trial == 0:
            data = -np.ones(n)
            other = data.copy()
            other[:k] = 1.0
        sums = [np.array([v[s].sum() for s in samples])[:, None] / z for v in (data, other)]
        found += [hockey_stick(points, 0.007, a, b, epsilon) for a, b in (sums, sums[::-1])]
    assert max(found) <= interval.upper + 5e-6
    assert max(found[:2]) == pytest.approx(interval.lower, abs=5e-6)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_no_group_in_the_plane_exceeds_the_bound_under_poisson_sampling(adjacency, epsilon):
    q, z, k = 0.4, 1.1, 2
    mechanism = aggregate(Sampling.POISSON, adjacency, n=10, m=4, z=z, k=k)
    interval = delta_interval(mechanism, epsilon)
    axis = np.arange(-7.0, 7.0, 0.07)
    points = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    rng = np.random.default_rng(0)
    subsets = list(itertools.product([0, 1], repeat=k))
    weights = np.array([q ** sum(s) * (1 - q) ** (k - sum(s)) for s in subsets])

    def density(vectors):
        centres = np.array(subsets, dtype=float) @ vectors / z
        squares = ((points[:, None, :] - centres[None]) ** 2).sum(-1)
        return np.exp(-0.5 * squares) @ weights / (2 * math.pi)

    found = []
    for trial in range(12):
        angles = rng.uniform(0, 2 * math.pi, 2 * k) if trial else np.array([0.0, 0.0, math.pi, math.pi])
        vectors = np.stack([np.cos(angles), np.sin(angles)], 1)
        first, second = density(vectors[:k]), density(vectors[k:] if adjacency is REPLACE else 0 * vectors[k:])
        for a, b in ((first, second), (second, first)):
            found.append(0.07**2 * np.maximum(a - math.exp(epsilon) * b, 0.0).sum())
    assert max(found) <= interval.upper + 2e-4
    assert max(found[:2]) == pytest.approx(interval.lower, abs=2e-4)


def test_both_ends_of_a_replaced_group_are_on_the_line():
    """Direct evaluation of the pair of binomial mixtures on either side of zero."""
    mechanism = aggregate(Sampling.POISSON, REPLACE, k=3)
    weights, shifts, x = participation(mechanism), np.arange(4) / 1.5, np.linspace(-20, 20, 400_001)
    gap = ndtr(shifts[:, None] - x) - math.exp(0.6) * ndtr(-shifts[:, None] - x)
    assert np.max(weights @ gap) == pytest.approx(delta_interval(mechanism, 0.6).lower, abs=1e-9)


@pytest.mark.parametrize(("sampling", "adjacency"), CASES)
@pytest.mark.parametrize("k", [1, 4])
def test_intervals_are_narrow_and_monotone(sampling, adjacency, k):
    base = aggregate(sampling, adjacency, k=k)
    intervals = [epsilon_interval(replace(base, noise_multiplier=z), 1e-3) for z in (0.7, 1.5, 4.0)]
    # Only replaced groups in a sample of fixed size have two ends that differ by more than rounding.
    assert all(i.width <= (0.05 * i.upper if sampling is Sampling.FIXED_SIZE and k > 1 else 1e-8) for i in intervals)
    assert intervals[0].lower > intervals[1].upper and intervals[1].lower > intervals[2].upper
    for epsilon in (0.1, 1.0):
        delta = delta_interval(base, epsilon)
        assert delta.lower <= delta.upper
        back = epsilon_interval(base, delta.upper)
        assert back.lower - 1e-6 <= epsilon and (sampling is Sampling.FIXED_SIZE or back.upper >= epsilon - 1e-6)


@pytest.mark.parametrize(("sampling", "adjacency"), CASES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_calibration_meets_the_target_and_no_less(sampling, adjacency, epsilon):
    mechanism = calibrated(aggregate(sampling, adjacency, k=2), epsilon, 1e-3)
    assert epsilon_interval(mechanism, 1e-3).upper <= epsilon
    less = replace(mechanism, noise_multiplier=mechanism.noise_multiplier * (1 - 1e-6))
    assert delta_interval(less, epsilon).upper > 1e-3


def test_the_classical_formula_is_wasteful_at_small_epsilon_and_wrong_at_large():
    def classical(epsilon, delta):
        return math.sqrt(2 * math.log(1.25 / delta)) / epsilon

    for epsilon, delta in [(0.1, 1e-3), (0.5, 1e-3), (1.0, 1e-3), (1.0, 1e-5)]:
        exact = calibrated(aggregate(Sampling.ALL, ADD), epsilon, delta).noise_multiplier
        assert classical(epsilon, delta) > 1.2 * exact
    # Where its proof ends, nothing holds it: it asks for less noise than the target needs.
    for epsilon, delta in [(10.0, 1e-3), (10.0, 1e-5), (20.0, 1e-5)]:
        z = classical(epsilon, delta)
        assert epsilon_interval(aggregate(Sampling.ALL, ADD, z=z), delta).lower > epsilon
        assert calibrated(aggregate(Sampling.ALL, ADD), epsilon, delta).noise_multiplier > z


@pytest.mark.parametrize(("sampling", "adjacency"), [(Sampling.POISSON, ADD), (Sampling.FIXED_SIZE, REPLACE)])
def test_amplification_never_pays_for_the_smaller_sample(sampling, adjacency):
    """At one guarantee the noise of the released mean is least when everybody takes part."""
    for epsilon in (0.1, 1.0, 5.0):
        stds = [calibrated(aggregate(sampling, adjacency, m=m), epsilon, 1e-3).noise_std for m in (4, 12, 24, 47)]
        assert stds == sorted(stds, reverse=True)


def test_only_replaced_pictures_under_poisson_sampling_have_a_best_sample_below_all():
    stds = [calibrated(aggregate(Sampling.POISSON, REPLACE, m=m), 5.0, 1e-3).noise_std for m in (24, 40, 47)]
    assert stds[1] < 0.85 * stds[2] and stds[1] < 0.9 * stds[0]


def test_infinite_epsilon_is_no_noise_and_has_no_guarantee():
    mechanism = calibrated(aggregate(Sampling.POISSON, ADD), math.inf, 1e-5)
    assert mechanism.noise_multiplier == 0.0 and mechanism.noise_std == 0.0
    with pytest.raises(ValueError, match="without noise"):
        guarantee(mechanism, 1e-5)


def test_bad_targets_are_refused():
    base = aggregate(Sampling.POISSON, ADD)
    for epsilon, delta in [(0.0, 1e-5), (-1.0, 1e-5), (math.nan, 1e-5), (1.0, 0.0), (1.0, 1.0)]:
        with pytest.raises(ValueError, match="epsilon must|delta must"):
            calibrated(base, epsilon, delta)
    with pytest.raises(ValueError, match="without any noise"):
        calibrated(base, 1.0, 0.3)
    with pytest.raises(AccountingError, match="noise multipliers below"):
        calibrated(aggregate(Sampling.ALL, ADD), 1e7, 1e-5)


def test_bad_descriptions_are_refused():
    for change, match in [
        ({"sample_size": 48}, "sample_size must lie in 1..num_vectors = 47"),
        ({"group_size": 0}, "group_size must be at least 1"),
        ({"norm": 0.0}, "norm must lie in"),
        ({"noise_multiplier": -1.0}, "noise_multiplier must lie in"),
        ({"sampling": Sampling.FIXED_SIZE}, "REPLACE_ONE"),
        ({"sampling": Sampling.ALL}, "sample_size must be num_vectors"),
        ({"bound": "sphere"}, "bound must be one of"),
    ]:
        with pytest.raises(ValueError, match=match):
            replace(aggregate(Sampling.POISSON, ADD), **change)


def test_guarantee_names_everything():
    statement = guarantee(aggregate(Sampling.POISSON, REPLACE, k=2), 1e-5)
    assert statement.adjacency is REPLACE and statement.group_size == 2
    assert statement.accountant == "privlib.accounting.mixtures"
    assert guarantee(aggregate(Sampling.ALL, ADD), 1e-5).accountant == "privlib.accounting.certified"


def test_expected_noise_norm():
    mechanism = aggregate(Sampling.ALL, ADD, z=2.0)
    draws = np.random.default_rng(0).standard_normal((20_000, 5)) * mechanism.noise_std
    assert expected_noise_norm(mechanism, 5) == pytest.approx(np.linalg.norm(draws, axis=1).mean(), rel=0.01)
    assert expected_noise_norm(mechanism, 768) == pytest.approx(mechanism.noise_std * math.sqrt(768), rel=1e-3)


def test_noise_table_shows_where_the_method_can_work():
    base = aggregate(Sampling.POISSON, ADD)
    rows = noise_table(
        base, sample_sizes=[12, 47], epsilons=[0.1, 5.0, math.inf], delta=1e-3, dimension=64, centroid_norm=0.8
    )
    assert [(row.mechanism.sample_size, row.epsilon) for row in rows] == list(
        itertools.product([12, 47], [0.1, 5.0, math.inf])
    )
    assert rows[-2].mechanism.sampling is Sampling.ALL
    assert rows[0].ratio == pytest.approx(rows[0].noise_norm / 0.8) and rows[0].ratio > 1.0 > rows[4].ratio
    assert rows[2].noise_norm == rows[5].noise_norm == 0.0
    # The public norm is a unit: it moves the noise and the centroid alike.
    assert calibrated(replace(base, norm=3.0), 1.0, 1e-3).noise_std == pytest.approx(
        3.0 * calibrated(base, 1.0, 1e-3).noise_std
    )
