"""One set of pins: pyproject.toml says what is needed, requirements.lock which version; environment.yml adds none."""

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT.get("optional-dependencies", {}).values()
DIRECT = [Requirement(text) for text in [*PROJECT["dependencies"], *(text for extra in EXTRAS for text in extra)]]


def key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def lock() -> dict[str, list[Requirement]]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    entries = [Requirement(line) for line in lines if line.strip() and not line.lstrip().startswith("#")]
    pins: dict[str, list[Requirement]] = {}
    for entry in entries:
        pins.setdefault(key(entry.name), []).append(entry)
    return pins


LOCK = lock()


def version_of(entry: Requirement) -> str:
    (specifier,) = entry.specifier
    return specifier.version


def test_every_pin_is_exact():
    for entries in LOCK.values():
        for entry in entries:
            operators = [specifier.operator for specifier in entry.specifier]
            assert operators == ["=="] and entry.url is None, str(entry)


@pytest.mark.parametrize("requirement", DIRECT, ids=lambda requirement: requirement.name)
def test_direct_dependencies_are_pinned_within_their_range(requirement):
    assert key(requirement.name) in LOCK, f"{requirement.name}: run make lock"
    for entry in LOCK[key(requirement.name)]:
        assert requirement.specifier.contains(version_of(entry), prereleases=True), f"{requirement} against {entry}"


def test_torch_and_torchvision_are_a_matching_pair():
    wanted = next(Requirement(text) for text in requires("torchvision") or [] if key(Requirement(text).name) == "torch")
    for entry in LOCK["torch"]:
        assert wanted.specifier.contains(version_of(entry)), f"torchvision wants {wanted}"


def test_conda_and_binder_install_the_lock_file_and_nothing_else():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    pip = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert pip == [["-r requirements.lock", "-e ."]]
    plain = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    assert sorted(entry.partition("=")[0] for entry in plain) == ["make", "pip", "python"]
    (python,) = (entry for entry in plain if entry.startswith("python="))
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(python.partition("=")[2])


@pytest.mark.parametrize("name", ["requirements.lock", "environment.yml", "pyproject.toml", "Makefile"])
def test_no_package_index_is_named(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"https?://|--(extra-)?index-url|--find-links|--trusted-host", text)
