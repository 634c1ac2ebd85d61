"""Privacy loss distributions on a grid, by dp_accounting: the paper's accountant, our reference and our fall-back.

The grid's step decides how tight the two ends are. The upper end (connect-the-dots, Doroshenko et al. 2022) is off by
an amount of second order in the step. The lower end rounds every loss down to the grid ("privacy buckets", Meiser and
Mohammadi 2018), so it is low by about ``count * step / 2``: at the paper's 50,000 outputs and step 1e-5 that is 0.25,
whatever epsilon is.

dp_accounting composes by a fast Fourier transform whose rounding errors, about 1e-16 in delta for each distribution,
are not part of its bounds; below ``SMALLEST_DELTA`` its answer is refused here.
"""

from __future__ import annotations

import math

import numpy as np
from dp_accounting.pld import pld_pmf, privacy_loss_distribution
from scipy.special import log_ndtr

from privlib.accounting import gdp
from privlib.mechanisms import Mechanism, components_of
from privlib.numerics import check_delta, check_epsilon, check_positive
from privlib.types import AccountingError, Adjacency

#: The step of the paper's certified columns.
PAPER_STEP = 1e-5
#: Smallest delta at which the transform's rounding error is negligible.
SMALLEST_DELTA = 1e-12
#: Delta at which the losses of one replaced record are cut off (into the mass at infinity), and most cells of its grid.
_CUT_DELTA, _MAX_CELLS = 1e-20, 8e6


def epsilon_upper(mechanism: Mechanism, delta: float, *, step: float = PAPER_STEP) -> float:
    """Upper bound of epsilon at ``delta`` by connect-the-dots, certified up to the transform's rounding error.

    Args:
        mechanism: a subsampled Gaussian or a composition; how ``REPLACE_ONE`` is charged is told in
            ``replaced_profile``.
        delta: in [1e-12, 1).
        step: distance of the grid's losses, positive, in nats. Time and memory grow as 1/step: at 1e-5 and epsilon near
            100, 40 seconds and 2 GiB.

    Raises:
        ValueError: a parameter outside its range.
        AccountingError: delta is too small for the transform, or no finite epsilon exists on the grid.
    """
    return _epsilon(mechanism, delta, step, pessimistic=True)


def epsilon_lower(mechanism: Mechanism, delta: float, *, step: float = PAPER_STEP) -> float:
    """Lower bound of epsilon at ``delta`` by privacy buckets (the paper's lower column); arguments as in
    ``epsilon_upper``.

    Under ``REPLACE_ONE`` with subsampling the add-or-remove pair at twice the shift stands in, which need not be
    attained: this is then not a lower bound of the mechanism.
    """
    return max(0.0, _epsilon(mechanism, delta, step, pessimistic=False))


def delta_upper(mechanism: Mechanism, epsilon: float, *, step: float = PAPER_STEP) -> float:
    """Upper bound of delta at ``epsilon`` in [0, inf); certified and limited as ``epsilon_upper`` is."""
    epsilon, step = check_epsilon(epsilon), check_positive("step", step)
    return min(1.0, float(_composed(mechanism, step, pessimistic=True).get_delta_for_epsilon(epsilon)))


def replaced_profile(gdp_mu: float, sampling_probability: float, epsilons: np.ndarray) -> np.ndarray:
    r"""Privacy profile that bounds one subsampled output in both orders when a record is replaced; epsilons of either
    sign.

    .. math:: D(\epsilon) = q\,G_{2\mu}\bigl(\log(1 + (e^\epsilon - 1)/q)\bigr)\quad(\epsilon \ge 0),\qquad
              D(\epsilon) = 1 - e^\epsilon + e^\epsilon D(-\epsilon)\quad(\epsilon < 0)

    The first line is advanced joint convexity (see ``mechanisms``), the second the exchange of the two laws. The order
    matters for compositions: the add-or-remove pair at twice the shift has the same profile at positive epsilons, but a
    smaller one at negative ones, and two outputs at q = 0.9, gdp_mu = 1 do exceed it (delta(0) = 0.7763 against
    0.7709).
    """
    mu, q = 2.0 * gdp_mu, sampling_probability
    size = np.abs(epsilons)
    inner = np.where(size < 500.0, np.log1p(np.expm1(np.minimum(size, 500.0)) / q), size - math.log(q))
    first = log_ndtr(mu / 2 - inner / mu)
    gap = np.minimum(inner + log_ndtr(-mu / 2 - inner / mu) - first, 0.0)
    positive = -q * np.exp(first) * np.expm1(gap)
    return np.where(epsilons >= 0.0, positive, -np.expm1(-size) + np.exp(-size) * positive)


def replaced_reach(gdp_mu: float, sampling_probability: float) -> float:
    """Largest loss of one replaced record that is kept on the grid."""
    inner = gdp.epsilon_for_delta(2.0 * gdp_mu, _CUT_DELTA)
    q = sampling_probability
    return math.log1p(q * math.expm1(inner)) if inner < 500.0 else inner + math.log(q)


def _replaced(
    gdp_mu: float, sampling_probability: float, step: float
) -> privacy_loss_distribution.PrivacyLossDistribution:
    """The distribution of ``replaced_profile`` on the grid: connect-the-dots from above, the same for both orders."""
    last = math.ceil(replaced_reach(gdp_mu, sampling_probability) / step) + 1
    if 2 * last + 1 > _MAX_CELLS:
        raise AccountingError(f"step = {step:g} is too small: the losses of one output would need {2 * last + 1} cells")
    indices = np.arange(-last, last + 1)
    deltas = np.minimum.accumulate(replaced_profile(gdp_mu, sampling_probability, indices * step))
    return privacy_loss_distribution.PrivacyLossDistribution(
        pld_pmf.create_pmf_pessimistic_connect_dots(step, indices, deltas)
    )


def _epsilon(mechanism: Mechanism, delta: float, step: float, *, pessimistic: bool) -> float:
    delta, step = check_delta(delta), check_positive("step", step)
    if delta < SMALLEST_DELTA:
        raise AccountingError(f"delta = {delta:g} is below {SMALLEST_DELTA:g}, the noise floor of the grid accountant")
    epsilon = _composed(mechanism, step, pessimistic).get_epsilon_for_delta(delta)
    if math.isinf(epsilon) or math.isnan(epsilon):
        raise AccountingError(f"no finite epsilon at delta = {delta:g} with step = {step:g}")
    return epsilon


def _composed(
    mechanism: Mechanism, step: float, pessimistic: bool
) -> privacy_loss_distribution.PrivacyLossDistribution:
    total = None
    for component in components_of(mechanism):
        replaced = component.adjacency is Adjacency.REPLACE_ONE
        if component.gdp_mu == 0.0:
            continue
        if replaced and pessimistic and component.sampling_probability < 1.0:
            single = _replaced(component.gdp_mu, component.sampling_probability, step)
        else:
            single = privacy_loss_distribution.from_gaussian_mechanism(
                standard_deviation=1.0 / ((2.0 if replaced else 1.0) * component.gdp_mu),
                pessimistic_estimate=pessimistic,
                value_discretization_interval=step,
                sampling_prob=component.sampling_probability,
                use_connect_dots=pessimistic,
            )
        composed = single.self_compose(component.count)
        total = composed if total is None else total.compose(composed)
    return privacy_loss_distribution.identity(step, pessimistic_estimate=pessimistic) if total is None else total
