"""Audits of scores whose law is known: Gaussian worlds, where every bound has a closed form to stay below."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import ndtr

from privlib.accounting import gdp
from privlib.attacks.audit import audit_scores, error_pairs
from privlib.attacks.bounds import largest_epsilon, trials_for_epsilon, trials_to_refute
from privlib.types import Interval


def worlds(mu: float, trials: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    noise = torch.randn(2, trials, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return noise[0], mu + noise[1]


def test_bounds_hold_as_often_as_they_say() -> None:
    """At confidence 0.8 in at least 80 of 100 audits; Clopper-Pearson and two errors make it many more."""
    audits = [audit_scores(*worlds(1.0, 600, seed), delta=0.1, confidence=0.8) for seed in range(100)]
    assert sum(audit.epsilon <= gdp.epsilon_for_delta(1.0, 0.1) for audit in audits) >= 80
    assert sum(audit.gdp_mu <= 1.0 for audit in audits) >= 80


def test_choosing_and_scoring_on_the_same_trials_would_not_hold() -> None:
    """Equal worlds, few trials: the best of many thresholds looks like a loss, the held-out part does not."""
    caught = [audit_scores(*worlds(0.0, 300, seed), delta=0.001, confidence=0.8).gdp_mu > 0.0 for seed in range(100)]
    assert sum(caught) <= 20


@pytest.mark.parametrize(("mu", "delta"), [(1.0, 0.2), (2.0, 0.1)])
def test_bounds_get_tight(mu, delta) -> None:
    """As many trials as a claim of nine tenths of the truth needs to be refuted, and it is."""
    true = gdp.epsilon_for_delta(mu, delta)
    # A little beyond the ratio of the true epsilon, where the false positives are fewer.
    errors = float(ndtr(-1.05 * true / mu - mu / 2)), float(ndtr(1.05 * true / mu - mu / 2))
    needed = trials_to_refute(*errors, epsilon=0.9 * true, delta=delta, confidence=0.999)
    audit = audit_scores(*worlds(mu, 3 * needed // 2, 3), delta=delta, confidence=0.999)
    assert audit.scored == needed
    assert 0.9 * true < audit.epsilon <= true
    assert 0.9 * mu < audit.gdp_mu <= mu


def test_either_direction_is_used() -> None:
    """Present is rarely told, and then for sure; mirrored, absent is."""
    rare = torch.arange(9000) % 10 == 0
    without, present = torch.zeros(9000), rare.to(torch.float64)
    forward = audit_scores(without, present, delta=0.01, confidence=0.95)
    mirrored = audit_scores(-present, without, delta=0.01, confidence=0.95)
    assert forward.epsilon == pytest.approx(mirrored.epsilon) and forward.epsilon > 3.0


def test_what_refutes_and_what_does_not() -> None:
    audit = audit_scores(*worlds(2.0, 6000, 0), delta=0.2, confidence=0.99)
    true = gdp.epsilon_for_delta(2.0, 0.2)
    assert audit.refutes(0.5 * true) and not audit.refutes(Interval(0.0, true))
    assert audit.ceiling == largest_epsilon(4000, delta=0.2, confidence=0.99)


def test_trials_that_could_not_have_refuted_are_no_audit() -> None:
    audit = audit_scores(*worlds(2.0, 300, 0), delta=0.2, confidence=0.99)
    needed = trials_for_epsilon(8.0, delta=0.2, confidence=0.99)
    with pytest.raises(ValueError, match=f"cannot refute a claim of 8: at least {needed:,} scored") as error:
        audit.refutes(8.0)
    total = int(str(error.value).split("scored, ")[1].split(" in all")[0].replace(",", ""))
    assert total - total // 3 >= needed > total - 2 - (total - 2) // 3
    # The number in the message is enough: then the same question has an answer.
    apart = torch.zeros(total), torch.ones(total)
    assert audit_scores(*apart, delta=0.2, confidence=0.99).refutes(8.0)


def test_error_pairs_hold_together_and_lie_above_the_curve() -> None:
    fprs = (0.01, 0.05, 0.2, 0.5)
    held = 0
    for seed in range(50):
        pairs = error_pairs(*worlds(1.0, 3000, seed), fprs, confidence=0.8)
        curve = gdp.tradeoff(1.0, np.array([pair.fpr_upper for pair in pairs]))
        held += all(pair.fnr_upper >= bound for pair, bound in zip(pairs, curve, strict=True))
    assert held >= 40
    for pair, fpr in zip(pairs, fprs, strict=True):  # the threshold comes from half as many trials
        spread = (fpr / pair.trials_without * 3) ** 0.5
        assert abs(pair.false_positives / pair.trials_without - fpr) < 4 * spread


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: audit_scores(*worlds(1.0, 9, 0), delta=0.1, confidence=0.999), "even without any error they would"),
        (lambda: audit_scores(torch.tensor([float("nan")] * 99), torch.ones(99), delta=0.1, confidence=0.9), "NaN"),
        (lambda: audit_scores(torch.ones(9, 1), torch.ones(9), delta=0.1, confidence=0.9), r"without must .*\(n,\)"),
        (lambda: audit_scores(*worlds(1.0, 99, 0), delta=0.0, confidence=0.9), r"delta must lie in \(0, 1\)"),
        (lambda: audit_scores(*worlds(1.0, 99, 0), delta=0.1, confidence=1.0), r"confidence must lie in \(0, 1\)"),
        (lambda: error_pairs(*worlds(1.0, 900, 0), (0.1, 0.001), confidence=0.9), r"0.001 cannot be resolved by 600"),
    ],
)
def test_bad_input(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_the_number_in_the_message_is_enough() -> None:
    with pytest.raises(ValueError, match="at least") as error:
        error_pairs(*worlds(1.0, 900, 0), (0.1, 0.001), confidence=0.9)
    total = int(str(error.value).split("scored, ")[1].split(" in all")[0].replace(",", ""))
    assert len(error_pairs(*worlds(1.0, total, 0), (0.1, 0.001), confidence=0.9)) == 2
    with pytest.raises(ValueError, match="at least") as error:
        audit_scores(*worlds(9.0, 9, 0), delta=0.1, confidence=0.999)
    total = int(str(error.value).split("scored, ")[1].split(" in all")[0].replace(",", ""))
    assert audit_scores(torch.zeros(total), torch.ones(total), delta=0.1, confidence=0.999).epsilon > 0.0
