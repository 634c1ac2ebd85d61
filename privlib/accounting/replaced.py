"""Upper bounds for several subsampled outputs when a record is replaced, by the symmetric profile of ``pld``.

The pair that bounds one output, at twice the shift, does not bound a composition (see ``mechanisms``). A symmetric
profile does; it is composed on a grid, and the grid's rounding error is charged as in ``fallback``.
"""

from __future__ import annotations

import math

from privlib.accounting import pld
from privlib.accounting.contour import LossSum
from privlib.accounting.fallback import check_above_noise, grid_noise
from privlib.mechanisms import Composition


def epsilon_upper(mechanism: Composition, loss: LossSum, delta: float) -> float:
    """Upper bound of epsilon at ``delta``.

    Args:
        mechanism: outputs under ``REPLACE_ONE``.
        loss: the same outputs as a sum of losses at twice the shift; sets the step of the grid.
        delta: in (0, 1), a thousand times above the grid's noise.
    """
    check_above_noise(delta, mechanism.count)
    return pld.epsilon_upper(mechanism, delta - grid_noise(mechanism.count), step=_step(mechanism, loss))


def delta_upper(mechanism: Composition, loss: LossSum, epsilon: float) -> float:
    """Upper bound of delta at ``epsilon``; arguments as in ``epsilon_upper``."""
    return min(1.0, pld.delta_upper(mechanism, epsilon, step=_step(mechanism, loss)) + grid_noise(mechanism.count))


def _step(mechanism: Composition, loss: LossSum) -> float:
    """A hundredth of the standard deviation of one output's loss, but at most two million steps up to the largest."""
    variance = loss.cumulants(1e-3)[2]
    reach = max(
        pld.replaced_reach(component.gdp_mu, component.sampling_probability)
        for component in mechanism.components
        if component.gdp_mu > 0.0
    )
    return max(0.01 * math.sqrt(variance / mechanism.count), reach / 2e6)
