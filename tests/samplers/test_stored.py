"""Stored runs come back to the bit, or not at all."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from privlib.mechanisms import SubsampledGaussian, per_step_composition
from privlib.samplers import stored
from privlib.samplers.runs import Run
from privlib.samplers.stored import read_run, write_run
from privlib.types import Adjacency


def make_run(mechanism=None) -> Run:
    images = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) / 3
    return Run(images, mechanism, 0.1, {"sampler": "output-wise", "solver": None, "q": 0.1}, 1.25)


MECHANISMS = st.builds(
    SubsampledGaussian, st.floats(0, 1e6), st.floats(1e-9, 1.0), st.just(2), st.sampled_from(Adjacency)
) | st.builds(
    lambda mus, q, adjacency: per_step_composition(mus, q, count=2, adjacency=adjacency),
    st.lists(st.floats(0, 1e6), min_size=1, max_size=4),
    st.floats(1e-9, 1.0),
    st.sampled_from(Adjacency),
)


@settings(max_examples=30)
@given(mechanism=st.none() | MECHANISMS)
def test_round_trip(tmp_path_factory, mechanism) -> None:
    path = tmp_path_factory.mktemp("stored") / "run.safetensors"
    run = make_run(mechanism)
    write_run(run, path, key="abc")
    back = read_run(path, key="abc")
    assert torch.equal(back.images, run.images) and back.images.dtype == torch.float64
    assert back.mechanism == run.mechanism
    assert (back.sigma, back.settings, back.seconds) == (run.sigma, run.settings, run.seconds)
    assert [file.name for file in path.parent.iterdir()] == ["run.safetensors"]


def test_another_key_is_refused(tmp_path) -> None:
    write_run(make_run(), tmp_path / "run", key="abc")
    with pytest.raises(ValueError, match="made by other settings"):
        read_run(tmp_path / "run", key="abd")


@pytest.mark.parametrize("keep", [0, 4, 60, -1])
def test_a_truncated_file_is_refused(tmp_path, keep: int) -> None:
    path = tmp_path / "run"
    write_run(make_run(), path, key="abc")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match="damaged or not a stored run"):
        read_run(path, key="abc")


def test_a_foreign_file_is_refused(tmp_path) -> None:
    stored.save_file({"images": torch.zeros(1)}, tmp_path / "run")
    with pytest.raises(ValueError, match="damaged or not a stored run"):
        read_run(tmp_path / "run", key="abc")
