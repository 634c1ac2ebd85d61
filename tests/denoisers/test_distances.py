"""Log-weights against rational arithmetic, and the error estimate of the fast ones against the exact ones."""

from fractions import Fraction

import pytest
import torch

from privlib.denoisers.distances import LogWeights, full_single_precision
from privlib.denoisers.records import Records

CPU = torch.device("cpu")


def draw(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def levels(*values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("sigma", [0.002, 0.1, 1.0, 80.0])
def test_exact_log_weights_are_those_of_rational_arithmetic(sigma):
    """Squared distances of 3,072 numbers without any rounding; two records are within two sigma of each other."""
    data = draw(4, 3072).clamp(-1, 1).float()
    data[1] = data[0] + 2.0 * sigma * draw(3072, seed=1).float() / 3072**0.5
    x = data[:1].double() + sigma * draw(1, 3072, seed=2)
    exact = LogWeights(Records(data), x, levels(sigma), dtype=torch.float32).exact(torch.arange(4))[0]
    point = [Fraction(value) for value in x[0].tolist()]
    squared = [sum((a - Fraction(b)) ** 2 for a, b in zip(point, row, strict=True)) for row in data.tolist()]
    scale = -1 / (2 * Fraction(sigma) ** 2)
    for i in range(1, 4):
        expected = float(scale * (squared[i] - squared[0]))
        assert (exact[i] - exact[0]).item() == pytest.approx(expected, rel=1e-12, abs=1e-6)


def images(seed):
    """Smooth patterns with clipped ends: neighbouring pixels agree, as in photographs."""
    small = 1.5 * draw(400, 3, 4, 4, seed=seed)
    return torch.nn.functional.interpolate(small, size=16, mode="bilinear").clamp(-1, 1).flatten(1)


KINDS = {
    "images": images,
    "noise": lambda seed: draw(400, 768, seed=seed),
    "binary": lambda seed: draw(400, 768, seed=seed).sign(),
    "nearly white": lambda seed: 1.0 - 0.05 * draw(400, 768, seed=seed).abs(),
    "one side": lambda seed: 100.0 * draw(400, 768, seed=seed).abs(),
    "few dimensions": lambda seed: draw(400, 8, seed=seed),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sigma", [0.002, 0.1, 3.0, 80.0])
def test_fast_log_weights_are_off_by_no_more_than_they_say(kind, sigma):
    for seed, batch in ((0, 1), (1, 5), (2, 64)):
        data = KINDS[kind](seed).float()
        x = data[:batch] + sigma * draw(*data[:batch].shape, seed=seed + 10)
        log_weights = LogWeights(Records(data), x, levels(sigma).expand(batch), dtype=torch.float32)
        fast, error = log_weights.fast(data[100:300], 100)
        ratio = (fast - log_weights.exact(torch.arange(100, 300))).abs() / error[:, None]
        assert 0.0 < ratio.max() < 2.0
        assert ratio.square().mean().sqrt() < 0.5, "the typical error lies far below the largest"


def test_float32_is_off_by_many_nats_where_the_estimate_says_so():
    data = images(0).repeat(1, 4).float()
    x = data[:8] + 0.002 * draw(8, 3072, seed=1)
    log_weights = LogWeights(Records(data), x, levels(0.002).expand(8), dtype=torch.float32)
    fast, error = log_weights.fast(data, 0)
    assert (fast - log_weights.exact(torch.arange(400))).abs().max() > 5.0
    assert bool((error > 5.0).all())


def test_each_row_has_its_own_level():
    data, x = draw(6, 4), draw(2, 4, seed=1)
    log_weights = LogWeights(Records(data), x, levels(0.5, 2.0), dtype=torch.float64)
    expected = -0.5 * torch.cdist(x, data) ** 2 / levels(0.5, 2.0)[:, None] ** 2
    for found in (log_weights.fast(data, 0)[0], log_weights.exact(torch.arange(6))):
        torch.testing.assert_close(found - found[:, :1], expected - expected[:, :1])


@pytest.mark.parametrize("allowed", ["highest", "high", "medium"])
def test_products_are_full_single_precision_whatever_is_allowed(allowed):
    a, b = draw(64, 256).float(), draw(256, 64, seed=1).float()
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(allowed)
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16), full_single_precision(CPU):
            assert torch.backends.cuda.matmul.fp32_precision == torch.backends.mkldnn.matmul.fp32_precision == "ieee"
            product = a @ b
        assert torch.get_float32_matmul_precision() == allowed
    finally:
        torch.set_float32_matmul_precision(before)
    assert product.dtype == torch.float32
    torch.testing.assert_close(product.double(), a.double() @ b.double(), rtol=0.0, atol=1e-4)
