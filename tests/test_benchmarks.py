"""The benchmarks still run and report; their cheapest pieces, and nothing about speed."""

import json

import pytest

from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks import denoiser, inversion, report, suite
from tests.benchmarks.attempts import MIB, Limits, attempt
from tests.benchmarks.cases import Case, epsilon_cases, sweep_cases
from tests.benchmarks.denoiser import methods, worker
from tests.benchmarks.denoiser import report as denoiser_report
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


def test_denoisers_are_measured_and_reported(tmp_path):
    """Every method computes the same posterior mean; in float32 none but ours is exact where records nearly tie."""
    names = [name for name in methods.METHODS if methods.installed(name) and name != "keops"]
    means = [name for name in names if "products" not in name]
    measured = denoiser.Measured({"processor": "any"}, denoiser.QUICK, ("keops",))
    measured.accuracy = worker.accuracy(60, 4, [0.002, 1.0], [name for name in means if name != "ours_bytes"])
    measured.speed = {"1": worker.speed(60, 2, [1.0], names, 1)}
    measured.memory = {"ours": denoiser.measure("memory", 1, records=60, batch=2, sigma=1.0, method="ours")}
    measured.growth = {60: worker.memory(60, 2, 1.0, "ours_bytes")}
    measured.blocks = worker.blocks(60, 3, 5, 1.0, 1)
    assert all(errors["ours"] < 1e-5 for errors in measured.accuracy.values()) and measured.wrong() == []
    assert all(error < 0.05 for errors in measured.accuracy.values() for error in errors.values())
    assert measured.accuracy["0.002"]["naive"] > 1e-5 and all(
        found["error"] < 1e-3 for found in measured.blocks.values()
    )
    assert measured.memory["ours"]["bytes"] > 0 and set(measured.speed["1"]["1.0"]) == set(names)
    assert measured.rates("products") == [1.0]
    denoiser_report.write(measured, tmp_path / "bench")
    assert sorted(path.name for path in (tmp_path / "bench").iterdir()) == ["denoiser.json", "denoiser.md"]
    text = (tmp_path / "bench" / "denoiser.md").read_text(encoding="utf-8")
    assert "not installed" in text and all(name in text for name in methods.METHODS | methods.BLOCK_METHODS)
    assert len(json.loads((tmp_path / "bench" / "denoiser.json").read_text(encoding="utf-8"))["verdicts"]) == 5


def test_a_denoiser_that_is_off_is_a_defect():
    measured = denoiser.Measured({}, denoiser.QUICK, (), accuracy={"0.1": {"ours": 2e-5, "naive": 1.0}})
    measured.blocks = {"blocks_ours": {"seconds": 1.0, "error": float("nan")}}
    assert len(measured.wrong()) == 2


def test_the_bytes_method_and_the_tensor_method_agree():
    data = methods.images(80).unit().flatten(1)
    x = worker.noisy(data, 3, 2.0)
    assert (methods.ours(data)(x, 2.0) - methods.ours_bytes(data)(x, 2.0)).abs().max() < 1e-5
    assert len(data.unique(dim=0)) == 80


def test_batched_inversion_is_measured():
    found = inversion.measure(pictures=2, steps=2, rounds=1)
    assert found["ratio"] == found["one_by_one"] / found["batch"] > 0.0 and found["difference"] < 1e-3


def test_suites_run_alone_or_together(monkeypatch, tmp_path):
    ran = []
    suites = {name: lambda folder, quick, name=name: ran.append((name, quick)) or 0 for name in benchmarks.SUITES}
    monkeypatch.setattr(benchmarks, "SUITES", suites)
    assert benchmarks.main(["denoiser", "--quick"]) == 0 and ran == [("denoiser", True)]
    assert benchmarks.main([]) == 0 and ran[1:] == [(name, False) for name in suites]
    with pytest.raises(SystemExit):
        benchmarks.main(["speed"])
