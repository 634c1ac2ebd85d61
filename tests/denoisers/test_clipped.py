"""The clipped denoiser against its formula, and attempts to move it by more than its sensitivity."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from privlib.denoisers import clipped
from privlib.denoisers.anchors import PublicAnchor
from privlib.denoisers.blocks import Blocks
from privlib.denoisers.clipped import ClippedDenoiser
from tests.denoisers.bounded import PUBLIC, SHAPE, exact_norm_squared, records, without

ANCHOR = PublicAnchor(PUBLIC)


def direct(data, x, sigma, *, public_weight, clip, beta):
    """The formula, one record at a time."""
    c, log_mass = ANCHOR.mean_and_log_mass(x, sigma)
    rows = []
    for i in range(len(x)):
        total = c[i].clone()
        for record in data.double():
            log_k = -((x[i] - record) ** 2).sum() / (2 * sigma**2)
            w = torch.sigmoid(log_k - log_mass[i] - math.log(public_weight))
            move = w * (record - c[i])
            total += move * min(1.0, clip / max(float(move.norm()), 1e-300)) / beta
        rows.append(total)
    return torch.stack(rows)


@pytest.mark.parametrize("sigma", [0.002, 0.3, 2.0, 80.0])
@pytest.mark.parametrize(("clip", "beta"), [(1.0, 1.0), (0.02, 0.5), (30.0, 4.0)])
def test_formula(sigma, clip, beta):
    data = records(6, 1)
    draw = torch.Generator().manual_seed(2)
    x = data[:4].double() + sigma * torch.randn(4, *SHAPE, generator=draw, dtype=torch.float64)
    denoiser = ClippedDenoiser(data, ANCHOR, public_weight=3.0, clip=clip, beta=beta)
    got = denoiser(x, sigma)
    # At the lowest level the rounding of x to 2^-16 shows: a shift of 4e-6 is felt at a noise of 0.002.
    tolerance = 2e-2 if sigma < 0.01 else 2e-4
    torch.testing.assert_close(
        got, direct(data, x, sigma, public_weight=3.0, clip=clip, beta=beta), rtol=0, atol=tolerance
    )
    assert got.dtype == torch.float64 and got.shape == x.shape
    assert denoiser.sensitivity(sigma) == clip / beta


@pytest.mark.parametrize("sigma", [0.01, 1.0, 20.0])
def test_blocks_see_their_own_records_only(sigma):
    data = records(9, 3)
    denoiser = ClippedDenoiser(data, ANCHOR, public_weight=2.0)
    lists = [[0, 4, 8], [], [2], list(range(9))]
    x = data[:4].double() + sigma * torch.randn(4, *SHAPE, generator=torch.Generator().manual_seed(1)).double()
    got = denoiser.on_blocks(Blocks.from_lists(lists))(x, torch.full((4,), sigma))
    for i, block in enumerate(lists):
        alone = ClippedDenoiser(data[block], ANCHOR, public_weight=2.0)(x[i : i + 1], sigma)
        torch.testing.assert_close(got[i : i + 1], alone, rtol=0, atol=1e-12)
    torch.testing.assert_close(got[1], ANCHOR(x, sigma)[1], rtol=0, atol=2.0**-17)


def test_empty_data_and_all_empty_blocks_give_the_anchor():
    x = PUBLIC[:2].double()
    expected = ANCHOR(x, 1.0)
    empty = ClippedDenoiser(PUBLIC[:0], ANCHOR, public_weight=1.0)
    assert empty.num_records == 0
    for got in (empty(x, 1.0), empty.on_blocks(Blocks.from_lists([[], []]))(x, 1.0)):
        torch.testing.assert_close(got, expected, rtol=0, atol=2.0**-17)


def test_the_size_of_a_tile_changes_no_bit(monkeypatch):
    denoiser = ClippedDenoiser(records(9, 3), PublicAnchor(PUBLIC), public_weight=4.0, clip=0.5)
    x = torch.randn(5, *SHAPE, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    blocks = Blocks.from_lists([[0, 4], [], [8, 1, 2, 3, 7], [5], []])
    outputs = []
    for numbers in (1, 40, 2**23):
        monkeypatch.setattr(clipped, "TILE_NUMBERS", numbers)
        outputs.append((denoiser(x, 0.7), denoiser.on_blocks(blocks)(x, 0.7)))
    for everyone, some in outputs[1:]:
        assert torch.equal(everyone, outputs[0][0]) and torch.equal(some, outputs[0][1])


def neighbours_differ_by(data, place, x, sigma, **parameters):
    """Exact squared distance of the outputs with and without record ``place``, for all records and for a block."""
    fewer = without(data, place)
    large, small = (ClippedDenoiser(d, ANCHOR, **parameters) for d in (data, fewer))
    everything = large(x, sigma) - small(x, sigma)
    blocks = [Blocks.from_lists([list(range(len(d)))] * len(x)) for d in (data, fewer)]
    in_block = large.on_blocks(blocks[0])(x, sigma) - small.on_blocks(blocks[1])(x, sigma)
    assert torch.equal(everything, in_block)
    return everything


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 12),
    kind=st.sampled_from(["uniform", "corner", "same", "public"]),
    log_sigma=st.floats(math.log(1e-4), math.log(1e3)),
    log_bound=st.floats(math.log(1e-6), math.log(1e4)),
    start=st.sampled_from(["record", "public", "noise", "far"]),
    weight=st.sampled_from([1e-300, 1e-3, 25.0, 1e300]),
)
@settings(max_examples=150, deadline=None)
def test_no_neighbour_moves_the_output_by_more(seed, count, kind, log_sigma, log_bound, start, weight):
    sigma, bound = math.exp(log_sigma), min(max(math.exp(log_bound), 1e-6), 1e4)
    data = records(count, seed, kind)
    draw = torch.Generator().manual_seed(seed)
    place = seed % count
    origin = {"record": data[place], "public": PUBLIC[0], "noise": torch.zeros(SHAPE), "far": torch.full(SHAPE, 1e4)}
    noise = torch.randn(3, *SHAPE, generator=draw, dtype=torch.float64)
    noise[0] = 0.0
    x = origin[start].double() + sigma * noise
    beta = 0.25
    parameters = {"public_weight": weight, "clip": beta * bound, "beta": beta}
    difference = neighbours_differ_by(data, place, x, sigma, **parameters)
    limit = Fraction(ClippedDenoiser(data, ANCHOR, **parameters).sensitivity(sigma))
    for row in difference:
        assert exact_norm_squared(row) <= limit**2
    # Bit for bit what the record contributes alone: the others are unmoved, whatever their place and number.
    alone = ClippedDenoiser(data[place : place + 1], ANCHOR, **parameters)
    nobody = ClippedDenoiser(data[:0], ANCHOR, **parameters)
    assert torch.equal(difference, alone(x, sigma) - nobody(x, sigma))


def test_the_bound_is_reached():
    """A record at the point, far from the public images: the charge is not only safe but tight."""
    data = records(1, 5, "corner")
    for sigma in (0.05, 0.5):
        difference = neighbours_differ_by(data, 0, data.double(), sigma, public_weight=1.0, clip=0.01, beta=1.0)
        assert float(difference.norm()) == pytest.approx(0.01, rel=1e-6)


def test_climbing_toward_the_worst_state_stays_below_the_bound():
    """An adversary that follows the gradient of the distance in x, from a start where the clip does not bind yet."""
    data = records(8, 11)
    parameters = {"public_weight": 8.0, "clip": 0.3, "beta": 1.0}
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(1, *SHAPE, generator=draw, dtype=torch.float64)
    best = 0.0
    for _ in range(150):
        trial = x + 0.3 * torch.randn(16, *SHAPE, generator=draw, dtype=torch.float64)
        distances = neighbours_differ_by(data, 3, trial, 0.8, **parameters).flatten(1).norm(dim=1)
        if float(distances.max()) > best:
            best, x = float(distances.max()), trial[int(distances.argmax())][None]
        assert best <= 0.3
    assert best > 0.299, "the search is too weak to tell anything"


def test_many_records_and_other_orders_change_no_bit():
    data = records(5000, 3)
    x = records(2, 4).double() + 0.4
    parameters = {"public_weight": 50.0, "clip": 0.7, "beta": 3.0}
    output = ClippedDenoiser(data, ANCHOR, **parameters)(x, 0.9)
    shuffled = data[torch.randperm(5000, generator=torch.Generator().manual_seed(0))]
    assert torch.equal(ClippedDenoiser(shuffled, ANCHOR, **parameters)(x, 0.9), output)
    difference = neighbours_differ_by(data, 2500, x, 0.9, **parameters)
    assert all(exact_norm_squared(row) <= Fraction(0.7 / 3.0) ** 2 for row in difference)


class FixedAnchor:
    """A public side without sums of its own, so that only the private arithmetic is seen."""

    def __init__(self, image: torch.Tensor) -> None:
        self.image, self.image_shape = image, tuple(image.shape)

    def mean_and_log_mass(self, x, sigma):
        return self.image.expand_as(x), torch.full((len(x),), -400.0, dtype=torch.float64)


@pytest.mark.parametrize("sigma", [0.01, 0.5, 3.0, 50.0])
def test_the_order_of_the_pixels_changes_no_bit(sigma):
    """Sums over pixels are exact, so that neither threads nor devices nor places in an array can show in them."""
    draw = torch.Generator().manual_seed(3)
    data = torch.rand(20, 3, 16, 16, generator=draw) * 2 - 1
    c = torch.rand(3, 16, 16, generator=draw, dtype=torch.float64) * 2 - 1
    x = data[:2].double() + sigma * torch.randn(2, 3, 16, 16, generator=draw, dtype=torch.float64)
    order = torch.randperm(768, generator=draw)

    def mixed(images):
        return images.flatten(-3)[..., order].reshape(images.shape)

    plain = ClippedDenoiser(data, FixedAnchor(c), public_weight=1.0, clip=0.3)(x, sigma)
    other = ClippedDenoiser(mixed(data), FixedAnchor(mixed(c)), public_weight=1.0, clip=0.3)(mixed(x), sigma)
    assert torch.equal(other, mixed(plain))
    assert float((plain - c).norm()) > 1e-3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"public_weight": 0.0}, "public_weight"),
        ({"clip": -1.0}, "clip"),
        ({"beta": 0.0}, "beta"),
        ({"clip": 1e-3, "beta": 1e6}, "clip / beta"),
        ({"data": torch.zeros(2, 3, 4, 4)}, "shape"),
        ({"data": torch.zeros(2, *SHAPE, dtype=torch.uint8)}, "floating point"),
        ({"data": torch.full((2, *SHAPE), 1.5)}, r"\[-1, 1\]"),
        ({"data": torch.full((2, *SHAPE), float("nan"))}, r"\[-1, 1\]"),
    ],
)
def test_bad_arguments(change, message):
    arguments = {"data": records(3, 0), "public_weight": 1.0, **change}
    with pytest.raises(ValueError, match=message):
        ClippedDenoiser(arguments.pop("data"), ANCHOR, **arguments)


def test_bad_states_and_blocks():
    denoiser = ClippedDenoiser(records(3, 0), ANCHOR, public_weight=1.0)
    x = torch.zeros(2, *SHAPE, dtype=torch.float64)
    for bad, message in (
        (x.float(), "float64"),
        (x[:, :, :2], "shape"),
        (x * float("nan"), "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            denoiser(bad, 1.0)
    with pytest.raises(ValueError, match="sigma"):
        denoiser(x, 0.0)
    with pytest.raises(ValueError, match="sigma"):
        denoiser.sensitivity(0.0)
    with pytest.raises(ValueError, match="0..2"):
        denoiser.on_blocks(Blocks.from_lists([[3]]))
    with pytest.raises(ValueError, match="one row for each"):
        denoiser.on_blocks(Blocks.from_lists([[0]]))(x, 1.0)
    broken = ClippedDenoiser(
        records(3, 0), PublicAnchor(PUBLIC, denoiser=lambda x, sigma: x * float("nan")), public_weight=1.0
    )
    with pytest.raises(ValueError, match="public denoiser"):
        broken(x, 1.0)
