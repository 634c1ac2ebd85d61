"""Scores against closed forms for Gaussian scores, an independent implementation, and trouble on purpose."""

import numpy as np
import pytest
import torch
from scipy.stats import binomtest, mannwhitneyu, norm

from privlib.attacks.scoring import (
    Rate,
    Scores,
    auc,
    auc_interval,
    bounded_rate,
    mean_over,
    roc_at,
    roc_curve,
    success_rate,
)


def gaussian(shift, size, seed):
    """Members N(shift, 1), others N(0, 1): AUC is Phi(shift / sqrt 2), the best success rate Phi(shift / 2)."""
    draw = np.random.default_rng(seed)
    return Scores(draw.normal(shift, 1.0, size), draw.normal(0.0, 1.0, size))


@pytest.mark.parametrize("shift", [0.0, 0.5, 2.0])
def test_gaussian_scores_have_the_known_auc_success_and_rates(shift):
    calibration, scored = gaussian(shift, 100_000, 1), gaussian(shift, 100_000, 2)
    assert auc(scored) == pytest.approx(norm.cdf(shift / 2**0.5), abs=0.005)
    success = success_rate(calibration, scored, confidence=0.95)
    assert success.value == pytest.approx(norm.cdf(shift / 2), abs=0.005)
    assert success.interval.lower <= success.value <= success.interval.upper
    for bound in (0.001, 0.01, 0.1):
        rate = bounded_rate(calibration, scored, bound, confidence=0.95)
        assert rate.true_positives.value == pytest.approx(norm.sf(norm.isf(bound) - shift), rel=0.1, abs=0.001)
        assert rate.false_positives.value == pytest.approx(bound, rel=0.3)


def test_auc_is_that_of_an_independent_implementation_with_and_without_ties():
    draw = np.random.default_rng(0)
    for members, others in (
        (draw.normal(0.3, 1.0, 57), draw.normal(0.0, 1.0, 31)),
        (draw.integers(0, 4, 40).astype(float), draw.integers(0, 3, 55).astype(float)),
    ):
        expected = mannwhitneyu(members, others).statistic / (len(members) * len(others))
        assert auc(Scores(members, others)) == pytest.approx(expected, abs=1e-12)
        fpr, tpr = roc_curve(Scores(members, others))
        assert np.trapezoid(tpr, fpr) == pytest.approx(expected, abs=1e-12)
        assert fpr[0] == tpr[0] == 0.0 and fpr[-1] == tpr[-1] == 1.0


def test_the_curve_of_a_sample_at_given_rates():
    scores = Scores(np.array([3.0, 2.0, 1.0]), np.array([2.5, 0.5]))
    assert roc_at(scores, [0.0, 0.4, 0.5, 1.0]).tolist() == pytest.approx([1 / 3, 1 / 3, 1.0, 1.0])


def test_scores_without_any_difference_are_worth_a_guess_exactly():
    equal = Scores(np.zeros(30), np.zeros(40))
    assert auc(equal) == 0.5
    assert success_rate(equal, equal, confidence=0.95).value == 0.5
    rate = bounded_rate(Scores(np.zeros(5), np.zeros(200)), Scores(np.zeros(50), np.zeros(400)), 0.01, confidence=0.95)
    assert rate.true_positives.count == rate.false_positives.count == 0  # ties are never called members


def test_a_rate_has_the_interval_of_clopper_and_pearson():
    for count, trials in ((0, 20), (7, 20), (20, 20)):
        expected = binomtest(count, trials).proportion_ci(0.9, method="exact")
        found = Rate(count, trials, 0.9).interval
        assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(("shift", "m", "n"), [(0.0, 40, 40), (1.0, 30, 60), (3.0, 40, 40)])
def test_auc_intervals_cover_as_often_as_they_say(shift, m, n):
    truth, draw, inside = norm.cdf(shift / 2**0.5), np.random.default_rng(3), 0
    for _ in range(1000):
        scores = Scores(draw.normal(shift, 1.0, m), draw.normal(0.0, 1.0, n))
        found = auc_interval(auc(scores), m, n, confidence=0.9)
        inside += found.lower <= truth <= found.upper
    assert inside >= 880  # for Gaussian scores that are far apart the method is cautious


def test_auc_intervals_at_the_ends_and_in_the_middle():
    assert auc_interval(1.0, 50, 50, confidence=0.95).upper == pytest.approx(1.0)
    assert 0.9 < auc_interval(1.0, 50, 50, confidence=0.95).lower < 0.99
    low, high = (auc_interval(value, 50, 50, confidence=0.95) for value in (0.0, 1.0))
    assert (low.lower, low.upper) == pytest.approx((1.0 - high.upper, 1.0 - high.lower), abs=1e-9)
    # At one half the variance is that of the rank sum under exchange: (m + n + 1) / (12 m n) but for the 1.
    middle = auc_interval(0.5, 2000, 2000, confidence=0.95)
    assert middle.upper - 0.5 == pytest.approx(norm.ppf(0.975) * (4001 / (12 * 2000**2)) ** 0.5, rel=2e-3)


def test_the_false_positive_rate_is_bounded_on_average_and_the_nearest_one_would_not_be():
    draw, bound, found, nearest = np.random.default_rng(4), 0.05, [], []
    for _ in range(3000):
        calibration, scored = draw.normal(size=30), draw.normal(size=200)
        sides = Scores(calibration, calibration), Scores(scored, scored)
        found.append(bounded_rate(*sides, bound, confidence=0.95).false_positives.value)
        place = np.argmin(np.abs(np.arange(30) / 30 - bound))  # scores above the threshold, as a share
        nearest.append(np.mean(scored > np.sort(calibration)[29 - place]))
    assert np.mean(found) <= bound
    assert np.mean(found) == pytest.approx(1 / 31, abs=0.003)  # the largest of 30: exactly one in 31
    assert np.mean(nearest) > bound


def test_a_threshold_chosen_on_the_scores_it_is_judged_on_flatters():
    honest, flattered = [], []
    for seed in range(300):
        calibration, scored = gaussian(0.0, 40, seed), gaussian(0.0, 40, 10_000 + seed)
        honest.append(success_rate(calibration, scored, confidence=0.95).value)
        flattered.append(success_rate(scored, scored, confidence=0.95).value)
    assert np.mean(honest) == pytest.approx(0.5, abs=0.01)
    assert np.mean(flattered) > 0.55


def test_rates_that_the_sample_cannot_resolve_are_refused_with_the_number_needed():
    def sides(calibration, scored):
        return gaussian(1.0, calibration, 0), gaussian(1.0, scored, 1)

    assert bounded_rate(*sides(99, 368), 0.01, confidence=0.95).true_positives.trials == 368
    with pytest.raises(ValueError, match=r"0\.01 cannot be resolved.* at least 99 and 368 are needed"):
        bounded_rate(*sides(98, 368), 0.01, confidence=0.95)
    with pytest.raises(ValueError, match=r"99 calibration and 367 scored"):
        bounded_rate(*sides(99, 367), 0.01, confidence=0.95)
    with pytest.raises(ValueError, match="bound must lie"):
        bounded_rate(*sides(99, 368), 0.0, confidence=0.95)


def test_too_few_images_for_the_confidence_are_refused_with_the_number_needed():
    with pytest.raises(ValueError, match="scored has 5 members.*at least 6 are needed"):
        success_rate(gaussian(1.0, 50, 0), gaussian(1.0, 5, 1), confidence=0.95)
    assert success_rate(gaussian(9.0, 50, 0), gaussian(9.0, 6, 1), confidence=0.95).value == 1.0


def test_scores_must_be_numbers_in_a_row():
    for bad in (np.zeros((2, 2)), np.zeros(0), np.array([0.0, np.nan]), torch.full((3,), torch.nan)):
        with pytest.raises(ValueError, match="others must be scores"):
            Scores(np.zeros(3), bad)
    assert Scores(torch.zeros(3), torch.ones(2)).others.dtype == np.float64


def test_mean_and_standard_error():
    found = mean_over([1.0, 2.0, 3.0, 4.0])
    assert found.value == 2.5 and found.standard_error == pytest.approx((5 / 3) ** 0.5 / 2)
    with pytest.raises(ValueError, match="at least 2"):
        mean_over([0.5])
