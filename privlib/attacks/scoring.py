r"""What scores of a membership attack are worth: success rate, AUC, true positives at a bounded false positive rate.

A score is a number for each image, larger for members; above a threshold the attack says "member". Every threshold is
chosen on images of its own (*calibration*) and judged on others (*scored*). A threshold chosen on the very scores it is
judged on is judged too well.

*Success rate* (ASR) at even odds: the mean of the true positive and the true negative rate.

*AUC*: the chance that a member has the larger score of a random pair, ties counted half (Mann and Whitney). Its
interval is Newcombe's (2006, method 5): all A with :math:`(\hat A - A)^2 \le z^2 V(A)`,

.. math:: V(A) = \frac{A (1 - A)}{mn}\Bigl[1 + (N - 1)\Bigl(\frac{1 - A}{2 - A} + \frac{A}{1 + A}\Bigr)\Bigr],\quad
          N = \tfrac12(m + n),

which at A = 1/2 and m = n is the variance of guessing, and does not shrink to a point when no pair is out of order.

*True positives at a bounded false positive rate*. With the k-th largest of n calibration scores of non-members as the
threshold, :math:`k = \lfloor b\,(n + 1) \rfloor`, another non-member lies above it with probability at most
:math:`k / (n + 1) \le b`, whatever the distribution of the scores, since each of the n + 1 is equally likely to be the
j-th largest. The threshold *nearest* to a rate, which is often reported, exceeds it about half of the time.

What is assumed: members and non-members are each exchangeable among themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import rankdata

from privlib.attacks.bounds import check_confidence, error_upper_bound, one_sided, trials_for_error
from privlib.numerics import check_count


class ConfidenceInterval(NamedTuple):
    """Ends of a two-sided confidence interval: an estimate from a sample, and no proved bound."""

    lower: float
    upper: float


@dataclass(frozen=True)
class Scores:
    """Scores of an attack, larger for members.

    Attributes:
        members, others: one score for each image that was trained on, and for each that was not; shape (n,), float64.
    """

    members: np.ndarray
    others: np.ndarray

    def __post_init__(self) -> None:
        for name in ("members", "others"):
            scores = getattr(self, name)
            scores = scores.cpu().numpy() if isinstance(scores, torch.Tensor) else np.asarray(scores)
            if scores.ndim != 1 or scores.size == 0 or np.isnan(scores).any():
                raise ValueError(f"{name} must be scores of shape (n,), n at least 1, without NaN")
            object.__setattr__(self, name, scores.astype(np.float64))


@dataclass(frozen=True)
class Rate:
    """How often something happened, with its Clopper-Pearson interval.

    Attributes:
        count, trials: how often, of how many.
        confidence: of the interval, two-sided.
    """

    count: int
    trials: int
    confidence: float

    @property
    def value(self) -> float:
        return self.count / self.trials

    @property
    def interval(self) -> ConfidenceInterval:
        each = one_sided(self.confidence)
        above = float(error_upper_bound(self.count, self.trials, each))
        below = 1.0 - float(error_upper_bound(self.trials - self.count, self.trials, each))
        return ConfidenceInterval(max(below, 0.0), above)


@dataclass(frozen=True)
class Success:
    """Success rate at even odds: rates of right answers about members and about the others, and their mean."""

    members: Rate
    others: Rate

    @property
    def value(self) -> float:
        return 0.5 * (self.members.value + self.others.value)

    @property
    def interval(self) -> ConfidenceInterval:
        """Normal interval of the mean of two independent rates, each with one success and failure added."""
        spread = sum(
            (rate.count + 1) * (rate.trials - rate.count + 1) / (rate.trials + 2) ** 2 / rate.trials
            for rate in (self.members, self.others)
        )
        half = float(ndtri(one_sided(self.members.confidence))) * 0.5 * spread**0.5
        return ConfidenceInterval(max(self.value - half, 0.0), min(self.value + half, 1.0))


@dataclass(frozen=True)
class BoundedRate:
    """True positives where false positives are bounded.

    Attributes:
        bound: of the false positive rate, in expectation over the calibration.
        threshold: a larger score means "member".
        true_positives, false_positives: what the scored images gave.
    """

    bound: float
    threshold: float
    true_positives: Rate
    false_positives: Rate


def auc(scores: Scores) -> float:
    """Chance that a member has the larger score of a random pair, ties counted half. Time O(n log n)."""
    ranks = rankdata(np.concatenate([scores.members, scores.others]))
    m, n = len(scores.members), len(scores.others)
    return float((ranks[:m].sum() - m * (m + 1) / 2) / (m * n))


def auc_interval(value: float, members: int, others: int, *, confidence: float) -> ConfidenceInterval:
    """Newcombe's interval of an AUC, see the module.

    Args:
        value: the AUC that was found, in [0, 1].
        members, others: how many scores it comes from.
        confidence: two-sided, in (0, 1).
    """
    m, n = check_count(members, "members"), check_count(others, "others")
    z = float(ndtri(one_sided(confidence)))
    extra = 0.5 * (m + n) - 1.0

    def excess(a: float) -> float:
        variance = a * (1.0 - a) / (m * n) * (1.0 + extra * ((1.0 - a) / (2.0 - a) + a / (1.0 + a)))
        return (value - a) ** 2 - z * z * variance

    # At both ends of [0, 1] the excess is not negative; between, at or beside the value, it is.
    inside = min(max(value, 1e-13), 1.0 - 1e-13)
    return ConfidenceInterval(brentq(excess, 0.0, inside), brentq(excess, inside, 1.0))


def success_rate(calibration: Scores, scored: Scores, *, confidence: float) -> Success:
    """Success rate at the threshold that succeeds most often on the calibration scores.

    Args:
        calibration, scored: scores of different images.
        confidence: of the intervals, two-sided, in (0, 1).

    Raises:
        ValueError: so few scored images that an attack without any error would not be told from guessing.
    """
    for name, count in (("members", len(scored.members)), ("others", len(scored.others))):
        needed = trials_for_error(0.5, confidence=confidence)
        if count < needed:
            raise ValueError(
                f"scored has {count} {name}, too few for confidence {confidence:g}: even an attack without error would "
                f"not be told from guessing; at least {needed} are needed"
            )
    threshold = _best_threshold(calibration)
    return Success(
        Rate(int((scored.members > threshold).sum()), len(scored.members), confidence),
        Rate(int((scored.others <= threshold).sum()), len(scored.others), confidence),
    )


def bounded_rate(calibration: Scores, scored: Scores, bound: float, *, confidence: float) -> BoundedRate:
    """True positive rate where the false positive rate is at most ``bound``.

    Args:
        calibration, scored: scores of different images; the calibration members are not looked at.
        bound: of the false positive rate, in (0, 1).
        confidence: of the intervals, two-sided, in (0, 1).

    Raises:
        ValueError: a bound that the numbers of non-members cannot resolve: no calibration score could serve as the
            threshold, or scored ones without a single false positive would not show that the bound holds.
    """
    bound = check_confidence(bound, "bound")
    n = len(calibration.others)
    place = int(np.floor(bound * (n + 1) * (1.0 + 1e-12)))
    needed = (int(np.ceil(1.0 / bound * (1.0 - 1e-12))) - 1, trials_for_error(bound, confidence=confidence))
    if place < 1 or len(scored.others) < needed[1]:
        raise ValueError(
            f"a false positive rate of {bound:g} cannot be resolved at confidence {confidence:g} by {n} calibration "
            f"and {len(scored.others)} scored non-members: at least {needed[0]:,} and {needed[1]:,} are needed"
        )
    threshold = float(np.sort(calibration.others)[n - place])
    return BoundedRate(
        bound,
        threshold,
        Rate(int((scored.members > threshold).sum()), len(scored.members), confidence),
        Rate(int((scored.others > threshold).sum()), len(scored.others), confidence),
    )


def roc_curve(scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    """False and true positive rates at every threshold, both rising from 0 to 1; for figures, not for choosing."""
    thresholds = np.unique(np.concatenate([scores.members, scores.others]))[::-1]
    rates = [
        1.0 - np.searchsorted(np.sort(part), thresholds, side="left") / len(part)
        for part in (scores.others, scores.members)
    ]
    return np.concatenate([[0.0], rates[0]]), np.concatenate([[0.0], rates[1]])


def roc_at(scores: Scores, rates: Sequence[float]) -> np.ndarray:
    """True positive rate of the sample at each false positive rate: the largest whose false positives are no more."""
    fpr, tpr = roc_curve(scores)
    return tpr[np.searchsorted(fpr, np.asarray(rates, dtype=np.float64), side="right") - 1]


@dataclass(frozen=True)
class Mean:
    """Mean over repetitions with its standard error, the spread over the root of their number."""

    value: float
    standard_error: float


def mean_over(values: Sequence[float]) -> Mean:
    """Mean and standard error of at least two repetitions.

    Repetitions that share their images differ by less than new images would: the error is that of the repetition.
    """
    if len(values) < 2:
        raise ValueError(f"values must be at least 2 repetitions, got {len(values)}")
    return Mean(float(np.mean(values)), float(np.std(values, ddof=1) / len(values) ** 0.5))


def _best_threshold(scores: Scores) -> float:
    """The threshold of the highest success rate: a score, or minus infinity; of several the middle one."""
    thresholds = np.concatenate([[-np.inf], np.unique(np.concatenate([scores.members, scores.others]))])
    positive = [
        1.0 - np.searchsorted(np.sort(part), thresholds, side="right") / len(part)
        for part in (scores.members, scores.others)
    ]
    gain = positive[0] - positive[1]
    best = thresholds[gain >= gain.max() - 1e-12]
    return float(best[len(best) // 2])
