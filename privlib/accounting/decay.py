r"""How fast the characteristic function of the tilted privacy loss decays: a bound for all large frequencies.

The contour sum is cut at a finite frequency, so its tail needs a bound on ``|A(r + i omega)| / A(r)`` that holds for
*every* ``omega`` beyond the cut, not only where it was evaluated.

Cut the line into cells ``[a, b]`` with ``sigma(b) <= 1.4 sigma(a)``, where ``L = log g`` has the increasing derivative
``L' = mu sigma``. Write ``h = g^r phi`` and ``h_min`` for its minimum on the cell. Splitting ``h = h_min + (h -
h_min)``,

.. math:: |A(r+i\omega)| \le A(r) - \sum_{\text{cells}} h_{\min}\,\Bigl((b-a) - \bigl|\int_a^b e^{i\omega
L}\Bigr|\Bigr).

With ``v = omega L'(a) (b-a)`` and ``rho = sigma(b)/sigma(a)`` the bracket is at least ``(b-a) s(v)``:

* ``s = 1 - 2/v``: ``1/L'`` decreases, so the second mean value theorem gives ``|int exp(i omega L)| <= 2/(omega
L'(a))``;
* ``s = sin^2(rho v/2) / (6 rho^2)`` while ``rho v <= pi``: with X, X' uniform on the cell,
  ``|E exp(i omega L)|^2 = 1 - E(1 - cos omega(L(X) - L(X')))``, and on ``|y| <= U <= pi``,
  ``1 - cos y >= 2 sin^2(U/2) (y/U)^2`` with ``U = rho v`` and ``E (X-X')^2 = (b-a)^2/6``.

The larger of the two is non-decreasing in ``omega`` when ``rho <= 1.4`` (at ``rho v = pi`` the first already exceeds
the second), so the bound at the cut holds beyond it. ``h_min`` is bounded below through ``|(log h)'|`` on the cell.

Between two neighbouring frequencies ``omega_j < omega_{j+1}`` of a grid more is saved by taking all cells left of x
together, as long as ``omega_{j+1} R <= pi`` for the range R of L there: by the same inequality for cosines their joint
saving is at least ``2 sin^2(omega_j R/2)/R^2`` times ``min_c sum h_min (b-a) (Lbar - c)^2``, with Lbar the mean of L on
a cell (Jensen), known up to the sag of a convex function. The bound returned for ``omega_j`` is the largest over all
later intervals.
"""

from __future__ import annotations

import math

import torch

from privlib.accounting.transform import LossPair

_LARGEST_RATIO = 1.4
_CELLS_FLOOR = 64


def log_decay(pair: LossPair, r: float, log_a: float, omegas: torch.Tensor) -> torch.Tensor:
    """Upper bound of ``sup_{w >= omega} log(|A(r + i w)| / A(r))`` for each ``omega``; shape (M,), values at most 0.

    Args:
        pair: parameters of the loss.
        r: real part of the exponent.
        log_a: upper bound of ``log A(r)``.
        omegas: increasing positive frequencies, shape (M,), M >= 1.
    """
    mu = pair.mu
    # The tilted law has its mass near 0 and near r mu; cells where it has none contribute nothing and may be left out.
    low, high = -8.0, max(8.0, r * mu + 8.0)
    cells = max(_CELLS_FLOOR, math.ceil((high - low) * max(mu / math.log(_LARGEST_RATIO), 8.0)))
    edges = torch.linspace(low, high, cells + 1, dtype=torch.float64, device=omegas.device)
    log_ratio, sigma, rounding = pair.log_ratio(edges)
    left, right = edges[:-1], edges[1:]
    width = right - left
    sigma_a, sigma_b = sigma[:-1], sigma[1:]
    slopes = torch.stack(
        [r * mu * sigma_a - left, r * mu * sigma_b - left, r * mu * sigma_a - right, r * mu * sigma_b - right]
    )
    log_h = r * log_ratio - abs(r) * rounding - 0.5 * edges**2 - 0.5 * math.log(2.0 * math.pi)
    # From both ends with the steepest slope: log h >= (h(a) + h(b))/2 - |slope| (b - a)/2 everywhere on the cell.
    log_h_min = 0.5 * (log_h[:-1] + log_h[1:]) - 0.5 * slopes.abs().amax(0) * width - 1e-9
    mass = width * torch.exp(log_h_min - log_a)

    v = torch.outer(omegas, mu * sigma_a * width) * (1.0 - 1e-9)
    ratio = (sigma_b / sigma_a) * (1.0 + 1e-9)
    by_variance = torch.where(ratio * v <= math.pi, torch.sin(0.5 * ratio * v).square() / (6.0 * ratio**2), 0.0)
    by_mean_value = 1.0 - 2.0 / torch.clamp(v, min=1e-300)
    savings = torch.maximum(by_variance, by_mean_value) * mass
    beyond = savings.flip(1).cumsum(1).flip(1)
    saving = beyond[:, 0].clone()

    # The cells left of each edge taken together, where the whole range of L still turns by less than pi.
    middle = pair.log_ratio(0.5 * (left + right))[0] - log_ratio[0]
    sag = (0.5 * (log_ratio[:-1] + log_ratio[1:]) - log_ratio[0] - middle).abs() + 8.0 * rounding.max()
    weight, first, second, error = (
        torch.cumsum(mass * factor + 1e-300, 0) for factor in (torch.ones_like(middle), middle, middle**2, sag**2)
    )
    # The difference of the two moments cancels: what their rounding could hide is taken off.
    variance = torch.clamp(second / weight * (1.0 - 1e-11) - (first / weight) ** 2, min=0.0)
    spread = torch.sqrt(variance) - torch.sqrt(error / weight) * (1.0 + 1e-9)
    square = weight * torch.clamp(spread, min=0.0) ** 2 * (1.0 - 1e-6)
    reach = torch.clamp((log_ratio[1:] - log_ratio[0]) * (1.0 + 1e-9), min=1e-100)
    joint = torch.where(
        torch.outer(omegas[1:], reach) <= math.pi,
        2.0 * torch.sin(0.5 * torch.outer(omegas[:-1], reach)).square() / reach**2,
        0.0,
    )
    rest = torch.cat([beyond[:-1, 1:], torch.zeros_like(beyond[:-1, :1])], dim=1)
    saving[:-1] = torch.maximum(saving[:-1], (joint * square + rest).amax(1))
    saving = saving.flip(0).cummin(0).values.flip(0)
    return torch.log1p(-torch.clamp(saving * (1.0 - 1e-9), min=0.0, max=1.0 - 1e-12))
