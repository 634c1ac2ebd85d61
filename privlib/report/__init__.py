"""What a notebook says about itself: claims against the paper, tables, privacy statements, and the footer."""

from privlib.report.display import claims, privacy_statement, table
from privlib.report.ledger import Claim, LedgerError, load_claims, load_ledger
from privlib.report.provenance import footer
from privlib.report.status import RESULTS_MIME, Status, evaluate

__all__ = [
    "RESULTS_MIME",
    "Claim",
    "LedgerError",
    "Status",
    "claims",
    "evaluate",
    "footer",
    "load_claims",
    "load_ledger",
    "privacy_statement",
    "table",
]
