"""Parameters of a run: read from a command line or a profile, and refused unless the notebook accepts them."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from pathlib import Path

from privlib.report.parameters import Parameter, ParameterError


def checked_parameters(
    notebook: Path, accepted: Mapping[str, Parameter], given: Mapping[str, object]
) -> dict[str, object]:
    """``given`` with every value turned into the type that the notebook's default has.

    Text is read as a Python value where the notebook expects something else than text, so that command lines and YAML
    (which takes ``1e-5`` for text) mean what they say. A whole number passes for a float, nothing else is converted.

    Raises:
        ParameterError: unknown name or wrong type; the message lists what the notebook accepts.
    """
    problems, values = [], {}
    for name, value in given.items():
        if name not in accepted:
            problems.append(f"unknown parameter {name}")
            continue
        try:
            values[name] = _coerced(accepted[name], value)
        except ValueError:
            problems.append(f"parameter {name} must be of type {accepted[name].kind.__name__}, got {value!r}")
    if problems:
        listing = "\n".join(f"  {parameter.describe()}" for parameter in accepted.values()) or "  none"
        raise ParameterError(f"{notebook}: {'; '.join(problems)}\naccepted parameters:\n{listing}")
    return values


def _coerced(parameter: Parameter, value: object) -> object:
    kind = parameter.kind
    if kind is None:
        return _literal(value)
    if kind is str:
        if not isinstance(value, str):
            raise ValueError
        return value
    value = _literal(value)
    if kind in (list, tuple):
        if not isinstance(value, (list, tuple)):
            raise ValueError
        element = _element_kind(parameter.default)
        return [
            item if element is None else _scalar(element, item if element is str else _literal(item)) for item in value
        ]
    return _scalar(kind, value)


def _scalar(kind: type, value: object) -> object:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    # bool is a subclass of int, but True is not a count.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError
    return value


def _element_kind(default: object) -> type | None:
    """The one type of a default's numbers (float where ints and floats mix); None where anything may stand."""
    kinds = {type(item) for item in default} if isinstance(default, (list, tuple)) else set()
    if kinds <= {int, float} and float in kinds:
        return float
    return kinds.pop() if len(kinds) == 1 and kinds <= {int, bool, str} else None


def _literal(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        pass
    try:
        number = float(value)  # nan and inf, which the notebook's own checks are there to refuse
    except ValueError:
        return {"true": True, "false": False, "null": None}.get(value.lower(), value)
    return number if not math.isfinite(number) else value
