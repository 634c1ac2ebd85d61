"""The audit of the noisy mean: the true code passes and comes close to its claim, every mutant is caught."""

import pytest

from privlib.accounting.aggregation import epsilon_interval
from privlib.attacks.aggregates import DELTA, mutant_aggregates, over_actual_size, sound_aggregates, unbounded
from privlib.attacks.audit import audit_scores
from privlib.inversion.aggregate import noisy_means

TRIALS, CONFIDENCE = 20_000, 0.999


def audited(game, seed=0):
    return audit_scores(*game.scores(TRIALS, seed=seed), delta=DELTA, confidence=CONFIDENCE)


def by_name(games):
    return [pytest.param(game, id=game.name.replace(" ", "-")) for game in games]


@pytest.mark.parametrize("game", by_name(sound_aggregates()))
def test_the_audit_stays_below_the_claim_and_comes_close(game):
    found, claimed = audited(game), epsilon_interval(game.charged, DELTA)
    assert not found.refutes(claimed)
    assert found.epsilon > 0.7 * claimed.upper


@pytest.mark.parametrize("game", by_name(mutant_aggregates()))
def test_every_mutant_is_caught(game):
    assert audited(game).refutes(epsilon_interval(game.charged, DELTA))


@pytest.mark.parametrize("run", [unbounded, over_actual_size])
def test_where_a_mutant_is_caught_the_true_code_is_not(run):
    (game,) = (game for game in mutant_aggregates() if game.run is run)
    true = type(game)(game.name, noisy_means, game.mechanism, game.charged, game.vectors)
    assert not audited(true).refutes(epsilon_interval(game.charged, DELTA))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_other_seeds_say_the_same(seed):
    for game in sound_aggregates():
        assert not audited(game, seed).refutes(epsilon_interval(game.charged, DELTA)), game.name
    for game in mutant_aggregates():
        assert audited(game, seed).refutes(epsilon_interval(game.charged, DELTA)), game.name
