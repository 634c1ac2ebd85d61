"""``make train-text-to-image``: train the bundled text-to-image model, or go on where it stopped.

Three parts, one after the other: the vocabulary (seconds), the autoencoder (about 20 minutes of one core), text encoder
and U-Net (about an hour and a half). Checkpoints and logs lie under ``_build/training/text_to_image*``; Ctrl-C, a
crash or the end of a machine loses at most five minutes. The finished pipeline replaces the one in
``privlib/assets/text_to_image``. ``--preview`` trains nothing and ships nothing: it draws with the last checkpoint.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from PIL import Image
from torchvision.utils import make_grid
from tqdm import tqdm

from privlib.data.images import to_bytes
from privlib.data.recolour import PAIRS
from privlib.denoisers.text_to_image import save_text_to_image
from privlib.training.command import report
from privlib.training.resumable import Progress, last_average
from privlib.training.text_to_image.assemble import assemble
from privlib.training.text_to_image.autoencoder import build_autoencoder, finish, reconstruction_psnr, train_autoencoder
from privlib.training.text_to_image.captions import Captioned, caption, load_pictures_and_glyphs, split_novel
from privlib.training.text_to_image.diffusion import build_text_to_latent, train_diffusion
from privlib.training.text_to_image.evaluate import Question, measure, questions
from privlib.training.text_to_image.recipe import RECIPE
from privlib.training.text_to_image.vocabulary import learn_merges, write_tokenizer

if TYPE_CHECKING:
    from transformers import CLIPTokenizer

RUNS = Path("_build/training")
VOCABULARY, AUTOENCODER, DIFFUSION = (RUNS / f"text_to_image{part}" for part in ("_vocabulary", "_autoencoder", ""))


def follow(name: str, total: int) -> Progress:
    """A progress bar in the terminal, as what ``fit`` calls."""
    bar = tqdm(total=total, unit="image", desc=name, dynamic_ncols=True, mininterval=2.0)

    def progress(images: int, loss: float, measured: dict | None) -> None:
        bar.update(images - bar.n)
        bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
        if images >= total:
            bar.close()

    return progress


def words_of(pictures: Captioned) -> list[str]:
    """What the vocabulary is learned from: two wordings for each picture, and the names of colours."""
    rows = list(zip(pictures.styles, pictures.names, strict=True))
    colours = [caption("carbon", "cat", index, 8) for index in range(len(PAIRS))]
    return colours + [caption(style, name, -1, wording) for style, name in rows for wording in (0, 4)]


def learn_tokenizer(pictures: Captioned) -> CLIPTokenizer:
    """The tokenizer of the pictures' words, which it also writes to ``VOCABULARY``."""
    merges = learn_merges(words_of(pictures), RECIPE.vocabulary_size)
    return write_tokenizer(merges, VOCABULARY, max_tokens=RECIPE.max_tokens)


def card_of(pictures: Captioned, accuracy: dict[str, dict[str, float]], psnr: float) -> dict[str, object]:
    """What the model card says."""
    return {
        "name": "text_to_image",
        "what": "Stable Diffusion pipeline of 32-pixel icons, for the privlib book; load it with diffusers",
        "prompts": [caption("noto", "cat", -1, 4), caption("game", "dragon", PAIRS.index(("white", "blue")), 4)],
        "limits": "icons of the named styles; words that no caption has give nothing to rely on; no photographs",
        "licence": "Apache-2.0 for the weights; the pictures keep their own, see ATTRIBUTION.md of the two sets",
        "public": True,
        "pictures": len(pictures),
        "styles": sorted(set(pictures.styles)),
        "data_sha256": pictures.sha256(),
        "recipe": RECIPE.to_dict(),
        "autoencoder_psnr_db": round(psnr, 2),
        "retrieval_accuracy": accuracy,
        "retrieval_note": "nearest in pixels among so many candidates; guidance 4, 25 steps, one image a prompt",
        "torch": torch.__version__.partition("+")[0],
    }


def write_sheet(images: dict[str, torch.Tensor], asked: dict[str, Question], path: Path, *, columns: int = 20) -> None:
    """A PNG with, for each question, rows of pictures that answer the prompts above rows of what was drawn."""
    rows = []
    for name, drawn in images.items():
        for start in range(0, min(len(drawn), 2 * columns), columns):
            rows += [asked[name].references[start : start + columns], drawn[start : start + columns]]
    cells = torch.cat([torch.cat([row, torch.ones(columns - len(row), *row.shape[1:])]) for row in rows])
    grid = make_grid(to_bytes(cells), nrow=columns, padding=2, pad_value=255)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(grid.permute(1, 2, 0).numpy()).resize(
        (2 * grid.shape[2], 2 * grid.shape[1]), Image.Resampling.NEAREST
    ).save(path)


def preview(path: Path) -> Path:
    """Draw with the last checkpoint, whatever it can do so far, and write the sheet to ``path``, which it returns."""
    known, novel = split_novel(load_pictures_and_glyphs())
    tokenizer = learn_tokenizer(known)
    autoencoder, _ = last_average(build_autoencoder(RECIPE), AUTOENCODER)
    finish(autoencoder, RECIPE, known)
    networks, steps = last_average(build_text_to_latent(RECIPE, tokenizer), DIFFUSION)
    asked = questions(known, novel)
    accuracy, drawn = measure(assemble(tokenizer, autoencoder, networks), asked)
    write_sheet(drawn, asked, path)
    sys.stderr.write(f"{steps * RECIPE.diffusion.batch_size:,} images; retrieval accuracy {json.dumps(accuracy)}\n")
    return path


def run(device: str) -> Path:
    """Train everything to its end, measure it and ship it; returns the folder of the pipeline."""
    known, novel = split_novel(load_pictures_and_glyphs())
    tokenizer = learn_tokenizer(known)
    bar = follow("autoencoder", RECIPE.autoencoder.total_images)
    autoencoder = train_autoencoder(RECIPE, known, AUTOENCODER, device=device, progress=bar)
    bar = follow("text to image", RECIPE.diffusion.total_images)
    networks = train_diffusion(RECIPE, known, tokenizer, autoencoder, DIFFUSION, device=device, progress=bar)
    pipeline, asked = assemble(tokenizer, autoencoder, networks), questions(known, novel)
    accuracy, drawn = measure(pipeline, asked)
    write_sheet(drawn, asked, DIFFUSION / "sheet.png")
    psnr = reconstruction_psnr(autoencoder, asked["novel_styles"].references)
    return save_text_to_image(pipeline, VOCABULARY, card_of(known, accuracy, psnr))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m privlib.training.text_to_image", description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="where to train")
    parser.add_argument("--preview", metavar="PNG", type=Path, help="draw with the last checkpoint and train nothing")
    arguments = parser.parse_args()
    if arguments.preview:
        return report(lambda: [preview(arguments.preview)])
    return report(lambda: [run(arguments.device)])


if __name__ == "__main__":
    sys.exit(main())
