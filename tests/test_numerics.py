"""Argument checks: every error names the parameter, its range and the value."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from privlib import numerics


@pytest.mark.parametrize("good", [0.5, np.float32(0.25), 1e-300, np.float64(0.999)])
def test_delta(good: float) -> None:
    assert numerics.check_delta(good) == float(good)


@pytest.mark.parametrize(
    ("check", "bad", "name", "accepted"),
    [
        *(
            (numerics.check_delta, bad, "delta", "(0, 1)")
            for bad in (0.0, 1.0, 1, -0.1, math.nan, math.inf, "0.5", None, True, [0.5])
        ),
        *(
            (numerics.check_epsilon, bad, "epsilon", "[0, inf)")
            for bad in (-1e-9, math.nan, math.inf, "1", None, False)
        ),
        *((numerics.check_gdp_mu, bad, "gdp_mu", "[0, inf)") for bad in (-1.0, math.nan, math.inf, None, True)),
        *(
            (numerics.check_probability, bad, "sampling_probability", "(0, 1]")
            for bad in (0.0, 1.0000001, -1.0, math.nan, True, None)
        ),
    ],
)
def test_out_of_range(check, bad: object, name: str, accepted: str) -> None:
    with pytest.raises(ValueError) as caught:
        check(bad)
    assert name in str(caught.value) and accepted in str(caught.value) and repr(bad) in str(caught.value)


def test_edges_that_are_inside() -> None:
    assert numerics.check_epsilon(0) == 0.0
    assert numerics.check_probability(1) == 1.0
    assert numerics.check_gdp_mu(0.0) == 0.0
    assert numerics.check_count(np.int64(3)) == 3 and isinstance(numerics.check_count(np.int64(3)), int)


@pytest.mark.parametrize("bad", [0, -1, 1.0, 2.5, True, "3", None, math.nan])
def test_count(bad: object) -> None:
    with pytest.raises(ValueError, match="count .*at least 1"):
        numerics.check_count(bad)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, None, True])
def test_positive_and_nonnegative(bad: object) -> None:
    with pytest.raises(ValueError, match=r"rho .*\(0, inf\)"):
        numerics.check_positive("rho", bad)
    if bad != 0.0 or isinstance(bad, bool):
        with pytest.raises(ValueError, match=r"rho .*\[0, inf\)"):
            numerics.check_nonnegative("rho", bad)


@pytest.mark.parametrize("good", [[3.0, 1.0], (2, 1), np.array([5.0]), torch.tensor([4.0, 2.0], dtype=torch.float32)])
def test_sigmas(good: object) -> None:
    sigmas = numerics.check_sigmas(good)
    assert sigmas.dtype == torch.float64 and sigmas.ndim == 1


@pytest.mark.parametrize(
    "bad", [[], [1.0, 2.0], [1.0, 1.0], [1.0, 0.0], [1.0, -1.0], [math.nan], [math.inf, 1.0], [[2.0, 1.0]], 3.0, None]
)
def test_bad_sigmas(bad: object) -> None:
    with pytest.raises(ValueError, match="sigmas must be"):
        numerics.check_sigmas(bad)


def test_unit_roundoff() -> None:
    assert numerics.UNIT_ROUNDOFF == np.finfo(np.float64).eps / 2


def test_device_auto_takes_a_gpu_when_there_is_one(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert numerics.choose_device("auto") == torch.device("cuda")
    assert numerics.choose_device("cuda:1") == torch.device("cuda:1")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert numerics.choose_device() == torch.device("cpu")


@pytest.mark.parametrize("name", ["gpu", "", "cuda:x"])
def test_an_unknown_device_is_refused(name):
    with pytest.raises(ValueError, match="device must be auto, cpu, cuda"):
        numerics.choose_device(name)


def test_cuda_is_refused_where_there_is_none(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match="torch sees no CUDA device"):
        numerics.choose_device("cuda")
