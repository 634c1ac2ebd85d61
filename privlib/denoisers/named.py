"""One name for every neural denoiser, shipped or published, as the parameters of a notebook give it."""

from __future__ import annotations

from pathlib import Path

from privlib.denoisers.checkpoints import load_denoiser, read_card
from privlib.denoisers.neural import NeuralDenoiser
from privlib.denoisers.published import PublishedDenoiser, load_published, published_sha256


def load_named(name: str) -> NeuralDenoiser | PublishedDenoiser:
    """The denoiser that ``name`` stands for, in evaluation mode, on the CPU, without gradients.

    Args:
        name: of shipped weights, such as ``emoji``; or, with a slash in it, what ``published.load_published`` takes: a
            hub name such as ``google/ddpm-cifar10-32`` or the path of a folder.

    Raises:
        DataError: as ``checkpoints.load_denoiser`` and ``published.load_published``.
    """
    return load_published(name) if is_published(name) else load_denoiser(name)


def card_of(name: str) -> dict[str, object]:
    """What is known of the weights: the model card of shipped ones; ``name`` and ``sha256`` of published ones.

    Raises:
        DataError: no such weights.
    """
    if is_published(name):
        # A page shows no one's folders.
        return {"name": Path(name).name if Path(name).is_dir() else name, "sha256": published_sha256(name)}
    return read_card(name)


def is_published(name: str) -> bool:
    """Whether a name is that of a published checkpoint: shipped weights have no slash in theirs."""
    return "/" in name or Path(name).is_absolute()
