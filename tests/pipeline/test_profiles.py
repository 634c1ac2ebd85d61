"""Profiles are data, and wrong data is refused by name."""

import re
from pathlib import Path

import pytest

from privlib.pipeline.parameters import checked_parameters
from privlib.pipeline.profiles import AssetSettings, ProfileError, load_profile
from privlib.report.parameters import notebook_parameters
from privlib.report.status import TIERS

ROOT = Path(__file__).resolve().parents[2]
PROFILES = sorted((ROOT / "notebooks" / "profiles").glob("*.yml"))


def test_settings_have_defaults(tmp_path):
    path = tmp_path / "p.yml"
    path.write_text("tier: smoke\nassets:\n  a: {parameters: {n: 1}, threads: 2, gpu: 1}\n", encoding="utf-8")
    profile = load_profile(path)
    assert profile.settings("a") == AssetSettings({"n": 1}, 2, 1)
    assert profile.settings("b") == AssetSettings({}, 1, 0)


def test_a_notebook_is_taken_apart_by_its_lists(tmp_path):
    path = tmp_path / "p.yml"
    path.write_text(
        "tier: smoke\nassets:\n  a: {parameters: {n: 1, b: [2.0], c: [[1, 2], [3, 4]]}, scatter: [c, b]}\n",
        encoding="utf-8",
    )
    settings = load_profile(path).settings("a")
    assert settings.parts() == [{"c": [[1, 2]], "b": []}, {"c": [[3, 4]], "b": []}, {"c": [], "b": [2.0]}]
    assert AssetSettings({"n": [1]}).parts() == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tier: tiny\n", "tier must be one of smoke, embedded, cifar10, paper, got 'tiny'"),
        ("tier: smoke\nassets: [a]\n", "assets must be a mapping"),
        ("tier: smoke\nother: 1\n", "keys tier and assets only"),
        ("tier: smoke\nassets:\n  a: {n: 1}\n", "a: need a mapping with the keys parameters, threads, gpu and scatter"),
        ("tier: smoke\nassets:\n  a: {scatter: n}\n", "a: scatter must be a list of names of parameters, got 'n'"),
        ("tier: smoke\nassets:\n  a: {parameters: {n: 1}, scatter: [n]}\n", "a: scatter must name lists among"),
        ("tier: smoke\nassets:\n  a: {parameters: 3}\n", "a: parameters must be a mapping"),
        ("tier: smoke\nassets:\n  a: {threads: 0}\n", "a: threads must be a whole number of at least 1"),
        ("tier: smoke\nassets:\n  a: {gpu: true}\n", "a: gpu must be a whole number of at least 0"),
        ("tier: [", "not valid YAML"),
    ],
)
def test_bad_profiles_are_refused(tmp_path, text, message):
    (tmp_path / "p.yml").write_text(text, encoding="utf-8")
    with pytest.raises(ProfileError, match=re.escape(message)):
        load_profile(tmp_path / "p.yml")


def test_an_unknown_profile_lists_the_known_ones():
    with pytest.raises(ProfileError, match="known profiles: cifar10, embedded, paper, smoke"):
        load_profile(ROOT / "notebooks" / "profiles" / "tiny.yml")


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_the_books_profiles_fit_its_notebooks(path):
    profile = load_profile(path)
    assert profile.tier == path.stem or path.stem not in TIERS
    for asset, settings in profile.assets.items():
        (notebook,) = (ROOT / "notebooks").glob(f"*/{asset}.ipynb")
        checked_parameters(notebook, notebook_parameters(notebook), settings.parameters)
