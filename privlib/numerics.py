"""Argument checks and the few numerical constants and helpers that accounting leans on."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch

#: Unit round-off of IEEE double precision, 2^-53.
UNIT_ROUNDOFF = 2.0**-53


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one core, and restore the number of threads afterwards.

    Arrays of some ten thousand elements are just large enough for torch to wake its other threads, and waking them
    costs more than the work; beside other busy processes it costs a hundred times more.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def choose_device(name: str = "auto") -> torch.device:
    """The device of that name; ``auto`` is a GPU when there is one, else the CPU.

    Raises:
        ValueError: a name that torch does not know, or ``cuda`` where there is none.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"device must be auto, cpu, cuda or cuda:0, cuda:1, ..., got {name!r}") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device is {name!r}, but torch sees no CUDA device here; use auto or cpu")
    return device


def _number(name: str, value: object, accepted: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ValueError(f"{name} must be a number in {accepted}, got {value!r}")
    return float(value)


def check_delta(value: object) -> float:
    """Return ``delta`` as a float; raise ValueError unless it lies in (0, 1)."""
    number = _number("delta", value, "(0, 1)")
    if not 0.0 < number < 1.0:
        raise ValueError(f"delta must lie in (0, 1), got {value!r}")
    return number


def check_epsilon(value: object) -> float:
    """Return ``epsilon`` as a float; raise ValueError unless it lies in [0, inf)."""
    return check_nonnegative("epsilon", value)


def check_probability(value: object, name: str = "sampling_probability") -> float:
    """Return a probability as a float; raise ValueError unless it lies in (0, 1]."""
    number = _number(name, value, "(0, 1]")
    if not 0.0 < number <= 1.0:
        raise ValueError(f"{name} must lie in (0, 1], got {value!r}")
    return number


def check_nonnegative(name: str, value: object) -> float:
    """Return a float in [0, inf); raise ValueError otherwise (NaN and infinity included)."""
    number = _number(name, value, "[0, inf)")
    if not (math.isfinite(number) and number >= 0.0):
        raise ValueError(f"{name} must lie in [0, inf), got {value!r}")
    return number


def check_positive(name: str, value: object) -> float:
    """Return a float in (0, inf); raise ValueError otherwise."""
    number = _number(name, value, "(0, inf)")
    if not (math.isfinite(number) and number > 0.0):
        raise ValueError(f"{name} must lie in (0, inf), got {value!r}")
    return number


def check_gdp_mu(value: object) -> float:
    """Return ``gdp_mu`` as a float; raise ValueError unless it lies in [0, inf)."""
    return check_nonnegative("gdp_mu", value)


def check_count(value: object, name: str = "count", minimum: int = 1) -> int:
    """Return a whole number of at least ``minimum``; raise ValueError otherwise."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} must be a whole number of at least {minimum}, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value!r}")
    return int(value)


def check_sigmas(values: object, name: str = "sigmas") -> torch.Tensor:
    """Return a noise grid as a float64 tensor; raise ValueError unless it is non-empty, positive and decreasing."""
    if isinstance(values, torch.Tensor):
        sigmas = values.detach().to(torch.float64)
    elif isinstance(values, (Sequence, np.ndarray)):
        sigmas = torch.as_tensor(np.asarray(values, dtype=np.float64))
    else:
        raise ValueError(f"{name} must be a one-dimensional sequence of noise levels, got {values!r}")
    if sigmas.ndim != 1 or sigmas.numel() == 0:
        raise ValueError(f"{name} must be a non-empty one-dimensional sequence, got shape {tuple(sigmas.shape)}")
    if not bool(torch.isfinite(sigmas).all()) or not bool((sigmas > 0).all()):
        raise ValueError(f"{name} must be finite and positive, got {sigmas.tolist()}")
    if sigmas.numel() > 1 and not bool((sigmas[1:] < sigmas[:-1]).all()):
        raise ValueError(f"{name} must be strictly decreasing, got {sigmas.tolist()}")
    return sigmas
