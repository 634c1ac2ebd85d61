"""Paired distances: the plain distance, coverage of the interval of a difference, and verdicts on known curves."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from privlib.metrics.frechet import fit_gaussian, frechet_distance, frechet_estimate
from privlib.metrics.paired import PairedDistances, paired_distances
from privlib.metrics.trends import falls, has_inner_minimum
from privlib.types import Trend


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


REFERENCE = normal(1_000, 3_000, 4)


def shifted(seed: int, shift: float, count: int = 200) -> torch.Tensor:
    """Samples of N(shift, 1) in each of four coordinates; one seed is one draw of noise."""
    return normal(seed, count, 4) + shift


def truth(shift: float) -> float:
    """Distance of that law to the reference set, whose own mean and covariance count as exact."""
    target = fit_gaussian(REFERENCE)
    exact = type(target)(torch.full((4,), shift, dtype=torch.float64), torch.eye(4, dtype=torch.float64))
    return frechet_distance(exact, target)


def test_the_value_is_that_of_the_single_estimate() -> None:
    sets = {"a": shifted(0, 0.3), "b": shifted(0, 0.5)}
    both = paired_distances(sets, REFERENCE, num_bootstrap=200, seed=3)
    for name, rows in sets.items():
        one = frechet_estimate(rows, REFERENCE, num_bootstrap=200, seed=3)
        found = both.distance(name)
        assert found.value == pytest.approx(one.extrapolated, rel=1e-9)
        assert found.upper - found.lower == pytest.approx(one.upper - one.lower, rel=0.15)
    assert both.num_samples == 200
    swapped = [both.difference(*pair) for pair in (("a", "b"), ("b", "a"))]
    assert swapped[0].value == -swapped[1].value and swapped[0].lower == -swapped[1].upper


def test_the_interval_of_a_difference_covers_it_and_pairing_narrows_it() -> None:
    exact = truth(0.5) - truth(0.3)
    hits, widths, apart = 0, [], []
    for seed in range(60):
        sets = {"near": shifted(seed, 0.3), "far": shifted(seed, 0.5), "alone": shifted(seed + 500, 0.5)}
        both = paired_distances(sets, REFERENCE, num_bootstrap=60, num_halvings=2, seed=seed)
        change = both.difference("far", "near", confidence=0.9)
        hits += change.lower <= exact <= change.upper
        widths.append(change.upper - change.lower)
        other = both.difference("alone", "near", confidence=0.9)
        apart.append(other.upper - other.lower)
    assert hits / 60 > 0.9 - 4.0 * (0.09 / 60) ** 0.5
    assert np.mean(widths) < 0.6 * np.mean(apart)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sets": {}}, "at least one set"),
        ({"sets": {"a": shifted(0, 0.0), "b": shifted(0, 0.0, count=100)}}, "must hold the same samples"),
        ({"sets": {"a": normal(0, 100, 3)}}, "in the 4 dimensions of the reference, got shapes [(100, 3)]"),
        ({"sets": {"a": shifted(0, 0.0, count=9)}}, "9 samples and 3000 reference samples are too few"),
        ({"sets": {"a": shifted(0, float("nan"))}}, "a must be finite"),
        ({"num_bootstrap": 19}, "num_bootstrap"),
        ({"num_halvings": 0}, "num_halvings"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        paired_distances(**{"sets": {"a": shifted(0, 0.0)}, "reference": REFERENCE, **arguments})


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_confidence_must_be_inside(confidence: float) -> None:
    distances = PairedDistances({"a": 1.0}, {"a": torch.tensor([0.9, 1.1]).double()}, 100)
    with pytest.raises(ValueError, match="confidence"):
        distances.distance("a", confidence=confidence)


def known(*values: float, error: float = 0.01) -> tuple[PairedDistances, list[str]]:
    """Distances with a given value and an independent error each."""
    names = [f"n{i}" for i in range(len(values))]
    draws = {name: value + error * normal(i, 400) for i, (name, value) in enumerate(zip(names, values, strict=True))}
    return PairedDistances(dict(zip(names, values, strict=True)), draws, 400), names


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((3.0, 2.0, 1.0), Trend.HOLDS),
        ((3.0, 1.0, 1.001), Trend.HOLDS),  # a rise within the error
        ((3.0, 1.0, 2.0), Trend.FAILS),  # lower at the end, but it rises on the way
        ((1.0, 2.0, 3.0), Trend.FAILS),
        ((1.0, 1.001, 0.999), Trend.UNRESOLVED),
        ((2.0, 1.0), Trend.HOLDS),
        ((1.0, 2.0), Trend.FAILS),
    ],
)
def test_verdict_on_a_fall(values: tuple, verdict: Trend) -> None:
    assert falls(*known(*values)) is verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((3.0, 2.0, 1.0, 2.0), Trend.HOLDS),
        ((3.0, 2.0, 1.5, 1.0), Trend.FAILS),
        ((1.0, 2.0, 2.0), Trend.FAILS),
        ((3.0, 1.001, 1.0), Trend.UNRESOLVED),
        ((1.0, 1.0, 1.001), Trend.UNRESOLVED),
    ],
)
def test_verdict_on_an_inner_minimum(values: tuple, verdict: Trend) -> None:
    assert has_inner_minimum(*known(*values)) is verdict


def test_verdicts_need_enough_points() -> None:
    distances, names = known(1.0, 2.0)
    with pytest.raises(ValueError, match="at least two"):
        falls(distances, names[:1])
    with pytest.raises(ValueError, match="at least three"):
        has_inner_minimum(distances, names)


def test_chance_alone_seldom_decides() -> None:
    """Three generators of one law: with 5 % for each verdict, 2 of 40 are expected and 9 are one in ten thousand."""
    verdicts = []
    for seed in range(40):
        sets = {name: shifted(100 * seed + i, 0.3) for i, name in enumerate("abc")}
        verdicts.append(falls(paired_distances(sets, REFERENCE, num_bootstrap=60, num_halvings=2, seed=seed), "abc"))
    assert sum(verdict is not Trend.UNRESOLVED for verdict in verdicts) < 9
