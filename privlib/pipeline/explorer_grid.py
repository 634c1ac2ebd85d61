"""Compute the numbers of the epsilon explorer: certified intervals over the design choices of the sampler.

    python -m privlib.pipeline.explorer_grid _build/explorer/grid.json

The page ``book/explorer.md`` includes ``book/explorer/fragment.html``, which staging writes from this file and from the
script ``book/explorer/explorer.js`` with ``privlib.pipeline.explorer_page.write_fragment``. The staged
``book/_static/explorer/grid.json`` is for readers who want the data; the page carries a copy and fetches nothing.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from itertools import product
from pathlib import Path

from privlib.accounting.certified import epsilon_interval
from privlib.files import replace_text
from privlib.mechanisms import SubsampledGaussian, block_gdp_mu
from privlib.pipeline.explorer_data import DataSet, Grid
from privlib.schedules import edm_sigmas
from privlib.types import AccountingError, Interval

NUM_STEPS = 39
#: Significant digits of the printed ends.
DIGITS = 5


DATA_SETS = (DataSet("CIFAR-10", 50_000, 1e-5), DataSet("CelebA-64", 162_770, 1e-6))
BLOCK_SIZES = (25, 50, 100, 200)
BETAS = (1.0, 2.0)
COUNTS = (1, 10_000, 50_000)
#: Private steps of the 39-level grid; 22, 25, 26, 27, 28 are the paper's 55, 62, 65, 67, 70 %.
HANDOFFS = (8, 16, 20, 22, 23, 24, 25, 26, 27, 28)


def printed(interval: Interval, digits: int = DIGITS) -> tuple[str, str | None]:
    """Both ends with ``digits`` significant digits, rounded outwards, so that what is printed stays proved.

    An infinite upper end is None. Zero is "0".
    """
    lower = _rounded(interval.lower, digits, ROUND_FLOOR)
    return lower, None if math.isinf(interval.upper) else _rounded(interval.upper, digits, ROUND_CEILING)


def _rounded(value: float, digits: int, rounding: str) -> str:
    # Decimal(value) is the exact binary number, so one directed rounding is all that happens.
    if value == 0.0:
        return "0"
    number = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value))
    # Zeros at the end are digits too: 2 becomes 2.0000.
    return format(number.quantize(Decimal(1).scaleb(number.adjusted() - digits + 1)), "f")


def point(mechanism: SubsampledGaussian, delta: float) -> tuple[str | None, str | None]:
    """Printed ends of epsilon; (None, None) where the accountant proves nothing.

    A narrow interval is asked for first. Where double precision cannot prove one, a wide interval is still an interval.
    """
    for tolerance in (1e-3, 1e3):
        try:
            return printed(epsilon_interval(mechanism, delta, tolerance=tolerance))
        except AccountingError:
            continue
    return None, None


def compute_grid(
    *,
    data_sets: Sequence[DataSet] = DATA_SETS,
    block_sizes: Sequence[int] = BLOCK_SIZES,
    betas: Sequence[float] = BETAS,
    counts: Sequence[int] = COUNTS,
    handoffs: Sequence[int] = HANDOFFS,
) -> Grid:
    """Certified epsilon at every combination, under adding or removing one record and Poisson subsampling.

    Cost: about 0.1 s a point on one core.
    """
    sigmas = edm_sigmas(NUM_STEPS)
    ends = []
    for data, size, beta, count, steps in product(data_sets, block_sizes, betas, counts, handoffs):
        mechanism = SubsampledGaussian(block_gdp_mu(sigmas, steps, beta=beta), size / data.records, count)
        ends.append(point(mechanism, data.delta))
    return Grid(
        num_steps=NUM_STEPS,
        data_sets=tuple(data_sets),
        block_sizes=tuple(block_sizes),
        betas=tuple(betas),
        counts=tuple(counts),
        handoffs=tuple(handoffs),
        handoff_sigmas=tuple(f"{float(sigmas[steps - 1]):.3g}" for steps in handoffs),
        lower=tuple(lower for lower, _ in ends),
        upper=tuple(upper for _, upper in ends),
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="privlib.pipeline.explorer_grid", description="Compute the explorer's grid.")
    parser.add_argument("output", type=Path, metavar="GRID.json")
    output = parser.parse_args(arguments).output
    replace_text(output, compute_grid().to_json())
    return 0


if __name__ == "__main__":
    sys.exit(main())
