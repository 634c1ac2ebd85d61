r"""From the errors of a distinguisher to lower bounds on its mechanism's privacy loss, with a stated confidence.

A distinguisher sees one release and says which of two neighbouring data sets it came from. Let FPR be the chance that
it says "with the record" where the record is absent, FNR the chance that it says "without" where it is present. If the
mechanism is (epsilon, delta)-private, then (Kairouz, Oh and Viswanath 2015)

.. math:: 1 - \delta - \mathrm{FNR} \le e^\epsilon\,\mathrm{FPR},\qquad
          1 - \delta - \mathrm{FPR} \le e^\epsilon\,\mathrm{FNR},

so upper bounds of both errors bound epsilon from below. If it is mu-GDP (Dong, Roth and Su 2022),

.. math:: \mu \ge \Phi^{-1}(1 - \mathrm{FPR}) - \Phi^{-1}(\mathrm{FNR}).

What is assumed
---------------
Trials that are independent of each other and of the threshold; nothing about the mechanism. Each error is bounded at
``1 - (1 - confidence) / 2`` by Clopper and Pearson, so both bounds hold at once with ``confidence``, and with them
``epsilon`` (the larger of its two formulas) and ``gdp_mu``. The latter bounds the smallest mu for which the mechanism
is mu-GDP. To turn it into an epsilon by the Gaussian curve assumes that the curve of the mechanism *is* Gaussian: for
any other mechanism that epsilon is an estimate and no bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri
from scipy.stats import binom

from privlib.numerics import check_count, check_delta, check_epsilon

#: Most trials that ``trials_to_refute`` looks for.
MAX_TRIALS = 10**8


def check_confidence(value: object, name: str = "confidence") -> float:
    """Return a confidence as a float; raise ValueError unless it lies in (0, 1)."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not 0.0 < value < 1.0:
        raise ValueError(f"{name} must lie in (0, 1), got {value!r}")
    return float(value)


def error_upper_bound(errors: np.ndarray | int, trials: int, confidence: float) -> np.ndarray:
    """One-sided upper confidence bound of a probability (Clopper and Pearson 1934), of the shape of ``errors``.

    Args:
        errors: how often it happened, whole numbers in 0..trials.
        trials: independent trials, at least 1.
        confidence: chance that the bound holds is at least this, in (0, 1).
    """
    trials, errors = check_count(trials, "trials"), np.asarray(errors)
    if errors.size and not (errors.min() >= 0 and errors.max() <= trials):
        raise ValueError(f"errors must lie in 0..{trials}, got {errors.min()} to {errors.max()}")
    inside = np.minimum(errors, trials - 1)
    return np.where(errors < trials, betaincinv(inside + 1.0, trials - inside, check_confidence(confidence)), 1.0)


def epsilon_from_errors(fpr: np.ndarray | float, fnr: np.ndarray | float, delta: float) -> np.ndarray:
    """Smallest epsilon that is consistent with errors of at most ``fpr`` and ``fnr``; 0 where they show nothing."""
    fpr, fnr = np.asarray(fpr, dtype=np.float64), np.asarray(fnr, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        forward = np.log(np.maximum(1.0 - delta - fnr, 0.0)) - np.log(fpr)
        mirrored = np.log(np.maximum(1.0 - delta - fpr, 0.0)) - np.log(fnr)
    return np.maximum(np.fmax(forward, mirrored), 0.0)


def gdp_mu_from_errors(fpr: np.ndarray | float, fnr: np.ndarray | float) -> np.ndarray:
    """Smallest mu that is consistent with errors of at most ``fpr`` and ``fnr``; 0 where they show nothing."""
    with np.errstate(invalid="ignore"):
        return np.fmax(-ndtri(np.asarray(fpr, dtype=np.float64)) - ndtri(np.asarray(fnr, dtype=np.float64)), 0.0)


@dataclass(frozen=True)
class ErrorBounds:
    """What a distinguisher with one threshold did on trials that the threshold was not chosen on.

    Attributes:
        threshold: a score of at least this means "with the record".
        false_positives, trials_without: errors and trials in the world without the record.
        false_negatives, trials_with: errors and trials in the world with it.
        confidence: with which both upper bounds hold together.
    """

    threshold: float
    false_positives: int
    trials_without: int
    false_negatives: int
    trials_with: int
    confidence: float

    @property
    def fpr_upper(self) -> float:
        return float(error_upper_bound(self.false_positives, self.trials_without, one_sided(self.confidence)))

    @property
    def fnr_upper(self) -> float:
        return float(error_upper_bound(self.false_negatives, self.trials_with, one_sided(self.confidence)))

    def epsilon(self, delta: float) -> float:
        """Lower bound of epsilon at ``delta``; needs no assumption on the mechanism."""
        return float(epsilon_from_errors(self.fpr_upper, self.fnr_upper, check_delta(delta)))

    def gdp_mu(self) -> float:
        """Lower bound of the mu for which the mechanism is mu-GDP; needs no assumption on the mechanism."""
        return float(gdp_mu_from_errors(self.fpr_upper, self.fnr_upper))


def one_sided(confidence: float) -> float:
    """Confidence of each of two bounds that hold together with ``confidence``."""
    return 1.0 - (1.0 - check_confidence(confidence)) / 2.0


def largest_epsilon(trials: int, *, delta: float, confidence: float) -> float:
    """What ``trials`` scored trials in each world show at most: the bound after no error at all."""
    bound = float(error_upper_bound(0, trials, one_sided(confidence)))
    return float(epsilon_from_errors(bound, bound, check_delta(delta)))


def trials_for_epsilon(epsilon: float, *, delta: float, confidence: float) -> int:
    """Fewest scored trials in each world that can show a loss of more than ``epsilon``, if no error is made."""
    bound = (1.0 - check_delta(delta)) / (1.0 + math.exp(min(check_epsilon(epsilon), 700.0)))
    return math.floor(math.log1p(-one_sided(confidence)) / math.log1p(-bound)) + 1


def trials_for_error(error: float, *, confidence: float) -> int:
    """Fewest scored trials after which an error that never happened is bounded by ``error``, in (0, 1)."""
    return math.ceil(math.log1p(-one_sided(confidence)) / math.log1p(-check_confidence(error, "error")))


def trials_to_refute(
    fpr: float, fnr: float, *, epsilon: float, delta: float, confidence: float, power: float = 0.99
) -> int:
    """Scored trials in each world that refute ``epsilon`` with probability ``power``: the power calculation.

    Args:
        fpr, fnr: true errors of the distinguisher that is going to be used, in [0, 1].
        epsilon, delta: the claim to be refuted.
        confidence: of the bound on epsilon.
        power: probability that the bound comes out above ``epsilon``, at least this, in (0, 1).

    Returns:
        The number, found by doubling and halving; binomial counts make the exact minimum a few less.

    Raises:
        ValueError: the claim is consistent with the errors, or needs more than ``MAX_TRIALS``.
    """
    limit = float(epsilon_from_errors(fpr, fnr, check_delta(delta)))
    if limit <= check_epsilon(epsilon):
        raise ValueError(
            f"errors of {fpr:g} and {fnr:g} show epsilon = {limit:.4g} at delta = {delta:g} with any number of trials: "
            f"they cannot refute epsilon = {epsilon:.4g}"
        )

    def refutes(trials: int) -> bool:
        # Each count stays below its quantile with a probability that makes both do so with ``power``.
        counts = [int(binom.ppf(one_sided(power), trials, error)) for error in (fpr, fnr)]
        bounds = [float(error_upper_bound(count, trials, one_sided(confidence))) for count in counts]
        return float(epsilon_from_errors(*bounds, delta)) > epsilon

    high = 1
    while not refutes(high):
        high *= 2
        if high > MAX_TRIALS:
            raise ValueError(f"more than {MAX_TRIALS:,} trials would be needed to refute epsilon = {epsilon:.4g}")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refutes(middle) else (middle, high)
    return high
