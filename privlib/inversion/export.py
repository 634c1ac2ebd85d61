"""The embedding as diffusers reads it. ``privlib.certificates`` writes it with a certificate."""

from __future__ import annotations

from pathlib import Path

import torch
from diffusers import DiffusionPipeline
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from privlib.data.locate import DataError
from privlib.denoisers.pipelines import without_bars
from privlib.files import replace_file
from privlib.inversion.releases import Unprotected

EMBEDDING, CERTIFICATE = "learned_embeds.safetensors", "certificate.json"


def export_unprotected(result: Unprotected, folder: Path, *, placeholder: str) -> Path:
    """Write an embedding that nothing protects, without a certificate; one that lies there is removed."""
    if not isinstance(result, Unprotected):
        raise ValueError(
            f"result must be an Unprotected vector, got {type(result).__name__}; see certificates.export_release"
        )
    return write_embedding(result.vector, folder, placeholder)


def read_embedding(path: Path, *, dimension: int) -> tuple[str, torch.Tensor]:
    """Token and vector of a ``learned_embeds.safetensors`` file.

    Args:
        path: written here or by diffusers' training script.
        dimension: width of the model's words.

    Raises:
        DataError: a damaged file, more than one token, or a vector of the wrong width.
    """
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path} cannot be read as safetensors: {error}") from error
    if len(tensors) != 1:
        raise DataError(f"{path} holds {len(tensors)} tensors, expected one, named by its token")
    token, vector = next(iter(tensors.items()))
    if vector.numel() != dimension:
        raise DataError(f"{path}: the vector of {token} is {vector.numel()} wide, the model's words are {dimension}")
    return token, vector.reshape(-1)


def load_embedding(pipeline: DiffusionPipeline, path: Path) -> str:
    """Put the new word into a pipeline, by diffusers' own ``load_textual_inversion``; returns the word.

    Raises:
        DataError: as ``read_embedding``.
    """
    words = pipeline.text_encoder.get_input_embeddings()
    token, _ = read_embedding(path, dimension=words.embedding_dim)
    with without_bars():
        pipeline.load_textual_inversion(path.parent, weight_name=path.name)
    return token


def write_embedding(vector: torch.Tensor, folder: Path, placeholder: str) -> Path:
    """Write ``learned_embeds.safetensors``, and take away the certificate of the embedding that was there before."""
    if not placeholder.strip():
        raise ValueError(f"placeholder must be a token, got {placeholder!r}")
    path = Path(folder) / EMBEDDING
    # A certificate must never lie beside an embedding that it does not speak of, not even for a moment.
    (Path(folder) / CERTIFICATE).unlink(missing_ok=True)
    tensors = {placeholder: vector.to(torch.float32).contiguous()}
    replace_file(path, lambda part: save_file(tensors, part, metadata={"format": "pt"}))
    return path
