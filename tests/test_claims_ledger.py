"""The claims ledger against the paper's tables: structure, uniqueness, and how many numbers each table prints.

The notebooks compare the numbers with computed ones; here they are checked for what print alone implies.
"""

import re
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from privlib.report.ledger import load_ledger

ROOT = Path(__file__).resolve().parents[1]
LEDGER = load_ledger(ROOT)
CLAIMS = {claim.id: claim for claims in LEDGER.values() for claim in claims}

#: Rows and privacy columns of every table, as printed; the two cells that print "unstable" are not numbers.
PRIVACY_COLUMNS = {
    "tab03_beta": (["beta4", "beta2", "beta1", "beta0.5"], ["edgeworth", "pld_upper"]),
    "tab07_accountants": (["55", "62", "65", "67"], ["mu", "edgeworth", "pld_lower", "pld_upper", "rdp"]),
    "tab08_sweep_cifar10": (
        ["55.25", "55.50", "55.100", "55.200", "62.25", "62.50"],
        ["pld_lower", "pld_upper", "edgeworth"],
    ),
    "tab09_sweep_celeba": (
        ["55.25", "55.50", "55.100", "55.200", "62.25", "62.50"],
        ["pld_lower", "pld_upper", "edgeworth"],
    ),
    "tab10_celeba": (["55", "62", "65", "67", "70"], ["edgeworth", "pld_lower", "pld_upper"]),
    "tab11_approximations": (["55", "62", "65", "67", "70"], ["edgeworth", "clt", "pld_upper"]),
    "tab12_rdp": (["55", "62", "65"], ["rdp", "rdp_strict"]),
    "tab13_attack_bound": (["q0.5", "q0.01", "q0.005"], ["T", "T3_4", "T1_2", "T1_4"]),
}


def privacy_ids(asset: str) -> list[str]:
    rows, columns = PRIVACY_COLUMNS[asset]
    return [f"{asset[:5]}.{row}.{column}" for row in rows for column in columns]


@pytest.mark.parametrize("asset", PRIVACY_COLUMNS)
def test_every_cell_of_a_privacy_column_is_an_exact_claim(asset):
    ids = {claim.id for claim in LEDGER[asset] if claim.kind == "exact" and not claim.id.endswith(".configurations")}
    assert ids == set(privacy_ids(asset))


def test_the_paper_prints_112_privacy_numbers():
    assert sum(len(privacy_ids(asset)) for asset in PRIVACY_COLUMNS) == 112


def test_ids_begin_with_the_name_of_their_asset():
    for asset, claims in LEDGER.items():
        assert all(claim.id.startswith(asset[:5] + ".") for claim in claims), asset


def test_every_notebook_page_has_a_ledger_file():
    pages = re.findall(r"file: notebooks/\w+/(\w+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    assert pages and sorted(pages) == sorted(LEDGER)


def test_papers_are_in_the_bibliography():
    keys = set(re.findall(r"^@\w+\{([^,]+),", (ROOT / "book/references.bib").read_text(encoding="utf-8"), re.MULTILINE))
    assert {claim.paper for claim in CLAIMS.values()} <= keys


def test_image_and_attack_columns_are_never_exact():
    outside = [claim for claim in CLAIMS.values() if re.search(r"\.fid$|\.cosine\.|\.numerical\.", claim.id)]
    assert Counter(claim.id.split(".")[0] for claim in outside) == {
        "tab02": 9,
        "tab03": 5,
        "tab08": 6,
        "tab09": 6,
        "tab10": 5,
        "tab13": 8,
    }
    assert {claim.kind for claim in outside} == {"scale"}


def test_intervals_are_as_wide_as_rounding_down_makes_them():
    """N_out * h / 2 = 50,000 * 1e-5 / 2 unless the lower end is cut off at 0; a little more at large epsilon."""
    pairs = [(CLAIMS[i], CLAIMS[i.replace("pld_lower", "pld_upper")]) for i in CLAIMS if i.endswith("pld_lower")]
    assert len(pairs) == 4 + 6 + 6 + 5
    for lower, upper in pairs:
        unit = max(Decimal(1).scaleb(-claim.decimals) for claim in (lower, upper))
        width = upper.number - lower.number
        if lower.number == 0:
            assert 0 <= width <= Decimal("0.25")
        else:
            assert Decimal("0.25") - unit <= width <= Decimal("0.27") + unit, (lower.id, width)


@pytest.mark.parametrize(
    ("coarse", "fine"),
    [(f"tab11.{row}.pld_upper", f"tab07.{row}.pld_upper") for row in ("55", "62", "65", "67")]
    + [("tab11.55.pld_upper", "tab08.55.25.pld_upper"), ("tab11.62.pld_upper", "tab08.62.25.pld_upper")]
    + [(f"tab12.{row}.rdp", f"tab07.{row}.rdp") for row in ("55", "62", "65")]
    + [("tab10.55.pld_upper", "tab09.55.100.pld_upper"), ("tab10.55.pld_lower", "tab09.55.100.pld_lower")],
)
def test_cells_that_two_tables_share_agree(coarse, fine):
    """Rounding twice can move the last digit by one unit, so one unit of the coarser print is allowed."""
    one, two = CLAIMS[coarse], CLAIMS[fine]
    assert abs(one.number - two.number) <= Decimal(1).scaleb(-min(one.decimals, two.decimals))


def test_residuals_cover_less_than_the_gap_between_methods():
    """A residual is there to pass over last digits, not to let another method through."""
    noted = [claim for claim in CLAIMS.values() if claim.residual is not None and claim.unexplained]
    assert noted
    for claim in noted:
        half_unit = Decimal(5).scaleb(-claim.decimals - 1)
        assert claim.residual <= max(2.5e-3, 1.3 * float(half_unit / claim.number)), claim.id


def test_unexplained_notes_are_where_the_book_says_they_are():
    noted = {claim.id for claim in CLAIMS.values() if claim.unexplained}
    late_stops = {f"tab13.{row}.{column}" for row in ("q0.5", "q0.01", "q0.005") for column in ("T1_2", "T1_4")}
    assert noted == late_stops | {"tab10.55.edgeworth", "tab10.65.edgeworth"}


@pytest.mark.parametrize(
    ("claim_id", "printed"),
    [
        ("tab03.beta0.5.pld_upper", "259.761"),
        ("tab07.55.pld_lower", "0.04880"),
        ("tab07.67.rdp", "48.8"),
        ("tab08.62.50.edgeworth", "3.513"),
        ("tab09.62.25.pld_lower", "0.516"),
        ("tab10.70.edgeworth", "132.91"),
        ("tab11.70.clt", "25,905.494"),
        ("tab12.65.rdp_strict", "12.87"),
        ("tab13.q0.5.T1_4", "0.9999"),
    ],
)
def test_one_cell_of_every_table_read_again(claim_id, printed):
    assert CLAIMS[claim_id].printed == printed
