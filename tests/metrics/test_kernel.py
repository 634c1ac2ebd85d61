"""The kernel distance: loops, torchmetrics, and the mean and variance over every possible set of samples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
import torch

from privlib.metrics import kernel
from privlib.metrics.kernel import KernelEstimate, kernel_difference, kernel_distance


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def cubic(x: torch.Tensor, y: torch.Tensor) -> float:
    return (float(x @ y) / len(x) + 1.0) ** 3


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def by_loops(samples: torch.Tensor, reference: torch.Tensor) -> float:
    own = mean([cubic(x, y) for x, y in itertools.permutations(samples, 2)])
    others = mean([cubic(x, y) for x, y in itertools.permutations(reference, 2)])
    return own + others - 2.0 * mean([cubic(x, y) for x in samples for y in reference])


@pytest.mark.parametrize(("count", "others", "features"), [(4, 4, 1), (7, 12, 5), (12, 5, 40)])
def test_against_loops(count: int, others: int, features: int) -> None:
    samples, reference = normal(0, count, features), 0.5 * normal(1, others, features) + 0.3
    estimate = kernel_distance(samples, reference)
    assert estimate.value == pytest.approx(by_loops(samples, reference), rel=1e-12)
    assert (estimate.num_samples, estimate.num_reference) == (count, others)
    assert kernel_distance(reference, samples).value == pytest.approx(estimate.value, rel=1e-12)
    assert kernel_distance(reference, samples).standard_error == pytest.approx(estimate.standard_error, rel=1e-12)


@pytest.mark.slow
def test_against_torchmetrics() -> None:
    from torchmetrics.image.kid import poly_mmd

    samples, reference = normal(0, 60, 9), normal(1, 60, 9) + 0.2
    assert kernel_distance(samples, reference).value == pytest.approx(float(poly_mmd(samples, reference)), rel=1e-10)


def test_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, others, reference = normal(0, 30, 3), normal(1, 30, 3), normal(2, 23, 3)
    distance, difference = kernel_distance(samples, reference), kernel_difference(samples, others, reference)
    monkeypatch.setattr(kernel, "_BLOCK", 7)
    for one, again in (
        (distance, kernel_distance(samples, reference)),
        (difference, kernel_difference(samples, others, reference)),
    ):
        assert again.value == pytest.approx(one.value, rel=1e-10)
        assert again.standard_error == pytest.approx(one.standard_error, rel=1e-10)
        assert again.reference_error == pytest.approx(one.reference_error, rel=1e-10)


def distinct(*ranges: int) -> list[tuple[int, ...]]:
    """Tuples of indices, the first ``ranges[0]`` of one set and the others of another, distinct within a set."""
    own, others, m, n = ranges
    return [(*a, *b) for a in itertools.permutations(range(m), own) for b in itertools.permutations(range(n), others)]


def variance_by_loops(samples: torch.Tensor, reference: torch.Tensor) -> dict[str, float]:
    """The five terms from means over tuples of distinct indices, one mean for each expectation."""
    m, n = len(samples), len(reference)
    xx = [[cubic(x, y) for y in samples] for x in samples]
    yy = [[cubic(x, y) for y in reference] for x in reference]
    xy = [[cubic(x, y) for y in reference] for x in samples]

    def own(k: list, count: int) -> tuple[float, float, float]:
        square = mean([k[i][j] ** 2 for i, j in distinct(2, 0, count, 0)])
        chain = mean([k[i][j] * k[i][p] for i, j, p in distinct(3, 0, count, 0)])
        return square, chain, mean([k[i][j] * k[p][q] for i, j, p, q in distinct(4, 0, count, 0)])

    both = mean([xy[i][j] ** 2 for i, j in distinct(1, 1, m, n)])
    rows = mean([xy[i][j] * xy[i][q] for i, j, q in distinct(1, 2, m, n)])
    columns = mean([xy[i][j] * xy[p][j] for i, p, j in distinct(2, 1, m, n)])
    apart = mean([xy[i][j] * xy[p][q] for i, p, j, q in distinct(2, 2, m, n)])
    x_with = mean([xx[i][p] * xy[i][j] for i, p, j in distinct(2, 1, m, n)])
    x_with -= mean([xx[p][q] * xy[i][j] for i, p, q, j in distinct(3, 1, m, n)])
    y_with = mean([yy[j][q] * xy[i][j] for i, j, q in distinct(1, 2, m, n)])
    y_with -= mean([yy[p][q] * xy[i][j] for i, j, p, q in distinct(1, 3, m, n)])
    (x2, x3, x4), (y2, y3, y4) = own(xx, m), own(yy, n)
    return {
        "samples": 4 / m * (x3 - x4 + rows - apart - 2 * x_with),
        "reference": 4 / n * (y3 - y4 + columns - apart - 2 * y_with),
        "within samples": 2 / (m * (m - 1)) * (x2 - 2 * x3 + x4),
        "within reference": 2 / (n * (n - 1)) * (y2 - 2 * y3 + y4),
        "cross": 4 / (m * n) * (both - rows - columns + apart),
    }


def variance_parts(samples: torch.Tensor, reference: torch.Tensor) -> dict[str, float]:
    signed = [(1.0, samples)]
    within = kernel._within([(1.0, reference)])
    return kernel._variance_parts(kernel._within(signed), kernel._cross(signed, reference), within)


def test_variance_against_loops_over_distinct_indices() -> None:
    samples, reference = normal(0, 6, 3), 0.7 * normal(1, 5, 3) + 0.4
    expected = variance_by_loops(samples, reference)
    found = variance_parts(samples, reference)
    assert found == pytest.approx(expected, rel=1e-9)
    estimate = kernel_distance(samples, reference)
    assert estimate.standard_error**2 == pytest.approx(sum(max(part, 0.0) for part in expected.values()), rel=1e-9)
    stays = max(expected["reference"], 0.0) + max(expected["within reference"], 0.0)
    assert estimate.reference_error**2 == pytest.approx(stays, rel=1e-9)


POINTS = torch.tensor([[0.0, 1.0], [2.0, -1.0], [0.5, 0.5]], dtype=torch.float64)


def populations(weights: tuple[float, ...]) -> torch.Tensor:
    return torch.tensor(weights, dtype=torch.float64)


def every_set(count: int, weights: torch.Tensor) -> list[tuple[list[int], float]]:
    """Every set of ``count`` independent draws of atoms, with its probability."""
    atoms = range(len(weights))
    return [(list(draw), float(weights[list(draw)].prod())) for draw in itertools.product(atoms, repeat=count)]


@pytest.mark.parametrize("reference_weights", [(0.3, 0.7), (0.8, 0.2)])
def test_distance_and_variance_are_unbiased_over_every_possible_sample(reference_weights: tuple) -> None:
    own, others = populations((0.8, 0.2)), populations(reference_weights)
    matrix = torch.tensor([[cubic(x, y) for y in POINTS[:2]] for x in POINTS[:2]], dtype=torch.float64)
    truth = float((own - others) @ matrix @ (own - others))
    moments = torch.zeros(3, dtype=torch.float64)
    for (left, p), (right, q) in itertools.product(every_set(4, own), every_set(5, others)):
        value = kernel_distance(POINTS[left], POINTS[right]).value
        variance = sum(variance_parts(POINTS[left], POINTS[right]).values())
        moments += p * q * torch.tensor([value, value**2, variance], dtype=torch.float64)
    first, second, variance = moments.tolist()
    assert first == pytest.approx(truth, abs=1e-10)
    assert variance == pytest.approx(second - first**2, rel=1e-9)


def test_difference_is_that_of_two_distances() -> None:
    first, second, reference = normal(0, 9, 3), normal(1, 9, 3) + 0.2, normal(2, 7, 3)
    expected = kernel_distance(first, reference).value - kernel_distance(second, reference).value
    assert kernel_difference(first, second, reference).value == pytest.approx(expected, rel=1e-10)


def test_variance_of_a_difference_is_unbiased_over_every_possible_sample() -> None:
    # Pairs that have something in common: three atoms, each a sample of either generator.
    pairs, weights = [(0, 1), (1, 1), (2, 0)], populations((0.5, 0.2, 0.3))
    others = populations((0.4, 0.6))
    moments = torch.zeros(3, dtype=torch.float64)
    for (draw, p), (right, q) in itertools.product(every_set(4, weights), every_set(4, others)):
        first, second = (POINTS[[pairs[i][side] for i in draw]] for side in (0, 1))
        reference = POINTS[right]
        value = kernel_difference(first, second, reference).value
        signed = [(1.0, first), (-1.0, second)]
        parts = kernel._variance_parts(kernel._within(signed), kernel._cross(signed, reference), None)
        variance = sum(parts.values())
        moments += p * q * torch.tensor([value, value**2, variance], dtype=torch.float64)
    mean_value, second_moment, variance = moments.tolist()
    assert variance == pytest.approx(second_moment - mean_value**2, rel=1e-9)


def simulate(estimate: Callable[[torch.Generator], KernelEstimate], repetitions: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(11)
    estimates = [estimate(generator) for _ in range(repetitions)]
    value, error = ([getattr(e, name) for e in estimates] for name in ("value", "standard_error"))
    return torch.tensor(value, dtype=torch.float64), torch.tensor(error, dtype=torch.float64)


def rectified(generator: torch.Generator, count: int, shift: float) -> torch.Tensor:
    """Features as a network with rectifiers gives them: not negative, half of them 0 without a shift."""
    return (torch.randn(count, 16, generator=generator, dtype=torch.float64) + shift).relu()


@pytest.mark.slow
@pytest.mark.parametrize(("count", "others"), [(200, 47), (200, 158), (47, 47)])
def test_equal_distributions(count: int, others: int) -> None:
    value, error = simulate(
        lambda g: kernel_distance(rectified(g, count, 0.0), rectified(g, others, 0.0)), repetitions=1000
    )
    scatter = float(value.std())
    assert abs(float(value.mean())) < 4.0 * scatter / math.sqrt(1000)
    assert 0.95 < float(error.square().mean().sqrt()) / scatter < 1.35  # terms set to 0 make it larger, never smaller
    assert float((value.abs() < 1.96 * error).double().mean()) > 0.93


@pytest.mark.slow
@pytest.mark.parametrize(("count", "others", "shift"), [(200, 47, 0.5), (200, 158, 0.5), (500, 158, 0.2)])
def test_standard_error_is_the_scatter(count: int, others: int, shift: float) -> None:
    value, error = simulate(
        lambda g: kernel_distance(rectified(g, count, shift), rectified(g, others, 0.0)), repetitions=1500
    )
    assert float(error.square().mean().sqrt()) / float(value.std()) == pytest.approx(1.0, abs=0.06)
    covered = ((value - value.mean()).abs() < 1.96 * error).double().mean()
    assert float(covered) == pytest.approx(0.95, abs=0.025)


@pytest.mark.slow
def test_more_samples_do_not_help_against_a_small_reference_but_pairs_do() -> None:
    few = kernel_distance(rectified(torch.Generator().manual_seed(1), 100, 0.3), normal(2, 47, 16).relu())
    many = kernel_distance(rectified(torch.Generator().manual_seed(1), 5000, 0.3), normal(2, 47, 16).relu())
    assert many.standard_error < few.standard_error
    assert many.standard_error == pytest.approx(many.reference_error, rel=0.05)
    assert few.reference_error == pytest.approx(many.reference_error, rel=0.35)

    def difference(generator: torch.Generator) -> KernelEstimate:
        noise = torch.randn(200, 16, generator=generator, dtype=torch.float64)
        return kernel_difference((noise + 0.3).relu(), (noise + 0.2).relu(), rectified(generator, 47, 0.0))

    value, error = simulate(difference, repetitions=1000)
    assert float(error.square().mean().sqrt()) / float(value.std()) == pytest.approx(1.0, abs=0.07)
    assert float(error.mean()) < 0.5 * few.standard_error


def test_interval() -> None:
    samples, reference = normal(0, 20, 3), normal(1, 20, 3)
    estimate = kernel_distance(samples, reference, confidence=0.6827)
    assert estimate.upper - estimate.value == pytest.approx(estimate.standard_error, rel=1e-3)
    assert estimate.value - estimate.lower == pytest.approx(estimate.standard_error, rel=1e-3)
    assert estimate.confidence == 0.6827
    same = kernel_difference(samples, samples, reference)
    assert same.value == 0.0 and same.standard_error == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": torch.zeros(3, 4)}, "features must hold at least 4 samples, got 3"),
        ({"reference": torch.zeros(3, 4)}, "reference must hold at least 4 samples, got 3"),
        ({"features": torch.zeros(9, 3)}, "features and reference must have the same number of features, got 3 and 4"),
        ({"features": torch.full((9, 4), float("nan"))}, "features must be finite"),
        ({"features": torch.zeros(9)}, "features must be a floating-point tensor of shape"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": 0.0}, "confidence"),
    ],
)
def test_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kernel_distance(**({"features": torch.rand(9, 4), "reference": torch.rand(9, 4)} | arguments))


def test_refused_differences() -> None:
    with pytest.raises(ValueError, match="must hold pairs, got 9 and 8 rows"):
        kernel_difference(torch.rand(9, 4), torch.rand(8, 4), torch.rand(9, 4))
    with pytest.raises(ValueError, match="second and reference must have the same number of features, got 3 and 4"):
        kernel_difference(torch.rand(9, 4), torch.rand(9, 3), torch.rand(9, 4))
