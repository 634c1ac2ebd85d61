"""Names that a run was given and the notebook does not have: papermill only warns of them."""

from __future__ import annotations

from collections.abc import Mapping

from privlib.report.ledger import repository_root
from privlib.report.parameters import ParameterError, notebook_parameters
from privlib.report.provenance import notebook_source

#: What IPython itself puts among the names of a notebook.
_IPYTHON = {"In", "Out"}

#: Types of values that papermill can pass.
_PLAIN = (str, int, float, list, tuple, dict, type(None))


def refuse_unknown(asset: str, namespace: Mapping[str, object]) -> None:
    """Refuse a misspelt parameter; to be called before the notebook has names of its own.

    Where a default would be silently used in its place, and the default says what is private, a misspelling matters.

    Args:
        asset: name of the notebook.
        namespace: its ``globals()``.

    Raises:
        ParameterError: the message names what is unknown and lists what the notebook accepts.
    """
    accepted = notebook_parameters(notebook_source(asset, repository_root()))
    given = {name for name, value in namespace.items() if isinstance(value, _PLAIN) and not name.startswith("_")}
    if unknown := sorted(given - set(accepted) - _IPYTHON):
        listing = "\n".join(f"  {parameter.describe()}" for parameter in accepted.values())
        raise ParameterError(f"unknown parameter {', '.join(unknown)}\naccepted parameters:\n{listing}")
