r"""Sums and weights that come out the same bit for bit, whatever else is computed beside them.

A bounded denoiser must change by one record's contribution, and nothing else, when that record comes or goes. In plain
floating point it would not: one more term changes how all the partial sums round, and a fast exponential or reduction
can give the last bit differently when a record merely moves to another place of the array. Three rules remove this,
instead of estimating it:

* sums run over numbers that are multiples of one power of two and stay below 2^53 of them: every partial sum is a
  float64 number, so the order, the number of threads and the device do not matter;
* everything else on the way to a contribution is elementwise addition, multiplication, division, square root and
  rounding, each correctly rounded by IEEE 754; the exponential is built from these;
* clipped numbers are cut toward zero, which can only shorten a vector.
"""

from __future__ import annotations

import math

import torch

#: Most records that a private denoiser takes: the proof is about neighbouring data sets of at most this size.
MAX_RECORDS = 2**20

#: Public anchors are clamped to plus or minus this on the unit scale, where images lie in [-1, 1].
ANCHOR_RANGE = 4.0

_LN2_HIGH = math.ldexp(math.floor(math.ldexp(math.log(2.0), 32)), -32)
_LN2_LOW = 1.9082149292705877e-10  # the rest of ln 2: a turn count of 11 bits times the first part is exact


def power_of_two(exponent: torch.Tensor) -> torch.Tensor:
    """Exactly ``2^exponent`` as float64, for int64 exponents clamped to [-1022, 1023]."""
    return (exponent.clamp(-1022, 1023) + 1023).bitwise_left_shift(52).view(torch.float64)


def exponential(z: torch.Tensor) -> torch.Tensor:
    """``exp(z)`` of float64 in [-700, 700], to a relative 1e-12; below that 0, and above that ``exp(700)``."""
    inside = z.clamp(-700.0, 700.0)
    turns = torch.round(inside * (1.0 / math.log(2.0)))
    rest = inside - turns * _LN2_HIGH
    rest = rest - turns * _LN2_LOW
    series = torch.ones_like(rest)
    for order in range(11, 0, -1):  # |rest| <= ln(2) / 2, so the next term of the series is below 1e-14
        series = series * rest
        series = series / order
        series = series + 1.0
    return torch.where(z < -700.0, 0.0, series * power_of_two(turns.to(torch.int64)))


def square_bits(dim: int) -> int:
    """Most bits that a whole number may have, so that the sum of ``dim`` squares of such numbers is exact."""
    return (53 - math.ceil(math.log2(dim))) // 2 if dim > 1 else 26


def record_bits(dim: int) -> int:
    """Binary places that records and anchors are rounded to: 16 up to 32,768 dimensions, a 500th of a pixel level.

    A record in [-1, 1] less an anchor in plus or minus ``ANCHOR_RANGE`` is below 2^3.
    """
    return min(16, square_bits(dim) - 3)


def round_to_bits(values: torch.Tensor, bits: int) -> torch.Tensor:
    """Nearest multiple of ``2^-bits``."""
    return values.mul(2.0**bits).round_().mul_(2.0**-bits)


def squared_distances(x: torch.Tensor, records: torch.Tensor) -> torch.Tensor:
    """Squared distances of points to records in [-1, 1], both rounded to a grid on which the sum is exact.

    The grid depends on the size of x only. For 3,072 dimensions it is 2^-16 while abs(x) < 15, 2^-11 at abs(x) = 400
    where the noise is near 80: far below the noise at every level from 0.002 up.

    Args:
        x: float64, shape (batch, d).
        records: float64, shape (batch, k, d).

    Returns:
        float64, shape (batch, k).
    """
    # A thousandth more than the largest difference, since rounding may add one step to it.
    exponent = torch.frexp(1.001 * (x.abs().amax(1) + 1.0)).exponent.to(torch.int64)
    bits = (square_bits(x.shape[1]) - exponent).clamp(max=record_bits(x.shape[1]))[:, None, None]
    up, down = power_of_two(bits), power_of_two(-bits)
    moved = (records * up).round_().sub_((x[:, None] * up).round_())
    return moved.square_().sum(2).mul_(down[..., 0]).mul_(down[..., 0])


def squared_distances_to_all(points: torch.Tensor, records: torch.Tensor) -> torch.Tensor:
    """Squared distances from every point to every record by matrix product, shape (batch, n).

    Exact where both are float64 multiples of one power of two whose sums of squares stay below 2^51 times its square;
    the caller sees to that.
    """
    squares = points.square().sum(1, keepdim=True) + records.square().sum(1)
    return squares - 2.0 * (points @ records.T)


def grid_step(bound: float) -> float:
    """Spacing of the coordinates of a contribution of norm ``bound``: a power of two of about ``2^-31 bound``.

    Never finer than 2^-50 and never coarser than 2^-16, hence ``MAX_RECORDS * bound <= 2^51 grid_step`` and
    ``ANCHOR_RANGE <= 2^52 grid_step``: an anchor and a million contributions together stay below ``2^53 grid_step``.
    """
    return max(2.0**-50, 2.0 ** (math.ceil(math.log2(bound)) - 31))
