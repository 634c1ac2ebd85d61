"""Points of the sweep: the paper's mechanisms, the sampler's own images, and a folder that is read back."""

from __future__ import annotations

import re

import pytest
import torch

from privlib.accounting.certified import epsilon_interval
from privlib.samplers.hybrid import output_wise
from privlib.samplers.path import public_heun
from privlib.samplers.sweep import Setting, draw_settings
from privlib.schedules import edm_sigmas
from tests.samplers.oracles import GaussianData, ProvedSums, Sums, Unit

SIGMAS = edm_sigmas(39)


@pytest.mark.parametrize(
    ("setting", "printed"),
    [(Setting(55, 1, 25), 0.299), (Setting(62, 9, 50), 3.422), (Setting(65, 3, 50, beta=4.0), 0.438)],
    ids=lambda value: getattr(value, "name", value),
)
def test_epsilon_as_the_paper_reports_it(setting: Setting, printed: float) -> None:
    """Tables 8 and 3."""
    mechanism = setting.as_reported(SIGMAS, num_records=50_000, count=50_000)
    assert epsilon_interval(mechanism, 1e-5).upper == pytest.approx(printed, abs=6e-4)


def plans_of(levels, *settings: Setting) -> dict:
    return {setting: setting.plan(levels, GaussianData(), solver=public_heun) for setting in settings}


def test_a_bounded_run_is_charged_what_is_reported() -> None:
    setting = Setting(55, 3, 5)
    runs = draw_settings(Unit(), plans_of(SIGMAS, setting), num_records=10, num_samples=3, at_once=2, seed=1)
    reported = setting.as_reported(SIGMAS, num_records=10, count=3)
    assert runs[setting].mechanism.gdp_mu == pytest.approx(reported.gdp_mu, rel=1e-12)
    assert runs[setting].mechanism.sampling_probability == reported.sampling_probability == 0.5
    assert runs[setting].mechanism.count == 3


@pytest.mark.parametrize("private", [ProvedSums(), Sums()], ids=lambda p: type(p).__name__)
def test_shared_kept_and_plain_runs_are_the_same(tmp_path, private) -> None:
    levels = [4.0 * 0.8**i for i in range(8)]
    plans = plans_of(levels, Setting(25, 0, 2), Setting(50, 1, 2), Setting(75, 0, 2), Setting(75, 2, 2))
    settings = {"num_records": 6, "num_samples": 5, "at_once": 2, "seed": 3}
    shared = draw_settings(private, plans, **settings)
    kept = draw_settings(private, plans, **settings, folder=tmp_path)
    again = draw_settings(private, plans, **settings, folder=tmp_path)
    assert [plan.num_private_steps for plan in plans.values()] == [2, 4, 6, 6]
    for setting, plan in plans.items():
        plain = output_wise(private, plan, sampling_probability=2 / 6, count=5, seed=3)
        for runs in (shared, kept, again):
            assert torch.equal(runs[setting].images, plain.images)
            assert runs[setting].mechanism == plain.mechanism and runs[setting].sigma == 0.0
        assert again[setting].seconds == kept[setting].seconds  # read back, not sampled again
    folders = sorted(path.name for path in tmp_path.iterdir())
    assert len(folders) == 4 and folders[0] == f"{type(private).__name__} 25 %, T = 0, B = 2, beta = 1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, 25), "percent must"),
        ((101, 1, 25), "percent must lie in (0, 100], got 101"),
        ((55, -1, 25), "num_renoise_steps"),
        ((55, 1, 0), "batch_size"),
        ((55, 1, 25, 0.0), "beta must"),
    ],
)
def test_settings_outside_their_range_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Setting(*arguments)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ([Setting(50, 0, 7)], "batch_size must lie in 1..num_records = 6, got 7"),
        ([Setting(50, 0, 2), Setting(50, 0, 3)], "got block sizes [2, 3]"),
        ([], "got block sizes []"),
    ],
)
def test_settings_that_cannot_be_drawn_together_are_refused(settings: list, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        draw_settings(
            ProvedSums(), plans_of((4.0, 2.0, 1.0), *settings), num_records=6, num_samples=1, at_once=1, seed=0
        )
