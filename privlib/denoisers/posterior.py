r"""Expectations over records given a noisy image, streamed over the records: the engine of the empirical denoiser.

.. math:: E[v | x] = \sum_i w_i v_i,\qquad w_i = \frac{p_i k_i}{Z},\quad k_i = e^{-|x - y_i|^2 / (2 \sigma^2)},\quad
          Z(x, \sigma) = \sum_i p_i k_i .

*How it is computed.* One pass over the data in tiles. A float32 product shows which records carry weight; the few that
carry much get their log-weight again in float64; a second float32 product adds up the weighted records.

*How exact it is.* Let e be the root mean square error of the float32 log-weights (``distances``). Only records of a
weight up to ``(tolerance / e)^2`` keep them. Their errors e_i move the mean by :math:`\sum_i w_i e_i (y_i - \bar y)` to
first order, which for independent errors is of size

.. math:: e \, D \sqrt{\textstyle\sum_i w_i^2} \le e \, D \sqrt{\max_i w_i} \le \text{tolerance} \cdot D,

D the largest distance of a record from the mean. Records that are left out hold less than 1e-9 of the weight together,
and the weighted sum has the roundings of float32. That makes a relative error of about 1e-6 at every sigma. A row may
differ by as much when other rows are computed beside it. Up to 256 dimensions everything is float64, good to 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from privlib.denoisers.arguments import check_noisy, check_sigma
from privlib.denoisers.distances import LogWeights, full_single_precision
from privlib.denoisers.records import Records
from privlib.denoisers.running import RunningMean
from privlib.denoisers.threads import on_threads

_TOLERANCE = 2e-6
#: Root mean square error of a float32 log-weight over the estimate of ``LogWeights.fast``; for images 0.02 to 0.05.
_TYPICAL = 1.0 / 16.0
#: The error of a difference of two float32 log-weights is below this times the estimate; measured 1.6.
_WORST = 4.0
#: Share of the weight that may be left out.
_NEGLIGIBLE = 1e-9
#: Up to this dimension products are not what takes the time, and all of them are float64.
_SMALL_DIMENSION = 256
#: Rows of x that share a pass over the data.
_ROWS = 128
#: Bytes of a tile: on a CPU it should stay in the cache between the two products, a GPU wants larger pieces.
_CPU_TILE_BYTES, _GPU_TILE_BYTES = 12 * 2**20, 96 * 2**20

#: More threads than this would take too much memory for their tiles.
_MOST_THREADS = 16


class Posterior:
    """Weights of ``records`` given x under a prior.

    Args:
        records: what the weights are over.
        prior: probabilities p_i, positive, float64, shape (n,), summing to 1; by default 1 / n each.
    """

    def __init__(self, records: Records, prior: torch.Tensor | None = None) -> None:
        self._records = records
        self._log_prior = None if prior is None else prior.log()

    def mean_and_log_mass(self, x: torch.Tensor, sigma: torch.Tensor | float) -> tuple[torch.Tensor, torch.Tensor]:
        """Posterior mean, shape, dtype and device of x; and log Z, float64, shape (batch,)."""
        mean, log_mass = self.expectation(x, sigma, self._records.dimension, lambda rows, index: rows)
        return (self._records.scale * mean).reshape(x.shape).to(x.dtype), log_mass

    @torch.no_grad()
    def expectation(
        self,
        x: torch.Tensor,
        sigma: torch.Tensor | float,
        width: int,
        values: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Posterior expectation of ``values(rows, index)``, shape (t, width), and the log of the kernel mass.

        Returns:
            float64 of shape (batch, width); and log Z, float64 of shape (batch,).
        """
        check_noisy(x, self._records.event_shape)
        sigma = check_sigma(sigma, x)
        flat = x.reshape(len(x), -1)
        with full_single_precision(x.device):
            parts = [
                self._all_tiles(part, level, width, values)
                for part, level in zip(flat.split(_ROWS), sigma.split(_ROWS), strict=True)
            ]
        # The log-weights leave out what does not depend on the record.
        constant = flat.to(torch.float64).square().sum(dim=1) / (2.0 * sigma**2)
        if self._log_prior is None:
            constant += math.log(len(self._records))
        return torch.cat([part.mean() for part in parts]), torch.cat([part.log_total for part in parts]) - constant

    def _all_tiles(
        self,
        x: torch.Tensor,
        sigma: torch.Tensor,
        width: int,
        values: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    ) -> RunningMean:
        """Each thread takes its share of the tiles; the means are merged in a fixed order."""
        records, on_cpu = self._records, x.device.type == "cpu"
        size = max(1, (_CPU_TILE_BYTES if on_cpu else _GPU_TILE_BYTES) // (4 * records.dimension + 24 * len(x)))
        shares = min(torch.get_num_threads(), _MOST_THREADS, math.ceil(len(records) / size)) if on_cpu else 1
        dtype = torch.float64 if records.dimension <= _SMALL_DIMENSION else torch.float32
        log_weights = LogWeights(records, x, sigma, dtype=dtype, log_prior=self._log_prior)

        @torch.no_grad()
        def stream(share: int) -> RunningMean:
            running = RunningMean(len(x), width, x.device)
            for start, rows in records.tiles(size, dtype, x.device, share=share, shares=shares):
                self._add_tile(running, log_weights, rows, start, values)
            return running

        first, *others = on_threads(stream, shares)
        for other in others:
            first.merge(other)
        return first

    def _add_tile(
        self,
        running: RunningMean,
        log_weights: LogWeights,
        rows: torch.Tensor,
        start: int,
        values: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    ) -> None:
        logits, error = log_weights.fast(rows, start)
        peak = logits.amax(dim=1)
        # The total weight is at least this, give or take the error, which the two thresholds allow for.
        total = torch.maximum(running.log_total, peak)
        negligible = total - _WORST * error - math.log(len(self._records) / _NEGLIGIBLE)
        if not bool((peak >= negligible).any()):
            return
        heavy = total - _WORST * error - 2.0 * torch.log(_TYPICAL * error / _TOLERANCE)
        index = _columns(logits, negligible)
        if 2 * len(index) < len(rows):
            rows, logits = rows[index], logits[:, index]
        else:
            index = torch.arange(len(rows), device=rows.device)
        again = _columns(logits, heavy)
        logits[:, again] = log_weights.exact(start + index[again])
        running.add(logits, values(rows, start + index))


def _columns(logits: torch.Tensor, threshold: torch.Tensor) -> torch.Tensor:
    """Columns in which some row reaches its threshold."""
    return ((logits - threshold[:, None]).amax(dim=0) >= 0.0).nonzero().flatten()  # several times faster than any()
