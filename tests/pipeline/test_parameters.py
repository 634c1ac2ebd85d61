"""Values from a command line or YAML mean what the notebook's default says they mean."""

from pathlib import Path

import pytest

from privlib.pipeline.parameters import checked_parameters
from privlib.report.parameters import Parameter, ParameterError

DEFAULTS = {
    "count": 3,
    "delta": 1e-5,
    "name": "edm",
    "flag": False,
    "levels": [1.0, 2],
    "sizes": [25, 50],
    "names": ["a"],
    "mixed": [1, "a"],
    "table": {"a": 1},
    "free": None,
}
ACCEPTED = {
    name: Parameter(name, None if default is None else type(default), default, True, "")
    for name, default in DEFAULTS.items()
}


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("count", "50000", 50000),
        ("delta", "1e-6", 1e-6),  # YAML takes this for text
        ("delta", 1, 1.0),
        ("name", "55", "55"),
        ("flag", "true", True),
        ("flag", "False", False),
        ("levels", "[1e-3, 4]", [1e-3, 4.0]),
        ("levels", ["1e-3", 4], [1e-3, 4.0]),
        ("sizes", (100,), [100]),
        ("names", ["55"], ["55"]),
        ("mixed", "[2, 'b']", [2, "b"]),
        ("table", {"b": 2}, {"b": 2}),
        ("free", "0.5", 0.5),
        ("free", "word", "word"),
        ("free", None, None),
    ],
)
def test_values_take_the_type_of_the_default(name, given, meant):
    (value,) = checked_parameters(Path("n.ipynb"), ACCEPTED, {name: given}).values()
    assert value == meant and type(value) is type(meant)


def test_not_a_number_reaches_the_notebook_that_refuses_it():
    assert checked_parameters(Path("n.ipynb"), ACCEPTED, {"delta": "nan"})["delta"] != 0
    assert checked_parameters(Path("n.ipynb"), ACCEPTED, {"delta": "inf"})["delta"] == float("inf")


@pytest.mark.parametrize(
    ("name", "given"),
    [("count", 1.0), ("count", True), ("delta", "x"), ("delta", False), ("name", 55), ("flag", 1), ("sizes", "[0.5]")]
    + [("sizes", "25"), ("names", [55]), ("table", "[1]"), ("count", None)],
)
def test_another_type_is_refused(name, given):
    with pytest.raises(ParameterError, match=f"parameter {name} must be of type"):
        checked_parameters(Path("n.ipynb"), ACCEPTED, {name: given})
