"""Long runs: the same as one batch, resumed to the bit, refused when anything differs."""

from __future__ import annotations

import io
import json
import sys
from functools import partial

import pytest
import torch

from privlib.accounting.certified import epsilon_interval
from privlib.denoisers.anchors import PublicAnchor
from privlib.denoisers.clipped import ClippedDenoiser
from privlib.files import replace_file
from privlib.mechanisms import SubsampledGaussian
from privlib.samplers import batched
from privlib.samplers.batched import in_batches
from privlib.samplers.hybrid import full_batch, output_wise, per_step, reference
from privlib.samplers.path import Plan, PublicTail, public_ancestral
from privlib.samplers.steps import ANCESTRAL
from privlib.types import Adjacency
from tests.samplers.oracles import GaussianData, ProvedSums, Sums

LEVELS = (4.0, 2.0, 1.0, 0.5)
PLAN = Plan(LEVELS, 2, tail=PublicTail(GaussianData(), 1, public_ancestral))


class Stops(ProvedSums):
    """Raises in evaluation number ``at``, counted from zero over all calls; counts the batches it is asked for."""

    evaluations, batches, at, error = 0, 0, -1, KeyboardInterrupt

    def on_blocks(self, blocks):
        type(self).batches += 1
        denoiser = super().on_blocks(blocks)

        def denoise(x, sigma):
            if type(self).evaluations == type(self).at:
                raise type(self).error
            type(self).evaluations += 1
            return denoiser(x, sigma)

        return denoise


@pytest.fixture
def stops():
    """``Stops`` with fresh counters: they are class attributes, so they do not change what a run is made from."""
    Stops.evaluations, Stops.batches, Stops.at, Stops.error = 0, 0, -1, KeyboardInterrupt
    return Stops


def sampler(private=None, plan: Plan = PLAN, q: float = 0.5) -> partial:
    return partial(output_wise, private or ProvedSums(), plan, sampling_probability=q)


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a folder"])
@pytest.mark.parametrize("batch_size", [1, 3, 7, 100])
def test_batches_make_one_run(tmp_path, kept: bool, batch_size: int) -> None:
    folder = tmp_path / "deep" / "run" if kept else None
    for draw in (sampler(), partial(per_step, ProvedSums(), PLAN, sampling_probability=0.5), partial(full_batch, Sums(), PLAN)):  # fmt: skip # noqa: E501
        name = folder and folder / draw.func.__name__
        whole = draw(count=7, seed=3)
        run = in_batches(draw, count=7, batch_size=batch_size, seed=3, folder=name)
        assert torch.equal(run.images, whole.images)
        assert run.mechanism == whole.mechanism and run.sigma == whole.sigma
        assert run.settings == {**whole.settings, "batch_size": batch_size} and run.seconds > 0.0


def test_an_interrupted_run_goes_on_to_the_same_bits(tmp_path, stops) -> None:
    whole = in_batches(sampler(stops()), count=10, batch_size=3, seed=5)
    assert stops.batches == 4
    stops.evaluations, stops.batches, stops.at = 0, 0, 5  # in the third batch of two evaluations each
    with pytest.raises(KeyboardInterrupt):
        in_batches(sampler(stops()), count=10, batch_size=3, seed=5, folder=tmp_path)
    assert stops.batches == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "run.json",
        "samples_00000000_3.safetensors",
        "samples_00000003_3.safetensors",
    ]
    stops.at, stops.batches = -1, 0
    resumed = in_batches(sampler(stops()), count=10, batch_size=3, seed=5, folder=str(tmp_path))
    assert stops.batches == 2
    assert torch.equal(resumed.images, whole.images) and resumed.mechanism == whole.mechanism
    again = in_batches(sampler(stops()), count=10, batch_size=3, seed=5, folder=tmp_path)
    assert stops.batches == 2 and torch.equal(again.images, whole.images)
    assert again.seconds == resumed.seconds


def test_a_finished_run_can_be_prolonged(tmp_path, stops) -> None:
    in_batches(sampler(stops()), count=6, batch_size=3, seed=5, folder=tmp_path)
    longer = in_batches(sampler(stops()), count=8, batch_size=3, seed=5, folder=tmp_path)
    assert stops.batches == 3
    whole = sampler()(count=8, seed=5)
    assert torch.equal(longer.images, whole.images) and longer.mechanism.count == 8


def test_nothing_half_written(tmp_path, monkeypatch) -> None:
    def half(run, path, *, key) -> None:
        def write(part) -> None:
            part.write_bytes(b"half")
            raise OSError("disk full")

        replace_file(path, write)

    monkeypatch.setattr(batched, "write_run", half)
    with pytest.raises(OSError, match="disk full"):
        in_batches(sampler(), count=2, batch_size=1, seed=0, folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (dict(seed=1), "seed"),
        (dict(batch_size=2), "batch_size"),
        (dict(sampler=sampler(q=0.25)), "keywords.sampling_probability"),
        (dict(sampler=sampler(ProvedSums(seed=9))), "ProvedSums.records.sha256"),
        (dict(sampler=sampler(ProvedSums(scale=0.5))), "ProvedSums.scale"),
        (dict(sampler=sampler(plan=Plan(LEVELS, 2, ANCESTRAL, PLAN.tail))), "PrivateStep.name"),
        (dict(sampler=sampler(plan=Plan((4.0, 2.0, 1.0, 0.4), 2, tail=PLAN.tail))), r"Plan.sigmas\[3\]"),
        (dict(sampler=sampler(plan=Plan(LEVELS, 2))), "Plan.tail"),
        (
            dict(sampler=sampler(plan=Plan(LEVELS, 2, tail=PLAN.tail, adjacency=Adjacency.REPLACE_ONE))),
            "Plan.adjacency",
        ),
        (dict(sampler=partial(per_step, ProvedSums(), PLAN, sampling_probability=0.5)), "func"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_folder_of_another_run_is_refused(tmp_path, other: dict, named: str) -> None:
    arguments = {"sampler": sampler(), "count": 2, "batch_size": 1, "seed": 0, "folder": tmp_path}
    before = in_batches(**arguments)
    with pytest.raises(ValueError, match=f"holds batches of another run, which differs in .*{named}.*another folder"):
        in_batches(**{**arguments, **other})
    assert torch.equal(in_batches(**arguments).images, before.images)


def test_other_code_or_libraries_are_another_run(tmp_path, monkeypatch) -> None:
    arguments = {"sampler": sampler(), "count": 2, "batch_size": 1, "seed": 0, "folder": tmp_path}
    in_batches(**arguments)
    monkeypatch.setattr(batched, "code_checksum", lambda *parts: "other")
    with pytest.raises(ValueError, match="differs in code;"):
        in_batches(**arguments)
    monkeypatch.undo()
    monkeypatch.setattr(torch, "__version__", "1.0")
    with pytest.raises(ValueError, match="differs in torch;"):
        in_batches(**arguments)


@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_batches_of_unknown_origin_are_refused(tmp_path, text: str | None) -> None:
    arguments = {"sampler": sampler(), "count": 2, "batch_size": 1, "seed": 0, "folder": tmp_path}
    in_batches(**arguments)
    (tmp_path / "run.json").unlink()
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    with pytest.raises(ValueError, match="differs in run.json"):
        in_batches(**arguments)


def test_a_batch_smuggled_in_from_another_run_is_refused(tmp_path) -> None:
    arguments = {"sampler": sampler(), "count": 2, "batch_size": 1}
    in_batches(**arguments, seed=0, folder=tmp_path / "a")
    in_batches(**arguments, seed=1, folder=tmp_path / "b")
    name = "samples_00000001_1.safetensors"
    (tmp_path / "a" / name).write_bytes((tmp_path / "b" / name).read_bytes())
    with pytest.raises(ValueError, match=f"{name} was made by other settings"):
        in_batches(**arguments, seed=0, folder=tmp_path / "a")


def test_out_of_memory_names_the_batch_size(tmp_path, stops) -> None:
    stops.at, stops.error = 0, torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
    arguments = {"sampler": sampler(stops()), "count": 4, "seed": 0, "folder": tmp_path}
    with pytest.raises(torch.OutOfMemoryError, match=r"at batch_size = 4; lower batch_size.*2\.00 GiB"):
        in_batches(**arguments, batch_size=4)
    stops.at = -1  # no batch was finished, so the folder takes the smaller size
    assert len(in_batches(**arguments, batch_size=2).images) == 4
    assert json.loads((tmp_path / "run.json").read_text())["batch_size"] == 2


def test_other_errors_pass_through(stops) -> None:
    stops.at, stops.error = 0, RuntimeError("something else")
    with pytest.raises(RuntimeError, match="^something else$"):
        in_batches(sampler(stops()), count=4, batch_size=2, seed=0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_shows_in_terminals_only(monkeypatch) -> None:
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        in_batches(sampler(), count=4, batch_size=2, seed=0)
        assert ("output_wise" in stream.getvalue() and "4/4" in stream.getvalue()) is shown
        assert bool(stream.getvalue()) is shown


def test_runs_without_a_mechanism_stay_without() -> None:
    draw = partial(reference, GaussianData(), LEVELS, image_shape=(2,))
    run = in_batches(draw, count=3, batch_size=2, seed=0)
    assert run.mechanism is None and run.images.shape == (3, 2)


def test_observers_see_all_batches_without_a_folder_and_are_refused_with_one(tmp_path) -> None:
    seen = []
    draw = partial(sampler(), observe=lambda index, sigma, x, denoised: seen.append(len(x)))
    in_batches(draw, count=5, batch_size=2, seed=0)
    assert sum(seen) == 5 * (2 + 3)
    with pytest.raises(ValueError, match="observe must be left out"):
        in_batches(draw, count=5, batch_size=2, seed=0, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(count=0), "count"),
        (dict(batch_size=0), "batch_size"),
        (dict(batch_size=2.0), "batch_size"),
        (dict(seed=-1), "seed"),
        (dict(sampler=output_wise), "sampler must be a functools.partial"),
        (dict(sampler=partial(sampler(), count=5)), "sampler must not set count"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        in_batches(**{"sampler": sampler(), "count": 2, "batch_size": 1, "seed": 0, **arguments})


def test_a_clipped_denoiser_from_records_to_epsilon(tmp_path) -> None:
    """The parts as a page puts them together: what the accountant sees comes from the denoiser and the run alone."""
    generator = torch.Generator().manual_seed(0)
    private, public = (torch.rand(12, 3, 4, 4, dtype=torch.float64, generator=generator) * 2 - 1 for _ in range(2))
    anchor = PublicAnchor(public)
    denoiser = ClippedDenoiser(private, anchor, public_weight=3.0, clip=0.5, beta=2.0)
    plan = Plan(LEVELS, 3, tail=PublicTail(anchor, 1))
    draw = partial(output_wise, denoiser, plan, sampling_probability=0.25)
    run = in_batches(draw, count=5, batch_size=2, seed=0, folder=tmp_path)
    mu = 0.25 * sum(2 * (t - s) / t**3 for t, s in zip(LEVELS[:3], LEVELS[1:], strict=True)) ** 0.5
    assert run.mechanism.gdp_mu == pytest.approx(mu, rel=1e-13) and run.mechanism.count == 5
    assert run.images.shape == (5, 3, 4, 4) and float(run.images.abs().max()) < 1.5
    ours = epsilon_interval(run.mechanism, 1e-5)
    assert ours.upper <= epsilon_interval(SubsampledGaussian(mu * 1.001, 0.25, 5), 1e-5).upper and ours.lower > 0.0
