"""The benchmark still runs and reports; its cheapest piece, and nothing about speed."""

import json

import pytest

from tests.benchmarks import report, suite
from tests.benchmarks.attempts import MIB, Limits, attempt
from tests.benchmarks.cases import Case, epsilon_cases, sweep_cases
from tests.benchmarks.search import Kind

EASY = Case("easy", gdp_mu=1.0, sampling_probability=0.1, count=10, delta=1e-5)
LIMITS = Limits(seconds=60.0, coarsest=4.0)


@pytest.fixture(scope="module")
def comparison():
    return suite.compare(EASY, LIMITS, repeats=1)


def test_three_accountants_agree_at_equal_width(comparison):
    assert [other.accountant for other in comparison.others] == ["dp_accounting", "prv_accountant"]
    for found in (comparison.ours, *comparison.others):
        assert found.kind is Kind.EQUAL, found.failure
        assert 0.0 < found.lower < found.upper <= found.lower + comparison.width
        assert found.seconds > 0.0 and found.memory > found.memory_added
    assert comparison.disagreements() == []


def test_report_is_written_whole(comparison, tmp_path):
    results = report.Report({"processor": "a | b"}, LIMITS, LIMITS, quick=True, comparisons=[comparison])
    results.sweep = suite.sweep([EASY], LIMITS)
    report.write(results, tmp_path / "bench")
    assert sorted(path.name for path in (tmp_path / "bench").iterdir()) == ["report.json", "report.md"]
    data = json.loads((tmp_path / "bench" / "report.json").read_text(encoding="utf-8"))
    assert data["comparisons"][0]["ours"]["lower"] == comparison.ours.lower
    assert set(data["ratios"]["easy"]) == {"dp_accounting", "prv_accountant"}
    assert len(data["verdicts"]) == 5 and data["contradictions"] == []
    text = (tmp_path / "bench" / "report.md").read_text(encoding="utf-8")
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert "prv_accountant" in text and "a \\| b" in text and len(tables) > 10


def test_memory_limit_ends_an_attempt_and_says_so():
    outcome = attempt("dp_accounting_lower", [EASY], {"step": 1e-7}, Limits(seconds=60.0, memory=32 * MIB))
    assert outcome.failure == "out of memory" and outcome.results == []


def test_time_limit_ends_an_attempt_and_says_so():
    outcome = attempt("dp_accounting_lower", [EASY], {"step": 1e-3}, Limits(seconds=0.0))
    assert outcome.failure == "longer than 0 s" and outcome.results == []


def test_cases_are_distinct():
    cases = sweep_cases()
    assert len({(c.gdp_mu, c.sampling_probability, c.delta) for c in cases}) == len(cases) == 52
    assert [case.gdp_mu for case in epsilon_cases()] == sorted(case.gdp_mu for case in epsilon_cases())
