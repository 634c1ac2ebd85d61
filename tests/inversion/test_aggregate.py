"""The noisy mean as it is carried out: bounds, samples, noise; audits that the true code passes and mutants fail."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from privlib.accounting.aggregation import epsilon_interval
from privlib.aggregation import Bound, NoisyAggregate, Sampling
from privlib.attacks.audit import audit_scores
from privlib.inversion import aggregate
from privlib.inversion.aggregate import bounded, centroid_geometry, noisy_means, release_aggregate, taking_part
from privlib.inversion.releases import Release, Unprotected
from privlib.types import Adjacency

ADD, REPLACE = Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE
TRIALS, DELTA, CONFIDENCE = 20_000, 0.1, 0.999


def test_bounds():
    vectors = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [math.nan, 1.0], [math.inf, 0.0], [1e30, 1e30]])
    sphere, ball = bounded(vectors, Bound.SPHERE, 2.0), bounded(vectors, Bound.BALL, 2.0)
    assert sphere.norm(dim=1).tolist() == pytest.approx([2.0, 2.0, 0.0, 0.0, 0.0, 2.0])
    assert ball.norm(dim=1).tolist() == pytest.approx([2.0, 0.5, 0.0, 0.0, 0.0, 2.0])
    assert torch.equal(sphere[0], sphere[1]) or torch.allclose(sphere[0], sphere[1])
    wild = torch.randn(1000, 3, dtype=torch.float64) * torch.logspace(-320, 300, 1000, dtype=torch.float64)[:, None]
    for bound in Bound:
        assert bounded(wild, bound, 0.37).norm(dim=1).max() <= 0.37 * (1 + 1e-15)


def test_release_is_the_bounded_mean_with_the_noise_that_is_charged():
    vectors = torch.eye(4, dtype=torch.float64) * 5.0
    mechanism = NoisyAggregate(4, 4, 2.0, 0.5)
    draws = noisy_means(vectors, mechanism, np.random.default_rng(0), draws=20_000)
    assert mechanism.noise_std == 0.25
    assert draws.mean(0) == pytest.approx([0.5] * 4, abs=0.01)
    assert draws.std(0) == pytest.approx([0.25] * 4, rel=0.02)
    assert abs(np.corrcoef(draws.T) - np.eye(4)).max() < 0.03
    release = release_aggregate(vectors, mechanism, rng=np.random.default_rng(3))
    assert release.vector.tolist() == noisy_means(vectors, mechanism, np.random.default_rng(3), draws=1)[0].tolist()


def test_samples():
    rng = np.random.default_rng(1)
    fixed = NoisyAggregate(6, 2, 1.0, 1.0, Sampling.FIXED_SIZE, adjacency=REPLACE)
    rows = taking_part(fixed, 6, rng, draws=3000)
    assert (rows.sum(1) == 2).all() and rows.mean(0) == pytest.approx([1 / 3] * 6, abs=0.04)
    assert len(np.unique(rows, axis=0)) == 15
    poisson = NoisyAggregate(6, 2, 1.0, 1.0, Sampling.POISSON)
    rows = taking_part(poisson, 7, rng, draws=3000)
    assert rows.mean(0) == pytest.approx([1 / 3] * 7, abs=0.04)
    assert np.corrcoef(rows[:, 0], rows[:, 1])[0, 1] == pytest.approx(0.0, abs=0.07)
    assert taking_part(NoisyAggregate(6, 6, 1.0, 1.0), 5, rng).tolist() == [[True] * 5]


def test_without_noise_there_is_no_release():
    result = release_aggregate(torch.eye(3), NoisyAggregate(3, 3, 1.0, 0.0), rng=np.random.default_rng())
    assert isinstance(result, Unprotected) and torch.allclose(result.vector, torch.full((3,), 1 / 3).double())
    scaled = result.scaled_to(3.0)
    assert isinstance(scaled, Unprotected) and torch.allclose(scaled.vector, torch.full((3,), math.sqrt(3.0)).double())
    assert Unprotected(torch.zeros(3)).scaled_to(2.0).vector.tolist() == [0.0] * 3


def test_a_release_cannot_be_made_by_hand():
    mechanism = NoisyAggregate(3, 3, 1.0, 1.0)
    with pytest.raises(ValueError, match="by the function that adds the noise"):
        Release(torch.zeros(3), mechanism, mark=None)
    release = release_aggregate(torch.eye(3), mechanism, rng=np.random.default_rng(0))
    before = release.vector
    release.vector.zero_()
    assert torch.equal(release.vector, before)
    with pytest.raises(AttributeError):
        release.vector = before
    with pytest.raises(TypeError):
        dataclasses.replace(release, vector=before)
    shorter = release.scaled_to(0.5)
    assert float(shorter.vector.norm()) == pytest.approx(0.5) and shorter.mechanism == mechanism


def test_wrong_vectors_are_refused():
    replaced = NoisyAggregate(3, 3, 1.0, 1.0, adjacency=REPLACE)
    with pytest.raises(ValueError, match="vectors must be num_vectors = 3"):
        release_aggregate(torch.eye(4), replaced, rng=np.random.default_rng())
    with pytest.raises(ValueError, match="vectors must have shape"):
        release_aggregate(torch.zeros(3), replaced, rng=np.random.default_rng())


def test_centroid_geometry():
    apart = centroid_geometry(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), Bound.SPHERE, 1.0)
    assert apart == pytest.approx({"centroid_norm": math.sqrt(0.5), "mean_cosine": math.sqrt(0.5)})
    assert math.isnan(centroid_geometry(torch.tensor([[1.0], [-1.0]]), Bound.SPHERE, 1.0)["mean_cosine"])


# The audit. Every case has one canary, along the first axis, against its absence or its replacement; the others lie
# where they cost most: out of the way, or at the opposite pole where a canary that leaves makes room for one of them.
# The density ratio increases along the first axis, so that coordinate is as strong a score as the ratio itself.

CANARY = torch.tensor([[1.0, 0.0]], dtype=torch.float64)


def worlds(mechanism):
    """Vectors without and with the canary."""
    k, n = mechanism.group_size, mechanism.num_vectors
    others = -CANARY if mechanism.sampling is Sampling.FIXED_SIZE else torch.zeros_like(CANARY)
    rest, canaries = others.expand(n - k, 2), CANARY.expand(k, 2)
    return torch.cat([rest, -canaries]) if mechanism.adjacency is REPLACE else rest, torch.cat([rest, canaries])


def audited(run, mechanism, *, pair=None):
    scores = [
        torch.from_numpy(run(vectors, mechanism, np.random.default_rng(seed), draws=TRIALS)[:, 0])
        for seed, vectors in enumerate(pair or worlds(mechanism))
    ]
    return audit_scores(*scores, delta=DELTA, confidence=CONFIDENCE)


def caught(run, mechanism, *, claimed=None, pair=None):
    return audited(run, mechanism, pair=pair).refutes(epsilon_interval(claimed or mechanism, DELTA))


CASES = [
    NoisyAggregate(4, 4, 1.0, 0.7),
    NoisyAggregate(4, 4, 1.0, 1.4, bound=Bound.BALL, adjacency=REPLACE),
    NoisyAggregate(4, 2, 1.0, 0.6, Sampling.POISSON),
    NoisyAggregate(4, 2, 1.0, 0.8, Sampling.POISSON, adjacency=REPLACE),
    NoisyAggregate(4, 2, 1.0, 1.2, Sampling.FIXED_SIZE, adjacency=REPLACE),
    NoisyAggregate(6, 3, 1.0, 1.5, Sampling.POISSON, adjacency=ADD, group_size=2),
    NoisyAggregate(6, 3, 1.0, 2.0, Sampling.FIXED_SIZE, adjacency=REPLACE, group_size=2),
]


@pytest.mark.parametrize("mechanism", CASES, ids=lambda m: f"{m.sampling.name}-{m.adjacency.name}-{m.group_size}")
def test_the_audit_stays_below_the_claim_and_comes_close(mechanism):
    found, claimed = audited(noisy_means, mechanism), epsilon_interval(mechanism, DELTA)
    assert not found.refutes(claimed)
    assert found.epsilon > 0.7 * claimed.upper


def quiet(vectors, mechanism, rng, *, draws):
    """Noise times 0.8."""
    mutant = dataclasses.replace(mechanism, noise_multiplier=0.8 * mechanism.noise_multiplier)
    return noisy_means(vectors, mutant, rng, draws=draws)


def actual_size(vectors, mechanism, rng, *, draws):
    """The sum over those that were drawn, divided by their actual number."""
    chosen = taking_part(mechanism, len(vectors), rng, draws=draws)
    means = chosen @ bounded(vectors, mechanism.bound, mechanism.norm).numpy() / np.maximum(chosen.sum(1), 1)[:, None]
    return means + mechanism.noise_std * rng.standard_normal(means.shape)


@pytest.mark.parametrize("mechanism", CASES[:5], ids=lambda m: f"{m.sampling.name}-{m.adjacency.name}")
def test_quiet_noise_is_caught(mechanism):
    assert caught(quiet, mechanism)


def test_a_forgotten_bound_is_caught(monkeypatch):
    pair = [1.5 * vectors for vectors in worlds(CASES[0])]
    assert not caught(noisy_means, CASES[0], pair=pair)
    monkeypatch.setattr(aggregate, "_bounded", lambda rows, bound, norm: rows)
    assert caught(noisy_means, CASES[0], pair=pair)


def test_a_replaced_picture_charged_as_added_or_removed_is_caught():
    for replaced in (CASES[1], CASES[3]):
        assert caught(noisy_means, replaced, claimed=dataclasses.replace(replaced, adjacency=ADD))


def test_a_group_charged_as_one_picture_is_caught():
    for group in CASES[5:]:
        assert caught(noisy_means, group, claimed=dataclasses.replace(group, group_size=1))


def test_a_fixed_size_charged_by_the_distance_of_one_vector_is_caught():
    """The shift in a sample of fixed size is 2R, also where the picture is merely left out."""
    mechanism = CASES[4]
    cheap = NoisyAggregate(4, 2, 1.0, mechanism.noise_multiplier, Sampling.POISSON)
    assert caught(noisy_means, mechanism, claimed=cheap)


def test_dividing_by_the_actual_size_is_caught():
    """Of few pictures at one pole, a canary at the other takes over the mean of a small sample."""
    mechanism = NoisyAggregate(3, 2, 1.0, 1.0, Sampling.POISSON)
    rest = -CANARY.expand(2, 2)
    pair = rest, torch.cat([rest, CANARY])
    assert not caught(noisy_means, mechanism, pair=pair)
    assert caught(actual_size, mechanism, pair=pair)
