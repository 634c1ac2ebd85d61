"""One measurement in a process of its own: a JSON request on stdin, a JSON answer as the last line of stdout."""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys
import time
from collections.abc import Callable

import torch

from privlib.denoisers.blocks import Blocks
from privlib.denoisers.empirical import EmpiricalDenoiser
from tests.benchmarks.denoiser.methods import BLOCK_METHODS, METHODS, Method, images
from tests.benchmarks.worker import forget_peak, process_bytes


def noisy(data: torch.Tensor, batch: int, sigma: float) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    chosen = data[torch.randint(len(data), (batch,), generator=generator)]
    return chosen + sigma * torch.randn(chosen.shape, generator=generator)


def _rounds(methods: dict[str, Method], inputs: Callable[[], torch.Tensor], sigma: float, count: int) -> dict:
    """Shortest wall time of each method, the methods taking turns so that what else the machine does hits all alike."""
    x, seconds = inputs(), {name: [] for name in methods}
    for _ in range(count):
        for name, method in methods.items():
            start = time.perf_counter()
            method(x, sigma)
            seconds[name].append(time.perf_counter() - start)
    return {name: min(times) for name, times in seconds.items()}


def speed(records: int, batch: int, sigmas: list[float], methods: list[str], rounds: int) -> dict:
    """Seconds of each method at each sigma: {sigma: {method: seconds}}."""
    data = images(records).unit().flatten(1)
    made = {name: METHODS[name](data) for name in methods}
    for method in made.values():
        method(data[:2], 1.0)
    return {str(s): _rounds(made, lambda s=s: noisy(data, batch, s), s, rounds) for s in sigmas}


def accuracy(records: int, batch: int, sigmas: list[float], methods: list[str]) -> dict:
    """Largest relative error of a row against direct float64 distances: {sigma: {method: error}}.

    Half of the records are copies of the other half at most two sigma away, so that the posterior is undecided.
    """
    half = images(records // 2).unit().flatten(1)
    errors = {}
    for sigma in sigmas:
        away = torch.randn(half.shape, generator=torch.Generator().manual_seed(2)) / half.shape[1] ** 0.5
        data = torch.cat([half, (half + 2.0 * sigma * away * torch.linspace(0, 1, len(half))[:, None])])
        x = noisy(data, batch, sigma)
        exact = data.double()
        squared = torch.stack([(exact - point).square().sum(dim=1) for point in x.double()])
        expected = (squared / (-2.0 * sigma**2)).softmax(dim=1) @ exact
        off = {name: (METHODS[name](data)(x, sigma).double() - expected).norm(dim=1) for name in methods}
        errors[str(sigma)] = {name: (norm / expected.norm(dim=1)).max().item() for name, norm in off.items()}
    return errors


def memory(records: int, batch: int, sigma: float, method: str) -> dict:
    """Bytes at most beyond the data while a method is made and called, and the seconds of the shorter of two calls.

    ``ours_bytes`` is given bytes and no float32 tensor, so that 400,000 records fit.
    """
    stored = images(records)
    small = images(64).unit().flatten(1)
    METHODS[method](small)(small[:2], 1.0)
    x = noisy(stored.subset(range(min(records, 4096))).unit().flatten(1), batch, sigma)
    if method == "ours_bytes":
        x = x.reshape(batch, *stored.image_shape)
        make, data = EmpiricalDenoiser, stored
    else:
        make, data = METHODS[method], stored.unit().flatten(1)
        del stored
    _give_back()
    forget_peak()
    before = process_bytes("VmRSS")
    seconds = _rounds({method: make(data)}, lambda: x, sigma, 2)
    return {"bytes": max(0, process_bytes("VmHWM") - before), "seconds": seconds[method]}


def _give_back() -> None:
    """Return freed memory to the system (glibc), lest a method use it again and seem to take none."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def blocks(records: int, batch: int, width: int, sigma: float, rounds: int) -> dict:
    """Seconds of each way to handle a batch of different blocks, and their largest error: {method: {...}}."""
    data = images(records).unit().flatten(1)
    generator = torch.Generator().manual_seed(3)
    index = torch.stack([torch.randperm(records, generator=generator)[:width] for _ in range(batch)])
    made = {name: make(data, Blocks(index)) for name, make in BLOCK_METHODS.items()}
    x = data[index[:, 0]] + sigma * torch.randn(batch, data.shape[1], generator=generator)
    seconds = _rounds(made, lambda: x, sigma, rounds)
    rows = []
    for point, chosen in zip(x.double(), index, strict=True):
        chosen = data[chosen].double()
        rows.append(((chosen - point).square().sum(dim=1) / (-2.0 * sigma**2)).softmax(dim=0) @ chosen)
    expected = torch.stack(rows)
    norm = expected.norm(dim=1)
    return {
        name: {
            "seconds": seconds[name],
            "error": ((method(x, sigma).double() - expected).norm(dim=1) / norm).max().item(),
        }
        for name, method in made.items()
    }


TASKS = {f.__name__: f for f in (speed, accuracy, memory, blocks)}

if __name__ == "__main__":
    request = json.load(sys.stdin)
    torch.set_num_threads(request["threads"])
    reply = TASKS[request["task"]](**request["arguments"])
    print("\n" + json.dumps(reply))
