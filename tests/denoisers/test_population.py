"""The population denoiser against its formula, and attempts to move it by more than its sensitivity."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from privlib.denoisers.anchors import PublicAnchor, principal_directions
from privlib.denoisers.population import PopulationDenoiser
from privlib.mechanisms import reverse_sde_gdp_mu
from privlib.samplers.hybrid import full_batch
from privlib.samplers.path import Plan
from privlib.schedules import edm_sigmas
from tests.denoisers.bounded import PUBLIC, SHAPE, exact_norm_squared, records, without

ANCHOR = PublicAnchor(PUBLIC)
USUAL = {"nominal_records": 20, "clip": 0.05, "bandwidth": 2.0, "rank": 5}


def build(data, **changes):
    return PopulationDenoiser(data, PUBLIC, ANCHOR, **{**USUAL, **changes})


def direct(data, x, sigma, *, nominal_records, clip, bandwidth, rank):
    """The formula, one record at a time."""
    public = PUBLIC.flatten(1).double()
    basis = principal_directions(public, rank)
    c = ANCHOR(x, sigma).flatten(1)
    output = c.clone()
    for i in range(len(x)):
        y = c[i] @ basis
        k = torch.exp(-((y - public @ basis) ** 2).sum(1) / (2 * bandwidth**2))
        mu, mass = k @ public / k.sum(), k.sum() * nominal_records / len(public)
        for record in data.flatten(1).double():
            weight = torch.exp(-((y - record @ basis) ** 2).sum() / (2 * bandwidth**2)) / mass
            # A record closer than 1 to the public mean is clipped as if it were 1 away.
            output[i] += min(float(weight), clip / max(float((record - mu).norm()), 1.0)) * (record - mu)
    return output.reshape(x.shape)


@pytest.mark.parametrize("bandwidth", [0.5, 2.0, math.inf])
@pytest.mark.parametrize("clip", [0.01, 1.0])
@pytest.mark.parametrize("sigma", [0.05, 1.0, 40.0])
def test_formula(bandwidth, clip, sigma):
    data = records(15, 1)
    noise = torch.randn(4, *SHAPE, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    x = data[:4].double() + sigma * noise
    got = build(data, bandwidth=bandwidth, clip=clip)(x, torch.full((4,), sigma))
    expected = direct(data, x, sigma, **{**USUAL, "bandwidth": bandwidth, "clip": clip})
    # Records are rounded to 2^-12, fifteen of them.
    torch.testing.assert_close(got, expected, rtol=0, atol=5e-3 if bandwidth < 1 else 5e-4)
    assert got.dtype == torch.float64 and got.shape == x.shape


def test_directions_are_those_of_the_singular_value_decomposition():
    rows = PUBLIC.flatten(1).double()
    scaled = rows * torch.linspace(0.1, 3.0, rows.shape[1], dtype=torch.float64)
    basis = principal_directions(scaled, 4, iterations=300)
    exact = torch.linalg.svd(scaled - scaled.mean(0), full_matrices=False).Vh[:4]
    torch.testing.assert_close(basis @ basis.T, exact.T @ exact, rtol=0, atol=1e-8)


def test_a_wide_kernel_over_as_many_records_moves_the_public_mean_to_the_private_one():
    data = records(400, 5) * 0.5 + 0.3
    denoiser = build(data, bandwidth=math.inf, clip=1.0, nominal_records=400)
    x = torch.randn(3, *SHAPE, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    shift = (data.double().mean(0) - PUBLIC.double().mean(0)).expand(3, *SHAPE)
    torch.testing.assert_close(denoiser(x, 2.0) - ANCHOR(x, 2.0), shift, rtol=0, atol=1e-3)


def test_no_records_give_the_public_denoiser():
    empty = build(records(0, 0))
    x = PUBLIC[:3].double()
    assert empty.num_records == 0 and empty.image_shape == SHAPE
    torch.testing.assert_close(empty(x, 0.7), ANCHOR(x, 0.7), rtol=0, atol=2.0**-17)


def largest_excess(make, data, place, x, sigma):
    """Largest exact squared distance between neighbours, less the square of the sensitivity that is charged."""
    large, small = make(data), make(without(data, place))
    limit = Fraction(large.sensitivity(sigma)) ** 2
    return max(exact_norm_squared(row) - limit for row in large(x, sigma) - small(x, sigma))


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 30),
    kind=st.sampled_from(["uniform", "corner", "same", "public"]),
    log_sigma=st.floats(math.log(1e-4), math.log(1e3)),
    log_clip=st.floats(math.log(1e-6), 0.0),
    bandwidth=st.sampled_from([1e-3, 0.1, 1.0, 30.0, math.inf]),
    nominal=st.sampled_from([1, 20, 10**6]),
    start=st.sampled_from(["record", "public", "noise", "far"]),
)
@settings(max_examples=150, deadline=None)
def test_no_neighbour_moves_the_output_by_more(seed, count, kind, log_sigma, log_clip, bandwidth, nominal, start):
    data, place, sigma = records(count, seed, kind), seed % count, math.exp(log_sigma)
    draw = torch.Generator().manual_seed(seed)
    origin = {"record": data[place], "public": PUBLIC[0], "noise": torch.zeros(SHAPE), "far": torch.full(SHAPE, 1e4)}
    x = origin[start].double() + sigma * torch.randn(3, *SHAPE, generator=draw, dtype=torch.float64)
    clip = min(max(math.exp(log_clip), 1e-6), 1.0)

    def make(records):
        return build(records, clip=clip, bandwidth=bandwidth, nominal_records=nominal)

    assert make(data).sensitivity(sigma) == clip
    assert largest_excess(make, data, place, x, sigma) <= 0
    # Bit for bit what the record says alone: the others are unmoved, whatever their place and number.
    moved = make(data)(x, sigma) - make(without(data, place))(x, sigma)
    alone = make(data[place : place + 1])(x, sigma) - make(data[:0])(x, sigma)
    assert torch.equal(moved, alone)


def test_the_bound_is_reached():
    data = records(30, 2, "corner")
    x = data[:1].double()
    moved = build(data, clip=0.003)(x, 0.3) - build(data[1:], clip=0.003)(x, 0.3)
    assert float(moved.norm()) == pytest.approx(0.003, rel=1e-4)


def test_many_records_in_any_order_change_no_bit():
    data = records(9000, 3)
    x = records(2, 4).double() + 0.2
    shuffled = data[torch.randperm(9000, generator=torch.Generator().manual_seed(0))]
    assert torch.equal(build(data)(x, 0.5), build(shuffled)(x, 0.5))
    assert largest_excess(build, data, 4096, x, 0.5) <= 0


def one_against_many():
    """All records alike but one, which lies opposite: whatever is divided by a private sum shows."""
    data = torch.full((12, *SHAPE), 0.9)
    data[5] = -0.9
    return data


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            lambda data: PopulationDenoiser(data, data, ANCHOR, nominal_records=12, clip=0.2, bandwidth=2.0, rank=5),
            id="mass and mean from private records",
        ),
        pytest.param(
            lambda data: build(data, nominal_records=len(data), bandwidth=math.inf, clip=0.35), id="private count"
        ),
    ],
)
def test_the_property_catches_a_private_normalizer(make):
    data = one_against_many()
    x = torch.zeros(1, *SHAPE, dtype=torch.float64)
    assert largest_excess(lambda d: build(d, bandwidth=math.inf, clip=0.35), data, 5, x, 1.0) <= 0
    assert largest_excess(make, data, 5, x, 1.0) > 0, "the property has no teeth"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nominal_records": 0}, "nominal_records"),
        ({"clip": 0.0}, "clip"),
        ({"clip": 2.0}, r"clip must lie in \[1e-6, 1\]"),
        ({"bandwidth": 0.0}, "bandwidth"),
        ({"rank": 0}, "rank"),
        ({"rank": 17}, "1..16"),
        ({"data": torch.zeros(2, 3, 4, 4)}, "shape"),
        ({"data": torch.full((2, *SHAPE), 1.5)}, r"\[-1, 1\]"),
        ({"data": torch.full((2, *SHAPE), float("nan"))}, r"\[-1, 1\]"),
    ],
)
def test_bad_arguments(change, message):
    arguments = {"data": records(3, 0), **change}
    with pytest.raises(ValueError, match=message):
        build(arguments.pop("data"), **arguments)


def test_bad_states():
    denoiser = build(records(3, 0))
    x = torch.zeros(2, *SHAPE, dtype=torch.float64)
    for bad, message in ((x.float(), "float64"), (x[:, :, :2], "shape"), (x * float("nan"), "finite")):
        with pytest.raises(ValueError, match=message):
            denoiser(bad, 1.0)
    with pytest.raises(ValueError, match="sigma"):
        denoiser(x, 0.0)
    with pytest.raises(ValueError, match="sigma"):
        denoiser.sensitivity(-1.0)


def test_a_run_is_charged_the_clip_at_every_step():
    sigmas = edm_sigmas(10)
    run = full_batch(build(records(9, 0)), Plan(sigmas, 4), count=3, seed=0)
    expected = reverse_sde_gdp_mu(sigmas[:5], sensitivity=0.05).square().sum().sqrt()
    assert run.mechanism.gdp_mu == pytest.approx(float(expected), rel=1e-12)
    assert (run.mechanism.sampling_probability, run.mechanism.count) == (1.0, 3)
