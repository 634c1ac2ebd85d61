"""The learned attack finds what a sum cannot, and its fit is the minimum that it says."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from privlib.attacks.learned import LearnedAttack, _logistic
from privlib.attacks.scoring import Scores, auc


def maps(count, seed, ratio):
    """Errors whose sum says nothing: what members lack in one half of the map they have more of in the other."""
    errors = torch.rand(count, 4, 4, generator=torch.Generator().manual_seed(seed)).double() + 0.5
    errors[:, :2] *= ratio
    return errors / errors.flatten(1).sum(1).reshape(-1, 1, 1)


def test_it_learns_where_errors_differ():
    attack = LearnedAttack(maps(200, 0, 0.6), maps(150, 1, 1.0))
    scored = Scores(attack(maps(300, 2, 0.6)), attack(maps(300, 3, 1.0)))
    assert auc(scored) > 0.9
    sums = Scores(maps(300, 2, 0.6).flatten(1).sum(1), maps(300, 3, 1.0).flatten(1).sum(1))
    assert abs(auc(sums) - 0.5) < 0.1


def test_it_finds_nothing_where_nothing_is():
    attack = LearnedAttack(maps(100, 0, 1.0), maps(100, 1, 1.0))
    assert abs(auc(Scores(attack(maps(400, 2, 1.0)), attack(maps(400, 3, 1.0)))) - 0.5) < 0.08


def test_the_fit_is_the_minimum_of_the_penalized_loss():
    draw = np.random.default_rng(0)
    inputs = np.concatenate([draw.normal(size=(60, 3)), np.ones((60, 1))], axis=1)
    truth, weight = (draw.random(60) < 0.3).astype(float), draw.random(60) + 0.5

    def loss(at):
        margins = (2 * truth - 1) * (inputs @ at)
        return (weight * np.logaddexp(0.0, -margins)).sum() + 0.5 * 2.0 * (at[:3] ** 2).sum()

    expected = minimize(loss, np.zeros(4), tol=1e-12).x
    found = _logistic(torch.tensor(inputs), torch.tensor(truth), torch.tensor(weight), 2.0)
    assert np.allclose(found.numpy(), expected, atol=1e-5)


def test_separable_maps_and_exact_zeros_are_no_trouble():
    attack = LearnedAttack(torch.zeros(20, 2, 2), torch.ones(20, 2, 2))
    assert float(attack(torch.zeros(1, 2, 2))) > 0 > float(attack(torch.ones(1, 2, 2)))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="at least 2 maps of one shape"):
        LearnedAttack(torch.ones(5, 2, 2), torch.ones(5, 3, 3))
    with pytest.raises(ValueError, match="at least 2 maps of one shape"):
        LearnedAttack(torch.ones(1, 2, 2), torch.ones(5, 2, 2))
    with pytest.raises(ValueError, match="penalty must"):
        LearnedAttack(torch.ones(5, 2, 2), torch.ones(5, 2, 2), penalty=0.0)
