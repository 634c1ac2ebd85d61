r"""The posterior mean under the empirical distribution of a data set: exact, and as private as a copy of the data.

Given ``x = x0 + sigma z`` with x0 one of the records, each as likely, and z standard normal,

.. math:: E[x_0 | x] = \sum_i w_i y_i, \qquad
          w_i = \frac{e^{-|x - y_i|^2 / (2 \sigma^2)}}{\sum_j e^{-|x - y_j|^2 / (2 \sigma^2)}} .

At small sigma this is the nearest record. Nothing here bounds what one record can do, so there is no ``sensitivity``.

How it is computed, and how exact that is: ``posterior``.
"""

from __future__ import annotations

import math

import torch
from torch.nn.functional import one_hot

from privlib.data.images import ImageSet
from privlib.denoisers.arguments import check_noisy, check_sigma
from privlib.denoisers.blocks import Blocks
from privlib.denoisers.posterior import Posterior
from privlib.denoisers.records import Records
from privlib.numerics import check_count

_BLOCK_BYTES = 4 * 2**20


class EmpiricalDenoiser:
    """Posterior mean over all records: ``EmpiricalDenoiser(data)(x, sigma)``.

    Time: two float32 products of batch x n x d, or one where sigma is small against the distances between records.
    Memory beyond the data: 8 bytes a record, 12 MiB for a tile on each thread (96 MiB on a GPU), 128 rows of x.
    The data may live on another device than x; tiles are moved.

    Args:
        data: floating point on the unit scale, shape (n, *event) with n >= 2, or an ImageSet, which stays in bytes.
            It is kept, not copied, and must not change afterwards.

    Raises:
        ValueError: an integer dtype, no event dimension, fewer than two records, NaN or infinity.
    """

    def __init__(self, data: torch.Tensor | ImageSet) -> None:
        self._records = Records(data)
        self._posterior = Posterior(self._records)

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
        return self._posterior.mean_and_log_mass(x, sigma)[0]

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

        return self._posterior.expectation(x, sigma, num_classes, indicators)[0].to(x.dtype)

    def on_blocks(self, blocks: Blocks) -> BlockDenoiser:
        """The denoiser whose row i sees the records of block i only.

        Raises:
            ValueError: a record that the data set does not have; a block of fewer than two records.
        """
        return BlockDenoiser(self._records, blocks)


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
