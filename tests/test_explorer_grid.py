"""The epsilon explorer: what it prints is proved, its page works without other files, and its script stays in step."""

import json
import math
import re
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privlib.accounting.certified import epsilon_interval
from privlib.mechanisms import SubsampledGaussian, block_gdp_mu
from privlib.pipeline import explorer_grid
from privlib.pipeline.explorer_data import DataSet, Grid
from privlib.pipeline.explorer_grid import compute_grid, point, printed
from privlib.pipeline.explorer_page import fragment, write_fragment
from privlib.schedules import edm_sigmas
from privlib.types import AccountingError, Interval

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "book" / "explorer" / "explorer.js"


@pytest.fixture(scope="module")
def grid() -> Grid:
    return compute_grid(
        data_sets=[DataSet("CIFAR-10", 50_000, 1e-5)],
        block_sizes=[25, 50],
        betas=[1.0],
        counts=[50_000],
        handoffs=[22, 25],
    )


@given(st.floats(0, 1e7), st.floats(0, 1e3), st.integers(1, 8))
def test_printed_ends_enclose_the_interval(lower, width, digits):
    interval = Interval(lower, lower + width)
    low, high = printed(interval, digits)
    assert Decimal(low) <= Decimal(interval.lower) and Decimal(interval.upper) <= Decimal(high)
    for end, value in ((low, interval.lower), (high, interval.upper)):
        if value >= 1e-300:
            unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
            assert abs(float(end) - value) <= 1.001 * unit


def test_printed_ends_have_no_exponent_and_no_infinity():
    assert printed(Interval(0.0, 1e-7)) == ("0", "0.00000010000")
    assert printed(Interval(2.0, math.inf)) == ("2.0000", None)


def test_grid_gives_the_papers_upper_bounds(grid):
    """Table 8 prints 0.299, 0.636, 1.691 and 3.422 for these cells; its grid of 1e-5 adds less than the last digit."""
    expected = {(0, 0): "0.299", (1, 0): "0.636", (0, 1): "1.691", (1, 1): "3.422"}
    for (size, handoff), value in expected.items():
        place = grid.index(0, size, 0, 0, handoff)
        assert float(grid.upper[place]) == pytest.approx(float(value), abs=5.1e-4)
        assert 0.0 <= float(grid.upper[place]) - float(grid.lower[place]) < 1e-3


def test_points_lie_at_the_place_that_index_names(grid):
    sigmas = edm_sigmas(explorer_grid.NUM_STEPS)
    mechanism = SubsampledGaussian(block_gdp_mu(sigmas, 25), 50 / 50_000, 50_000)
    interval = epsilon_interval(mechanism, 1e-5)
    place = grid.index(0, 1, 0, 0, 1)
    assert float(grid.lower[place]) <= interval.lower <= interval.upper <= float(grid.upper[place])


def test_hand_off_level_is_the_last_private_one(grid):
    assert grid.handoff_sigmas == ("1.54", "0.693")


def test_json_round_trip_is_small_and_checked(grid):
    assert Grid.from_json(grid.to_json()) == grid
    broken = json.loads(grid.to_json())
    del broken["upper"]
    with pytest.raises(TypeError, match="upper"):
        Grid.from_json(json.dumps(broken))
    points = math.prod(
        len(axis)
        for axis in (
            explorer_grid.DATA_SETS,
            explorer_grid.BLOCK_SIZES,
            explorer_grid.BETAS,
            explorer_grid.COUNTS,
            explorer_grid.HANDOFFS,
        )
    )
    assert points <= 600 and points * len(grid.to_json()) / len(grid.upper) < 200_000


def test_a_point_that_cannot_be_proved_is_left_out(monkeypatch):
    def refuse(mechanism, delta, *, tolerance):
        raise AccountingError("no")

    monkeypatch.setattr(explorer_grid, "epsilon_interval", refuse)
    assert point(SubsampledGaussian(1.0, 0.1, 10), 1e-5) == (None, None)


def test_a_wide_interval_is_shown_where_no_narrow_one_is_proved(monkeypatch):
    def only_wide(mechanism, delta, *, tolerance):
        if tolerance < 1.0:
            raise AccountingError("too wide")
        return Interval(1.0, 2.0)

    monkeypatch.setattr(explorer_grid, "epsilon_interval", only_wide)
    assert point(SubsampledGaussian(1.0, 0.1, 10), 1e-5) == ("1.0000", "2.0000")


def test_main_writes_the_file_whole_and_makes_its_folder(tmp_path, monkeypatch, grid):
    monkeypatch.setattr(explorer_grid, "compute_grid", lambda: grid)
    output = tmp_path / "new" / "grid.json"
    assert explorer_grid.main([str(output)]) == 0
    assert Grid.from_json(output.read_text(encoding="utf-8")) == grid
    assert [path.name for path in output.parent.iterdir()] == ["grid.json"]


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids, self.labelled, self.fetched, self.controls, self.open = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "label":
            self.labelled.append(values["for"])
        if tag in ("select", "input"):
            self.controls.append(values["id"])
        self.fetched += [values[name] for name in ("src", "href") if name in values]
        if tag == "details":
            self.open.append("open" in values)


def test_fragment_is_labelled_and_loads_nothing(grid, tmp_path):
    source = tmp_path / "grid.json"
    source.write_text(grid.to_json(), encoding="utf-8")
    target = tmp_path / "book" / "fragment.html"
    write_fragment(source, SCRIPT, target)
    text = target.read_text(encoding="utf-8")
    page = _Page(text)
    assert page.controls and sorted(page.labelled) == sorted(page.controls)
    assert len(set(page.ids)) == len(page.ids)
    assert page.fetched == []
    assert page.open == [True], "the tables are open for readers without JavaScript"
    assert 'aria-live="polite"' in text and "<caption>" in text and 'scope="col"' in text
    # What the script looks up is there.
    used = set(re.findall(r'element\("([\w-]+)"\)', SCRIPT.read_text(encoding="utf-8")))
    assert {f"pv-x-{name}" for name in used} <= set(page.ids)


def test_fragment_holds_every_number_in_its_tables(grid):
    text = fragment(grid, "")
    for lower, upper in zip(grid.lower, grid.upper, strict=True):
        assert f">{lower} to {upper}<" in text


def test_data_cannot_end_its_element(grid):
    name = "</script><b>"
    hostile = Grid.from_json(grid.to_json().replace('"CIFAR-10"', json.dumps(name)))
    text = fragment(hostile, "")
    assert name not in text
    data = re.search(r'id="pv-explorer-data">(.*?)</script>', text).group(1)
    assert json.loads(data)["data_sets"][0]["name"] == name
