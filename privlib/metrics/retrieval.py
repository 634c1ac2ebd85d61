"""How well features find what belongs together: the caption of an image, or a second drawing of the same thing."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn.functional import normalize

from privlib.data.images import ImageSet
from privlib.metrics.clip import Clip
from privlib.numerics import check_count


@dataclass(frozen=True)
class Retrieval:
    """How often the right caption comes first, or among the first five.

    Attributes:
        top1, top5: fractions of the images.
        candidates: captions to choose from; a guess has top1 1 / candidates and top5 5 / candidates.
        num_images: images that were scored.
    """

    top1: float
    top5: float
    candidates: int
    num_images: int


def embed_texts(clip: Clip, texts: list[str], *, chunk: int = 256) -> torch.Tensor:
    """Embeddings of texts, float32, shape (n, d), of unit length, without gradients, on the model's device."""
    device = next(clip.model.parameters()).device
    with torch.no_grad():
        parts = [
            clip.model.encode_text(clip.tokenizer(texts[start : start + chunk]).to(device)).float()
            for start in range(0, len(texts), chunk)
        ]
    return normalize(torch.cat(parts), dim=1)


@dataclass(frozen=True)
class Ranked:
    """An image's place and the captions that it was ranked among.

    Attributes:
        image: index of the image.
        rank: how many other captions score at least as high as its own; 0 is right.
        own, best: its own caption, and the one that scores highest.
    """

    image: int
    rank: int
    own: str
    best: str


def rank_captions(
    clip: Clip, data: ImageSet, *, candidates: int = 100, same_label: bool = False, seed: int = 0
) -> list[Ranked]:
    """Rank each image's own caption as ``caption_retrieval`` does, which describes the arguments and errors."""
    check_count(candidates, "candidates", 5)
    if not data.captions:
        raise ValueError(f"data must have captions, {data.name} has none")
    texts = list(dict.fromkeys(data.captions))
    place = {text: i for i, text in enumerate(texts)}
    own = torch.tensor([place[caption] for caption in data.captions])
    embedded = embed_texts(clip, texts)
    scores = (normalize(clip(data.unit()).to(embedded.device), dim=1) @ embedded.T).cpu()
    generator = torch.Generator().manual_seed(seed)
    pools = {label: own[data.labels == label].unique() for label in data.labels.unique().tolist()}
    ranked = []
    for image, label in enumerate(data.labels.tolist()):
        pool = pools[label] if same_label else torch.arange(len(texts))
        others = pool[pool != own[image]]
        if len(others) < candidates - 1:
            continue
        drawn = others[torch.randperm(len(others), generator=generator)[: candidates - 1]]
        rank = int((scores[image, drawn] >= scores[image, own[image]]).sum())
        best = own[image] if rank == 0 else drawn[scores[image, drawn].argmax()]
        ranked.append(Ranked(image, rank, texts[own[image]], texts[best]))
    if not ranked:
        raise ValueError(f"candidates must not exceed the different captions to draw from, got {candidates}")
    return ranked


def caption_retrieval(
    clip: Clip, data: ImageSet, *, candidates: int = 100, same_label: bool = False, seed: int = 0
) -> Retrieval:
    """For each image, rank its own caption among ``candidates`` captions by the cosine with the image.

    Args:
        clip: the model, in evaluation mode.
        data: images with captions.
        candidates: the image's own caption and so many less one of other images, drawn without repetition from those
            that read differently; at least 5.
        same_label: draw them from images of the same label, so that what tells labels apart (a style) is of no help.
            Images whose label has too few captions are left out.
        seed: of the draw.

    Raises:
        ValueError: images without captions, or too few different captions everywhere.

    Ties count against the model. Cost: one pass over images and captions.
    """
    ranked = rank_captions(clip, data, candidates=candidates, same_label=same_label, seed=seed)
    places = torch.tensor([image.rank for image in ranked])
    top1, top5 = (float((places < best).to(torch.float64).mean()) for best in (1, 5))
    return Retrieval(top1, top5, candidates, len(ranked))


def pair_retrieval(first: torch.Tensor, second: torch.Tensor) -> float:
    """How often row i of ``first`` is nearest, by the cosine, to row i of ``second`` among all rows of it.

    Args:
        first, second: features of two drawings of the same n things, shape (n, d). A guess is right once in n times.

    Raises:
        ValueError: shapes that differ, or fewer than two rows.
    """
    if first.ndim != 2 or first.shape != second.shape or len(first) < 2:
        raise ValueError(
            f"first and second must both have shape (n, d) with n at least 2, "
            f"got {tuple(first.shape)} and {tuple(second.shape)}"
        )
    cosines = normalize(first.double(), dim=1) @ normalize(second.double(), dim=1).T
    return float((cosines.argmax(1) == torch.arange(len(first), device=first.device)).to(torch.float64).mean())
