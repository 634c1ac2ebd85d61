"""DINOv2 image embeddings: the extractor behind the DINO distances of paper 1."""

from __future__ import annotations

import re
from pathlib import Path

import torch
from torch.nn.functional import interpolate

from privlib.data.locate import DataError
from privlib.metrics.features import NetworkFeatures, chunk_size
from privlib.metrics.weights import WeightFile

#: What ``torch.hub.load("facebookresearch/dinov2", "dinov2_vitb14")`` downloads; Apache-2.0. The authors publish no
#: checksum; this one is what those report who have the file.
VITB14 = WeightFile(
    title="the DINOv2 weights dinov2_vitb14",
    url="https://dl.fbaipublicfiles.com/dinov2/dinov2_vitb14/dinov2_vitb14_pretrain.pth",
    sha256="0b8b82f85de91b424aded121c7e1dcc2b7bc6d0adeea651bf73a13307fad8c73",
    megabytes=346,
)

#: Side of the input, as in the evaluation of the DINOv2 authors; a multiple of the patch side.
SIDE = 224

PATCH = 14

#: Width of one attention head, the same in every released size.
HEAD = 64


def load_dinov2(*, weights: str | Path | None = None, device: str | torch.device = "cpu") -> NetworkFeatures:
    """The class token of DINOv2 after the last normalisation, d = 768 for ViT-B/14.

    Only tensors come from outside: the network is timm's vision transformer, and no code of a hub repository runs. The
    image is resized to 224 pixels (bicubic) as a whole, without the crop that the DINOv2 authors make of photographs.

    Args:
        weights: path of a file in the format of the released ``dinov2_vit*14_pretrain.pth``, of any width and depth but
            without registers; None for ViT-B/14, which is downloaded on the first call (346 MB) and checked. Any file
            but that one is named after its own name and stands in for DINOv2.
        device: where it runs.

    Raises:
        DataError: the weights are neither in the cache nor to be downloaded, differ from their checksum, or do not
            belong to such a network; the message says what to put where.

    Cost: about 23 GFLOP an image.
    Source: Oquab et al. 2024; facebookresearch/dinov2, ``hub/backbones.py`` and ``models/vision_transformer.py``. That
        paper 1 uses the size B, the class token and this preprocessing is inferred; it cites DINOv2 and no more.
    """
    tensors, released = VITB14.read(weights)
    device = torch.device(device)
    network = _network(tensors, name=VITB14.file_name if weights is None else Path(weights).name)
    return NetworkFeatures(
        name=f"DINOv2 ViT-B/14, {SIDE} px" if released else f"DINOv2-type network {Path(weights).name}, {SIDE} px",
        network=network.to(device),
        side=SIDE,
        mean=(0.485, 0.456, 0.406),
        std=(0.229, 0.224, 0.225),
        interpolation="bicubic",
        stand_in_for="" if released else "DINOv2 ViT-B/14",
        device=device,
        chunk=chunk_size(device),
    )


def _network(tensors: dict[str, torch.Tensor], *, name: str) -> torch.nn.Module:
    """timm's vision transformer with these weights, its size read from their shapes; images to class tokens."""
    from timm.models.vision_transformer import VisionTransformer

    try:
        width = tensors["cls_token"].shape[-1]
        depth = 1 + max(int(match[1]) for match in (re.match(r"blocks\.(\d+)\.", key) for key in tensors) if match)
        network = VisionTransformer(
            img_size=SIDE,
            patch_size=PATCH,
            embed_dim=width,
            depth=depth,
            num_heads=width // HEAD,
            init_values=1.0,  # any number: it asks for the layer scales that the weights hold
            num_classes=0,
        )
        # The mask token belongs to training alone. Everything else has to fit.
        weights = {key: value for key, value in tensors.items() if key != "mask_token"}
        weights["pos_embed"] = resized_positions(tensors["pos_embed"], SIDE // PATCH)
        network.load_state_dict(weights)
    except (KeyError, ValueError, RuntimeError, ZeroDivisionError, AssertionError) as error:
        raise DataError(f"{name} does not hold a DINOv2 network with patches of {PATCH} pixels: {error}") from error
    return network.eval().requires_grad_(False)


def resized_positions(positions: torch.Tensor, side: int) -> torch.Tensor:
    """Position embeddings for ``side`` by ``side`` patches: (1, 1 + n, d) to (1, 1 + side^2, d), class token first.

    The released networks hold those of 37 by 37 patches and interpolate them in this very way: bicubic, not
    antialiased, by the factor (side + 0.1) / 37. timm and transformers resize them in other ways, which moves the
    embedding by more than rounding.

    Source: facebookresearch/dinov2, ``interpolate_pos_encoding`` with its default offset.
    """
    count = positions.shape[1] - 1
    old = round(count**0.5)
    if old * old != count:
        raise ValueError(f"the position embeddings must belong to a square of patches, got {count}")
    if old == side:
        return positions
    grid = positions[:, 1:].float().reshape(1, old, old, -1).permute(0, 3, 1, 2)
    factor = (side + 0.1) / old
    patches = interpolate(grid, scale_factor=(factor, factor), mode="bicubic").permute(0, 2, 3, 1).flatten(1, 2)
    return torch.cat([positions[:, :1], patches.to(positions.dtype)], dim=1)
