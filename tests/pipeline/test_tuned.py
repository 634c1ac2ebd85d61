"""The pages of the second paper use settings that the page on tuning compares, all with the same rest."""

from pathlib import Path

import pytest

from privlib.report.parameters import notebook_parameters

FOLDER = Path(__file__).resolve().parents[2] / "notebooks" / "dpagg_ti"
PAGES = sorted(path.stem for path in FOLDER.glob("*.ipynb") if "learning_rate" in notebook_parameters(path))


def defaults(page: str) -> dict[str, object]:
    return {name: parameter.default for name, parameter in notebook_parameters(FOLDER / f"{page}.ipynb").items()}


@pytest.mark.parametrize("page", PAGES)
def test_settings_are_among_those_compared(page):
    found, tuned = defaults(page), defaults("tuning")
    assert [found["steps"], found["learning_rate"], found["norm_factor"]] in tuned["grid"]
    for name in ("templates", "initial_word", "batch_size", "noisiest", "pipeline_name"):
        assert found[name] == tuned[name], name
    if "sgd_steps" in found:
        chosen = [found[name] for name in ("sgd_steps", "sgd_learning_rate", "sgd_norm_factor", "clip_norm")]
        assert chosen in tuned["sgd_grid"]
        assert [found["plain_steps"], found["plain_learning_rate"], found["norm_factor"]] in tuned["plain_grid"]


def test_both_methods_have_pages():
    assert {"adapt", "fig01_dpagg_vs_dpsgd", "kid_analysis"} <= set(PAGES)
