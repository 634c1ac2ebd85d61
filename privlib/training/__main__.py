"""``make train-public PROFILE=embedded|cifar10``: train the denoisers of a profile, or go on where it stopped.

A run keeps its checkpoint and its log under ``_build/training/<name>/``; Ctrl-C loses at most the images since the last
checkpoint. The finished weights replace those in ``privlib/assets/denoisers``; those that are not shipped go to
``_build/training/weights``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
from tqdm import tqdm

from privlib.data import load
from privlib.denoisers.checkpoints import FOLDER, load_denoiser, save_denoiser
from privlib.training.command import report
from privlib.training.loop import Trained, train
from privlib.training.members import split_members
from privlib.training.recipes import NOT_SHIPPED, PROFILES, RECIPES, Recipe

RUNS = Path("_build/training")


def card_of(recipe: Recipe, trained: Trained, data_sha256: str) -> dict[str, object]:
    """What the model card says besides the network and the checksum."""
    return {
        "what": "EDM-preconditioned U-Net, unconditional, average of the weights, for the privlib book",
        "licence": "Apache-2.0 for the weights; the training images keep their own, see the book's page on data",
        "public": recipe.public,
        "recipe": recipe.to_dict(),
        "data_sha256": data_sha256,
        "images_seen": trained.images,
        "held_out_mse": {str(sigma): loss for sigma, loss in trained.held_out.items()},
        "torch": torch.__version__.partition("+")[0],
    }


def folder_of(name: str) -> Path:
    """Where the finished weights of a recipe are kept."""
    return RUNS / "weights" if name in NOT_SHIPPED else FOLDER


def run(recipe: Recipe, device: str) -> Path:
    """Train one recipe to its end and keep the weights; returns their path."""
    data, held_out = load(recipe.data), load(recipe.held_out)
    if recipe.members:
        data, _ = split_members(data, recipe.members)
    initial = load_denoiser(recipe.initial, folder=folder_of(recipe.initial)) if recipe.initial else None
    with tqdm(total=recipe.total_images, unit="image", desc=recipe.name, dynamic_ncols=True) as bar:

        def progress(images: int, loss: float, losses: dict[float, float] | None) -> None:
            bar.update(images - bar.n)
            if losses is not None:
                bar.set_postfix(loss=f"{loss:.3f}", held_out=f"{losses[1.0]:.4f}")

        trained = train(recipe, data, held_out, RUNS / recipe.name, initial=initial, device=device, progress=progress)
    card = card_of(recipe, trained, data.sha256)
    return save_denoiser(trained.denoiser, recipe.name, card, folder=folder_of(recipe.name))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m privlib.training", description=__doc__.partition(":")[0])
    parser.add_argument("profile", choices=sorted(PROFILES), help="which denoisers: those that this profile uses")
    parser.add_argument("--only", choices=sorted(RECIPES), help="just one of them")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    names = [name for name in PROFILES[arguments.profile] if arguments.only in (None, name)]
    if not names:
        parser.error(
            f"{arguments.only} is not among the denoisers of {arguments.profile}: {PROFILES[arguments.profile]}"
        )
    return report(lambda: (run(RECIPES[name], arguments.device) for name in names))


if __name__ == "__main__":
    sys.exit(main())
