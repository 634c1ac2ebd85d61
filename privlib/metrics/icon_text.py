"""IconText: a small model of images and captions, trained here on the public icons; the offline stand-in for CLIP.

An ``open_clip.CLIP`` of the same kind as the released ones, a residual network and a text transformer that meet in one
space, about sixty times smaller and trained on nine thousand icons. It orders pictures of icons by what they show
and tells which caption belongs to one; it has seen no photograph, and its distances are not CLIP's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from open_clip import CLIP
from open_clip.model import set_model_preprocess_cfg
from open_clip.tokenizer import SimpleTokenizer

from privlib.data.locate import ASSETS, DataError
from privlib.denoisers.shipped import load_shipped, save_shipped
from privlib.metrics.clip import Clip

FOLDER = ASSETS / "clip"

NAME = "icon_text"

STAND_IN_FOR = "CLIP ViT-B/32"

#: Arguments of ``open_clip.CLIP``. The image tower is the residual network of the CLIP paper, made narrow; icons of 32
#: pixels are doubled, since it halves its input five times.
CONFIG = {
    "embed_dim": 128,
    "vision_cfg": {"layers": [1, 2, 2, 1], "width": 16, "head_width": 64, "image_size": 64},
    "text_cfg": {"context_length": 24, "vocab_size": 4096, "width": 128, "heads": 4, "layers": 2},
}

#: How an image is prepared, as open_clip writes it down.
PREPROCESSING = {
    "size": (64, 64),
    "mean": (0.7, 0.7, 0.65),
    "std": (0.33, 0.3, 0.33),
    "interpolation": "bilinear",
    "resize_mode": "squash",
}


class ShortTokenizer(SimpleTokenizer):
    """The tokenizer of CLIP with its most frequent merges only: the first that fit into ``vocab_size`` tokens.

    Words that are rarer come in more pieces, down to single bytes, so every text still has tokens.
    """

    def __init__(self, vocab_size: int, *, context_length: int) -> None:
        super().__init__(context_length=context_length)
        letters = [token for token, index in self.encoder.items() if index < 512]
        merges = list(self.bpe_ranks)[: vocab_size - len(letters) - len(self.all_special_ids)]
        special = [self.decoder[index] for index in self.all_special_ids]
        vocabulary = [*letters, *("".join(merge) for merge in merges), *special]
        self.bpe_ranks = {merge: rank for rank, merge in enumerate(merges)}
        self.encoder = {token: index for index, token in enumerate(vocabulary)}
        self.decoder = dict(enumerate(vocabulary))
        self.vocab_size = len(vocabulary)
        self.all_special_ids = [self.encoder[token] for token in special]
        self.sot_token_id, self.eot_token_id = self.all_special_ids


def build_icon_text(config: Mapping[str, object] = CONFIG) -> Clip:
    """The model with fresh weights from torch's global generator, and its tokenizer; in training mode."""
    text = config["text_cfg"]
    model = CLIP(**config)
    set_model_preprocess_cfg(model, PREPROCESSING)
    tokenizer = ShortTokenizer(text["vocab_size"], context_length=text["context_length"])
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return Clip(f"IconText ({parameters / 1e6:.1f} M, trained on icons)", model, tokenizer, stand_in_for=STAND_IN_FOR)


def save_icon_text(clip: Clip, card: Mapping[str, object], *, name: str = NAME, folder: Path = FOLDER) -> Path:
    """Write ``<name>.safetensors`` (float16) and ``<name>.json``, the card with the checksum of the weights.

    Args:
        clip: what to ship; of the architecture CONFIG.
        card: what a reader needs to know: data, recipe, accuracy, licence; plain values.
        name: of the files.
        folder: where they go.

    Returns:
        the path of the weights.

    Raises:
        ValueError: a weight that half precision cannot hold.
    """
    full = {"name": clip.name, "stand_in_for": clip.stand_in_for, **card}
    return save_shipped(clip.model.state_dict(), full, name, folder)


def read_card(*, name: str = NAME, folder: Path = FOLDER) -> dict[str, object]:
    """The model card: data, recipe, retrieval accuracy, licence, checksum.

    Raises:
        DataError: there is none.
    """
    path = folder / f"{name}.json"
    if not path.is_file():
        raise DataError(f"{path} is missing; make it with: make train-clip")
    return json.loads(path.read_text(encoding="utf-8"))


def load_icon_text(*, name: str = NAME, folder: Path = FOLDER, device: str | torch.device = "cpu") -> Clip:
    """The shipped model in evaluation mode, float32, without gradients.

    Args:
        name: of the files.
        folder: where they lie.
        device: where it runs.

    Raises:
        DataError: weights that are missing, or whose checksum, keys or shapes are not those of the card.

    Cost: 0.1 s to load; about 1 ms an image on one core.
    """
    weights = load_shipped(read_card(name=name, folder=folder), name, folder)
    with torch.random.fork_rng(devices=[]):
        clip = build_icon_text()
    try:
        # Counters of batch normalisation stay whole numbers, the rest becomes float32 in its place.
        clip.model.load_state_dict(weights)
    except RuntimeError as error:
        raise DataError(f"{folder / name}.safetensors does not fit the network of this version: {error}") from error
    clip.model.eval().requires_grad_(False).to(device)
    return clip
