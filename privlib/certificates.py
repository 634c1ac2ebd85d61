"""An embedding with the certificate of its guarantee, which only a noised vector can get.

Nothing in a certificate is taken on trust: the mechanism is the one that the release carries from the function that
added its noise, and epsilon is computed here.
"""

from __future__ import annotations

import enum
import hashlib
import json
from dataclasses import fields
from importlib import metadata
from pathlib import Path

from privlib.accounting import aggregation, dpsgd
from privlib.aggregation import NoisyAggregate
from privlib.files import replace_text
from privlib.inversion.export import CERTIFICATE, EMBEDDING, write_embedding
from privlib.inversion.releases import Release

_ASSUMPTIONS = (
    "one release; another one, also with another seed, composes with it",
    "each picture's part depends on that picture, public settings and fresh secret randomness only",
    "settings and norms were chosen without looking at the private pictures",
    "how many pictures there are is public; one that is removed contributes nothing",
    "noise in floating point stands for real-valued Gaussian noise",
)


def export_release(release: Release, delta: float, folder: Path, *, placeholder: str) -> tuple[Path, Path]:
    """Write the embedding, then its certificate.

    Args:
        release: from a noising function of this library.
        delta: in (0, 1), at which epsilon is stated. The accountant is run here, on the mechanism of the release.
        folder: made if need be.
        placeholder: the token under which diffusers will know the vector.

    Returns:
        paths of the two files.

    Raises:
        ValueError: not a release (without noise there is nothing to certify), or a delta out of range.
    """
    text = _facts(release, delta, placeholder)
    path = write_embedding(release.vector, folder, placeholder)
    facts = {**text, "embedding": {**text["embedding"], "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}}
    certificate = folder / CERTIFICATE
    replace_text(certificate, json.dumps(facts, indent=2) + "\n")
    return path, certificate


def _facts(release: Release, delta: float, placeholder: str) -> dict[str, object]:
    if not isinstance(release, Release):
        raise ValueError(
            f"release must come from a function that added noise, got {type(release).__name__}: "
            "a run without noise has no certificate"
        )
    mechanism = release.mechanism
    aggregated = isinstance(mechanism, NoisyAggregate)
    guarantee = aggregation.guarantee(mechanism, delta) if aggregated else dpsgd.guarantee_dpsgd(mechanism, delta)
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
