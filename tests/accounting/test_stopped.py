"""Bounds of a stopped path against closed forms of the Gaussian mechanism and the table that the paper prints."""

import pytest
from scipy.stats import norm

from privlib.accounting.stopped import stopped_path
from privlib.accounting.tradeoff import attack_success_from_epsilon
from privlib.mechanisms import reverse_sde_gdp_mu
from privlib.schedules import edm_sigmas
from privlib.types import AccountingError


def test_without_subsampling_the_best_test_is_that_of_two_gaussians():
    found = stopped_path([0.3, 0.4], 1.0, delta=1e-5, tolerance=1e-4)
    assert found.best_test.lower - 1e-12 <= norm.cdf(0.25) <= found.best_test.upper + 1e-12
    assert found.from_epsilon == attack_success_from_epsilon(found.epsilon.upper) > found.best_test.upper
    assert len(found.mechanism.components) == 2


@pytest.mark.parametrize(
    ("steps", "q", "printed"), [(1, 0.5, 0.5019), (10, 0.5, 0.5204), (1, 0.01, 0.5000), (10, 0.005, 0.5001)]
)
def test_the_first_columns_of_table_13(steps, q, printed):
    mus = reverse_sde_gdp_mu(edm_sigmas(39), sensitivity=1.0).tolist()
    assert stopped_path(mus[:steps], q, delta=1e-5, tolerance=1e-4).from_epsilon == pytest.approx(printed, abs=5e-5)


def test_a_best_test_without_a_proof_is_none_and_no_guess(monkeypatch):
    def fail(mechanism):
        raise AccountingError("not proved")

    monkeypatch.setattr("privlib.accounting.stopped.attack_success_from_tradeoff", fail)
    assert stopped_path([0.1], 0.5, delta=1e-5, tolerance=1e-4).best_test is None
