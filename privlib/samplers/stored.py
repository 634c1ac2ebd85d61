"""Finished runs as safetensors files: images with the mechanism that they are charged as, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from privlib.files import replace_file
from privlib.mechanisms import Composition, Mechanism, SubsampledGaussian, components_of
from privlib.samplers.runs import Run
from privlib.types import Adjacency


def write_run(run: Run, path: Path, *, key: str) -> None:
    """Write ``run`` to ``path``, to be read back under the same ``key`` only."""
    facts = {
        "key": key,
        "mechanism": None if run.mechanism is None else _plain(run.mechanism),
        "sigma": run.sigma,
        "settings": dict(run.settings),
        "seconds": run.seconds,
    }
    tensors = {"images": run.images.cpu().contiguous()}
    replace_file(path, lambda part: save_file(tensors, part, metadata={"run": json.dumps(facts)}))


def read_run(path: Path, *, key: str) -> Run:
    """The run in ``path``, images on the CPU.

    Raises:
        ValueError: a damaged file, or one that was written under another key.
    """
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads(file.metadata()["run"])
            images = file.get_tensor("images")
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged or not a stored run ({error}); delete it to sample it again") from error
    if facts["key"] != key:
        raise ValueError(f"{path} was made by other settings, data, weights or code; delete it or use another folder")
    mechanism = None if facts["mechanism"] is None else _mechanism(facts["mechanism"])
    return Run(images, mechanism, facts["sigma"], facts["settings"], facts["seconds"])


def _plain(mechanism: Mechanism) -> dict[str, object]:
    """JSON keeps every float exactly."""
    parts = [[c.gdp_mu, c.sampling_probability, c.count, c.adjacency.name] for c in components_of(mechanism)]
    return {"composition": isinstance(mechanism, Composition), "components": parts}


def _mechanism(plain: dict) -> Mechanism:
    parts = tuple(SubsampledGaussian(mu, q, count, Adjacency[name]) for mu, q, count, name in plain["components"])
    return Composition(parts) if plain["composition"] else parts[0]
