r"""A denoiser over private records whose output provably moves by at most ``clip / beta`` when a record comes or goes.

.. math:: E(x, \sigma) = c(x, \sigma)
    + \frac1\beta \sum_{i \in \text{block}} \mathrm{clip}_C\bigl(w_i(x, \sigma)\,(x_i - c(x, \sigma))\bigr),
    \qquad w_i = \frac{k_i}{k_i + b\,Z(x, \sigma)},\quad k_i = e^{-\lVert x - x_i\rVert^2 / (2 \sigma^2)}

``c`` is a public denoiser, ``Z`` the mean of the same kernel over public images, ``b`` the number of records that the
public prior is worth. ``w_i`` is the posterior probability that ``x`` is a noisy record i rather than a noisy public
image. With ``b`` the expected block size and records much like the public images, E is close to the posterior mean over
block and public images together, as long as the clip does not bind.

Proof of sensitivity
--------------------
Let a data set gain record r, with everything else unchanged, and fix x, sigma and the block of the other records.

* c, Z and b are public: the same numbers in both worlds.
* The contribution of record i is a function of x_i, x, sigma and of public numbers only. In particular no weight is
  divided by a sum over private records, so the other contributions do not change.
* The two outputs therefore differ by exactly record r's contribution, or by nothing if r is not in the block, and the
  norm of a contribution is at most ``clip / beta``. That holds for every x, so also for an x that earlier steps on the
  same records have made: the steps compose adaptively.

*In floating point.* The same holds for the float64 outputs, with no allowance for rounding, by the rules of
``privlib.denoisers.exact``. Records and c are rounded to a grid of 2^-16, so that squared distances are exact sums and
the contribution of a record has the same bits wherever it lies in the array. Contributions are scaled to norm
``(1 - 2^-49) clip / beta`` (three roundings of 2^-53 each fit into the gap), cut toward zero to multiples of
``grid_step``, and added exactly: the difference of the two outputs is record r's contribution, bit for bit. This needs
x in float64 (any other dtype is refused), at most ``exact.MAX_RECORDS`` records, and a public side that looks at no
private record. What a sampler does with the output, and the Gaussian noise that it draws in floating point, are not
part of this claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import torch

from privlib.data.images import ImageSet
from privlib.denoisers.arguments import check_noisy, check_sigma
from privlib.denoisers.blocks import Blocks
from privlib.denoisers.exact import (
    ANCHOR_RANGE,
    MAX_RECORDS,
    exponential,
    grid_step,
    record_bits,
    round_to_bits,
    squared_distances,
)
from privlib.numerics import check_positive

#: Float64 numbers that one tile of contributions may hold: what stays in a core's cache (1 MiB), and what fills a GPU.
TILE_NUMBERS, GPU_TILE_NUMBERS = 2**17, 2**23


class Anchor(Protocol):
    """Public side of a bounded denoiser, such as ``anchors.PublicAnchor``."""

    image_shape: tuple[int, ...]

    def mean_and_log_mass(self, x: torch.Tensor, sigma: torch.Tensor | float) -> tuple[torch.Tensor, torch.Tensor]:
        """Public denoiser output, shape of ``x``, and log of the mean public kernel, shape (batch,)."""
        ...


def check_records(data: torch.Tensor | ImageSet, image_shape: tuple[int, ...]) -> torch.Tensor:
    """Private records as rows, shape (n, d), float32 or float64; ValueError unless the proof covers them."""
    data = data.unit() if isinstance(data, ImageSet) else data
    if not data.is_floating_point() or tuple(data.shape[1:]) != image_shape:
        raise ValueError(
            f"data must be floating point of shape (n, {', '.join(map(str, image_shape))}) like the public images, "
            f"got {data.dtype} of shape {tuple(data.shape)}"
        )
    if len(data) > MAX_RECORDS:
        raise ValueError(f"data must hold at most {MAX_RECORDS} records, which the proof needs, got {len(data)}")
    if not bool((data.abs() <= 1.0).all()):
        raise ValueError("data must lie in [-1, 1], got a value outside or NaN")
    return data.flatten(1)


def tile_numbers(like: torch.Tensor) -> int:
    """How many numbers of a tile to hold where ``like`` lies."""
    return GPU_TILE_NUMBERS if like.is_cuda else TILE_NUMBERS


def check_float64(x: torch.Tensor) -> None:
    """ValueError unless ``x`` is float64: the sensitivity is proved in that arithmetic only."""
    if x.dtype != torch.float64:
        raise ValueError(f"x must be float64, in which the sensitivity is proved, got {x.dtype}")


def public_rows(anchor: torch.Tensor) -> torch.Tensor:
    """Anchor images as rows, clamped to ``ANCHOR_RANGE`` and on the grid of the records."""
    if not bool(torch.isfinite(anchor).all()):
        raise ValueError("the public denoiser must give finite images, got NaN or infinity")
    rows = anchor.flatten(1).to(torch.float64)
    return round_to_bits(rows.clamp(-ANCHOR_RANGE, ANCHOR_RANGE), record_bits(rows.shape[1]))


class ClippedDenoiser:
    r"""Sum of clipped contributions of the records around a public anchor; proof in the module's docstring.

    Args:
        data: private records on the unit scale, shape (n, *event), 0 <= n <= ``MAX_RECORDS``. n is not used.
        anchor: public denoiser and kernel mass.
        public_weight: number b of records that the public prior counts for, positive; a public number, best the
            expected block size.
        clip: largest norm C of a contribution before the division by ``beta``, positive.
        beta: public normalization, positive.

    Raises:
        ValueError: a parameter outside its range, records that do not match the anchor or leave [-1, 1], or
            ``clip / beta`` outside [1e-6, 1e4], where the grid of contributions would not do.
    """

    def __init__(
        self,
        data: torch.Tensor | ImageSet,
        anchor: Anchor,
        *,
        public_weight: float,
        clip: float = 1.0,
        beta: float = 1.0,
    ) -> None:
        self.image_shape = tuple(anchor.image_shape)
        rows = check_records(data, self.image_shape)
        self._rows = round_to_bits(rows, record_bits(rows.shape[1]))
        self._anchor = anchor
        self._public_weight = check_positive("public_weight", public_weight)
        self._beta = check_positive("beta", beta)
        self._bound = check_positive("clip", clip) / self._beta
        if not 1e-6 <= self._bound <= 1e4:
            raise ValueError(f"clip / beta must lie in [1e-6, 1e4], got {self._bound}")

    @property
    def num_records(self) -> int:
        """Number of private records; itself private under add-or-remove adjacency."""
        return len(self._rows)

    def sensitivity(self, sigma: float) -> float:
        """L2 distance that adding or removing one record can move the output at most: ``clip / beta`` everywhere."""
        check_positive("sigma", sigma)
        return self._bound

    def __call__(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        """Denoise with all records as one block; cost O(batch * n * d), memory bounded by ``TILE_NUMBERS``."""
        base, levels, log_public = self._public(x, sigma)
        points, output = x.reshape(base.shape), base.clone()
        for records in self._rows.split(max(1, tile_numbers(base) // max(1, base.numel()))):
            same = records.to(base).expand(len(base), *records.shape)
            output += self._contributions(points, same, base, levels, log_public).sum(1)
        return output.reshape(x.shape)

    def on_blocks(self, blocks: Blocks) -> Callable[[torch.Tensor, torch.Tensor | float], torch.Tensor]:
        """A denoiser whose row i sees the records of block i only; an empty block gives the anchor."""
        blocks.check_against(self.num_records)

        def denoise(x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
            if len(x) != len(blocks):
                raise ValueError(f"x must have one row for each of {len(blocks)} blocks, got {len(x)}")
            base, levels, log_public = self._public(x, sigma)
            points, output = x.reshape(base.shape), base.clone()
            sizes = blocks.sizes
            at_once = max(1, tile_numbers(base) // max(1, int(sizes.max()) * base.shape[1]))
            for start in range(0, len(x), at_once):
                part = slice(start, start + at_once)
                width, full = int(sizes[part].max()), int(sizes[part].min())
                index, present = (side[part, :width].to(self._rows.device) for side in (blocks.index, blocks.mask))
                records = self._rows[index.clamp(min=0)].to(base)
                terms = self._contributions(points[part], records, base[part], levels[part], log_public[part])
                if full < width:
                    terms.masked_fill_(~present[..., None].to(terms.device), 0.0)
                output[part] += terms.sum(1)
            return output.reshape(x.shape)

        return denoise

    def _public(self, x: torch.Tensor, sigma: torch.Tensor | float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Anchor as rows, noise levels, and log of the public weight times the public kernel mass."""
        check_noisy(x, self.image_shape)
        check_float64(x)
        base, log_mass = self._anchor.mean_and_log_mass(x, sigma)
        return public_rows(base), check_sigma(sigma, x), log_mass + math.log(self._public_weight)

    def _contributions(
        self,
        points: torch.Tensor,
        records: torch.Tensor,
        base: torch.Tensor,
        levels: torch.Tensor,
        log_public: torch.Tensor,
    ) -> torch.Tensor:
        """Clipped contributions, shape (batch, records, d), each a function of its record and public numbers."""
        logit = squared_distances(points, records) / (-2.0 * levels[:, None] ** 2) - log_public[:, None]
        smaller = exponential(-logit.abs())
        weights = torch.where(logit >= 0.0, 1.0, smaller) / (1.0 + smaller)
        moves = records - base[:, None]
        norms = moves.square().sum(2).sqrt_()
        scales = torch.minimum(weights / self._beta, (1.0 - 2.0**-49) * self._bound / norms)
        step = grid_step(self._bound)  # a power of two, by which scaling is exact
        return moves.mul_((scales / step)[..., None]).trunc_().mul_(step)
