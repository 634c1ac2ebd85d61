"""Results that take hours: made once at a larger scale, committed, and shown beside the live ones.

A bundle is one JSON file of tables with how they were made and a checksum of both. Only numbers travel: no image of a
data set that may not be redistributed is ever in one. A bundle remembers the code that made it (``code``), and says so
where that code is another by now.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from privlib.files import replace_text
from privlib.report.code import code_digests
from privlib.report.ledger import repository_root
from privlib.report.parameters import notebook_parameters
from privlib.report.provenance import changed_parameters, device_name, git_revision, notebook_source
from privlib.report.status import TIERS

#: What every bundle says of its making; ``rechecked`` comes to those that ``privlib.pipeline.recheck`` has renewed.
MADE_KEYS = frozenset({"date", "revision", "device", "parameters", "inputs", "code"})

Row = Mapping[str, str | int | float | None]


class BundleError(ValueError):
    """A bundle is missing, malformed, or not what its checksum says; the message names the file."""


@dataclass(frozen=True)
class Bundle:
    """Tables of one asset from another scale.

    Attributes:
        asset: notebook that made it.
        tier: scale it was made at.
        made: date, revision, device, parameters, checksum of each input by name, digest of each file of code; where the
            code has changed since without effect, the date, revision and parameters of the small run that showed it.
        tables: rows of each table by its name, all rows of a table with the same keys.
        changed: files of code that have changed since, set by ``read_bundle``; the bundle is stale if there are any.
    """

    asset: str
    tier: str
    made: Mapping[str, object]
    tables: Mapping[str, Sequence[Row]]
    changed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.tier not in TIERS:
            raise BundleError(f"tier must be one of {', '.join(TIERS)}, got {self.tier!r}")
        if set(self.made) - {"rechecked"} != MADE_KEYS:
            raise BundleError(f"{self.asset}: made must have the keys {sorted(MADE_KEYS)}, got {sorted(self.made)}")
        for name, rows in self.tables.items():
            if not rows or any(list(row) != list(rows[0]) for row in rows):
                raise BundleError(f"{self.asset}: the rows of table {name!r} must be there and have the same keys")

    @property
    def origin(self) -> str:
        """One line for a caption: scale, date, device and revision; and whether the bundle is stale."""
        made = self.made
        text = f"from a run at the {self.tier} scale on {made['date']}, {made['device']}, revision {made['revision']}"
        if rechecked := made.get("rechecked"):
            text += f"; code changed since, a small run at revision {rechecked['revision']} gave the same"
        if not self.changed:
            return text
        first, *others = self.changed
        more = f" and {len(others)} more" if others else ""
        return f"{text}; stale: {first}{more} changed since"


def bundle_path(asset: str, tier: str, *, root: Path | None = None) -> Path:
    """Where the committed bundle of an asset is: ``<root>/book/results/<tier>/<asset>.json``."""
    return (root or repository_root()) / "book" / "results" / tier / f"{asset}.json"


def write_bundle(bundle: Bundle, path: Path) -> None:
    """Write a bundle with its checksum; beside the final name first, so that nothing half-written is left."""
    content = {"asset": bundle.asset, "tier": bundle.tier, "made": bundle.made, "tables": bundle.tables}
    try:
        text = json.dumps({**content, "sha256": _checksum(content)}, indent=1, allow_nan=False)
    except ValueError as error:
        raise BundleError(f"{bundle.asset}: a bundle holds finite numbers, text and None only: {error}") from None
    replace_text(path, text + "\n")


def read_bundle(asset: str, tier: str, *, root: Path | None = None) -> Bundle:
    """The committed bundle of an asset, compared with the code of the checkout.

    Raises:
        BundleError: no such file, not a bundle of that asset and tier, or changed since it was written.
    """
    bundle = _read(bundle_path(asset, tier, root=root), asset, tier)
    now = code_digests(notebook_source(asset, root or repository_root()), root or repository_root())
    then = bundle.made["code"]
    changed = sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))
    return replace(bundle, changed=tuple(changed))


def _read(path: Path, asset: str, tier: str) -> Bundle:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BundleError(f"{path} not found: run the notebook with --config profile={tier} to make it") from None
    except json.JSONDecodeError as error:
        raise BundleError(f"{path}: not JSON: {error}") from None
    expected = content.pop("sha256", None) if isinstance(content, dict) else None
    if expected is None or set(content) != {"asset", "tier", "made", "tables"}:
        raise BundleError(f"{path}: a bundle has the keys asset, tier, made, tables and sha256")
    if _checksum(content) != expected:
        raise BundleError(f"{path}: content and checksum differ; it was edited or damaged after it was made")
    if (content["asset"], content["tier"]) != (asset, tier):
        raise BundleError(f"{path}: is a bundle of {content['asset']} at {content['tier']}")
    return Bundle(**content)


def keep(
    asset: str, namespace: Mapping[str, object], *, tables: Mapping[str, Sequence[Row]], inputs: Mapping[str, str]
) -> Path:
    """Write what a run has found, and nothing of where its files lie.

    It goes to ``_build/bundles/<tier>/<asset>.json``; moved to ``bundle_path`` it is committed.

    Args:
        asset: name of the notebook.
        namespace: the notebook's ``globals()``, from which ``tier``, parameters and ``device`` are read.
        tables: see ``Bundle``.
        inputs: checksum of each data set and of each file of weights by its name.
    """
    root = repository_root()
    source = notebook_source(asset, root)
    changed = changed_parameters(notebook_parameters(source), namespace)
    made = {
        "date": datetime.date.today().isoformat(),
        "revision": git_revision(root),
        "device": device_name(namespace),
        "parameters": {name: value for name, value in changed.items() if name != "data_folder"},
        "inputs": dict(inputs),
        "code": code_digests(source, root),
    }
    path = kept_path(asset, str(namespace["tier"]), root=root)
    write_bundle(Bundle(asset, str(namespace["tier"]), made, tables), path)
    return path


def kept_path(asset: str, tier: str, *, root: Path | None = None) -> Path:
    """Where ``keep`` writes: ``<root>/_build/bundles/<tier>/<asset>.json``."""
    return (root or repository_root()) / "_build" / "bundles" / tier / f"{asset}.json"


def add_claims(path: Path, results: Mapping[str, object]) -> None:
    """Put what the run recorded for the ledger into its bundle, as the table ``claims``; the checksum is made again.

    A notebook records its claims when it is done, after the bundle is written.

    Args:
        path: the bundle.
        results: what ``report.claims`` published: asset, tier, values and statuses by claim id.

    Raises:
        BundleError: no bundle of that asset and tier at ``path``.
    """
    bundle = _read(path, str(results["asset"]), str(results["tier"]))
    values, statuses = results["values"], results["statuses"]
    rows = [{"claim": claim, "value": values[claim], "status": statuses[claim]} for claim in statuses]
    if rows:
        write_bundle(replace(bundle, tables={**bundle.tables, "claims": rows}), path)


def _checksum(content: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()
