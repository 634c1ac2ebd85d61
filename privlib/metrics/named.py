"""One name for each feature network, as the parameters of a notebook give it."""

from __future__ import annotations

import torch

from privlib.metrics.clip import load_clip
from privlib.metrics.dino import load_dinov2
from privlib.metrics.features import FeatureExtractor, efficientnet_lite0
from privlib.metrics.inception import load_inception

#: Networks that papers use; their weights are downloaded on the first call.
PUBLISHED = {"clip": load_clip, "dinov2": load_dinov2, "inception": load_inception}

#: What ``load_features`` accepts: the stand-ins first.
NAMES = ("efficientnet", "icon_text", *PUBLISHED)


def load_features(name: str, *, side: int = 64, device: str | torch.device = "cpu") -> FeatureExtractor:
    """The feature network that ``name`` stands for.

    Args:
        name: ``efficientnet`` (a stand-in that comes with a package), ``icon_text`` (one that comes with the library),
            ``clip``, ``dinov2`` or ``inception``.
        side: input side of ``efficientnet``, a multiple of 32; the others have their own.
        device: where it runs.

    Raises:
        ValueError: an unknown name.
        DataError: weights that can neither be found nor downloaded.
    """
    if name not in NAMES:
        raise ValueError(f"name must be one of {', '.join(NAMES)}, got {name!r}")
    if name == "efficientnet":
        return efficientnet_lite0(side=side, device=device)
    if name == "icon_text":
        from privlib.metrics.icon_text import load_icon_text  # brings in open_clip, which takes seconds

        return load_icon_text(device=device)
    return PUBLISHED[name](device=device)
