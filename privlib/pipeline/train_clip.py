"""``make train-clip``: train the small model of icons and captions that stands in for CLIP, or go on where it stopped.

A run keeps its checkpoint and its log under ``_build/training/icon_text/``; Ctrl-C loses at most the images since the
last checkpoint. The finished weights replace those in ``privlib/assets/clip``.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict, replace
from pathlib import Path

import torch
from tqdm import tqdm

from privlib.data.icons import join, load_captioned, load_emoji_by_style, load_glyphs, load_pictures
from privlib.data.images import ImageSet
from privlib.metrics.clip import Clip
from privlib.metrics.icon_text import CONFIG, FOLDER, NAME, PREPROCESSING, build_icon_text, save_icon_text
from privlib.metrics.retrieval import caption_retrieval
from privlib.training.command import report
from privlib.training.contrastive import ContrastiveRecipe, bare_name, train_contrastive

RUNS = Path("_build/training")


def retrievals(clip: Clip, data: ImageSet) -> dict[str, dict[str, float]]:
    """Retrieval among 100 captions of all styles, of the image's style, and of the style with nothing but names."""
    bare = replace(data, captions=tuple(map(bare_name, data.captions)))
    return {
        "any style": asdict(caption_retrieval(clip, data)),
        "same style": asdict(caption_retrieval(clip, data, same_label=True)),
        "same style, names only": asdict(caption_retrieval(clip, bare, same_label=True)),
    }


def run(recipe: ContrastiveRecipe, *, name: str, runs: Path, folder: Path) -> Path:
    """Train to the end and ship the weights; returns their path."""
    torch.manual_seed(recipe.seed)
    clip = build_icon_text()
    pictures = join("pictures", [load_pictures("public"), load_emoji_by_style("public")])
    glyphs, held_out = load_glyphs("public"), load_captioned("public_held_out")
    seen = load_captioned("public").draw(len(held_out), seed=0)
    with tqdm(total=recipe.total_images, unit="image", desc=name, dynamic_ncols=True) as bar:

        def progress(images: int, loss: float, accuracy: dict[str, float] | None) -> None:
            bar.update(images - bar.n)
            if accuracy is not None:
                bar.set_postfix(loss=f"{loss:.3f}", **{key: f"{value:.3f}" for key, value in accuracy.items()})

        def evaluate() -> dict[str, float]:
            found = caption_retrieval(clip, held_out, same_label=True)
            return {"top1": found.top1, "top5": found.top5}

        images = train_contrastive(
            clip.model,
            clip.tokenizer,
            pictures,
            glyphs,
            recipe,
            runs / name,
            normalisation=(PREPROCESSING["mean"], PREPROCESSING["std"]),
            side=PREPROCESSING["size"][0],
            evaluate=evaluate,
            progress=progress,
        )
    card = {
        "what": "Model of images and texts trained on captioned icons and emoji; the stand-in for CLIP in this book",
        "licence": "Apache-2.0 for the weights; the training images keep their own, see the book's page on data",
        "network": CONFIG,
        "recipe": recipe.to_dict(),
        "data": {part.name: part.sha256 for part in (pictures, glyphs)},
        "images_seen": images,
        "retrieval": {"held out": retrievals(clip, held_out), "public": retrievals(clip, seen)},
        "torch": torch.__version__.partition("+")[0],
    }
    return save_icon_text(clip, card, name=name, folder=folder)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m privlib.pipeline.train_clip", description=__doc__.partition(":")[0]
    )
    parser.add_argument("--images", type=int, default=ContrastiveRecipe.total_images, help="images seen in the run")
    parser.add_argument("--runs", type=Path, default=RUNS, help="where the checkpoint lies")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the weights go")
    arguments = parser.parse_args()
    recipe = ContrastiveRecipe(total_images=arguments.images)
    return report(lambda: [run(recipe, name=NAME, runs=arguments.runs, folder=arguments.folder)])


if __name__ == "__main__":
    sys.exit(main())
