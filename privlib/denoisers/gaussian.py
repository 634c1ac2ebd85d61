"""The posterior mean of a Gaussian in closed form: the oracle against which denoisers and samplers are tested."""

from __future__ import annotations

import torch

from privlib.denoisers.arguments import check_noisy, check_sigma


class GaussianDenoiser:
    r"""Denoiser of :math:`x_0 \sim N(m, C)`, in float64:

    .. math:: E[x_0 | x] = m + C (C + \sigma^2 I)^{-1} (x - m).

    Time: two products of batch x d x d a call, one eigendecomposition when it is made.

    Args:
        mean: m, floating point, shape (*event,).
        covariance: C over the flattened event, symmetric and positive semi-definite, shape (d, d).

    Raises:
        ValueError: shapes that do not fit, NaN, infinity or an integer dtype, a covariance that is not symmetric or has
            a negative eigenvalue (beyond rounding).
    """

    def __init__(self, mean: torch.Tensor, covariance: torch.Tensor) -> None:
        for name, tensor in (("mean", mean), ("covariance", covariance)):
            if not tensor.is_floating_point() or not bool(torch.isfinite(tensor).all()):
                raise ValueError(f"{name} must be floating point and finite, got {tensor}")
        d = mean.numel()
        if d == 0 or covariance.shape != (d, d):
            raise ValueError(f"covariance must have shape ({d}, {d}) and d >= 1, got {tuple(covariance.shape)}")
        exact = covariance.to(torch.float64)
        if not torch.allclose(exact, exact.T, rtol=1e-6, atol=1e-6 * exact.abs().max().item()):
            raise ValueError("covariance must be symmetric")
        values, self._axes = torch.linalg.eigh(exact)
        if values[0] < -1e-6 * values[-1].abs():
            raise ValueError(f"covariance must be positive semi-definite, got the eigenvalue {values[0]:g}")
        self._variances = values.clamp(min=0.0)
        self._mean = mean.to(torch.float64)

    @property
    def image_shape(self) -> tuple[int, ...]:
        return tuple(self._mean.shape)

    def __call__(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        """Posterior mean of each row of x; arguments, result and errors as in ``EmpiricalDenoiser``."""
        check_noisy(x, self.image_shape)
        sigma = check_sigma(sigma, x)
        mean, axes, variances = (tensor.to(x.device) for tensor in (self._mean, self._axes, self._variances))
        along = (x.to(torch.float64) - mean).reshape(len(x), -1) @ axes
        shrunk = along * variances / (variances + sigma[:, None] ** 2)
        return ((shrunk @ axes.T).reshape(x.shape) + mean).to(x.dtype)
