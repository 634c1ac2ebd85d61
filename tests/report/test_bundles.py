"""A bundle says how it was made, and comes back unchanged or not at all."""

from dataclasses import replace

import pytest

from privlib.report.bundles import Bundle, BundleError, bundle_path, keep, read_bundle, write_bundle
from privlib.report.parameters import Parameter

MADE = {"date": "2026-01-02", "revision": "abc", "device": "cpu", "parameters": {"seed": 1}, "inputs": {"d": "00"}}
BUNDLE = Bundle("tab01", "cifar10", MADE, {"main": [{"name": "a", "value": 1.5}, {"name": "b", "value": None}]})


@pytest.fixture
def path(checkout):
    path = bundle_path("tab01", "cifar10")
    write_bundle(BUNDLE, path)
    return path


def test_round_trip(path, checkout):
    assert path == checkout / "book" / "results" / "cifar10" / "tab01.json"
    assert read_bundle("tab01", "cifar10") == BUNDLE
    assert [file.name for file in path.parent.iterdir()] == ["tab01.json"]
    assert "cifar10 scale on 2026-01-02, cpu, revision abc" in BUNDLE.origin


@pytest.mark.parametrize("change", [("1.5", "1.4"), ('"a"', '"c"'), ("2026-01-02", "2026-01-03"), ('"00"', '"01"')])
def test_any_edit_is_refused(path, change):
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    with pytest.raises(BundleError, match="content and checksum differ"):
        read_bundle("tab01", "cifar10")


def test_a_missing_or_broken_file_is_named(path):
    with pytest.raises(BundleError, match=r"tab02.json not found: .* profile=cifar10"):
        read_bundle("tab02", "cifar10")
    path.write_text("{")
    with pytest.raises(BundleError, match="not JSON"):
        read_bundle("tab01", "cifar10")
    path.write_text("[]")
    with pytest.raises(BundleError, match="a bundle has the keys"):
        read_bundle("tab01", "cifar10")


def test_a_bundle_of_another_asset_is_refused(path):
    path.rename(path.with_name("tab02.json"))
    with pytest.raises(BundleError, match="is a bundle of tab01 at cifar10"):
        read_bundle("tab02", "cifar10")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tier": "huge"}, "tier must be one of"),
        ({"made": {"date": "x"}}, "made must have the keys"),
        ({"tables": {"main": []}}, "rows of table 'main'"),
        ({"tables": {"main": [{"a": 1}, {"b": 2}]}}, "have the same keys"),
    ],
)
def test_a_bundle_is_checked_when_it_is_made(change, message):
    with pytest.raises(BundleError, match=message):
        replace(BUNDLE, **change)


def test_infinity_is_not_written(tmp_path):
    with pytest.raises(BundleError, match="finite numbers"):
        write_bundle(replace(BUNDLE, tables={"main": [{"value": float("inf")}]}), tmp_path / "a.json")
    assert not list(tmp_path.iterdir())


def test_what_a_notebook_keeps_says_how_it_was_made_but_not_where(checkout, monkeypatch):
    monkeypatch.setattr("privlib.report.bundles.notebook_source", lambda asset, root: asset)
    literal = {"seed": Parameter("seed", int, 0, "", True), "data_folder": Parameter("data_folder", str, "", "", True)}
    monkeypatch.setattr("privlib.report.bundles.notebook_parameters", lambda source: literal)
    namespace = {"tier": "cifar10", "seed": 3, "data_folder": "/somewhere/private", "device": "cpu"}
    path = keep("tab01", namespace, tables={"main": [{"a": 1.0}]}, inputs={"d": "00"})
    assert path == checkout / "_build" / "bundles" / "cifar10" / "tab01.json"
    assert "somewhere" not in path.read_text()
    target = bundle_path("tab01", "cifar10")
    target.parent.mkdir(parents=True)
    path.rename(target)
    bundle = read_bundle("tab01", "cifar10")
    assert bundle.made["parameters"] == {"seed": 3} and bundle.made["inputs"] == {"d": "00"}
    assert bundle.tables == {"main": [{"a": 1.0}]}
