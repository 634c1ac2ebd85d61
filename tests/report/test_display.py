"""Displayed tables: complete, escaped, and readable without seeing them."""

import json
import math
import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from privlib import report
from privlib.types import Adjacency, Interval

STATEMENT = {
    "delta": 1e-5,
    "adjacency": Adjacency.ADD_OR_REMOVE_ONE,
    "sampling": "Poisson blocks, q = 25/50,000",
    "count": 50_000,
    "accountant": "contour integration",
}


class Checker(HTMLParser):
    """Collects tags, and fails on tags that are not closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_claims_show_and_publish_every_claim(checkout, shown):
    report.claims("tab01", {"tab01.a.eps": 0.29881, "tab01.b.eps": 25917.0}, tier="embedded")
    (bundle,) = shown
    assert json.loads(json.dumps(bundle[report.RESULTS_MIME])) == {
        "asset": "tab01",
        "tier": "embedded",
        "values": {"tab01.a.eps": 0.29881, "tab01.b.eps": 25917.0, "tab01.c.fid": None},
        "statuses": {"tab01.a.eps": "match", "tab01.b.eps": "unexplained", "tab01.c.fid": "not run at this scale"},
    }
    html, text = bundle["text/html"], bundle["text/plain"]
    tags = Checker(html).tags
    assert sum(tag == "caption" for tag, _ in tags) == 1
    assert [attrs["scope"] for tag, attrs in tags if tag == "th"] == ["col"] * 5 + ["row"] * 3
    assert "Table 1 &lt;a&gt;" in html and "q &amp; &lt;q&gt;" in html
    # The status is words; the sign beside them is for the eye only.
    words = re.sub(r'<span aria-hidden="true">.*?</span>', "", html)
    for status in ("match", "unexplained", "not run at this scale"):
        assert status in words and status in text


def test_values_that_json_cannot_hold_travel_as_text(checkout, shown):
    values = {"tab01.a.eps": math.inf, "tab01.b.eps": math.nan}
    report.claims("tab01", values, tier="embedded")
    published = shown[0][report.RESULTS_MIME]
    json.dumps(published, allow_nan=False)
    assert published["values"] == {"tab01.a.eps": "inf", "tab01.b.eps": "nan", "tab01.c.fid": None}
    assert published["statuses"]["tab01.a.eps"] == "differs"


def test_an_asset_without_claims_publishes_all_the_same(checkout, shown):
    (checkout / "book" / "claims" / "own.yml").write_text("paper: none\nasset: own\nclaims: []\n", encoding="utf-8")
    report.claims("own", {}, tier="embedded")
    assert shown[0][report.RESULTS_MIME]["statuses"] == {}
    assert "repeats no number" in shown[0]["text/plain"]


def test_tables_are_escaped_and_have_row_headers(shown):
    frame = pd.DataFrame(
        {"a<b": ["<x>", None], "n": [50_000, 3], "eps": [1.23456, math.nan], "i": [Interval(0, 1)] * 2}
    )
    report.table(frame, "Caption & more")
    report.table(frame.set_index("a<b"), "indexed")
    html = shown[0]["text/html"]
    scopes = [attrs["scope"] for tag, attrs in Checker(html).tags if tag == "th"]
    assert scopes == ["col"] * 4 + ["row"] * 2
    assert "a&lt;b" in html and "&lt;x&gt;" in html and "Caption &amp; more" in html and "<x>" not in html
    assert "50,000" in html and "1.235" in html and "[0, 1]" in html
    assert shown[1]["text/html"].count('scope="row"') == 2


def test_a_privacy_statement_leaves_nothing_out(shown):
    report.privacy_statement(epsilon=Interval(0.25, 0.5), kind="certified interval", **STATEMENT)
    report.privacy_statement(gdp_mu=0.7, kind="estimate", **STATEMENT)
    for bundle, number in zip(shown, ("epsilon in [0.25, 0.5]", "GDP mu = 0.7"), strict=True):
        for form in ("text/html", "text/plain"):
            for words in (number, "1e-05", "add or remove one record", "25/50,000", "outputs: 50,000", "contour"):
                assert words in bundle[form]
    assert "certified interval" in shown[0]["text/plain"] and "estimate" in shown[1]["text/plain"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "estimate"},
        {"kind": "estimate", "epsilon": 1.0, "gdp_mu": 1.0},
        {"kind": "estimate", "epsilon": 1.0, "delta": None},
        {"kind": "guess", "epsilon": 1.0},
    ],
)
def test_an_incomplete_privacy_statement_is_refused(wrong):
    with pytest.raises(ValueError, match="privacy_statement"):
        report.privacy_statement(**(STATEMENT | wrong))
