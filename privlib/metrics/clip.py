"""CLIP models of open_clip: image embeddings and zero-shot class probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch

from privlib.data.locate import DataError
from privlib.metrics.features import NetworkFeatures, chunk_size


@dataclass(frozen=True)
class Clip:
    """An open_clip model with its tokenizer; itself a feature extractor (images to embeddings, not normalised).

    Attributes:
        name: of the architecture and the weights, as a page shows it.
        model: an ``open_clip.CLIP`` in evaluation mode.
        tokenizer: list of texts to tokens, int64, shape (n, context).
        stand_in_for: what it takes the place of; empty for the model that a paper uses.
    """

    name: str
    model: torch.nn.Module = field(repr=False)
    tokenizer: Callable[[list[str]], torch.Tensor] = field(repr=False)
    stand_in_for: str = ""

    @cached_property
    def image_tower(self) -> NetworkFeatures:
        """The image tower behind the preprocessing that the model declares; its input must be a square."""
        from open_clip.model import get_model_preprocess_cfg

        config = get_model_preprocess_cfg(self.model)
        sides = {config["size"]} if isinstance(config["size"], int) else set(config["size"])
        if len(sides) != 1:
            raise ValueError(f"{self.name} must take square images, got {config['size']}")
        device = next(self.model.parameters()).device
        return NetworkFeatures(
            name=self.name,
            network=self.model.encode_image,
            side=sides.pop(),
            mean=tuple(config["mean"]),
            std=tuple(config["std"]),
            interpolation=config.get("interpolation", "bicubic"),
            stand_in_for=self.stand_in_for,
            device=device,
            chunk=chunk_size(device),
        )

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Embeddings, float32, shape (batch, d), for images on the unit scale; raises as NetworkFeatures does."""
        return self.image_tower(images)


@dataclass(frozen=True)
class ZeroShot:
    r"""Class probabilities from texts alone: the softmax of scaled cosines between an image and one text a class.

    .. math:: p(k \mid x) \propto \exp\bigl(\tau \cos(f(x), t_k)\bigr)

    with the model's own learned scale tau (100 for the released CLIP models). Source: Radford et al. 2021, section 3.1.
    """

    name: str
    clip: Clip = field(repr=False)
    text_directions: torch.Tensor = field(repr=False)
    class_names: tuple[str, ...]
    template: str
    stand_in_for: str

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Probabilities, float64, shape (batch, num_classes)."""
        embeddings = torch.nn.functional.normalize(self.clip(images).to(torch.float64), dim=1)
        scale = self.clip.model.logit_scale.detach().exp().to(embeddings)
        return (scale * embeddings @ self.text_directions.to(embeddings)).softmax(1)


def zero_shot(clip: Clip, class_names: Sequence[str], *, template: str = "a photo of a {}.") -> ZeroShot:
    """A classifier of the named classes.

    Args:
        clip: the model.
        class_names: at least two different names.
        template: the text of a class, with ``{}`` where its name goes.

    Raises:
        ValueError: fewer than two names, a name twice, a template without ``{}``.
    """
    from open_clip import build_zero_shot_classifier

    if len(class_names) < 2 or len(set(class_names)) != len(class_names):
        raise ValueError(f"class_names must be at least two different names, got {list(class_names)}")
    if template.count("{}") != 1:
        raise ValueError(f"template must contain {{}} once, for the name of the class, got {template!r}")
    device = next(clip.model.parameters()).device
    directions = build_zero_shot_classifier(clip.model, clip.tokenizer, list(class_names), [template], device=device)
    return ZeroShot(
        name=f"zero-shot {clip.name}, {template!r}",
        clip=clip,
        text_directions=directions,
        class_names=tuple(class_names),
        template=template,
        stand_in_for=clip.stand_in_for and f"zero-shot {clip.stand_in_for}",
    )


def load_clip(
    model: str = "ViT-B-32-quickgelu", pretrained: str = "openai", *, device: str | torch.device = "cpu"
) -> Clip:
    """A published CLIP model; the weights are downloaded on the first call (605 MB for the default).

    Args:
        model: architecture as open_clip names it. OpenAI's weights belong to the ``-quickgelu`` architectures; with the
            plain ``ViT-B-32`` the same weights give other embeddings.
        pretrained: a tag that open_clip lists for the architecture, or the path of a weight file. Files are read
            without running code from them.
        device: where it runs.

    Raises:
        ValueError: an unknown architecture.
        DataError: weights that can neither be found nor downloaded, or do not fit the architecture.
    """
    import open_clip

    if model not in open_clip.list_models():
        raise ValueError(f"model must be one that open_clip.list_models() names, got {model!r}")
    try:
        network = open_clip.create_model(model, pretrained=pretrained, device=device, require_pretrained=True)
    except (OSError, RuntimeError) as error:
        raise DataError(f"the weights {pretrained!r} of the CLIP model {model} cannot be had: {error}") from error
    name = f"CLIP {model} ({Path(pretrained).name})"  # a tag has no folders, and a page shows no one's folders
    return Clip(name, network.eval().requires_grad_(False), open_clip.get_tokenizer(model))
