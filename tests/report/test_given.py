"""A misspelt parameter is refused by the notebook itself, whoever runs it."""

import pytest

from privlib.report.given import refuse_unknown
from privlib.report.parameters import ParameterError


def test_a_misspelt_name_is_refused_and_what_there_is_is_listed() -> None:
    given = {"images": "x", "epsilon": 1.0, "In": [""], "Out": {}, "_ih": [""], "refuse_unknown": refuse_unknown}
    refuse_unknown("adapt", given)
    with pytest.raises(ParameterError, match=r"unknown parameter epsilom, image\naccepted parameters:\n") as raised:
        refuse_unknown("adapt", given | {"image": "y", "epsilom": 2})
    assert "  epsilon (float, default 5.0)" in str(raised.value)
