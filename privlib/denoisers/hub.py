"""Files of a model: a folder that is here, or a repository of the Hugging Face hub."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from privlib.data.locate import DataError


def model_folder(source: str | Path, *, patterns: tuple[str, ...] = ("*.json", "*.safetensors")) -> Path:
    """The folder ``source``, or, if there is none, the files of the hub's repository of that name.

    Args:
        source: path, or a hub name such as ``google/ddpm-cifar10-32`` (needs the network).
        patterns: files of a repository that are asked for; never anything that runs code when it is loaded.

    Raises:
        DataError: neither can be had.
    """
    path = Path(source).expanduser()
    return path if path.is_dir() else _download(str(source), patterns)


def sha256_of(files: Iterable[Path]) -> str:
    """One checksum of several files, in the order of their names."""
    digest = hashlib.sha256()
    for file in sorted(files):
        with file.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()


def _download(name: str, patterns: tuple[str, ...]) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(patterns)))
    except Exception as error:  # the hub library raises from several unrelated families
        raise DataError(
            f"{name} is neither a folder here nor a repository that the hub gives ({type(error).__name__}); "
            "download it where there is network and pass the folder"
        ) from None
