"""From the scores of a distinguisher in two worlds to an audit: threshold on one part, errors on the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from privlib.attacks.bounds import (
    ErrorBounds,
    check_confidence,
    epsilon_from_errors,
    error_upper_bound,
    gdp_mu_from_errors,
    largest_epsilon,
    one_sided,
    trials_for_epsilon,
    trials_for_error,
)
from privlib.numerics import check_count, check_delta
from privlib.types import Interval

#: Of this many trials in a world, one chooses the threshold and the others are scored.
PARTS = 3

#: Thresholds that are tried, at evenly spaced ranks of the scores that choose it.
_CANDIDATES = 2000


@dataclass(frozen=True)
class Audit:
    """Lower bounds on the privacy loss of a mechanism that was attacked.

    Attributes:
        delta: at which epsilon is bounded.
        confidence: of ``epsilon`` and of ``gdp_mu``, each on its own.
        for_epsilon, for_mu: errors at the threshold that was chosen for that bound.
    """

    delta: float
    confidence: float
    for_epsilon: ErrorBounds
    for_mu: ErrorBounds

    @property
    def epsilon(self) -> float:
        """Lower bound of epsilon at ``delta``, free of assumptions on the mechanism."""
        return self.for_epsilon.epsilon(self.delta)

    @property
    def gdp_mu(self) -> float:
        """Lower bound of the mu for which the mechanism is mu-GDP, free of assumptions on the mechanism."""
        return self.for_mu.gdp_mu()

    @property
    def scored(self) -> int:
        """Trials that were scored in the smaller world."""
        return min(self.for_epsilon.trials_without, self.for_epsilon.trials_with)

    @property
    def ceiling(self) -> float:
        """The epsilon that a distinguisher without error would have shown."""
        return largest_epsilon(self.scored, delta=self.delta, confidence=self.confidence)

    def refutes(self, claimed: Interval | float) -> bool:
        """Whether the attack shows more than the claimed epsilon (of an interval: its upper end).

        Raises:
            ValueError: it does not, and with this many trials no attack could have: then it is no audit.
        """
        upper = claimed.upper if isinstance(claimed, Interval) else float(claimed)
        if self.epsilon > upper:
            return True
        if self.ceiling <= upper:
            raise ValueError(
                f"{self.scored} scored trials in each world show epsilon = {self.ceiling:.4g} at most (delta = "
                f"{self.delta:g}, confidence {self.confidence:g}) and cannot refute a claim of {upper:.4g}: "
                + _needed(trials_for_epsilon(upper, delta=self.delta, confidence=self.confidence))
            )
        return False


def audit_scores(without: torch.Tensor, present: torch.Tensor, *, delta: float, confidence: float) -> Audit:
    """Bound the privacy loss by a threshold on scores.

    The first third of the trials of each world chooses the threshold (the one whose bound would be best there), the
    rest is scored. Time O(n log n).

    Args:
        without: score of every trial in the world without the record, or with its replacement; shape (n,), independent.
        present: the same with the record; larger scores speak for it.
        delta: at which epsilon is bounded, in (0, 1).
        confidence: of each bound, in (0, 1).

    Raises:
        ValueError: scores that are NaN or not of shape (n,); too few trials for any bound above 0.
    """
    delta, confidence = check_delta(delta), check_confidence(confidence)
    worlds = [_scores("without", without), _scores("present", present)]
    least = trials_for_epsilon(0.0, delta=delta, confidence=confidence)
    for name, scores in zip(("without", "present"), worlds, strict=True):
        if len(scores) - len(scores) // PARTS < least or len(scores) < PARTS:
            raise ValueError(
                f"{name} has {len(scores)} trials, too few for confidence {confidence:g} at delta = {delta:g}: even "
                "without any error they would show nothing; " + _needed(least)
            )
    chosen = [scores[: len(scores) // PARTS] for scores in worlds]
    scored = [scores[len(scores) // PARTS :] for scores in worlds]

    def best(objective: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> ErrorBounds:
        return _errors(*scored, _best_threshold(*chosen, objective, confidence), confidence)

    return Audit(
        delta, confidence, best(lambda fpr, fnr: epsilon_from_errors(fpr, fnr, delta)), best(gdp_mu_from_errors)
    )


def error_pairs(
    without: torch.Tensor, present: torch.Tensor, fprs: Sequence[float], *, confidence: float
) -> list[ErrorBounds]:
    """Errors at several thresholds, whose upper bounds hold all together with ``confidence`` (Bonferroni).

    Args:
        without, present: as in ``audit_scores``.
        fprs: false positive rates to aim at, each in (0, 1); the first third of the trials sets the thresholds.
        confidence: of all bounds together.

    Raises:
        ValueError: a rate so small that the scored trials cannot tell it from a smaller one.
    """
    worlds = [_scores("without", without), _scores("present", present)]
    each = 1.0 - (1.0 - check_confidence(confidence)) / max(len(fprs), 1)
    chosen = worlds[0][: len(worlds[0]) // PARTS]
    scored = [scores[len(scores) // PARTS :] for scores in worlds]
    for fpr in fprs:
        needed = trials_for_error(fpr, confidence=each)
        if min(map(len, scored)) < needed or len(chosen) * fpr < 1.0:
            raise ValueError(
                f"fprs: {fpr:g} cannot be resolved by {min(map(len, scored))} scored trials at confidence "
                f"{confidence:g} for {len(fprs)} rates: " + _needed(max(needed, int(np.ceil((PARTS - 1) / fpr))))
            )
    return [_errors(*scored, float(np.quantile(chosen, 1.0 - fpr, method="higher")), each) for fpr in fprs]


def _needed(scored: int) -> str:
    return f"at least {scored:,} scored, {-(-scored * PARTS // (PARTS - 1)):,} in all, are needed in each world"


def _scores(name: str, scores: torch.Tensor) -> np.ndarray:
    if not isinstance(scores, torch.Tensor) or scores.ndim != 1 or bool(torch.isnan(scores).any()):
        raise ValueError(f"{name} must be a tensor of shape (n,) without NaN, one score for each trial")
    check_count(len(scores), f"number of trials in {name}")
    return scores.to(torch.float64).cpu().numpy()


def _counts(without: np.ndarray, present: np.ndarray, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """False positives and false negatives at each threshold; scores of at least the threshold are positive."""
    positives = len(without) - np.searchsorted(np.sort(without), thresholds, side="left")
    return positives, np.searchsorted(np.sort(present), thresholds, side="left")


def _best_threshold(without: np.ndarray, present: np.ndarray, objective: Callable, confidence: float) -> float:
    pooled = np.unique(np.concatenate([without, present]))
    places = np.unique(np.linspace(0, len(pooled) - 1, _CANDIDATES).astype(np.int64))
    thresholds = pooled[places]
    positives, negatives = _counts(without, present, thresholds)
    each = one_sided(confidence)
    fpr = error_upper_bound(positives, len(without), each)
    fnr = error_upper_bound(negatives, len(present), each)
    values = objective(fpr, fnr)
    best = thresholds[values == values.max()]
    return float(best[len(best) // 2])


def _errors(without: np.ndarray, present: np.ndarray, threshold: float, confidence: float) -> ErrorBounds:
    positives, negatives = _counts(without, present, np.asarray([threshold]))
    return ErrorBounds(threshold, int(positives[0]), len(without), int(negatives[0]), len(present), confidence)
