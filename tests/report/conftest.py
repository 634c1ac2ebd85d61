"""A checkout in miniature, and what a notebook would display in it."""

import pytest
import yaml


@pytest.fixture
def shown(monkeypatch):
    """The MIME bundles that the report displays, in order."""
    bundles = []

    def display(bundle, *, raw):
        assert raw
        bundles.append(bundle)

    monkeypatch.setattr("privlib.report.display.display", display)
    monkeypatch.setattr("privlib.report.provenance.display", display)
    return bundles


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A working folder with a ledger of three claims for the asset ``tab01``."""
    claims = [
        {"id": "tab01.a.eps", "place": "Table 1 <a>", "printed": "0.2988", "kind": "exact"},
        {
            "id": "tab01.b.eps",
            "place": "Table 1, b",
            "printed": "25,905.494",
            "kind": "exact",
            "unexplained": "q & <q>",
        },
        {"id": "tab01.c.fid", "place": "Table 1, c", "printed": "37.39 ± 0.05", "kind": "scale", "why": "image work"},
    ]
    folder = tmp_path / "book" / "claims"
    folder.mkdir(parents=True)
    content = {"paper": "someone2026", "asset": "tab01", "why": "as printed", "claims": claims}
    (folder / "tab01.yml").write_text(yaml.safe_dump(content), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path
