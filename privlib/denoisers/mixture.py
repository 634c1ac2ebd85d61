"""The posterior mean of a mixture of isotropic Gaussians in closed form: an oracle with more than one mode."""

from __future__ import annotations

import torch

from privlib.denoisers.arguments import check_noisy, check_sigma


class MixtureDenoiser:
    r"""Denoiser of :math:`x_0 \sim \sum_k p_k N(m_k, v_k I)`, in float64:

    .. math:: E[x_0 | x] = \sum_k r_k \Bigl(m_k + \tfrac{v_k}{v_k + \sigma^2} (x - m_k)\Bigr),
              \qquad r_k \propto p_k N\bigl(x; m_k, (v_k + \sigma^2) I\bigr).

    With all variances zero this is the posterior mean over the records m_k. Time and memory: batch x components x d.

    Args:
        means: m_k, floating point, shape (components, *event).
        variances: v_k >= 0, shape () or (components,).
        weights: p_k > 0 that add up to 1, shape (components,); equal if left out.

    Raises:
        ValueError: shapes that do not fit, NaN, infinity or an integer dtype, values outside their range.
    """

    def __init__(
        self, means: torch.Tensor, variances: torch.Tensor | float, weights: torch.Tensor | None = None
    ) -> None:
        if means.ndim < 2 or means.numel() == 0:
            raise ValueError(f"means must have shape (components, *event), got {tuple(means.shape)}")
        if not means.is_floating_point() or not bool(torch.isfinite(means).all()):
            raise ValueError(f"means must be floating point and finite, got {means.dtype} tensor {means}")
        count = len(means)
        self._means = means.to(torch.float64)
        self._variances = _per_component("variances", variances, count)
        if not bool((self._variances >= 0.0).all()):
            raise ValueError(f"variances must lie in [0, inf), got {self._variances.tolist()}")
        self._weights = _per_component("weights", 1.0 / count if weights is None else weights, count)
        if not bool((self._weights > 0.0).all()) or abs(float(self._weights.sum()) - 1.0) > 1e-6:
            raise ValueError(f"weights must be positive and add up to 1, got {self._weights.tolist()}")

    @property
    def image_shape(self) -> tuple[int, ...]:
        return tuple(self._means.shape[1:])

    def responsibilities(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        """Posterior probability r_k of each component given x, float64, shape (batch, components)."""
        check_noisy(x, self.image_shape)
        sigma = check_sigma(sigma, x)
        means, variances, weights = (t.to(x.device) for t in (self._means, self._variances, self._weights))
        spread = variances + sigma[:, None] ** 2
        squared = (x.to(torch.float64)[:, None] - means).flatten(2).square().sum(dim=2)
        logits = weights.log() - 0.5 * squared / spread - 0.5 * means[0].numel() * spread.log()
        return logits.softmax(dim=1)

    def __call__(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        """Posterior mean of each row of x; arguments, result and errors as in ``EmpiricalDenoiser``."""
        responsibilities = self.responsibilities(x, sigma)
        means, variances = self._means.flatten(1).to(x.device), self._variances.to(x.device)
        kept = variances / (variances + check_sigma(sigma, x)[:, None] ** 2)
        from_x = (responsibilities * kept).sum(dim=1, keepdim=True) * x.to(torch.float64).flatten(1)
        return (from_x + (responsibilities * (1.0 - kept)) @ means).reshape(x.shape).to(x.dtype)


def _per_component(name: str, value: torch.Tensor | float, count: int) -> torch.Tensor:
    tensor = torch.as_tensor(value, dtype=torch.float64)
    if tensor.shape not in ((), (count,)) or not bool(torch.isfinite(tensor).all()):
        raise ValueError(f"{name} must be finite and of shape () or ({count},), got {value}")
    return tensor.expand(count)
