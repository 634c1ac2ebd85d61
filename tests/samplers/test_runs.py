"""A run is images with a mechanism for exactly that many."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from privlib.mechanisms import SubsampledGaussian, per_step_composition
from privlib.samplers.runs import Run

IMAGES = torch.zeros(3, 2, dtype=torch.float64)


def test_run_is_frozen_and_hides_its_images() -> None:
    run = Run(IMAGES, SubsampledGaussian(1.0, 0.5, 3), 0.0, {}, 1.0)
    assert "tensor" not in repr(run)
    with pytest.raises(dataclasses.FrozenInstanceError):
        run.mechanism = None


@pytest.mark.parametrize(
    "mechanism",
    [SubsampledGaussian(1.0, 0.5, 2), per_step_composition([1.0, 2.0], 0.5, count=1)],
    ids=["block", "steps"],
)
def test_mechanism_for_another_count_is_refused(mechanism) -> None:
    with pytest.raises(ValueError, match="mechanism must be for 3 outputs"):
        Run(IMAGES, mechanism, 0.0, {}, 1.0)


def test_bad_images() -> None:
    for bad in (IMAGES.float(), IMAGES[0]):
        with pytest.raises(ValueError, match="images must be float64"):
            Run(bad, None, 0.0, {}, 1.0)
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="images must be finite"):
            Run(IMAGES + value, None, 0.0, {}, 1.0)
