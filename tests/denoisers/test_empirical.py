"""The streamed posterior mean against direct float64 sums, 40-digit arithmetic, a closed form and its symmetries."""

import math

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from privlib.data.images import ImageSet
from privlib.denoisers import empirical, posterior
from privlib.denoisers.blocks import Blocks
from privlib.denoisers.empirical import EmpiricalDenoiser
from privlib.denoisers.mixture import MixtureDenoiser

SIGMAS = (0.002, 0.02, 0.2, 1.0, 4.0, 20.0, 80.0)


def draw(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def direct_weights(data, x, sigma):
    """Softmax of directly subtracted and squared distances in float64, shape (batch, n)."""
    rows, points = data.double().flatten(1), x.double().flatten(1)
    squared = torch.stack([(rows - point).square().sum(1) for point in points])
    level = torch.as_tensor(sigma, dtype=torch.float64).expand(len(x))
    return (squared / (-2.0 * level[:, None] ** 2)).softmax(dim=1)


def direct(data, x, sigma):
    rows = data.double().flatten(1)
    return (direct_weights(data, x, sigma) @ rows).reshape(x.shape)


def relative_error(found, expected):
    found, expected = found.double().flatten(1), expected.double().flatten(1)
    return ((found - expected).norm(dim=1) / expected.norm(dim=1)).max().item()


def smooth_images(count, seed, side=32):
    small = 1.5 * draw(count, 3, 4, 4, seed=seed)
    return torch.nn.functional.interpolate(small, size=side, mode="bilinear").clamp(-1, 1).float()


def near_ties(data, sigma, group, seed):
    """Every record ``group`` times, the copies up to two sigma apart."""
    copies = data[: len(data) // group].repeat(group, *[1] * (data.ndim - 1))
    step = draw(*copies.shape, seed=seed) / math.sqrt(copies[0].numel())
    length = 2.0 * sigma * torch.linspace(0, 1, len(copies)).reshape(-1, *[1] * (data.ndim - 1))
    return copies + (length * step).to(data.dtype)


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(posterior, "_CPU_TILE_BYTES", 2**19)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("group", [1, 2, 25])
def test_images_with_near_ties_at_full_size(sigma, group, small_tiles):
    """d = 3,072; float32 distances would be off by tens of nats at the lowest level."""
    data = near_ties(smooth_images(300, seed=1), sigma, group, seed=2)
    x = data[::60].double() + sigma * draw(len(data[::60]), 3, 32, 32, seed=3)
    assert relative_error(EmpiricalDenoiser(data)(x, sigma), direct(data, x, sigma)) < 5e-6
    single = x.float()
    assert relative_error(EmpiricalDenoiser(data)(single, sigma), direct(data, single, sigma)) < 5e-6


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("kind", ["centred", "one side", "nearly white", "far away"])
def test_other_data_and_unusual_x(sigma, kind, small_tiles):
    data = draw(700, 300, seed=4)
    data = {"one side": 50.0 * data.abs(), "nearly white": 1.0 - 0.02 * data.abs()}.get(kind, data).float()
    data = near_ties(data, sigma, 2, seed=5)
    away = 50.0 if kind == "far away" else 1.0
    x = data[:6].double() + away * sigma * draw(6, 300, seed=6)
    assert relative_error(EmpiricalDenoiser(data)(x, sigma), direct(data, x, sigma)) < 5e-6


@pytest.mark.parametrize("sigma", [0.002, 0.3, 80.0])
def test_against_forty_digits(sigma):
    """Neither expanded nor rounded: mpmath, with two records between which the posterior is undecided."""
    data = near_ties(smooth_images(6, seed=7), sigma, 2, seed=8)[:4].flatten(1)[:, :300].contiguous()
    x = (data[0].double() + sigma * draw(300, seed=9))[None]
    with mpmath.workdps(40):
        rows = [[mpmath.mpf(value) for value in row] for row in data.tolist()]
        point = [mpmath.mpf(value) for value in x[0].tolist()]
        squared = [mpmath.fsum((a - b) ** 2 for a, b in zip(point, row, strict=True)) for row in rows]
        weights = [mpmath.exp(-value / (2 * mpmath.mpf(sigma) ** 2)) for value in squared]
        total = mpmath.fsum(weights)
        columns = [mpmath.fsum(w * row[j] for w, row in zip(weights, rows, strict=True)) for j in range(300)]
        expected = torch.tensor([float(column / total) for column in columns], dtype=torch.float64)
        shares = torch.tensor([float(weight / total) for weight in weights], dtype=torch.float64)
    denoiser = EmpiricalDenoiser(data)
    assert relative_error(denoiser(x, sigma), expected[None]) < 1e-6
    on_block = denoiser.on_blocks(Blocks.from_lists([[3, 1, 0, 2]]))(x, sigma)
    assert relative_error(on_block, expected[None]) < 1e-12
    found = denoiser.class_probabilities(x, sigma, torch.arange(4), 4)[0]
    torch.testing.assert_close(found, shares, rtol=0.0, atol=2e-6)


@pytest.mark.parametrize("d", [1, 2, 40, 256])
def test_small_dimensions_are_float64_throughout(d, small_tiles):
    data = draw(500, d, seed=10)
    for sigma in SIGMAS:
        x = data[:5] + sigma * draw(5, d, seed=11)
        torch.testing.assert_close(EmpiricalDenoiser(data)(x, sigma), direct(data, x, sigma), rtol=1e-9, atol=1e-9)


def test_a_mixture_without_variance_is_the_same_posterior():
    data, sigma = draw(30, 2, 5, seed=12), torch.tensor([0.002, 0.5, 1.0, 80.0])
    x = data[:4] + sigma.reshape(4, 1, 1) * draw(4, 2, 5, seed=13)
    torch.testing.assert_close(
        EmpiricalDenoiser(data)(x, sigma), MixtureDenoiser(data, 0.0)(x, sigma), rtol=1e-9, atol=1e-9
    )


def test_the_limits_are_the_nearest_record_and_the_mean():
    data = smooth_images(50, seed=14, side=16)
    x = data[[3, 8]] + 0.01 * draw(2, 3, 16, 16, seed=15).float()
    assert torch.equal(EmpiricalDenoiser(data)(x, 0.002), data[[3, 8]])
    everywhere = EmpiricalDenoiser(data)(x, 1e4)
    torch.testing.assert_close(everywhere, data.mean(0).expand(2, -1, -1, -1), rtol=0.0, atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(SIGMAS), st.integers(2, 60), st.integers(1, 5))
def test_symmetries_of_the_posterior(seed, sigma, count, d):
    data = draw(count, d, seed=seed)
    x = data[:2] + sigma * draw(2, d, seed=seed + 1)
    result = EmpiricalDenoiser(data)(x, sigma)
    same = {"rtol": 1e-6, "atol": 1e-6}
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(EmpiricalDenoiser(data[order])(x, sigma), result, **same)
    torch.testing.assert_close(EmpiricalDenoiser(torch.cat([data, data]))(x, sigma), result, **same)
    torch.testing.assert_close(EmpiricalDenoiser(data + 3.0)(x + 3.0, sigma) - 3.0, result, **same)
    torch.testing.assert_close(EmpiricalDenoiser(2.0 * data)(2.0 * x, 2.0 * sigma) / 2.0, result, **same)
    low, high = data.amin(0) - 1e-9, data.amax(0) + 1e-9
    assert bool(((result >= low) & (result <= high)).all()), "a mean lies among the records"


def test_each_row_has_its_own_level_and_any_number_of_rows_may_come(monkeypatch):
    monkeypatch.setattr(posterior, "_ROWS", 3)
    data = draw(40, 6, seed=16)
    sigma = torch.logspace(-2, 1, 10)
    x = data[:10] + sigma[:, None] * draw(10, 6, seed=17)
    together = EmpiricalDenoiser(data)(x, sigma)
    for i in range(10):
        torch.testing.assert_close(together[i], EmpiricalDenoiser(data)(x[i : i + 1], sigma[i])[0])


@pytest.mark.parametrize("bytes_per_tile", [1, 2**14, 2**24])
def test_tiles_do_not_show(bytes_per_tile, monkeypatch):
    monkeypatch.setattr(posterior, "_CPU_TILE_BYTES", bytes_per_tile)
    data = draw(65, 300, seed=18).float()
    for sigma in SIGMAS:
        x = data[:4].double() + sigma * draw(4, 300, seed=19)
        assert relative_error(EmpiricalDenoiser(data)(x, sigma), direct(data, x, sigma)) < 5e-6


def test_threads_do_not_show_and_results_repeat(small_tiles):
    data, before = smooth_images(300, seed=38), torch.get_num_threads()
    x = data[:5] + 20.0 * draw(5, 3, 32, 32, seed=39).float()
    expected = direct(data, x, 20.0)
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            result = EmpiricalDenoiser(data)(x, 20.0)
            assert relative_error(result, expected) < 5e-6
            assert torch.equal(EmpiricalDenoiser(data)(x, 20.0), result)
            with torch.inference_mode():
                assert torch.equal(EmpiricalDenoiser(data)(x, 20.0), result)
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def image_set(count, seed, side=16):
    pixels = torch.randint(
        0, 256, (count, 3, side, side), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed)
    )
    return ImageSet("set", pixels, torch.arange(count) % 4, ("a", "b", "c", "d"))


@pytest.mark.parametrize("sigma", SIGMAS)
def test_an_image_set_is_its_images_on_the_unit_scale(sigma):
    images = image_set(200, seed=20)
    exact = images.unit(torch.float64)
    x = exact[:5] + sigma * draw(5, 3, 16, 16, seed=21)
    denoiser = EmpiricalDenoiser(images)
    assert (denoiser.num_records, denoiser.image_shape) == (200, (3, 16, 16))
    assert relative_error(denoiser(x, sigma), direct(exact, x, sigma)) < 5e-6
    blocks = Blocks.from_lists([[i, i + 1, i + 7] for i in range(5)])
    expected = torch.cat([direct(exact[[i, i + 1, i + 7]], x[i : i + 1], sigma) for i in range(5)])
    assert relative_error(denoiser.on_blocks(blocks)(x, sigma), expected) < 1e-12


@pytest.mark.parametrize("data_dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("x_dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_the_result_has_the_dtype_of_x(data_dtype, x_dtype):
    data, x = draw(30, 400, seed=22).to(data_dtype), draw(3, 400, seed=23).to(x_dtype)
    expected = direct(data, x, 5.0)
    for result in (
        EmpiricalDenoiser(data)(x, 5.0),
        EmpiricalDenoiser(data).on_blocks(Blocks.from_lists([range(30)] * 3))(x, 5.0),
    ):
        assert result.dtype == x_dtype and result.shape == x.shape and not result.requires_grad
        assert relative_error(result, expected) < max(5e-6, torch.finfo(x_dtype).eps)


@pytest.mark.parametrize("allowed", ["high", "medium"])
def test_reduced_precision_that_the_caller_allows_is_not_used(allowed):
    data = smooth_images(200, seed=24, side=16)
    x = data[:4] + 2.0 * draw(4, 3, 16, 16, seed=25).float()
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(allowed)
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            result = EmpiricalDenoiser(data)(x, 2.0)
    finally:
        torch.set_float32_matmul_precision(before)
    assert relative_error(result, direct(data, x, 2.0)) < 5e-6


def test_there_is_no_privacy_claim():
    assert not hasattr(EmpiricalDenoiser(draw(3, 2)), "sensitivity")
    assert not hasattr(EmpiricalDenoiser(draw(3, 2)).on_blocks(Blocks.from_lists([[0, 1]])), "sensitivity")


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("d", [5, 768])
def test_class_probabilities_are_sums_of_weights(sigma, d, small_tiles):
    data = near_ties(draw(600, d, seed=26).float(), sigma, 2, seed=27)
    labels = torch.randint(0, 4, (600,), generator=torch.Generator().manual_seed(28))
    x = data[:6].double() + sigma * draw(6, d, seed=29)
    weights = direct_weights(data, x, sigma)
    expected = torch.stack([weights[:, labels == k].sum(1) for k in range(5)], dim=1)
    found = EmpiricalDenoiser(data).class_probabilities(x, sigma, labels, 5)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=5e-6)
    torch.testing.assert_close(found.sum(1), torch.ones(6, dtype=torch.float64), rtol=0.0, atol=5e-6)


@pytest.mark.parametrize(
    ("labels", "num_classes", "message"),
    [
        (torch.tensor([0, 1, 2]), 2, r"0\.\.1, got 0 to 2"),
        (torch.tensor([0, -1, 1]), 2, "got -1 to 1"),
        (torch.tensor([0, 1]), 2, r"shape \(3,\)"),
        (torch.tensor([0.0, 1.0, 1.0]), 2, "int64"),
        (torch.tensor([0, 1, 1]), 0, "num_classes must be at least 1"),
    ],
)
def test_what_are_no_labels(labels, num_classes, message):
    with pytest.raises(ValueError, match=message):
        EmpiricalDenoiser(draw(3, 2)).class_probabilities(draw(1, 2), 1.0, labels, num_classes)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_each_row_sees_its_own_block(sigma, monkeypatch):
    monkeypatch.setattr(empirical, "_BLOCK_BYTES", 8 * 300 * 9 * 2)
    data = near_ties(draw(80, 300, seed=30).float(), sigma, 2, seed=31)
    lists = [[0, 40], [5, 1, 2, 41, 79], [60, 20, 7], list(range(9)), [10, 50, 3]]
    x = data[[block[0] for block in lists]].double() + sigma * draw(5, 300, seed=32)
    level = sigma * torch.linspace(1.0, 2.0, 5, dtype=torch.float64)
    result = EmpiricalDenoiser(data).on_blocks(Blocks.from_lists(lists))(x, level)
    for row, block, noisy, one in zip(result, lists, x, level, strict=True):
        torch.testing.assert_close(row, direct(data[block], noisy[None], one)[0], rtol=1e-9, atol=1e-9)


def test_a_block_of_everything_is_everything():
    data = draw(20, 3, 4, seed=33)
    x = draw(2, 3, 4, seed=34)
    denoiser = EmpiricalDenoiser(data)
    on_blocks = denoiser.on_blocks(Blocks.from_lists([range(20), range(20)]))
    assert on_blocks.image_shape == (3, 4)
    torch.testing.assert_close(on_blocks(x, 0.7), denoiser(x, 0.7))


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ([[0, 1], []], r"row 1 has 0 records.*\(1 \+ B\) exp\(-B\)"),
        ([[0, 1], [2]], "row 1 has 1 records, needs 2 at least"),
        ([[]], "row 0 has 0 records"),
        ([[0, 9]], r"records 0\.\.2, got 9"),
    ],
)
def test_what_are_no_blocks_to_average_over(lists, message):
    with pytest.raises(ValueError, match=message):
        EmpiricalDenoiser(draw(3, 2)).on_blocks(Blocks.from_lists(lists))


@pytest.mark.parametrize(
    ("x", "sigma", "message"),
    [
        (torch.zeros(2, 3), 1.0, "x must have shape"),
        (torch.zeros(2, 2, dtype=torch.int64), 1.0, "x must be a floating-point"),
        (torch.full((2, 2), math.nan), 1.0, "x must be finite"),
        (torch.zeros(2, 2), 0.0, "sigma must lie"),
        (torch.zeros(2, 2), math.nan, "sigma must lie"),
        (torch.zeros(2, 2), torch.ones(3), "sigma must have shape"),
    ],
)
def test_bad_input(x, sigma, message):
    denoiser = EmpiricalDenoiser(draw(3, 2))
    for call in (denoiser, denoiser.on_blocks(Blocks.from_lists([[0, 1], [1, 2]]))):
        with pytest.raises(ValueError, match=message):
            call(x, sigma)
    with pytest.raises(ValueError, match="one row for each of the 2 blocks, got 3"):
        denoiser.on_blocks(Blocks.from_lists([[0, 1], [1, 2]]))(torch.zeros(3, 2), 1.0)
    with pytest.raises(ValueError, match="data must be finite"):
        EmpiricalDenoiser(torch.full((3, 2), math.nan))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device, and this machine has none")
@pytest.mark.parametrize("data_device", ["cpu", "cuda"])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_a_gpu_gives_what_the_cpu_gives(data_device, sigma):
    data = near_ties(smooth_images(300, seed=35), sigma, 2, seed=36)
    x = data[::60].double() + sigma * draw(5, 3, 32, 32, seed=37)
    denoiser = EmpiricalDenoiser(data.to(data_device))
    blocks = denoiser.on_blocks(Blocks.from_lists([[i, i + 1, i + 150] for i in range(5)]))
    on_cpu = EmpiricalDenoiser(data).on_blocks(Blocks.from_lists([[i, i + 1, i + 150] for i in range(5)]))
    result = denoiser(x.cuda(), sigma)
    assert result.device.type == "cuda"
    assert relative_error(result.cpu(), direct(data, x, sigma)) < 5e-6
    assert relative_error(blocks(x.cuda(), sigma).cpu(), on_cpu(x, sigma)) < 1e-10
