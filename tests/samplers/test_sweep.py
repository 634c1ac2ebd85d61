"""Points of the sweep: the paper's mechanisms, the sampler's own images, and a folder that is read back."""

from __future__ import annotations

import re

import pytest
import torch

from privlib.accounting.certified import epsilon_interval
from privlib.samplers.hybrid import output_wise
from privlib.samplers.path import public_heun
from privlib.samplers.sweep import Setting, draw_setting
from privlib.schedules import edm_sigmas
from tests.samplers.oracles import GaussianData, ProvedSums, Unit

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


def test_a_bounded_run_is_charged_what_is_reported() -> None:
    setting = Setting(55, 3, 5)
    plan = setting.plan(SIGMAS, GaussianData(), solver=public_heun)
    run = draw_setting(Unit(), setting, plan, num_records=10, num_samples=3, at_once=2, seed=1)
    reported = setting.as_reported(SIGMAS, num_records=10, count=3)
    assert run.mechanism.gdp_mu == pytest.approx(reported.gdp_mu, rel=1e-12)
    assert run.mechanism.sampling_probability == reported.sampling_probability == 0.5


def test_a_setting_is_the_samplers_run_and_is_read_back(tmp_path) -> None:
    setting, private, public = Setting(50, 1, 2, beta=2.0), ProvedSums(), GaussianData()
    levels = (4.0, 2.0, 1.0, 0.5)
    plan = setting.plan(levels, public, solver=public_heun)
    settings = {"num_records": 6, "num_samples": 5, "at_once": 2, "seed": 3, "folder": tmp_path}
    run = draw_setting(private, setting, plan, **settings)
    plain = output_wise(private, plan, sampling_probability=2 / 6, count=5, seed=3)
    assert plan.num_private_steps == 2 and torch.equal(run.images, plain.images)
    (kept,) = tmp_path.iterdir()
    assert kept.name == "ProvedSums 50 %, T = 1, B = 2, beta = 2" and len(list(kept.glob("samples_*"))) == 3
    again = draw_setting(private, setting, plan, **settings)
    assert torch.equal(again.images, run.images) and again.seconds == run.seconds


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


def test_a_block_larger_than_the_data_is_refused() -> None:
    setting = Setting(50, 0, 7)
    plan = setting.plan((4.0, 2.0, 1.0), GaussianData(), solver=public_heun)
    with pytest.raises(ValueError, match=re.escape("batch_size must lie in 1..num_records = 6, got 7")):
        draw_setting(ProvedSums(), setting, plan, num_records=6, num_samples=1, at_once=1, seed=0)
