"""A batch of blocks: which records each row of a batch may see."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

import torch

#: What fills the rest of a row whose block is smaller than the widest one.
PADDING = -1


@dataclass(frozen=True)
class Blocks:
    """One block of records for each row of a batch, as indices into the data set.

    Attributes:
        index: int64, shape (batch, width); row i holds the different records of block i in any order, then padding -1.
            A row that is all -1 is an empty block, as Poisson sampling may draw it.

    Raises:
        ValueError: another dtype or shape, no row, an index below -1, a record after padding or twice in one row.
    """

    index: torch.Tensor

    def __post_init__(self) -> None:
        index = self.index
        if not isinstance(index, torch.Tensor) or index.dtype != torch.int64 or index.ndim != 2 or len(index) == 0:
            shown = f"{index.dtype} of shape {tuple(index.shape)}" if isinstance(index, torch.Tensor) else repr(index)
            raise ValueError(
                f"index must be an int64 tensor of shape (batch, width) with batch at least 1, got {shown}"
            )
        if bool((index < PADDING).any()):
            raise ValueError(f"index must hold records 0, 1, ... and -1 for padding, got {int(index.min())}")
        ordered = index.sort(dim=1).values
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != PADDING)
        gap = (index[:, 1:] != PADDING) & (index[:, :-1] == PADDING)
        for reason, wrong in (("a record after padding", gap), ("a record twice", twice)):
            rows = wrong.any(dim=1).nonzero().flatten().tolist()
            if rows:
                raise ValueError(f"index: row {rows[0]} has {reason}: {index[rows[0]].tolist()}")

    @classmethod
    def from_lists(cls, blocks: Sequence[Sequence[int]]) -> Blocks:
        """Blocks from one list of records each, padded to the longest; TypeError unless all are whole numbers."""
        width = max((len(block) for block in blocks), default=0)
        rows = [[operator.index(record) for record in block] + [PADDING] * (width - len(block)) for block in blocks]
        return cls(torch.tensor(rows, dtype=torch.int64).reshape(len(rows), width))

    def __len__(self) -> int:
        return len(self.index)

    @property
    def mask(self) -> torch.Tensor:
        """True where ``index`` holds a record, shape (batch, width)."""
        return self.index != PADDING

    @property
    def sizes(self) -> torch.Tensor:
        """Number of records of each block, int64, shape (batch,)."""
        return self.mask.sum(dim=1)

    def check_against(self, num_records: int) -> None:
        """Raise ValueError if a block names a record that a data set of ``num_records`` does not have."""
        if self.index.numel() and int(self.index.max()) >= num_records:
            raise ValueError(f"blocks must name records 0..{num_records - 1}, got {int(self.index.max())}")
