r"""A denoiser that listens to the population: a wide public kernel over all records, every contribution clipped.

.. math:: E(x, \sigma) = c(x, \sigma) + \sum_i \mathrm{clip}_C\Bigl(\frac{k_i}{Z(y)}\,(x_i - \mu(y))\Bigr),
    \qquad k_i = e^{-\lVert y - V^\top x_i\rVert^2 / (2 \tau^2)},\quad y = V^\top c(x, \sigma)

``c`` is a public denoiser, ``V`` the leading principal directions of public images, ``tau`` a bandwidth so wide that
thousands of records share the weight, ``Z(y)`` the public kernel mass scaled to a nominal number of records and
``mu(y)`` the public mean under the kernel. The sum is the shift from the public to the private mean around y. No block
is drawn: all records take part in every output, each with a whisper. ``tau = inf`` is one private mean shift.

Proof of sensitivity
--------------------
x, sigma, c, V, tau, mu and Z, the nominal number of records inside Z included, are public. A contribution is a function
of its own record and of these, so one record more or less changes the sum by that record's contribution and by nothing
else: by at most ``clip`` in norm, for every x. If Z were computed from the private records instead, all contributions
would change at once and the bound would be false.

*In floating point.* All sums are over whole multiples of a power of two and stay below 2^53 of them, so they are exact
in any order (``privlib.denoisers.exact``), matrix products included: a product of two such numbers is one as well.

* Records are rounded to 2^-12, V to 2^-20, so ``V' x_i`` is exact; it is rounded again, elementwise, to a grid on which
  the squared distance to y is an exact sum. mu is rounded to 2^-12: the squared norm of ``x_i - mu`` is exact.
* The weight ``min(k_i / Z, (1 - 2^-49) C / max(norm, 1))`` comes from correctly rounded elementwise operations (four of
  them fit into the gap) and is cut toward zero to a multiple of h, a public power of two. The exact contribution, this
  weight times ``x_i - mu``, is then at most C long.
* h is at least 2^-19 times a public upper bound of the weights and at least 2^-36. So sums over ``MAX_RECORDS`` records
  stay below 2^51 multiples of ``2^-12 h``, and adding c, rounded to 2^-16 and at most 4, is exact as well.

The float64 outputs of the two worlds thus differ by a vector of norm at most ``clip``, with no allowance for rounding.
Sampler arithmetic and the drawing of Gaussian noise in floating point are not part of this claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from privlib.data.images import ImageSet
from privlib.denoisers.anchors import as_images, principal_directions
from privlib.denoisers.arguments import check_noisy, check_sigma
from privlib.denoisers.clipped import check_float64, check_records, public_rows
from privlib.denoisers.exact import exponential, power_of_two, round_to_bits, squared_distances_to_all
from privlib.numerics import check_count, check_positive

#: Binary places of records, of the public mean and of the public directions.
RECORD_BITS, DIRECTION_BITS = 12, 20

#: Records that are held in float64 at a time.
TILE_RECORDS = 4096


class PopulationDenoiser:
    """Public denoiser plus a kernel-weighted private mean shift; proof in the module's docstring.

    Args:
        data: private records on the unit scale, shape (n, *event), 0 <= n <= ``MAX_RECORDS``.
        images: public images on the unit scale, shape (m, *event).
        denoiser: public denoiser c.
        nominal_records: public number that stands for n in the public kernel mass; never count the data for it.
        clip: largest norm C of a contribution, in [1e-6, 1].
        bandwidth: kernel width tau on the unit scale, L2 norm over pixels; ``inf`` weighs all records alike.
        rank: number of principal directions of the public images that the kernel looks at, from 1 to d.

    Raises:
        ValueError: a parameter outside its range, or records that do not match the public images or leave [-1, 1].
    """

    def __init__(
        self,
        data: torch.Tensor | ImageSet,
        images: torch.Tensor | ImageSet,
        denoiser: Callable[[torch.Tensor, torch.Tensor | float], torch.Tensor],
        *,
        nominal_records: int,
        clip: float,
        bandwidth: float,
        rank: int = 32,
    ) -> None:
        images = as_images(images)
        self.image_shape = tuple(images.shape[1:])
        dim = images[0].numel()
        if check_count(rank, "rank") > dim:
            raise ValueError(f"rank must lie in 1..{dim}, the number of pixel values, got {rank}")
        if bandwidth != math.inf:
            check_positive("bandwidth", bandwidth)
        self._clip = check_positive("clip", clip)
        if not 1e-6 <= self._clip <= 1.0:
            raise ValueError(f"clip must lie in [1e-6, 1], got {clip!r}")
        self._denoiser, self._bandwidth = denoiser, float(bandwidth)
        self._public = images.flatten(1).to(torch.float64)
        self._per_public = check_count(nominal_records, "nominal_records") / len(images)
        self._directions = round_to_bits(principal_directions(self._public, rank), DIRECTION_BITS)
        self._public_places = self._public @ self._directions
        # A place is no longer than sqrt(dim) plus rounding; four squares of that, times the rank, must stay exact.
        self._place_range = 2.0 ** math.ceil(math.log2(math.sqrt(dim) + 1.0))
        self._place_bits = (51 - math.ceil(math.log2(rank)) - 2 * int(math.log2(self._place_range))) // 2
        rows = check_records(data, self.image_shape)
        self._records = round_to_bits(rows.clone(), RECORD_BITS).to(torch.float32)  # 13 bits: exact
        self._places = torch.cat([self._place(tile) for tile in self._records.split(TILE_RECORDS)])

    @property
    def num_records(self) -> int:
        """Number of private records; itself private under add-or-remove adjacency."""
        return len(self._records)

    def sensitivity(self, sigma: float) -> float:
        """L2 distance that adding or removing one record can move the output at most: ``clip`` at every level."""
        check_positive("sigma", sigma)
        return self._clip

    def __call__(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        """Denoise with all records; cost O(batch * (n + m) * d)."""
        check_noisy(x, self.image_shape)
        check_float64(x)
        check_sigma(sigma, x)
        output = public_rows(self._denoiser(x, sigma))
        place = self._place(output)
        images = self._public.to(output)
        public = self._kernel(place, self._public_places.to(output))
        mass = public.sum(1, keepdim=True).clamp_(min=1e-300)
        mean = round_to_bits(((public / mass) @ images).clamp_(-1.0, 1.0), RECORD_BITS)
        mass *= self._per_public
        largest = (1.0 / mass).clamp_(max=self._clip)
        step = power_of_two(torch.frexp(largest).exponent.to(torch.int64) - 19).clamp_(min=2.0**-36)
        total = torch.zeros_like(mass)
        for tile, places in zip(self._records.split(TILE_RECORDS), self._places.split(TILE_RECORDS), strict=True):
            records = tile.to(output)
            squared = squared_distances_to_all(mean, records)
            limit = (1.0 - 2.0**-49) * self._clip / squared.sqrt_().clamp_(min=1.0)
            weights = torch.minimum(self._kernel(place, places.to(output)) / mass, limit)
            weights.div_(step).trunc_().mul_(step)
            output += weights @ records
            total += weights.sum(1, keepdim=True)
        return (output - total * mean).reshape(x.shape)

    def _place(self, rows: torch.Tensor) -> torch.Tensor:
        """Where images lie in the public subspace, on the grid of the kernel."""
        places = round_to_bits(rows.to(torch.float64), RECORD_BITS) @ self._directions.to(rows.device)
        return round_to_bits(places.clamp_(-self._place_range, self._place_range), self._place_bits)

    def _kernel(self, place: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        if self._bandwidth == math.inf:
            return torch.ones(len(place), len(places), dtype=torch.float64, device=place.device)
        return exponential(squared_distances_to_all(place, places) / (-2.0 * self._bandwidth**2))
