"""The private records as rows of numbers, read in tiles and never copied as a whole."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from privlib.data.images import ImageSet

#: Bytes 0..255 are ``(byte - 127.5) / 127.5`` on the unit scale.
_HALF_RANGE = 127.5
_PASS_BYTES = 2**24
_CENTRE_RECORDS = 1024


class Records:
    r"""Records as they are stored (floating point, or the bytes of an ImageSet), with what log-weights need of each.

    Rows r are read as floating point, and ``y = scale r`` is the record. Bytes are stored as bytes, a quarter of the
    memory of float32, and read as ``byte - 127.5``, which is exact and costs a few percent of the products that follow.

    Attributes:
        event_shape: shape of one record.
        scale: from rows to the unit scale, 1 for floating-point data.
        centre: mean c of some records, float64, shape (d,). Any point would do; this one keeps products small.
        offset: :math:`h_i = |y_i|^2/2 - c \cdot y_i`, float64, shape (n,).
        largest: largest norm of a row.

    Args:
        data: floating point on the unit scale, shape (n, *event) with n >= 2, or an ImageSet. It is kept, not copied,
            and must not change afterwards.

    Raises:
        ValueError: another type, dtype or shape, fewer than two records, NaN or infinity.
    """

    def __init__(self, data: torch.Tensor | ImageSet) -> None:
        from_bytes = isinstance(data, ImageSet)
        stored = data.pixels if from_bytes else data
        if not isinstance(stored, torch.Tensor) or not (from_bytes or stored.is_floating_point()):
            found = stored.dtype if isinstance(stored, torch.Tensor) else type(stored).__name__
            raise ValueError(f"data must be a floating-point tensor on the unit scale or an ImageSet, got {found}")
        if stored.ndim < 2 or stored[:1].numel() == 0:
            raise ValueError(f"data must have shape (n, *event) without a side of 0, got {tuple(stored.shape)}")
        if len(stored) < 2:
            raise ValueError(
                "data must hold at least 2 records: the posterior mean of one record is that record, got 1"
            )
        self.event_shape = tuple(stored.shape[1:])
        self.scale = 1.0 / _HALF_RANGE if from_bytes else 1.0
        self._stored = stored.detach().reshape(len(stored), -1)
        some = torch.arange(0, len(stored), max(1, len(stored) // _CENTRE_RECORDS), device=stored.device)
        self.centre = self.scale * self.rows(some, stored.device).mean(dim=0)
        self.offset = torch.empty(len(stored), dtype=torch.float64, device=stored.device)
        norms = torch.empty_like(self.offset)
        size = max(1, _PASS_BYTES // (8 * self.dimension))
        for start, rows in self.tiles(size, torch.float64, stored.device):
            part = slice(start, start + len(rows))
            norms[part] = torch.linalg.vector_norm(rows, dim=1)
            self.offset[part] = 0.5 * (self.scale * norms[part]).square() - self.scale * (rows @ self.centre)
        self.largest = norms.max().item()
        if not bool(torch.isfinite(self.offset).all()):
            raise ValueError("data must be finite, got NaN or infinity")

    def __len__(self) -> int:
        return len(self._stored)

    @property
    def dimension(self) -> int:
        """Numbers in one record, d."""
        return self._stored.shape[1]

    def tiles(
        self, size: int, dtype: torch.dtype, device: torch.device, *, share: int = 0, shares: int = 1
    ) -> Iterator[tuple[int, torch.Tensor]]:
        """First record and rows of one tile after another: ``dtype`` on ``device``, shape (t, d), t at most ``size``.

        Of every ``shares`` tiles only the one in place ``share``, counted from 0. Each tile holds until the next one is
        asked for: fresh memory for each would take longer to get than to fill, and freed pieces of it may pile up.
        """
        as_stored = self._stored.dtype == dtype
        memory = None if as_stored else torch.empty(size, self.dimension, dtype=dtype, device=device)
        for start in range(share * size, len(self), shares * size):
            part = self._stored[start : start + size]
            yield start, part.to(device) if as_stored else self._read(part, memory[: len(part)])

    def rows(self, index: torch.Tensor, device: torch.device) -> torch.Tensor:
        """Rows at ``index`` as float64 on ``device``, shape (*index.shape, d)."""
        chosen = self._stored[index.to(self._stored.device)]
        return self._read(chosen, torch.empty(chosen.shape, dtype=torch.float64, device=device))

    def _read(self, stored: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        memory.copy_(stored)
        return memory if stored.is_floating_point() else memory.sub_(_HALF_RANGE)
