"""Does it draw what it is asked for? Retrieval of the pictures behind the prompts, known ones and new combinations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from privlib.denoisers.pipelines import without_bars
from privlib.denoisers.text_to_image import generate, retrieval_accuracy
from privlib.training.text_to_image.captions import PLAIN, Captioned, Views, caption, draw_views, render

if TYPE_CHECKING:
    from diffusers import StableDiffusionPipeline

#: Prompts of each question, and candidates of each choice; chance is one in as many.
COUNT, AMONG = 100, (20, 100)

#: Wording of every prompt: "icon of cat in the style of noto".
WORDING = 4


@dataclass(frozen=True)
class Question:
    """Prompts, and the pictures that answer them: float32 on the unit scale, shape (n, 3, 32, 32)."""

    prompts: tuple[str, ...]
    references: torch.Tensor


def questions(known: Captioned, novel: Captioned, *, seed: int = 0) -> dict[str, Question]:
    """The questions by name, ``COUNT`` prompts each (fewer of novel styles where there are fewer), names all different.

    ``pictures``: pictures in colour that were trained on, of all styles. ``glyphs``: glyphs that were trained on, black
    on white, so that only the shape tells them apart. ``novel_colours``: such glyphs in pairs of colours that were
    never trained on. ``novel_styles``: things that were trained on in other styles, but not in this one.
    """
    generator = torch.Generator().manual_seed(seed)
    chosen = {
        "pictures": (known, _different(known, (~known.is_glyph).nonzero()[:, 0], generator)),
        "glyphs": (known, _different(known, known.is_glyph.nonzero()[:, 0], generator)),
        "novel_styles": (novel, _different(novel, (~novel.is_glyph).nonzero()[:, 0], generator)),
    }
    asked = {name: _question(source, _still(source, picks)) for name, (source, picks) in chosen.items()}
    picks = chosen["glyphs"][1]
    coloured = draw_views(known.is_glyph, picks, generator, shift=0, novel=True)
    return asked | {
        "novel_colours": _question(known, Views(picks, coloured.move, coloured.colours, 0 * coloured.jitter))
    }


def measure(
    pipeline: StableDiffusionPipeline, asked: dict[str, Question], *, guidance: float = 4.0, num_steps: int = 25
) -> tuple[dict[str, dict[str, float]], dict[str, torch.Tensor]]:
    """Retrieval accuracy in pixels for each question and number of candidates, and the images that were drawn.

    Returns:
        ``{"glyphs": {"20": 0.4, "100": 0.2}, ...}`` and images by question. About half a minute a question.
    """
    accuracy, images = {}, {}
    for name, question in asked.items():
        count = len(question.prompts)
        with without_bars():  # a prompt that is too long is cut, as it was in training
            images[name] = generate(
                pipeline, question.prompts, seeds=range(count), guidance=guidance, num_steps=num_steps
            )
        accuracy[name] = {
            str(among): retrieval_accuracy(images[name], question.references, among=among)
            for among in (min(size, count) for size in AMONG)
        }
    return accuracy, images


def _different(pictures: Captioned, among: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Up to ``COUNT`` of the pictures at the indices ``among``, at random, no name twice."""
    order = among[torch.randperm(len(among), generator=generator)].tolist()
    first = {pictures.names[i]: i for i in reversed(order)}
    return torch.tensor(sorted(first.values(), key=order.index)[:COUNT])


def _still(pictures: Captioned, picks: torch.Tensor) -> Views:
    """Views without moves, glyphs in plain black on white."""
    colours = torch.where(pictures.is_glyph[picks], PLAIN, -1)
    zero = torch.zeros((len(picks), 2, 3), dtype=torch.int64)
    return Views(picks, zero[:, :, 0], colours, zero)


def _question(pictures: Captioned, views: Views) -> Question:
    rows = zip(views.picture.tolist(), views.colours.tolist(), strict=True)
    prompts = tuple(caption(pictures.styles[i], pictures.names[i], colours, WORDING) for i, colours in rows)
    return Question(prompts, render(pictures.pixels, views))
