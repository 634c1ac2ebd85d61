"""Train anything for a given number of images: AdamW, an average of the weights, runs that can be broken off."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from privlib.data.locate import DataError
from privlib.files import replace_file

#: Seconds between checkpoints, whatever the number of images: what an interruption costs at most.
MAX_SECONDS = 300.0

#: Called after every step with images seen, the loss, and what was measured where something was.
Progress = Callable[[int, float, dict | None], None]


@dataclass(frozen=True)
class Stage:
    """One training run.

    Attributes:
        total_images: images seen, with repetition.
        batch_size: images in a step.
        learning_rate: of AdamW, reached after ``warmup_images`` and left over the last ``decay_fraction`` of the run
            for a straight line to zero.
        ema_halflife: images after which the average of the weights has forgotten half; shorter at the start.
        save_every: images between checkpoints.
        seed: of the weights, the order of the images and the noise.
    """

    total_images: int
    batch_size: int
    learning_rate: float
    warmup_images: int
    decay_fraction: float
    ema_halflife: int
    save_every: int
    seed: int = 0


def learning_rate(stage: Stage, images: int) -> float:
    """Straight up over the warm-up, constant, straight down to zero over the last ``decay_fraction`` of the run."""
    left = (stage.total_images - images) / (stage.decay_fraction * stage.total_images)
    return stage.learning_rate * max(0.0, min(1.0, images / stage.warmup_images, left))


def read_state(path: Path, key: str, device: str | torch.device = "cpu") -> dict | None:
    """The checkpoint at ``path``, or None if there is none.

    Raises:
        ValueError: it is one of another run.
    """
    if not path.exists():
        return None
    state = torch.load(path, weights_only=True, map_location=device)
    if state["key"] != key:
        raise ValueError(f"{path} belongs to another recipe or other data; train in another folder")
    return state


def write_log(folder: Path, images: int, loss: float, measured: dict | None) -> None:
    """One line more in ``log.jsonl``."""
    with (folder / "log.jsonl").open("a") as log:
        log.write(json.dumps({"images": images, "loss": loss, "measured": measured}) + "\n")


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
    stage: Stage,
    folder: Path,
    *,
    key: object,
    device: str | torch.device = "cpu",
    measure: Callable[[torch.nn.Module], dict] | None = None,
    progress: Progress = lambda images, loss, measured: None,
) -> torch.nn.Module:
    """Train ``network``, or go on from the last checkpoint in ``folder``; interruptions leave no trace in the result.

    Args:
        network: what is trained, with its first weights.
        loss_of: ``loss_of(network, step)``, a scalar under bfloat16 autocast. It must depend on nothing else that
            changes: draws come from generators seeded by the step.
        stage: length, rates and intervals.
        folder: where ``state.pt`` and ``log.jsonl`` are kept.
        key: plain values that say which run this is: recipe, data.
        device: where to train.
        measure: called with the average, on the CPU, every ``save_every`` images; its result is logged, and nothing is
            chosen by it.
        progress: called after every step.

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
    if state := read_state(state_file, words, device):
        network.load_state_dict(state["network"])
        average.load_state_dict(state["average"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]

    def save() -> None:
        state = {"key": words, "network": network.state_dict(), "average": average.state_dict()}
        state |= {"optimizer": optimizer.state_dict(), "step": step}
        replace_file(state_file, lambda path: torch.save(state, path))

    images, saved, losses = step * stage.batch_size, time.monotonic(), []
    while images < stage.total_images:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(stage, images + stage.batch_size)
        with torch.autocast(device.type, torch.bfloat16):
            loss = loss_of(network, step)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step, images = step + 1, images + stage.batch_size
        weight = 1.0 - 0.5 ** (stage.batch_size / min(stage.ema_halflife, 0.05 * images))
        with torch.no_grad():
            for kept, current in zip(average.parameters(), network.parameters(), strict=True):
                kept.lerp_(current, weight)
        losses.append(loss.item())
        measured = None
        if images % stage.save_every < stage.batch_size or images >= stage.total_images:
            save()
            measured = measure(average.to("cpu")) if measure else None
            average.to(device)
            write_log(folder, images, sum(losses) / len(losses), measured)
            saved, losses = time.monotonic(), []
        elif time.monotonic() - saved > MAX_SECONDS:
            save()
            saved = time.monotonic()
        progress(images, loss.item(), measured)
    return average.to("cpu")
