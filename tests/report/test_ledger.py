"""The ledger refuses what it cannot mean, and says where."""

import pytest
import yaml

from privlib.report.ledger import LedgerError, load_claims, load_ledger

GOOD = {"id": "tab07.55.mu", "place": "Table 7, 55 %, mu", "printed": "0.69", "kind": "exact"}


def write(root, claims, asset="tab07", **keys):
    folder = root / "book" / "claims"
    folder.mkdir(parents=True, exist_ok=True)
    content = {"paper": "someone2026", "asset": asset, "why": "as printed", "claims": claims} | keys
    (folder / f"{asset}.yml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return root


def test_a_claim_keeps_the_printed_precision(tmp_path):
    big = GOOD | {"id": "tab07.70.clt", "printed": "25,905.494", "unexplained": "tried 1 - q", "residual": 5e-4}
    (first, second) = load_claims("tab07", write(tmp_path, [GOOD, big]))
    assert (first.decimals, str(first.number), first.why) == (2, "0.69", "as printed")
    assert (second.decimals, str(second.number), second.residual) == (3, "25905.494", 5e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "mu"}, "needs an id"),
        ({"printed": 0.69}, "printed must be text"),
        ({"printed": "unstable"}, "needs printed digits"),
        ({"printed": "1,23.4"}, "needs printed digits"),
        ({"place": ""}, "place must be text"),
        ({"kind": "close"}, "kind must be one of exact, trend, scale"),
        ({"pritned": "1"}, "unknown keys"),
        ({"residual": 1e-3}, "only goes with"),
        ({"residual": -1, "unexplained": "x"}, "residual must be"),
        ({"unexplained": "x", "explained": "y"}, "one of unexplained or explained"),
        ({"unexplained": "x", "kind": "scale"}, "only goes with kind exact"),
        (
            {"unexplained": "x", "kind": "trend"},
            "unexplained only goes with kind exact, explained also with kind trend",
        ),
        ({"explained": "x", "residual": 1e-3, "kind": "trend"}, "residual only goes with kind exact"),
    ],
)
def test_a_bad_claim_is_refused_by_file_and_id(tmp_path, change, message):
    with pytest.raises(LedgerError, match=message) as error:
        load_claims("tab07", write(tmp_path, [GOOD | change]))
    assert "tab07.yml" in str(error.value)


def test_bad_files_are_refused(tmp_path):
    with pytest.raises(LedgerError, match="tab07.yml not found"):
        load_claims("tab07", tmp_path)
    write(tmp_path, [], asset="tab08").joinpath("book/claims/tab08.yml").rename(tmp_path / "book/claims/tab07.yml")
    with pytest.raises(LedgerError, match="asset must be 'tab07'"):
        load_claims("tab07", tmp_path)
    with pytest.raises(LedgerError, match="why must say"):
        load_claims("tab07", write(tmp_path, [GOOD], why=None))
    with pytest.raises(LedgerError, match="unknown keys"):
        load_claims("tab07", write(tmp_path, [GOOD], extra=1))
    with pytest.raises(LedgerError, match="used twice"):
        load_claims("tab07", write(tmp_path, [GOOD, GOOD]))
    (tmp_path / "book" / "claims" / "tab07.yml").write_text("claims: [", encoding="utf-8")
    with pytest.raises(LedgerError, match="not valid YAML"):
        load_claims("tab07", tmp_path)


def test_ids_are_unique_over_all_files(tmp_path):
    write(tmp_path, [GOOD])
    assert set(load_ledger(tmp_path)) == {"tab07"}
    write(tmp_path, [GOOD], asset="tab08")
    with pytest.raises(LedgerError, match="tab07.55.mu.*used twice.*tab07, tab08"):
        load_ledger(tmp_path)


def test_the_books_own_ledger_is_well_formed():
    load_ledger()
