"""The data of the epsilon explorer: axes, and the printed ends of epsilon at every point."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class DataSet:
    """Size and delta that the paper uses for a data set."""

    name: str
    records: int
    delta: float


@dataclass(frozen=True)
class Grid:
    """All axes of the explorer, and the printed ends of epsilon at every point.

    ``lower`` and ``upper`` run over data sets, block sizes, betas, counts and hand-offs, the last one fastest. An end
    is a decimal string; None where no end could be proved.
    """

    num_steps: int
    data_sets: tuple[DataSet, ...]
    block_sizes: tuple[int, ...]
    betas: tuple[float, ...]
    counts: tuple[int, ...]
    handoffs: tuple[int, ...]
    handoff_sigmas: tuple[str, ...]
    lower: tuple[str | None, ...]
    upper: tuple[str | None, ...]

    def to_json(self) -> str:
        """The grid as JSON; a change of layout must reach ``explorer_page`` and ``explorer.js``."""
        return json.dumps(asdict(self), separators=(",", ":")) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Grid:
        """Inverse of ``to_json``; raises TypeError for missing or unknown entries."""
        data = json.loads(text)
        sets = tuple(DataSet(**entry) for entry in data.pop("data_sets"))
        return cls(data_sets=sets, **{name: tuple(v) if isinstance(v, list) else v for name, v in data.items()})

    def index(self, data_set: int, block_size: int, beta: int, count: int, handoff: int) -> int:
        """Place in ``lower`` and ``upper`` of the point with these positions on the axes."""
        place = 0
        for position, axis in zip(
            (data_set, block_size, beta, count, handoff),
            (self.data_sets, self.block_sizes, self.betas, self.counts, self.handoffs),
            strict=True,
        ):
            place = place * len(axis) + position
        return place
