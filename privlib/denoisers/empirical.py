r"""The posterior mean under the empirical distribution of a data set: exact, and as private as a copy of the data.

Given ``x = x0 + sigma z`` with x0 one of the records, each as likely, and z standard normal,

.. math:: E[x_0 | x] = \sum_i w_i y_i, \qquad
          w_i = \frac{e^{-|x - y_i|^2 / (2 \sigma^2)}}{\sum_j e^{-|x - y_j|^2 / (2 \sigma^2)}} .

At small sigma this is the nearest record. Nothing here bounds what one record can do, so there is no ``sensitivity``.

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
from torch.nn.functional import one_hot

from privlib.data.images import ImageSet
from privlib.denoisers.arguments import check_noisy, check_sigma
from privlib.denoisers.blocks import Blocks
from privlib.denoisers.distances import LogWeights, full_single_precision
from privlib.denoisers.records import Records
from privlib.denoisers.running import RunningMean
from privlib.numerics import check_count

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
_BLOCK_BYTES = 4 * 2**20


class EmpiricalDenoiser:
    """Posterior mean over all records: ``EmpiricalDenoiser(data)(x, sigma)``.

    Time: two float32 products of batch x n x d, or one where sigma is small against the distances between records.
    Memory beyond the data: 8 bytes a record, tiles of 12 MiB (96 MiB on a GPU), copies of 128 rows of x in float64.
    The data may live on another device than x; tiles are moved.

    Args:
        data: floating point on the unit scale, shape (n, *event) with n >= 2, or an ImageSet, which stays in bytes.
            It is kept, not copied, and must not change afterwards.

    Raises:
        ValueError: an integer dtype, no event dimension, fewer than two records, NaN or infinity.
    """

    def __init__(self, data: torch.Tensor | ImageSet) -> None:
        self._records = Records(data)

    @property
    def num_records(self) -> int:
        return len(self._records)

    @property
    def image_shape(self) -> tuple[int, ...]:
        return self._records.event_shape

    def __call__(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        """Posterior mean of each row of x.

        Args:
            x: floating point, shape (batch, *event), on the unit scale plus noise.
            sigma: noise level in (0, inf), shape () or (batch,).

        Returns:
            Shape, dtype and device of x; computed to about 1e-6 also where x is float64.

        Raises:
            ValueError: a wrong shape or dtype, NaN or infinity in x, sigma not positive.
        """
        mean = self._expectation(x, sigma, self._records.dimension, lambda rows, index: rows)
        return (self._records.scale * mean).reshape(x.shape).to(x.dtype)

    def class_probabilities(
        self, x: torch.Tensor, sigma: torch.Tensor | float, labels: torch.Tensor, num_classes: int
    ) -> torch.Tensor:
        """Posterior probability of each class given x: the weights summed over its records.

        Args:
            x, sigma: as in a call.
            labels: class of each record in 0..num_classes - 1, int64, shape (n,).
            num_classes: number of classes.

        Returns:
            Shape (batch, num_classes), dtype of x, absolute error about 1e-6; one below 1e-9 may come out as 0.

        Raises:
            ValueError: as in a call; labels of another shape, dtype or range.
        """
        num_classes = check_count(num_classes, "num_classes")
        if labels.dtype != torch.int64 or labels.shape != (self.num_records,):
            raise ValueError(
                f"labels must be int64 of shape ({self.num_records},), got {labels.dtype} of {tuple(labels.shape)}"
            )
        if int(labels.min()) < 0 or int(labels.max()) >= num_classes:
            raise ValueError(f"labels must lie in 0..{num_classes - 1}, got {int(labels.min())} to {int(labels.max())}")

        def indicators(rows: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
            return one_hot(labels.to(index.device)[index], num_classes).to(rows.dtype)

        return self._expectation(x, sigma, num_classes, indicators).to(x.dtype)

    def on_blocks(self, blocks: Blocks) -> BlockDenoiser:
        """The denoiser whose row i sees the records of block i only.

        Raises:
            ValueError: a record that the data set does not have; a block of fewer than two records.
        """
        return BlockDenoiser(self._records, blocks)

    @torch.no_grad()
    def _expectation(
        self,
        x: torch.Tensor,
        sigma: torch.Tensor | float,
        width: int,
        values: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    ) -> torch.Tensor:
        """Posterior expectation, float64 of shape (batch, width), of ``values(rows, index)``, of shape (t, width)."""
        check_noisy(x, self.image_shape)
        sigma = check_sigma(sigma, x)
        with full_single_precision(x.device):
            parts = [
                self._stream(part, level, width, values)
                for part, level in zip(x.reshape(len(x), -1).split(_ROWS), sigma.split(_ROWS), strict=True)
            ]
        return torch.cat(parts)

    def _stream(
        self,
        x: torch.Tensor,
        sigma: torch.Tensor,
        width: int,
        values: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    ) -> torch.Tensor:
        records = self._records
        dtype = torch.float64 if records.dimension <= _SMALL_DIMENSION else torch.float32
        log_weights = LogWeights(records, x, sigma, dtype=dtype)
        running = RunningMean(len(x), width, x.device)
        size = self._tile_size(len(x), x.device)
        for start, rows in records.tiles(size, dtype, x.device):
            logits, error = log_weights.fast(rows, start)
            peak = logits.amax(dim=1)
            # The total weight is at least this, give or take the error, which the two thresholds allow for.
            total = torch.maximum(running.log_total, peak)
            negligible = total - _WORST * error - math.log(len(records) / _NEGLIGIBLE)
            if not bool((peak >= negligible).any()):
                continue
            heavy = total - _WORST * error - 2.0 * torch.log(_TYPICAL * error / _TOLERANCE)
            index = _columns(logits, negligible)
            if 2 * len(index) < len(rows):
                rows, logits = rows[index], logits[:, index]
            else:
                index = torch.arange(len(rows), device=x.device)
            again = _columns(logits, heavy)
            logits[:, again] = log_weights.exact(start + index[again])
            running.add(logits, values(rows, start + index))
        return running.mean()

    def _tile_size(self, batch: int, device: torch.device) -> int:
        each = 4 * self._records.dimension + 24 * batch
        return max(1, (_CPU_TILE_BYTES if device.type == "cpu" else _GPU_TILE_BYTES) // each)


def _columns(logits: torch.Tensor, threshold: torch.Tensor) -> torch.Tensor:
    """Columns in which some row reaches its threshold."""
    return ((logits - threshold[:, None]).amax(dim=0) >= 0.0).nonzero().flatten()  # several times faster than any()


class BlockDenoiser:
    r"""Posterior mean of each row of x over its own block of records, in float64 from direct differences.

    .. math:: E[x_0 | x] = x + \sum_{i \in \text{block}} w_i (y_i - x)

    Time: three passes over batch x width x d numbers. Memory: some 10 MiB beyond the data.

    Raises:
        ValueError: a record that the data set does not have; a block of fewer than two records.
    """

    def __init__(self, records: Records, blocks: Blocks) -> None:
        blocks.check_against(len(records))
        small = (blocks.sizes < 2).nonzero().flatten().tolist()
        if small:
            raise ValueError(
                f"blocks: row {small[0]} has {int(blocks.sizes[small[0]])} records, needs 2 at least: over none the "
                "posterior mean is undefined, over one it is that record itself. Poisson sampling of B records on "
                "average draws such a block with probability (1 + B) exp(-B): 0.04 at B = 5, 4e-10 at B = 25; raise B"
            )
        self._records = records
        self._blocks = blocks

    @property
    def image_shape(self) -> tuple[int, ...]:
        return self._records.event_shape

    @torch.no_grad()
    def __call__(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        """As ``EmpiricalDenoiser``; also ValueError unless x has one row for each block."""
        check_noisy(x, self.image_shape)
        sigma = check_sigma(sigma, x)
        if len(x) != len(self._blocks):
            raise ValueError(f"x must have one row for each of the {len(self._blocks)} blocks, got {len(x)}")
        flat = x.reshape(len(x), -1)
        width = self._blocks.index.shape[1]
        size = max(1, _BLOCK_BYTES // (8 * width * self._records.dimension))
        means = [
            self._mean(*part)
            for part in zip(flat.split(size), sigma.split(size), self._blocks.index.split(size), strict=True)
        ]
        return torch.cat(means).reshape(x.shape).to(x.dtype)

    def _mean(self, x: torch.Tensor, sigma: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        x = x.to(torch.float64)
        differences = self._records.rows(index.clamp(min=0), x.device).mul_(self._records.scale).sub_(x[:, None])
        distances = torch.linalg.vector_norm(differences, dim=2)
        logits = -0.5 * (distances / sigma[:, None]).square()
        weights = logits.masked_fill(index.to(x.device) < 0, -math.inf).softmax(dim=1)
        return x + (weights[:, None] @ differences)[:, 0]
