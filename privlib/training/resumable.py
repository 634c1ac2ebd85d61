"""Train anything for a given number of images: AdamW, an average of the weights, runs that can be broken off."""

from __future__ import annotations

import copy
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import torch

from privlib.data.locate import DataError
from privlib.training.loop import learning_rate

#: Seconds between checkpoints, whatever the number of images: what an interruption costs at most.
MAX_SECONDS = 300.0


class Settings(Protocol):
    """What ``fit`` reads of a recipe; ``Stage`` and ``Recipe`` say what each means."""

    total_images: int
    batch_size: int
    learning_rate: float
    warmup_images: int
    decay_fraction: float
    ema_halflife: int
    save_every: int


def replace_file(path: Path, write: Callable[[Path], None]) -> None:
    """Write beside ``path``, then rename: a reader sees the old file or the new one, never half of one."""
    part = path.with_name(path.name + ".part")
    write(part)
    os.replace(part, path)


def last_average(network: torch.nn.Module, folder: Path) -> tuple[torch.nn.Module, int]:
    """Put the average of the weights of the last checkpoint in ``folder`` into ``network``; also the steps it took.

    Raises:
        DataError: no checkpoint yet.
    """
    path = folder / "state.pt"
    if not path.exists():
        raise DataError(f"there is no checkpoint in {folder} yet")
    state = torch.load(path, weights_only=True, map_location="cpu")
    network.load_state_dict(state["average"])
    return network.eval().requires_grad_(False), state["step"]


def fit(
    network: torch.nn.Module,
    loss_of: Callable[[torch.nn.Module, int], torch.Tensor],
    settings: Settings,
    folder: Path,
    *,
    key: object,
    device: str | torch.device = "cpu",
    progress: Callable[[int, float], None] = lambda images, loss: None,
) -> torch.nn.Module:
    """Train ``network``, or go on from the last checkpoint in ``folder``; interruptions leave no trace in the result.

    Args:
        network: what is trained, with its first weights.
        loss_of: ``loss_of(network, step)``, a scalar under bfloat16 autocast. It must depend on nothing else that
            changes: draws come from generators seeded by the step.
        settings: length, rates and intervals.
        folder: where ``state.pt`` and ``log.jsonl`` are kept.
        key: plain values that say which run this is: recipe, data.
        device: where to train.
        progress: called after every step with images seen and the loss.

    Returns:
        the average of the weights, in evaluation mode and without gradients, on the CPU.

    Raises:
        ValueError: a checkpoint in ``folder`` from another run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    device = torch.device(device)
    network = network.to(device).train()
    average = copy.deepcopy(network).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.0, betas=(0.9, 0.99), weight_decay=0.01)
    words, state_file, step = json.dumps(key, sort_keys=True), folder / "state.pt", 0
    if state_file.exists():
        state = torch.load(state_file, weights_only=True, map_location=device)
        if state["key"] != words:
            raise ValueError(f"{state_file} belongs to another recipe or other data; train in another folder")
        network.load_state_dict(state["network"])
        average.load_state_dict(state["average"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]

    def save() -> None:
        state = {"key": words, "network": network.state_dict(), "average": average.state_dict()}
        state |= {"optimizer": optimizer.state_dict(), "step": step}
        replace_file(state_file, lambda path: torch.save(state, path))

    images, saved, losses = step * settings.batch_size, time.monotonic(), []
    while images < settings.total_images:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(settings, images + settings.batch_size)
        with torch.autocast(device.type, torch.bfloat16):
            loss = loss_of(network, step)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step, images = step + 1, images + settings.batch_size
        weight = 1.0 - 0.5 ** (settings.batch_size / min(settings.ema_halflife, 0.05 * images))
        with torch.no_grad():
            for kept, current in zip(average.parameters(), network.parameters(), strict=True):
                kept.lerp_(current, weight)
        losses.append(loss.item())
        if images % settings.save_every < settings.batch_size or images >= settings.total_images:
            with (folder / "log.jsonl").open("a") as log:
                log.write(json.dumps({"images": images, "loss": sum(losses) / len(losses)}) + "\n")
            losses = []
            save()
            saved = time.monotonic()
        elif time.monotonic() - saved > MAX_SECONDS:
            save()
            saved = time.monotonic()
        progress(images, loss.item())
    return average.to("cpu")
