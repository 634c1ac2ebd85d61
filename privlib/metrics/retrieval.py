"""How well a model of images and texts finds the caption of an image among others."""

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
    check_count(candidates, "candidates", 5)
    if not data.captions:
        raise ValueError(f"data must have captions, {data.name} has none")
    texts = list(dict.fromkeys(data.captions))
    place = {text: i for i, text in enumerate(texts)}
    own = torch.tensor([place[caption] for caption in data.captions])
    scores = normalize(clip(data.unit()), dim=1) @ embed_texts(clip, texts).T
    generator = torch.Generator().manual_seed(seed)
    pools = {label: own[data.labels == label].unique() for label in data.labels.unique().tolist()}
    ranks = []
    for image, label in enumerate(data.labels.tolist()):
        pool = pools[label] if same_label else torch.arange(len(texts))
        others = pool[pool != own[image]]
        if len(others) < candidates - 1:
            continue
        drawn = others[torch.randperm(len(others), generator=generator)[: candidates - 1]]
        ranks.append(int((scores[image, drawn] >= scores[image, own[image]]).sum()))
    if not ranks:
        raise ValueError(f"candidates must not exceed the different captions to draw from, got {candidates}")
    places = torch.tensor(ranks)
    top1, top5 = (float((places < best).to(torch.float64).mean()) for best in (1, 5))
    return Retrieval(top1, top5, candidates, len(ranks))
