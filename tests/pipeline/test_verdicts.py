"""Verdicts follow from statuses, cover every claim once, and a text that the numbers have left behind is found out."""

from pathlib import Path

import pytest

from privlib.pipeline import what_holds
from privlib.pipeline.results import Finding
from privlib.pipeline.verdicts import Point, Verdict, derive, findings_of, load_points
from privlib.report.bundles import Bundle, add_claims, bundle_path, write_bundle
from privlib.report.ledger import Claim, LedgerError, load_ledger
from privlib.report.status import Status

ROOT = Path(__file__).resolve().parents[2]


def point(kind="trend", verdict=Verdict.BUNDLED, claims=("a.*",), uses_data=True):
    return Point("It holds", "Table 1", claims, kind, verdict, "Believe it.", ("tab01",), "p", uses_data)


def finding(name, kind="trend", status=Status.TREND_HOLDS, paper="p"):
    return Finding(Claim(name, "tab01", paper, "Table 1", "1", kind, "why"), None, status)


HOLDS, FAILS, OPEN = Status.TREND_HOLDS, Status.EXPLAINED, Status.UNRESOLVED


@pytest.mark.parametrize(
    ("here", "real", "verdict"),
    [
        ([HOLDS, HOLDS], [], Verdict.BUNDLED),
        ([OPEN, HOLDS], [HOLDS, HOLDS], Verdict.REAL),
        ([HOLDS, HOLDS], [HOLDS, OPEN], Verdict.UNRESOLVED),
        ([HOLDS, OPEN], [], Verdict.UNRESOLVED),
        ([HOLDS, FAILS], [], Verdict.FAILS),
        ([HOLDS, HOLDS], [FAILS, HOLDS], Verdict.CONTRADICTED),
        ([FAILS, FAILS], [HOLDS, HOLDS], Verdict.REAL),
        ([Status.TREND_FAILS], [], Verdict.FAILS),
        ([Status.NOT_RUN], [], Verdict.OUT_OF_REACH),
    ],
)
def test_trends_are_judged_on_the_best_data_there_are(here, real, verdict):
    assert derive(point(), here, real) is verdict


@pytest.mark.parametrize(
    ("statuses", "verdict"),
    [
        ([Status.MATCH, Status.MATCH], Verdict.EXACT),
        ([Status.MATCH, Status.EXPLAINED], Verdict.EXACT),
        ([Status.EXPLAINED], Verdict.CONTRADICTED),
        ([Status.MATCH, Status.UNEXPLAINED], Verdict.UNEXPLAINED),
        ([Status.MATCH, Status.DIFFERS], Verdict.UNEXPLAINED),
        ([Status.MATCH, Status.NOT_RUN], Verdict.OUT_OF_REACH),
    ],
)
def test_numbers_must_all_match(statuses, verdict):
    assert derive(point("exact"), statuses, []) is verdict


def test_a_trend_without_data_is_as_good_as_a_number():
    assert derive(point(uses_data=False), [HOLDS], []) is Verdict.EXACT
    assert derive(point(uses_data=False), [FAILS], []) is Verdict.CONTRADICTED


def test_what_was_not_run_is_never_more_than_stated():
    for verdict in (Verdict.EXACT, Verdict.REAL, Verdict.OUT_OF_REACH):
        assert derive(point("scale", verdict), [Status.NOT_RUN], [Status.NOT_RUN]) is Verdict.OUT_OF_REACH
    assert derive(point("scale", Verdict.STATED), [Status.NOT_RUN], []) is Verdict.STATED


def test_only_claims_of_the_kind_count_and_a_pattern_must_find_one():
    findings = {each.claim.id: each for each in (finding("a.b"), finding("a.c", "scale", Status.NOT_RUN))}
    assert [each.claim.id for each in findings_of(point(), findings)] == ["a.b"]
    with pytest.raises(LedgerError, match=r"no exact claim matches 'a\.\*'"):
        findings_of(point("exact"), findings)


def test_a_pattern_means_the_claims_of_its_own_paper():
    findings = {each.claim.id: each for each in (finding("a.b"), finding("a.c", paper="other"))}
    assert [each.claim.id for each in findings_of(point(), findings)] == ["a.b"]


def test_a_claim_in_no_point_or_in_two_is_refused():
    findings = {each.claim.id: each for each in (finding("a.b"), finding("c.d"))}
    with pytest.raises(LedgerError, match=r"claim c\.d is in 0 points"):
        what_holds.judge({"s": [point()]}, findings, {})
    with pytest.raises(LedgerError, match=r"claim a\.b is in 2 points"):
        what_holds.judge({"s": [point(), point(claims=("a.b", "c.d"))]}, findings, {})


def test_a_text_for_another_verdict_is_marked_and_reported():
    findings = {"a.b": finding("a.b")}
    assert what_holds.outdated(what_holds.judge({"s": [point()]}, findings, {})) == []
    judged = what_holds.judge({"s": [point()]}, findings, {"a.b": FAILS})
    (line,) = what_holds.outdated(judged)
    assert "its text is for trend reproduced on bundled data, the statuses say contradicted" in line
    page = what_holds.page(judged, {"tab01": "notebooks/one/tab01"})
    assert "{doc}`../notebooks/one/tab01`" in page
    assert "This text was written for another verdict" in page and "real CIFAR-10: 1 differs, explained" in page


def test_real_statuses_come_from_the_bundles(tmp_path, monkeypatch):
    monkeypatch.setattr("privlib.report.bundles.notebook_source", lambda asset, root: ROOT / "README.md")
    monkeypatch.setattr("privlib.report.bundles.code_digests", lambda notebook, root: {})
    made = {"date": "d", "revision": "r", "device": "cpu", "parameters": {}, "inputs": {}, "code": {}}
    path = bundle_path("tab01", "cifar10", root=tmp_path)
    write_bundle(Bundle("tab01", "cifar10", made, {"main": [{"x": 1}]}), path)
    assert what_holds.real_statuses(["tab01", "tab02"], tmp_path) == {}
    results = {"asset": "tab01", "tier": "cifar10", "values": {"a.b": True}, "statuses": {"a.b": "trend holds"}}
    add_claims(path, results)
    assert what_holds.real_statuses(["tab01", "tab02"], tmp_path) == {"a.b": HOLDS}


def test_the_points_of_the_book_cover_the_ledger():
    ledger = load_ledger(ROOT).values()
    findings = {claim.id: Finding(claim, None, Status.NOT_RUN) for claims in ledger for claim in claims}
    sections = load_points(ROOT / what_holds.POINTS)
    judged = what_holds.judge(sections, findings, {})
    pages = {path.stem for path in ROOT.glob("notebooks/*/*.ipynb")}
    for each in (each for every in judged.values() for each in every):
        assert set(each.point.pages) <= pages


@pytest.mark.parametrize(
    ("entry", "message"),
    [("verdict: maybe", "'maybe' is not a valid Verdict"), ("kind: guess", "kind must be one of"), ("more: 1", "more")],
)
def test_a_point_that_is_not_one_is_named(tmp_path, entry, message):
    lines = {"says": "It holds", "where": "T", "claims": "[a]", "kind": "trend", "verdict": "contradicted"}
    lines |= {"believe": "b", "pages": "[]"}
    key, _, value = entry.partition(": ")
    text = "".join(f"      {name}: {text}\n" for name, text in (lines | {key: value}).items())
    path = tmp_path / "points.yml"
    path.write_text(f"- title: s\n  paper: p\n  points:\n    -{text[5:]}", encoding="utf-8")
    with pytest.raises(LedgerError, match=message) as raised:
        load_points(path)
    assert "It holds" in str(raised.value)
