"""A bundle says how it was made, and comes back unchanged or not at all."""

from dataclasses import replace

import nbformat
import pytest

from privlib.report.bundles import (
    Bundle,
    BundleError,
    add_claims,
    bundle_path,
    keep,
    read_bundle,
    write_bundle,
)
from privlib.report.code import code_digests

MADE = {
    "date": "2026-01-02",
    "revision": "abc",
    "device": "cpu",
    "parameters": {"seed": 1},
    "inputs": {"d": "00"},
    "code": {},
}
BUNDLE = Bundle("tab01", "cifar10", MADE, {"main": [{"name": "a", "value": 1.5}, {"name": "b", "value": None}]})


PARAMETERS = 'seed = 0  # any\ndata_folder = ""  # any\n'


@pytest.fixture
def notebook(checkout):
    """A notebook that uses one module, in a checkout that has it."""
    (checkout / "privlib").mkdir()
    (checkout / "privlib" / "numerics.py").write_text("ONE = 1\n", encoding="utf-8")
    path = checkout / "notebooks" / "paper" / "tab01.ipynb"
    path.parent.mkdir(parents=True)
    sources = [(PARAMETERS, {"tags": ["parameters"]}), ("from privlib.numerics import ONE\n", {})]
    cells = [nbformat.v4.new_code_cell(source, metadata=metadata) for source, metadata in sources]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    return path


@pytest.fixture
def path(checkout, notebook):
    path = bundle_path("tab01", "cifar10")
    write_bundle(replace(BUNDLE, made=MADE | {"code": code_digests(notebook, checkout)}), path)
    return path


def test_round_trip(path, checkout):
    assert path == checkout / "book" / "results" / "cifar10" / "tab01.json"
    bundle = read_bundle("tab01", "cifar10")
    assert bundle.tables == BUNDLE.tables and bundle.changed == ()
    assert {**bundle.made, "code": {}} == MADE and "stale" not in bundle.origin
    assert [file.name for file in path.parent.iterdir()] == ["tab01.json"]
    assert "cifar10 scale on 2026-01-02, cpu, revision abc" in BUNDLE.origin


@pytest.mark.parametrize("change", [("1.5", "1.4"), ('"a"', '"c"'), ("2026-01-02", "2026-01-03"), ('"00"', '"01"')])
def test_any_edit_is_refused(path, change):
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    with pytest.raises(BundleError, match="content and checksum differ"):
        read_bundle("tab01", "cifar10")


def test_a_bundle_of_other_code_is_stale_and_says_why(path, checkout):
    module = checkout / "privlib" / "numerics.py"
    module.write_text('"""Numbers."""\n\nONE = 1  # said otherwise\n', encoding="utf-8")
    assert read_bundle("tab01", "cifar10").changed == ()
    module.write_text("ONE = 2\n", encoding="utf-8")
    bundle = read_bundle("tab01", "cifar10")
    assert bundle.changed == ("privlib/numerics.py",)
    assert bundle.origin.endswith("stale: privlib/numerics.py changed since")
    module.write_text("from privlib import types\nONE = 1\n", encoding="utf-8")
    (checkout / "privlib" / "types.py").touch()
    bundle = read_bundle("tab01", "cifar10")
    assert bundle.changed == ("privlib/numerics.py", "privlib/types.py")
    assert bundle.origin.endswith("stale: privlib/numerics.py and 1 more changed since")


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


def test_what_a_notebook_keeps_says_how_it_was_made_but_not_where(checkout, notebook):
    namespace = {"tier": "cifar10", "seed": 3, "data_folder": "/somewhere/private", "device": "cpu"}
    path = keep("tab01", namespace, tables={"main": [{"a": 1.0}]}, inputs={"d": "00"})
    assert path == checkout / "_build" / "bundles" / "cifar10" / "tab01.json"
    assert "somewhere" not in path.read_text()
    target = bundle_path("tab01", "cifar10")
    target.parent.mkdir(parents=True)
    path.rename(target)
    bundle = read_bundle("tab01", "cifar10")
    assert bundle.made["parameters"] == {"seed": 3} and bundle.made["inputs"] == {"d": "00"}
    assert bundle.tables == {"main": [{"a": 1.0}]} and bundle.changed == ()
    assert set(bundle.made["code"]) == {"notebooks/paper/tab01.ipynb", "privlib/numerics.py"}


def test_claims_join_their_bundle_and_the_checksum_still_guards_it(path):
    statuses = {"tab01.a": "trend holds", "tab01.b": "not run at this scale"}
    results = {"asset": "tab01", "tier": "cifar10", "values": {"tab01.a": True, "tab01.b": None}, "statuses": statuses}
    add_claims(path, results)
    bundle = read_bundle("tab01", "cifar10")
    assert bundle.tables["main"] == BUNDLE.tables["main"] and bundle.changed == ()
    assert [row["status"] for row in bundle.tables["claims"]] == list(statuses.values())
    path.write_text(path.read_text().replace("trend holds", "match"))
    with pytest.raises(BundleError, match="content and checksum differ"):
        read_bundle("tab01", "cifar10")


def test_claims_of_another_run_do_not_join(path):
    results = {"asset": "tab02", "tier": "cifar10", "values": {}, "statuses": {}}
    with pytest.raises(BundleError, match="is a bundle of tab01"):
        add_claims(path, results)
