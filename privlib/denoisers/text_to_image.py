"""The bundled text-to-image model: a diffusers ``StableDiffusionPipeline`` of 32-pixel pictures, loaded offline."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors.torch import load_file, save_file

from privlib.data.locate import ASSETS, DataError, check_sums, write_sums
from privlib.denoisers.hub import model_folder, sha256_of
from privlib.denoisers.pipelines import COMPONENTS, load_pipeline, without_bars
from privlib.denoisers.shipped import to_half
from privlib.files import replaced_folder

if TYPE_CHECKING:
    from diffusers import StableDiffusionPipeline

FOLDER = ASSETS / "text_to_image"

#: What ``load_named_pipeline`` calls it.
BUNDLED = "bundled"

#: The model card, beside the parts of the pipeline.
CARD = "model_card.json"


def load_text_to_image(*, folder: Path = FOLDER) -> StableDiffusionPipeline:
    """The shipped pipeline in evaluation mode, float32, on the CPU, without gradients; it asks no network.

    Prompts are like ``"icon of a dragon in the style of carbon, gold on navy"``. Textual inversion goes through
    diffusers' own ``load_textual_inversion``.

    Args:
        folder: where the pipeline lies, in diffusers' layout with ``SHA256SUMS``.

    Raises:
        DataError: a file that is missing or differs from its checksum.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} is missing; make the text-to-image model with: make train-text-to-image")
    check_sums(folder)
    with without_bars():
        pipeline = load_pipeline(folder).to(torch.float32)
    for part in (pipeline.vae, pipeline.text_encoder, pipeline.unet):
        part.eval().requires_grad_(False)
    return pipeline


def load_named_pipeline(name: str) -> StableDiffusionPipeline:
    """The pipeline that ``name`` stands for, as the parameters of a notebook give it, on the CPU.

    Args:
        name: ``bundled``; the path of a folder in diffusers' layout; or a hub name such as
            ``stable-diffusion-v1-5/stable-diffusion-v1-5`` (needs the network; weights as safetensors only).

    Raises:
        DataError: as ``load_text_to_image`` and ``load_pipeline``, or a name that the hub does not give.
    """
    return load_text_to_image() if name == BUNDLED else load_pipeline(_files_of(name))


def pipeline_sha256(name: str) -> str:
    """Checksum of the weights of ``load_named_pipeline(name)``.

    Raises:
        DataError: no such pipeline, or one without weights in safetensors.
    """
    folder = FOLDER if name == BUNDLED else _files_of(name)
    files = [file for file in folder.glob("*/*.safetensors") if file.parent.name in COMPONENTS]
    if not files:
        raise DataError(f"{name} has no weights in safetensors; a pipeline folder holds {', '.join(COMPONENTS)}")
    return sha256_of(files)


def _files_of(name: str) -> Path:
    # Repositories keep every weight in several precisions and formats; diffusers reads the plain ones.
    weights = ("unet", "vae", "text_encoder")
    plain = tuple(f"{part}/{stem}.safetensors" for part in weights for stem in ("diffusion_pytorch_model", "model"))
    return model_folder(name, patterns=("*.json", "tokenizer/*", *plain))


def read_text_to_image_card(*, folder: Path = FOLDER) -> dict[str, object]:
    """The model card: recipe, data, measured prompt following, licences.

    Raises:
        DataError: no card in ``folder``.
    """
    path = folder / CARD
    if not path.is_file():
        raise DataError(f"{path} is missing; make the text-to-image model with: make train-text-to-image")
    return json.loads(path.read_text(encoding="utf-8"))


def save_text_to_image(
    pipeline: StableDiffusionPipeline, tokenizer_files: Path, card: Mapping[str, object], *, folder: Path = FOLDER
) -> Path:
    """Write the pipeline in diffusers' layout, weights in float16, with ``model_card.json`` and ``SHA256SUMS``.

    Args:
        pipeline: what to ship; it is not changed.
        tokenizer_files: folder with ``vocab.json``, ``merges.txt`` and ``tokenizer_config.json``, which go along
            as they are: the first two load in every version of transformers.
        card: what a reader needs to know of the weights; plain values.
        folder: where the files go, in place of what is there.

    Returns:
        ``folder``.

    Raises:
        ValueError: a weight that half precision cannot hold.
    """
    with replaced_folder(folder) as part:
        # Reading and writing a copy keeps the caller's networks in their precision.
        pipeline.save_pretrained(part, safe_serialization=True)
        shutil.rmtree(part / "tokenizer")
        shutil.copytree(tokenizer_files, part / "tokenizer")
        for file in part.rglob("*.safetensors"):
            save_file(to_half(load_file(file), file.parent.name), file, metadata={"format": "pt"})
        for config in part.rglob("config.json"):
            # Where the program that wrote them kept its files is nobody's business.
            values = {key: value for key, value in json.loads(config.read_text()).items() if key != "_name_or_path"}
            config.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        (part / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
        write_sums([file for file in part.rglob("*") if file.is_file()], part)
    return folder


@torch.no_grad()
def generate(
    pipeline: StableDiffusionPipeline,
    prompts: Sequence[str] | torch.Tensor,
    *,
    seeds: Sequence[int],
    num_steps: int = 25,
    guidance: float = 4.0,
    batch_size: int = 50,
) -> torch.Tensor:
    """One image for each prompt, on the unit scale [-1, 1], float32, shape (n, 3, height, width), on the CPU.

    Args:
        pipeline: any Stable Diffusion pipeline of diffusers.
        prompts: what to draw, as texts or as their hidden states, shape (n, length, width): prompts whose words come
            from outside the vocabulary (see ``inversion.model.FrozenModel.encode_prompts``).
        seeds: of the first noise, one for each prompt; an image depends on its own prompt and seed, not on the batch.
        num_steps: steps of the pipeline's scheduler.
        guidance: scale of classifier-free guidance; 1 is none.
        batch_size: images side by side. The bundled model draws about five images a second on one core.

    Raises:
        ValueError: numbers of prompts and seeds that differ, or none.
    """
    if len(prompts) != len(seeds) or len(prompts) == 0:
        raise ValueError(
            f"seeds must be one for each prompt, at least one, got {len(seeds)} for {len(prompts)} prompts"
        )
    parts = []
    for start in range(0, len(prompts), batch_size):
        here = slice(start, start + batch_size)
        encoded = isinstance(prompts, torch.Tensor)
        result = pipeline(
            prompt=None if encoded else list(prompts[here]),
            prompt_embeds=prompts[here] if encoded else None,
            num_inference_steps=num_steps,
            guidance_scale=guidance,
            generator=[torch.Generator().manual_seed(seed) for seed in seeds[here]],
            output_type="pt",
        )
        parts.append(result.images.float().cpu().mul(2.0).sub(1.0))
    return torch.cat(parts)


def retrieval_accuracy(generated: torch.Tensor, references: torch.Tensor, *, among: int) -> float:
    """How often the reference nearest to a generated image is its own, in groups of ``among`` candidates.

    Args:
        generated: images or features, shape (n, ...); the i-th was drawn for the prompt of the i-th reference.
        references: the pictures of the prompts, or their features; the same shape.
        among: candidates of each choice, 2 to n; row i competes with the other rows of its run of ``among``, and rows
            after the last whole run are left out. Chance is 1 / among.

    Returns:
        a fraction. Distances are Euclidean, in float64.

    Raises:
        ValueError: shapes that differ, or ``among`` out of range.
    """
    if generated.shape != references.shape or generated.ndim < 2:
        raise ValueError(f"references must have the shape of generated, got {references.shape} and {generated.shape}")
    if not 2 <= among <= len(generated):
        raise ValueError(f"among must lie in 2..{len(generated)}, got {among}")
    groups = len(generated) // among
    rows = [part[: groups * among].double().reshape(groups, among, -1) for part in (generated, references)]
    nearest = torch.cdist(rows[0], rows[1]).argmin(dim=2)
    return float((nearest == torch.arange(among)).double().mean())
