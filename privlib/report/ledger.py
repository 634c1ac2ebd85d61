"""The claims ledger: what a paper prints, one YAML file for each figure or table under ``book/claims/``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import yaml

KINDS = ("exact", "trend", "scale")

_FILE_KEYS = {"paper", "asset", "why", "claims"}
_CLAIM_KEYS = {"id", "place", "printed", "kind", "why", "unexplained", "explained", "residual"}
_ID = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)+")
# Digits as a paper sets them: an optional sign, optional thousands separators, optional decimals.
_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?")


class LedgerError(ValueError):
    """A ledger file is missing, malformed or contradicts another; the message names the file and the claim."""


@dataclass(frozen=True)
class Claim:
    """One printed statement of a paper.

    Attributes:
        id: ``<prefix>.<row>.<column>``, unique in the whole ledger.
        asset: notebook that reproduces it.
        paper: BibTeX key of the paper.
        place: where the paper prints it, for readers.
        printed: exactly the characters printed, so the precision is known.
        kind: ``exact`` (must agree to the printed digit), ``trend`` (an inequality that must hold) or ``scale``
            (comparable only under the paper profile).
        why: what the number is compared with and why it is of this kind.
        unexplained: what was tried where the number does not match and nobody knows why; else None.
        explained: why the number does not match or the trend fails, where that is known; else None.
        residual: largest relative difference that ``unexplained`` or ``explained`` covers; None covers any.
    """

    id: str
    asset: str
    paper: str
    place: str
    printed: str
    kind: str
    why: str
    unexplained: str | None = None
    explained: str | None = None
    residual: float | None = None

    @property
    def number(self) -> Decimal:
        """The printed number; only ``exact`` claims are sure to have one (decimal.InvalidOperation otherwise)."""
        return Decimal(self.printed.replace(",", ""))

    @property
    def decimals(self) -> int:
        """Number of digits printed after the decimal point."""
        return len(self.printed.partition(".")[2])


def repository_root() -> Path:
    """The folder that holds ``book/claims``: the working folder, a parent of it, or where privlib is checked out.

    Raises:
        LedgerError: none of them does.
    """
    here = Path.cwd().resolve()
    for folder in (here, *here.parents, *Path(__file__).resolve().parents[1:]):
        if (folder / "book" / "claims").is_dir():
            return folder
    raise LedgerError(
        f"no folder book/claims in {here}, above it, or beside privlib: run inside a checkout of the book"
    )


def load_claims(asset: str, root: Path | None = None) -> tuple[Claim, ...]:
    """The claims of one asset, in file order, from ``<root>/book/claims/<asset>.yml``.

    Raises:
        LedgerError: file missing or not readable as described in the module; the message names file and claim.
    """
    path = (root or repository_root()) / "book" / "claims" / f"{asset}.yml"
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LedgerError(
            f"{path} not found: every asset has a ledger file ('claims: []' if it repeats nothing printed)"
        ) from None
    except yaml.YAMLError as error:
        raise LedgerError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("claims"), list):
        raise LedgerError(f"{path}: need a mapping with the keys paper, asset and claims (a list)")
    if unknown := set(data) - _FILE_KEYS:
        raise LedgerError(f"{path}: unknown keys {sorted(unknown)}; accepted: {sorted(_FILE_KEYS)}")
    if data.get("asset") != asset:
        raise LedgerError(f"{path}: asset must be {asset!r}, as the file is named, got {data.get('asset')!r}")
    if not _is_text(data.get("paper")):
        raise LedgerError(f"{path}: paper must be a BibTeX key, got {data.get('paper')!r}")
    claims = tuple(_claim(path, data, entry) for entry in data["claims"])
    _refuse_duplicates(claims, path)
    return claims


def load_ledger(root: Path | None = None) -> dict[str, tuple[Claim, ...]]:
    """All claims by asset; raises LedgerError for any bad file and for an id that two files share."""
    root = root or repository_root()
    paths = sorted((root / "book" / "claims").glob("*.yml"))
    ledger = {path.stem: load_claims(path.stem, root) for path in paths}
    _refuse_duplicates([claim for claims in ledger.values() for claim in claims], root / "book" / "claims")
    return ledger


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _refuse_duplicates(claims, path: Path) -> None:
    seen: dict[str, str] = {}
    for claim in claims:
        if claim.id in seen:
            raise LedgerError(f"{path}: claim id {claim.id!r} is used twice (assets {seen[claim.id]}, {claim.asset})")
        seen[claim.id] = claim.asset


def _claim(path: Path, data: dict, entry: object) -> Claim:
    if not isinstance(entry, dict) or not _is_text(entry.get("id")) or not _ID.fullmatch(entry["id"]):
        raise LedgerError(f"{path}: every claim needs an id like 'tab07.55.mu', got {entry!r}")
    where = f"{path}: claim {entry['id']}"
    if unknown := set(entry) - _CLAIM_KEYS:
        raise LedgerError(f"{where}: unknown keys {sorted(unknown)}; accepted: {sorted(_CLAIM_KEYS)}")
    for key in ("place", "printed"):
        if not _is_text(entry.get(key)):
            raise LedgerError(f"{where}: {key} must be text in quotes, got {entry.get(key)!r}")
    if entry.get("kind") not in KINDS:
        raise LedgerError(f"{where}: kind must be one of {', '.join(KINDS)}, got {entry.get('kind')!r}")
    if entry["kind"] == "exact" and not _NUMBER.fullmatch(entry["printed"]):
        raise LedgerError(f"{where}: an exact claim needs printed digits such as '0.2988', got {entry['printed']!r}")
    why = entry.get("why", data.get("why"))
    if not _is_text(why):
        raise LedgerError(f"{where}: why must say what the number is compared with (here or once for the file)")
    notes = [key for key in ("unexplained", "explained") if key in entry]
    if len(notes) == 2 or any(not _is_text(entry[key]) for key in notes):
        raise LedgerError(f"{where}: give one of unexplained or explained, as text")
    residual = entry.get("residual")
    if residual is not None:
        if isinstance(residual, bool) or not isinstance(residual, (int, float)) or not 0 < residual:
            raise LedgerError(f"{where}: residual must be a relative difference above 0 (5.0e-4), got {residual!r}")
        if not notes:
            raise LedgerError(f"{where}: residual only goes with unexplained or explained")
    if notes and entry["kind"] != "exact" and (entry["kind"], notes[0]) != ("trend", "explained"):
        raise LedgerError(f"{where}: {notes[0]} only goes with kind exact, explained also with kind trend")
    if residual is not None and entry["kind"] == "trend":
        raise LedgerError(f"{where}: residual only goes with kind exact")
    return Claim(
        id=entry["id"],
        asset=data["asset"],
        paper=data["paper"],
        place=entry["place"],
        printed=entry["printed"],
        kind=entry["kind"],
        why=why.strip(),
        unexplained=entry.get("unexplained"),
        explained=entry.get("explained"),
        residual=None if residual is None else float(residual),
    )
