"""The embedding as diffusers reads it, and the certificate of its guarantee, which only a noised vector can get."""

from __future__ import annotations

import enum
import hashlib
import json
from dataclasses import fields
from importlib import metadata
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from privlib.aggregation import NoisyAggregate
from privlib.data.locate import DataError
from privlib.files import replace_file
from privlib.guarantees import Guarantee
from privlib.inversion.releases import Release, Unprotected

EMBEDDING, CERTIFICATE = "learned_embeds.safetensors", "certificate.json"

_ASSUMPTIONS = (
    "one release; another one, also with another seed, composes with it",
    "each picture's part depends on that picture, public settings and fresh secret randomness only",
    "settings and norms were chosen without looking at the private pictures",
    "noise in floating point stands for real-valued Gaussian noise",
)


def export_release(release: Release, guarantee: Guarantee, folder: Path, *, placeholder: str) -> tuple[Path, Path]:
    """Write the embedding, then its certificate.

    Args:
        release: from a noising function of this library.
        guarantee: of the mechanism that the release carries.
        folder: made if need be.
        placeholder: the token under which diffusers will know the vector.

    Returns:
        paths of the two files.

    Raises:
        ValueError: not a release (without noise there is nothing to certify), or a guarantee of another mechanism.
    """
    text = _certificate(release, guarantee, placeholder)
    path = _write_embedding(release.vector, folder, placeholder)
    facts = {**text, "embedding": {**text["embedding"], "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}}
    certificate = folder / CERTIFICATE
    replace_file(certificate, lambda part: part.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8"))
    return path, certificate


def export_unprotected(result: Unprotected, folder: Path, *, placeholder: str) -> Path:
    """Write an embedding that nothing protects, without a certificate; one that lies there is removed."""
    if not isinstance(result, Unprotected):
        raise ValueError(f"result must be an Unprotected vector, got {type(result).__name__}; see export_release")
    return _write_embedding(result.vector, folder, placeholder)


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


def _write_embedding(vector: torch.Tensor, folder: Path, placeholder: str) -> Path:
    if not placeholder.strip():
        raise ValueError(f"placeholder must be a token, got {placeholder!r}")
    path = Path(folder) / EMBEDDING
    # A certificate must never lie beside an embedding that it does not speak of, not even for a moment.
    (Path(folder) / CERTIFICATE).unlink(missing_ok=True)
    tensors = {placeholder: vector.to(torch.float32).contiguous()}
    replace_file(path, lambda part: save_file(tensors, part, metadata={"format": "pt"}))
    return path


def _certificate(release: Release, guarantee: Guarantee, placeholder: str) -> dict[str, object]:
    if not isinstance(release, Release):
        raise ValueError(
            f"release must come from a function that added noise, got {type(release).__name__}: "
            "a run without noise has no certificate"
        )
    if guarantee.mechanism != release.mechanism:
        raise ValueError("guarantee must be that of the release's own mechanism, got one of another mechanism")
    mechanism = release.mechanism
    aggregated = isinstance(mechanism, NoisyAggregate)
    parameters = {f.name: _plain(getattr(mechanism, f.name)) for f in fields(mechanism)}
    if aggregated:
        parameters |= {"noise_std": mechanism.noise_std, "sensitivity": mechanism.sensitivity}
    return {
        "mechanism": "noisy mean of bounded vectors" if aggregated else "composed Poisson-subsampled Gaussians",
        "parameters": parameters,
        "adjacency": guarantee.adjacency.name,
        "group_size": guarantee.group_size,
        "delta": guarantee.delta,
        "epsilon": {"lower": guarantee.epsilon.lower, "upper": guarantee.epsilon.upper},
        "kind": "certified upper bound, with a certified lower bound of what the accounting could show at best",
        "accountant": guarantee.accountant,
        "library": {"name": "privlib", "version": metadata.version("privlib")},
        "assumptions": list(_ASSUMPTIONS),
        "embedding": {"file": EMBEDDING, "placeholder": placeholder, "dimension": release.vector.numel()},
    }


def _plain(value: object) -> object:
    return value.name if isinstance(value, enum.Enum) else value
