"""Sound samplers are not caught, broken ones are: the mutation tests of the audit itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from privlib.accounting.certified import epsilon_interval
from privlib.attacks.assumed import AssumedSensitivity
from privlib.attacks.games import Game, Neighbours, full_batch_game, output_wise_game, per_step_game
from privlib.attacks.mutants import UnclippedDenoiser
from privlib.attacks.suite import (
    PLAN,
    QUICK_TRIALS,
    SHORT,
    TRIALS,
    assumed_games,
    clipped,
    mutant_games,
    one_run_audit,
    sound_games,
)
from privlib.denoisers.anchors import PublicAnchor
from privlib.denoisers.empirical import EmpiricalDenoiser
from privlib.mechanisms import Composition
from privlib.samplers.path import Plan, PublicTail
from privlib.schedules import edm_sigmas

SOUND, MUTANTS = sound_games(), mutant_games()
SEEDS = range(10)

#: Trials in each world at confidence 0.95, a third of them for the threshold: 2,111 and 1,731 have to be scored.
NEEDED = {"noise times 0.8": QUICK_TRIALS, "one block for 8 outputs, charged as 8 fresh ones": 2600}


def caught(game: Game, trials: int, seed: int, confidence: float) -> bool:
    """Whether the bound of epsilon refutes the claim; that of mu must not contradict a verdict that it stands."""
    audit = game.audit(trials, seed=seed, confidence=confidence)
    refuted = audit.refutes(epsilon_interval(game.mechanism, game.delta))
    assert refuted or game.gdp_mu is None or audit.gdp_mu <= game.gdp_mu
    return refuted


def name(game: Game) -> str:
    return f"{game.name} ({game.sees})"


def test_names_are_unique() -> None:
    names = [name(game) for game in SOUND + MUTANTS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "game", [game for game in SOUND if "outputs" not in game.name and "replaced" not in game.name], ids=name
)
def test_sound_samplers_pass_a_quick_audit(game) -> None:
    assert not caught(game, 900, 0, 0.999)


@pytest.mark.parametrize("game", MUTANTS, ids=name)
def test_every_mutant_is_caught(game) -> None:
    """With the trials of a power calculation (miss probability 0.01 at most); see ``suite`` for the hardest one."""
    assert caught(game, NEEDED.get(game.name, 1500), 0, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("game", SOUND, ids=name)
def test_sound_samplers_pass_with_every_seed(game) -> None:
    """160 audits at confidence 0.9999: one false alarm in 60 repetitions of this test, were the seeds not fixed."""
    assert not any(caught(game, TRIALS, seed, 0.9999) for seed in SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("game", MUTANTS, ids=name)
def test_every_mutant_is_caught_at_high_confidence(game) -> None:
    assert all(caught(game, TRIALS, seed, 0.999) for seed in range(1, 4))


def test_ratio_of_the_adversarial_record_has_the_claimed_law() -> None:
    """Full batch: normal with mean plus or minus mu^2 / 2 and variance mu^2, so that the audit can be tight."""
    game, count = SOUND[0], 2000
    for scores, sign in zip(game.scores(count, seed=3), (-1.0, 1.0), strict=True):
        mu = game.mechanism.gdp_mu
        assert float(scores.mean()) == pytest.approx(sign * mu**2 / 2, abs=4 * mu / math.sqrt(count))
        assert float(scores.var()) == pytest.approx(mu**2, rel=4 * math.sqrt(2 / count))


@pytest.mark.parametrize("build", [output_wise_game, per_step_game], ids=lambda f: f.__name__)
def test_ratios_average_to_one(build) -> None:
    """E[exp(ratio)] = 1 without the record, E[exp(-ratio)] = 1 with it: both worlds are what the ratio takes them for.

    Few steps at high noise, so that the exponentials have a small variance. Other records in the blocks make it fail if
    their blocks are not the ones that the sampler drew.
    """
    rest = torch.tensor([[0.9, -0.9, 0.9, 0.9], [-0.9, -0.9, 0.9, 0.1]]).reshape(2, 1, 2, 2)
    pair = Neighbours(rest, torch.ones(1, 1, 2, 2))
    game = build("", clipped, pair, Plan((2.0, 1.5, 1.2), 2), sampling_probability=0.5, delta=0.1)
    for scores, sign in zip(game.scores(3000, seed=0), (1.0, -1.0), strict=True):
        ratios = (sign * scores).exp()
        assert float(ratios.mean()) == pytest.approx(1.0, abs=4 * float(ratios.std()) / math.sqrt(3000))
        assert 0.1 < float(ratios.std()) < 2.0


def test_claims_are_those_of_the_runs() -> None:
    """GDP parameters by hand: sensitivity 1 on the grids of ``suite``."""
    squares = [2 * (t - s) / t**3 for t, s in zip(PLAN.sigmas[:-1], PLAN.sigmas[1:], strict=True)]
    claims = {game.name: game.mechanism for game in SOUND if game.sees == "all states"}
    assert claims["full batch, clipped"].gdp_mu == pytest.approx(math.sqrt(sum(squares)))
    assert claims["block for each output, 4 outputs"].count == 4
    assert claims["block for each output, 4 outputs"].sampling_probability == 0.5
    assert isinstance(claims["fresh block at each step"], Composition)
    assert [c.gdp_mu for c in claims["fresh block at each step"].components] == pytest.approx(np.sqrt(squares))


def test_gdp_parameter_of_a_release() -> None:
    claims = {game.name: game.gdp_mu for game in SOUND if game.sees == "all states"}
    assert claims["full batch, clipped, 4 outputs"] == pytest.approx(2 * 0.5)  # root of 4 times 0.5
    assert claims["full batch, clipped, record replaced"] == pytest.approx(2 * math.sqrt(0.25 + 0.8))
    assert claims["block for each output"] is None and claims["fresh block at each step"] is None
    assert {game.name: game.gdp_mu for game in MUTANTS}["noise times 0.8"] == claims["full batch, clipped"]


@pytest.mark.parametrize("clip_works", [True, False])
def test_one_release_with_many_canaries(clip_works, monkeypatch) -> None:
    if not clip_works:
        monkeypatch.setattr("privlib.attacks.suite.ClippedDenoiser", Loud)
    audit = one_run_audit((1, 16, 16), guesses=64, delta=1e-5, confidence=0.99, seed=0)
    claim = epsilon_interval(audit.mechanism, 1e-5)
    assert audit.canaries == 256 and 32 < audit.right <= 64
    assert 0.0 < audit.epsilon and (audit.epsilon <= claim.upper) == clip_works


class Loud(UnclippedDenoiser):
    """Ten times the charge: its canaries are longer than the clip that it claims."""

    def __init__(self, data, anchor, *, public_weight):
        super().__init__(data, anchor, public_weight=public_weight, clip=0.1)


def test_seeds_repeat_and_differ() -> None:
    first, again, other = (SOUND[0].scores(20, seed=seed) for seed in (1, 1, 2))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.isin(torch.cat(first), torch.cat(other)).any() and not torch.isin(*first).any()


def test_an_assumed_sensitivity_of_the_softmax_over_a_block_is_caught() -> None:
    """Charged at sensitivity 1 on the paper's grid, the posterior mean over a block of five gives one record away.

    It ends at that record in one path of five, which the other world never does.
    """
    signs = torch.randn(5, 1, 8, 8, generator=torch.Generator().manual_seed(0)).sign()
    for game in assumed_games(signs, Plan(edm_sigmas(39), 22), sensitivity=1.0, delta=0.05):
        assert game.gdp_mu == pytest.approx(0.6946, abs=1e-4)
        assert caught(game, 600, 0, 0.99)


def test_bad_input() -> None:
    pair = Neighbours(torch.zeros(0, 1, 2, 2), torch.ones(1, 1, 2, 2))
    tail = PublicTail(PublicAnchor(torch.zeros(2, 1, 2, 2)))
    game = full_batch_game("", clipped, pair, Plan(SHORT.sigmas, 2, tail=tail), delta=0.1)
    with pytest.raises(ValueError, match="plan must have no tail"):
        game.scores(10, seed=0)
    with pytest.raises(ValueError, match="seed must be at least 0"):
        SOUND[0].scores(10, seed=-1)
    with pytest.raises(ValueError, match="sensitivity must lie in"):
        AssumedSensitivity(EmpiricalDenoiser(torch.zeros(2, 1, 2, 2)), 0.0)
