r"""Trade-off curves and what they say about membership inference.

A test that tells two neighbouring data sets apart errs with probability ``alpha`` (type I) and ``beta`` (type II). A
mechanism that is (epsilon, delta(epsilon))-private for every epsilon, in both directions, forces

.. math:: \beta \ge f(\alpha) = \sup_{\epsilon \ge 0} \max\bigl(0,\; 1 - \delta(\epsilon) - e^{\epsilon}\alpha,\;
          e^{-\epsilon}(1 - \delta(\epsilon) - \alpha)\bigr)

(Dong, Roth and Su 2022, Proposition 2.12), and with the exact profile the bound is the curve itself. With finitely
many epsilon and upper bounds of delta it is a certified lower bound of the curve: every attack lies above it.

An attacker who sees a balanced coin flip (member or not) succeeds with probability at most ``1 - min(alpha +
beta)/2``, which is ``(1 + delta(0))/2`` for the exact profile, and ``(e^epsilon + delta)/(1 + e^epsilon)`` if only one
pair is known.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from privlib.accounting import certified, gdp
from privlib.mechanisms import Mechanism, components_of
from privlib.numerics import check_count, check_epsilon
from privlib.types import AccountingError, Adjacency, Interval

#: Where the profile is cut: flatter parts of the curve than this delta allows are left to the last line.
_SMALLEST_DELTA = 1e-9


def _check_alpha(alpha: np.ndarray) -> np.ndarray:
    alpha = np.asarray(alpha, dtype=np.float64)
    if alpha.size and not (np.min(alpha) >= 0.0 and np.max(alpha) <= 1.0):
        raise ValueError(f"alpha must lie in [0, 1], got values from {alpha.min()} to {alpha.max()}")
    return alpha


def tradeoff_lower_bound(alpha: np.ndarray, epsilons: np.ndarray, deltas: np.ndarray) -> np.ndarray:
    """Lower bound of the type II error from pairs (epsilon, delta), each of which holds in both directions.

    Args:
        alpha: type I errors in [0, 1], any shape.
        epsilons: shape (M,), in [0, inf).
        deltas: shape (M,), in [0, 1]; upper bounds of the profile keep the result certified.

    Returns:
        float64 array of the shape of ``alpha``; convex, non-increasing, at most ``1 - alpha``.
    """
    alpha = _check_alpha(alpha)
    epsilons, deltas = np.asarray(epsilons, dtype=np.float64), np.asarray(deltas, dtype=np.float64)
    if epsilons.ndim != 1 or epsilons.shape != deltas.shape or epsilons.size == 0:
        raise ValueError(
            f"epsilons and deltas must be one-dimensional and of one length >= 1, got {epsilons.shape}, {deltas.shape}"
        )
    if not (np.isfinite(epsilons).all() and epsilons.min() >= 0.0):
        raise ValueError("epsilons must lie in [0, inf)")
    if not (deltas.min() >= 0.0 and deltas.max() <= 1.0):
        raise ValueError("deltas must lie in [0, 1]")
    spread = alpha[..., None]
    with np.errstate(over="ignore", invalid="ignore"):
        steep = 1.0 - deltas - np.where(spread > 0.0, np.exp(epsilons) * spread, 0.0)
    shallow = np.exp(-epsilons) * (1.0 - deltas - spread)
    return np.maximum(np.maximum(steep, shallow).max(axis=-1), 0.0)


def tradeoff_curve(mechanism: Mechanism, alpha: np.ndarray, *, num_epsilons: int = 33) -> np.ndarray:
    """Type II error that no test at type I error ``alpha`` can beat: exact for full batches, else certified from below.

    Args:
        mechanism: a subsampled Gaussian or a composition, either adjacency.
        alpha: type I errors in [0, 1], any shape.
        num_epsilons: points of the certified privacy profile that support the bound, at least 2; more make it tighter.

    Returns:
        float64 array of the shape of ``alpha``.

    Raises:
        ValueError: a parameter outside its range.
        AccountingError: the certified accountant could not bound the profile.

    Cost: nothing for full batches, else ``num_epsilons`` certified deltas.
    """
    alpha = _check_alpha(alpha)
    num_epsilons = check_count(num_epsilons, "num_epsilons", minimum=2)
    components = components_of(mechanism)
    if all(component.sampling_probability == 1.0 for component in components):
        shift = 2.0 if components[0].adjacency is Adjacency.REPLACE_ONE else 1.0
        root_counts = (shift * component.gdp_mu * component.count**0.5 for component in components)
        return gdp.tradeoff(gdp.compose(root_counts), alpha)
    last = certified.epsilon_interval(mechanism, _SMALLEST_DELTA).upper
    if not np.isfinite(last):
        raise AccountingError(
            f"no finite epsilon is certified at delta = {_SMALLEST_DELTA:g}, so the curve has no support"
        )
    # Denser near 0, where the curve bends most between alpha = 0.1 and 0.5.
    epsilons = last * np.linspace(0.0, 1.0, num_epsilons) ** 2
    deltas = [certified.delta_interval(mechanism, float(epsilon)).upper for epsilon in epsilons]
    return tradeoff_lower_bound(alpha, epsilons, np.asarray(deltas))


def attack_success_from_epsilon(epsilon: float, delta: float = 0.0) -> float:
    """Best balanced accuracy of an attack on an (epsilon, delta)-private release: ``(e^eps + delta)/(1 + e^eps)``.

    With ``delta = 0`` it is ``1/(1 + e^-epsilon)``, the reading of the attack bound that fits the paper's Table 13
    where it fits. That reading drops the chance ``delta`` of failure, so with the epsilon of a positive delta it is
    not a bound.

    Args:
        epsilon: in [0, inf).
        delta: in [0, 1].

    Returns:
        Probability in [1/2, 1].
    """
    epsilon = check_epsilon(epsilon)
    if isinstance(delta, bool) or not isinstance(delta, (int, float, np.floating)) or not 0.0 <= delta <= 1.0:
        raise ValueError(f"delta must lie in [0, 1], got {delta!r}")
    return float(expit(epsilon) + delta * expit(-epsilon))


def attack_success_from_tradeoff(mechanism: Mechanism) -> Interval:
    """Balanced accuracy of the best membership attack, ``(1 + delta(0))/2``, bracketed.

    The total variation distance of the dominating pair decides: no epsilon has to be chosen, and the bound is attained
    by the likelihood-ratio test on that pair (under ``REPLACE_ONE`` with subsampling the ends are those of
    ``certified.delta_interval``).

    Raises:
        AccountingError: the certified accountant could not bound delta(0).
    """
    interval = certified.delta_interval(mechanism, 0.0)
    return Interval(0.5 * (1.0 + interval.lower), min(1.0, np.nextafter(0.5 * (1.0 + interval.upper), 2.0).item()))
