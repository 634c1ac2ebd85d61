r"""A public denoiser tilted toward private counts over public groups, heard at every step of the sampler.

Where to spend a given privacy budget
-------------------------------------
A step from t to s with clip ``C_t`` costs ``a_t C_t^2`` of squared GDP parameter, ``a_t = 2 (t - s) / t^3``. A shift
``D_t`` of the denoiser moves the law of the path by a Kullback-Leibler divergence of ``a_t |D_t|^2 / 2`` (Girsanov's
formula, exact for Gaussian steps): gain and price carry the same weight of the grid. Maximize the sum of gains at a
fixed price, and ``a_t`` drops out of the Lagrange condition ``d/dC |D_t(C_t)|^2 = 4 lambda C_t``. So the best ``C_t``
depends on the level only through the norms of the contributions there: constant while these are much the same, and
nothing below the level where they vanish. Contributions through public images vanish once the public posterior has
settled on one image, which is near t = 4 for the bundled emoji and near t = 1 for small photographs. On the 39-level
grid of the paper the private steps above t = 4 cost ``gdp_mu = 0.215 C`` an output, those above t = 1 ``0.901 C``.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from privlib.data.images import ImageSet
from privlib.denoisers.anchors import as_images
from privlib.denoisers.arguments import check_noisy, check_sigma
from privlib.denoisers.clipped import check_float64, public_rows
from privlib.denoisers.exact import MAX_RECORDS, grid_step, squared_distances_to_all
from privlib.denoisers.groups import PublicGroups
from privlib.numerics import check_count, check_positive


class GroupDenoiser:
    r"""A public denoiser tilted toward private group counts that it hears at every step.

    .. math:: E(x, \sigma) = c(x, \sigma) + \sum_k n_k\, \mathrm{clip}_C\bigl(v_k(x, \sigma)\bigr),\qquad
        v_k = \frac{m}{\bar n\, m_k} \sum_{j \in k} \pi_j\, (y_j - e),

    ``pi_j`` the posterior of public image j given x, ``e = sum_j pi_j y_j``, ``n-bar`` the nominal number of records.
    For ``c = e`` and without the clip this is the posterior mean under reweighted images (``released``), with its
    denominator ``sum_j omega_j pi_j``, which is private, taken as 1.

    *Sensitivity.* Every ``v_k`` is public. One record more or less changes one count by 1, so the output moves by
    exactly one ``clip_C(v_k)``: at most ``clip``, for every x. *In floating point:* the norm of ``v_k`` is clipped to
    ``(1 - (d + 16) 2^-53) C``, which covers the rounding of the norm in any order of summation, and its coordinates
    are cut toward zero to multiples of ``exact.grid_step(C)``. Whole multiples of these, at most ``MAX_RECORDS`` in
    all, and c on its grid add up exactly: the float64 outputs of the two worlds differ by that vector, bit for bit.

    Args:
        counts: private counts n_k, int64, shape (K,), from ``groups.counts``; at most ``MAX_RECORDS`` in all.
        groups: public groups.
        images: the public images that were grouped, in the same order.
        nominal_records: public number n-bar that stands for n; never count the data for it.
        clip: largest norm C of what one record says, in [1e-6, 1].
        denoiser: public denoiser c; by default the posterior mean of the public images.

    Raises:
        ValueError: a parameter outside its range, or counts and images that do not match the groups.
    """

    def __init__(
        self,
        counts: torch.Tensor,
        groups: PublicGroups,
        images: torch.Tensor | ImageSet,
        *,
        nominal_records: int,
        clip: float,
        denoiser: Callable[[torch.Tensor, torch.Tensor | float], torch.Tensor] | None = None,
    ) -> None:
        images = as_images(images)
        if len(images) != len(groups.index):
            raise ValueError(f"images must be the {len(groups.index)} that were grouped, got {len(images)}")
        if counts.dtype != torch.int64 or counts.shape != groups.sizes.shape or bool((counts < 0).any()):
            raise ValueError(f"counts must be non-negative int64 of shape ({len(groups.sizes)},)")
        if int(counts.sum()) > MAX_RECORDS:
            raise ValueError(f"counts must hold at most {MAX_RECORDS} records, which the proof needs")
        self._clip = check_positive("clip", clip)
        if not 1e-6 <= self._clip <= 1.0:
            raise ValueError(f"clip must lie in [1e-6, 1], got {clip!r}")
        self.image_shape = tuple(images.shape[1:])
        self._counts, self._denoiser = counts, denoiser
        self._sizes = groups.sizes.tolist()
        self._rows = images.flatten(1)[groups.index.argsort(stable=True)]
        self._per_public = len(images) / check_count(nominal_records, "nominal_records")

    @property
    def num_records(self) -> int:
        """Number of private records; itself private under add-or-remove adjacency."""
        return int(self._counts.sum())

    def sensitivity(self, sigma: float) -> float:
        """L2 distance that adding or removing one record can move the output at most: ``clip`` at every level."""
        check_positive("sigma", sigma)
        return self._clip

    def __call__(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        """Denoise; cost O(batch * m * d), whatever the number of private records."""
        check_noisy(x, self.image_shape)
        check_float64(x)
        levels = check_sigma(sigma, x)
        points, rows = x.flatten(1), self._rows.to(x)
        posterior = torch.softmax(squared_distances_to_all(points, rows) / (-2.0 * levels[:, None] ** 2), 1)
        mean = posterior @ rows
        output = public_rows(mean if self._denoiser is None else self._denoiser(x, sigma))
        step, limit = grid_step(self._clip), self._clip * (1.0 - (rows.shape[1] + 16) * 2.0**-53)
        parts = zip(posterior.split(self._sizes, 1), rows.split(self._sizes), strict=True)
        for count, size, (weights, members) in zip(self._counts.tolist(), self._sizes, parts, strict=True):
            voice = weights @ members - weights.sum(1, keepdim=True) * mean
            voice *= self._per_public / max(size, 1)
            voice *= (limit / torch.linalg.vector_norm(voice, dim=1, keepdim=True)).clamp_(max=1.0)
            output += count * voice.div_(step).trunc_().mul_(step)
        return output.reshape(x.shape)
