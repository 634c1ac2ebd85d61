"""``fit`` minimises, averages, and goes on where it was broken off as if it was not."""

import dataclasses
import json

import pytest
import torch

from privlib.data.locate import DataError
from privlib.training import resumable
from privlib.training.resumable import Stage, fit, last_average, learning_rate

STAGE = Stage(
    total_images=320,
    batch_size=8,
    learning_rate=0.05,
    warmup_images=16,
    decay_fraction=0.3,
    ema_halflife=40,
    save_every=80,
)
TARGET = torch.tensor([1.0, -2.0, 0.5])


def loss_of(network, step):
    x = torch.randn(8, 3, generator=torch.Generator().manual_seed(step))
    return (network(x).float()[:, 0] - x @ TARGET).square().mean()


def linear():
    torch.manual_seed(0)
    return torch.nn.Linear(3, 1)


def test_the_average_reaches_the_minimum(tmp_path):
    average = fit(linear(), loss_of, dataclasses.replace(STAGE, total_images=2400), tmp_path, key="k")
    assert torch.allclose(average.weight[0], TARGET, atol=0.05)
    assert not average.training and not average.weight.requires_grad


def test_an_interruption_leaves_no_trace(tmp_path):
    whole = fit(linear(), loss_of, STAGE, tmp_path / "whole", key="k")

    def stop(images, loss, measured):
        if images == 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(linear(), loss_of, STAGE, tmp_path / "halved", key="k", progress=stop)
    seen = []
    resumed = fit(linear(), loss_of, STAGE, tmp_path / "halved", key="k", progress=lambda i, *_: seen.append(i))
    assert seen[0] == 168 and seen[-1] == 320
    assert torch.equal(resumed.weight, whole.weight) and torch.equal(resumed.bias, whole.bias)
    log = [json.loads(line) for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    assert [line["images"] for line in log] == [80, 160, 240, 320] and log[-1]["loss"] < log[0]["loss"]


def test_the_last_average_is_that_of_the_run(tmp_path):
    with pytest.raises(DataError, match="no checkpoint"):
        last_average(linear(), tmp_path)
    average = fit(linear(), loss_of, STAGE, tmp_path, key="k")
    network, step = last_average(linear(), tmp_path)
    assert torch.equal(network.weight, average.weight) and step == 40 and not network.training


def test_slow_runs_are_saved_between_the_marks(tmp_path, monkeypatch):
    monkeypatch.setattr(resumable, "MAX_SECONDS", 0.0)

    def stop(images, loss, measured):
        if images == 48:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(linear(), loss_of, STAGE, tmp_path, key="k", progress=stop)
    assert torch.load(tmp_path / "state.pt", weights_only=True)["step"] == 6


def test_a_finished_run_is_not_trained_again_and_another_one_is_refused(tmp_path):
    first = fit(linear(), loss_of, STAGE, tmp_path, key="k")

    def refuse(network, step):
        raise AssertionError("trained again")

    assert torch.equal(fit(linear(), refuse, STAGE, tmp_path, key="k").weight, first.weight)
    with pytest.raises(ValueError, match="another recipe or other data"):
        fit(linear(), loss_of, STAGE, tmp_path, key="other")


def test_what_is_measured_is_logged_and_passed_on(tmp_path):
    told = []
    average = fit(
        linear(),
        loss_of,
        STAGE,
        tmp_path,
        key="k",
        measure=lambda network: {"bias": float(network.bias)},
        progress=lambda images, loss, measured: told.append((images, measured)),
    )
    given = [measured["bias"] for _, measured in told if measured]
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["measured"]["bias"] for line in log] == given and given[-1] == float(average.bias)
    assert [images for images, measured in told if measured] == [80, 160, 240, 320]


def test_learning_rate_rises_stays_and_falls_to_zero():
    stage = dataclasses.replace(STAGE, total_images=1000, warmup_images=100, learning_rate=1.0, decay_fraction=0.2)
    assert [learning_rate(stage, images) for images in (50, 100, 500, 800)] == [0.5, 1.0, 1.0, 1.0]
    assert learning_rate(stage, 900) == pytest.approx(0.5) and learning_rate(stage, 1000) == 0.0
