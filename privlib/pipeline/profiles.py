"""Profiles are data: ``notebooks/profiles/<profile>.yml`` sets the parameters of the notebooks for one scale of run.

tier: embedded              # scale that the notebooks are told, and that the ledger judges by
assets:                     # only what differs from a notebook's own defaults
  tab08_sweep_cifar10:
    threads: 2              # cores that the notebook makes use of (default 1)
    gpu: 1                  # GPUs that it needs (default 0)
    parameters: {num_steps: 39, percents: [55, 62]}
    scatter: [percents]     # lists among the parameters: each element of each is first run as a job of its own, with
                            # the other lists empty; the notebook must keep what it samples in a folder (default none)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import yaml

from privlib.report.status import TIERS


class ProfileError(ValueError):
    """A profile file is missing or malformed; the message names the file and the entry."""


@dataclass(frozen=True)
class AssetSettings:
    """What a profile says about one asset."""

    parameters: dict[str, object] = field(default_factory=dict)
    threads: int = 1
    gpu: int = 0
    scatter: tuple[str, ...] = ()

    def parts(self) -> list[dict[str, list]]:
        """Parameters of each job that the asset is taken apart into, before it runs as a whole."""
        return [
            {other: [element] if other == name else [] for other in self.scatter}
            for name in self.scatter
            for element in self.parameters[name]
        ]


@dataclass(frozen=True)
class Profile:
    """A profile: its ``tier`` and the settings of the assets that it changes."""

    tier: str
    assets: dict[str, AssetSettings]

    def settings(self, asset: str) -> AssetSettings:
        return self.assets.get(asset, AssetSettings())


def load_profile(path: Path) -> Profile:
    """Read a profile; raises ProfileError for a missing file, unknown keys, or values out of range."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(sorted(other.stem for other in path.parent.glob("*.yml"))) or "none"
        raise ProfileError(f"profile {path.stem!r} not found at {path}; known profiles: {known}") from None
    except yaml.YAMLError as error:
        raise ProfileError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(data, dict) or set(data) - {"tier", "assets"}:
        raise ProfileError(f"{path}: need a mapping with the keys tier and assets only")
    if data.get("tier") not in TIERS:
        raise ProfileError(f"{path}: tier must be one of {', '.join(TIERS)}, got {data.get('tier')!r}")
    assets = data.get("assets") or {}
    if not isinstance(assets, dict):
        raise ProfileError(f"{path}: assets must be a mapping by asset name, got {assets!r}")
    return Profile(tier=data["tier"], assets={name: _settings(path, name, entry) for name, entry in assets.items()})


def _settings(path: Path, name: str, entry: object) -> AssetSettings:
    where = f"{path}: {name}"
    if not isinstance(entry, dict) or set(entry) - {"parameters", "threads", "gpu", "scatter"}:
        raise ProfileError(
            f"{where}: need a mapping with the keys parameters, threads, gpu and scatter only, got {entry!r}"
        )
    scatter = entry.get("scatter") or []
    if not isinstance(scatter, list) or not all(isinstance(name, str) for name in scatter):
        raise ProfileError(f"{where}: scatter must be a list of names of parameters, got {scatter!r}")
    settings = AssetSettings(
        entry.get("parameters") or {}, entry.get("threads", 1), entry.get("gpu", 0), tuple(scatter)
    )
    if not isinstance(settings.parameters, dict):
        raise ProfileError(f"{where}: parameters must be a mapping by name, got {settings.parameters!r}")
    for name in scatter:
        if not isinstance(settings.parameters.get(name), list):
            raise ProfileError(f"{where}: scatter must name lists among the parameters given here, got {name!r}")
    for key, value, least in (("threads", settings.threads, 1), ("gpu", settings.gpu, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ProfileError(f"{where}: {key} must be a whole number of at least {least}, got {value!r}")
    return settings
