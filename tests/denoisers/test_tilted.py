"""The group denoiser against its formula, and attempts to move it by more than its sensitivity."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from privlib.denoisers.anchors import PublicAnchor
from privlib.denoisers.groups import PublicGroups
from privlib.denoisers.tilted import GroupDenoiser
from privlib.mechanisms import reverse_sde_gdp_mu
from privlib.samplers.hybrid import full_batch
from privlib.samplers.path import Plan
from privlib.schedules import edm_sigmas
from tests.denoisers.bounded import PUBLIC, SHAPE, exact_norm_squared

GROUPS = PublicGroups(PUBLIC.flatten(1), 6, seed=1)
COUNTS = torch.tensor([3, 0, 5, 1, 0, 11])


def build(counts, **changes):
    return GroupDenoiser(counts, GROUPS, PUBLIC, **{"nominal_records": 20, "clip": 0.05, **changes})


def direct(counts, x, sigma, *, nominal_records, clip):
    """The formula, one public image at a time."""
    images = PUBLIC.double()
    output = []
    for point in x:
        posterior = torch.softmax(-((point - images) ** 2).flatten(1).sum(1) / (2 * sigma**2), 0)
        mean = sum(p * y for p, y in zip(posterior, images, strict=True))
        total = mean.clone()
        for k, count in enumerate(counts.tolist()):
            members = (GROUPS.index == k).nonzero().flatten().tolist()
            voice = sum((posterior[j] * (images[j] - mean) for j in members), torch.zeros(SHAPE))
            voice = voice * len(images) / (nominal_records * max(len(members), 1))
            total += count * voice * min(1.0, clip / max(float(voice.norm()), 1e-300))
        output.append(total)
    return torch.stack(output)


def states(sigma, seed=0, batch=3):
    noise = torch.randn(batch, *SHAPE, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return PUBLIC[:batch].double() + sigma * noise


@pytest.mark.parametrize("clip", [0.004, 1.0])
@pytest.mark.parametrize("sigma", [0.1, 1.0, 30.0])
def test_formula(clip, sigma):
    x = states(sigma)
    got = build(COUNTS, clip=clip)(x, sigma)
    torch.testing.assert_close(got, direct(COUNTS, x, sigma, nominal_records=20, clip=clip), rtol=0, atol=1e-5)
    assert got.dtype == torch.float64 and build(COUNTS).num_records == 20 and build(COUNTS).image_shape == SHAPE


def test_public_shares_and_no_records_leave_the_denoiser_as_it_is():
    x = states(1.0)
    for counts, nominal in ((GROUPS.sizes, len(PUBLIC)), (torch.zeros(6, dtype=torch.int64), 5)):
        got = build(counts, nominal_records=nominal, clip=1.0)(x, 1.0)
        torch.testing.assert_close(got, PublicAnchor(PUBLIC)(x, 1.0), rtol=0, atol=1e-5)
        other = build(counts, nominal_records=nominal, clip=1.0, denoiser=lambda x, sigma: x / 3)(x, 1.0)
        torch.testing.assert_close(other, x / 3, rtol=0, atol=1e-5)


def test_small_tilts_are_those_of_the_reweighted_posterior_mean():
    """To first order in the weights; at a high noise level the denominator is nearly 1."""
    weights = GROUPS.sizes * 1000 + torch.tensor([60, -50, 40, -30, 20, -40]) * GROUPS.sizes
    x = states(5.0)
    exact = PublicAnchor(PUBLIC, weights=weights[GROUPS.index].double() / GROUPS.sizes[GROUPS.index])(x, 5.0)
    plain = PublicAnchor(PUBLIC)(x, 5.0)
    moved = build(weights, nominal_records=1000 * len(PUBLIC), clip=1.0)(x, 5.0) - plain
    assert float((moved - (exact - plain)).norm()) < 0.05 * float((exact - plain).norm())


@given(
    counts=st.lists(st.integers(0, 40), min_size=6, max_size=6),
    group=st.integers(0, 5),
    seed=st.integers(0, 2**32 - 1),
    log_sigma=st.floats(math.log(1e-4), math.log(1e3)),
    log_clip=st.floats(math.log(1e-6), 0.0),
    nominal=st.sampled_from([1, 20, 10**6]),
)
@settings(max_examples=150, deadline=None)
def test_no_neighbour_moves_the_output_by_more(counts, group, seed, log_sigma, log_clip, nominal):
    sigma, clip = math.exp(log_sigma), min(max(math.exp(log_clip), 1e-6), 1.0)
    small = torch.tensor(counts)
    large = small + torch.eye(6, dtype=torch.int64)[group]
    x = states(sigma, seed)
    pair = [build(c, clip=clip, nominal_records=nominal) for c in (large, small)]
    moved = pair[0](x, sigma) - pair[1](x, sigma)
    limit = Fraction(pair[0].sensitivity(sigma)) ** 2
    assert all(exact_norm_squared(row) <= limit for row in moved)
    empty = torch.zeros_like(small)
    alone = [build(c, clip=clip, nominal_records=nominal)(x, sigma) for c in (empty + large - small, empty)]
    assert torch.equal(moved, alone[0] - alone[1])


def test_the_bound_is_reached():
    x = states(1.0)
    moved = build(COUNTS + 1, clip=1e-4, nominal_records=1)(x, 1.0) - build(COUNTS, clip=1e-4, nominal_records=1)(
        x, 1.0
    )
    one = build(COUNTS + torch.eye(6, dtype=torch.int64)[0], clip=1e-4, nominal_records=1)(x, 1.0)
    one -= build(COUNTS, clip=1e-4, nominal_records=1)(x, 1.0)
    assert float(one.flatten(1).norm(dim=1).max()) == pytest.approx(1e-4, rel=1e-6)
    assert float(moved.flatten(1).norm(dim=1).max()) <= 6e-4


def test_the_property_catches_a_private_count_in_the_normalizer():
    """With the count of the data in place of a public number, every other record's voice changes too."""
    x = torch.zeros(1, *SHAPE, dtype=torch.float64)
    small = torch.tensor([0, 0, 0, 9, 0, 0])
    large = small + torch.tensor([1, 0, 0, 0, 0, 0])
    honest = build(large, nominal_records=10, clip=1.0)(x, 3.0) - build(small, nominal_records=10, clip=1.0)(x, 3.0)
    clip = float(honest.norm()) * (1 + 1e-6)
    leaky = build(large, nominal_records=int(large.sum()), clip=clip)(x, 3.0)
    leaky -= build(small, nominal_records=int(small.sum()), clip=clip)(x, 3.0)
    assert exact_norm_squared(honest) <= Fraction(clip) ** 2 < exact_norm_squared(leaky)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nominal_records": 0}, "nominal_records"),
        ({"clip": -1.0}, "clip"),
        ({"clip": 3.0}, "clip"),
        ({"counts": COUNTS.double()}, "int64"),
        ({"counts": COUNTS[:3]}, "shape"),
        ({"counts": -COUNTS}, "non-negative"),
        ({"counts": COUNTS * 2**20}, "at most"),
    ],
)
def test_bad_arguments(change, message):
    arguments = {"counts": COUNTS, **change}
    with pytest.raises(ValueError, match=message):
        build(arguments.pop("counts"), **arguments)


def test_bad_images_and_states():
    with pytest.raises(ValueError, match="that were grouped"):
        GroupDenoiser(COUNTS, GROUPS, PUBLIC[:5], nominal_records=20, clip=0.1)
    x = states(1.0)
    for bad, message in ((x.float(), "float64"), (x[:, :, :2], "shape"), (x * float("nan"), "finite")):
        with pytest.raises(ValueError, match=message):
            build(COUNTS)(bad, 1.0)
    with pytest.raises(ValueError, match="sigma"):
        build(COUNTS).sensitivity(0.0)


def test_a_run_is_charged_the_clip_at_every_step():
    sigmas = edm_sigmas(10)
    run = full_batch(build(COUNTS), Plan(sigmas, 4), count=3, seed=0)
    expected = reverse_sde_gdp_mu(sigmas[:5], sensitivity=0.05).square().sum().sqrt()
    assert run.mechanism.gdp_mu == pytest.approx(float(expected), rel=1e-12)
    assert (run.mechanism.sampling_probability, run.mechanism.count) == (1.0, 3)
