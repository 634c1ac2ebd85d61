"""Reading back what the notebooks recorded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from privlib.report.ledger import Claim, load_claims
from privlib.report.status import Status


@dataclass(frozen=True)
class Finding:
    """One claim with the value that a run recorded for it and the status of that value."""

    claim: Claim
    value: float | bool | str | None
    status: Status


def load_findings(paths: Iterable[Path], root: Path | None = None) -> dict[str, list[Finding]]:
    """Findings by asset, in ledger order, from the results files of a build.

    Raises:
        ValueError: a results file does not cover just the claims of the ledger.
    """
    findings = {}
    for path in paths:
        results = json.loads(path.read_text(encoding="utf-8"))
        claims = load_claims(results["asset"], root)
        if {claim.id for claim in claims} != set(results["statuses"]):
            raise ValueError(f"{path}: its claims are not those of the ledger; run the notebook again")
        findings[results["asset"]] = [
            Finding(claim, results["values"][claim.id], Status(results["statuses"][claim.id])) for claim in claims
        ]
    return findings
