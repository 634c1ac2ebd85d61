"""A guarantee in words: every part of its mechanism is named, and the report takes it as it is."""

import pytest

from privlib import report
from privlib.accounting.aggregation import guarantee
from privlib.accounting.dpsgd import guarantee_dpsgd
from privlib.aggregation import Bound, NoisyAggregate, Sampling
from privlib.guarantees import in_words
from privlib.mechanisms import SubsampledGaussian
from privlib.types import Adjacency


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (
            NoisyAggregate(9, 9, 2.0, 1.5),
            "none, all 9 vectors in one noisy mean, each scaled to norm R, noise multiplier 1.5",
        ),
        (
            NoisyAggregate(9, 4, 2.0, 1.5, Sampling.POISSON, group_size=2),
            "Poisson, each of 9 vectors with chance 4/9, in one noisy mean, each scaled to norm R, "
            "noise multiplier 1.5, groups of 2",
        ),
        (
            NoisyAggregate(9, 4, 2.0, 1.5, Sampling.FIXED_SIZE, bound=Bound.BALL, adjacency=Adjacency.REPLACE_ONE),
            "exactly 4 of 9 vectors without replacement in one noisy mean, each clipped to norm R, "
            "noise multiplier 1.5",
        ),
        (SubsampledGaussian(0.5, 1.0, 60), "all clipped gradients at each of 60 steps, noise multiplier 2"),
        (
            SubsampledGaussian(0.5, 0.1, 60),
            "Poisson, q = 0.1, clipped gradients at each of 60 steps, noise multiplier 2",
        ),
    ],
)
def test_mechanisms_in_words(mechanism, words) -> None:
    assert in_words(mechanism) == words


@pytest.mark.parametrize(
    "stated",
    [guarantee(NoisyAggregate(9, 9, 2.0, 1.5), 1e-2), guarantee_dpsgd(SubsampledGaussian(0.1, 1.0, 60), 1e-2)],
)
def test_the_report_shows_all_of_a_statement(stated, capsys) -> None:
    report.privacy_statement(**stated.statement())
    shown = capsys.readouterr().out
    assert f"epsilon in [{stated.epsilon.lower:.6g}, {stated.epsilon.upper:.6g}] (certified interval)" in shown
    for part in ("delta = 0.01", "add or remove one", in_words(stated.mechanism), "outputs: 1", stated.accountant):
        assert part in shown
