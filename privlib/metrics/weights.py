"""Published weight files: found or fetched, recognised by their checksum, and read without running code from them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import torch

from privlib.data.locate import DataError


@dataclass(frozen=True)
class WeightFile:
    """A file of tensors that its authors publish.

    Attributes:
        title: of the weights, for messages.
        url: where the authors publish the file.
        sha256: of the file, in hexadecimal; a prefix of at least 8 digits where the authors publish no more.
        megabytes: size, for messages.
    """

    title: str
    url: str
    sha256: str
    megabytes: int

    @property
    def file_name(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def cached(self) -> Path:
        """Where torch.hub keeps the file: ``checkpoints`` in its folder, which the variable TORCH_HOME moves."""
        return Path(torch.hub.get_dir()) / "checkpoints" / self.file_name

    def fetch(self) -> Path:
        """The file in the cache of torch.hub, downloaded first where it is not there.

        Raises:
            DataError: it is not there and cannot be downloaded, or it differs from its checksum. A download that broke
                leaves nothing behind.
        """
        path = self.cached
        if path.is_file():
            if not self.is_released(path):
                raise DataError(
                    f"{path} is not {self.title}: its sha256 is not {self.sha256}; remove it, then try again"
                )
            return path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.hub.download_url_to_file(self.url, str(path), hash_prefix=self.sha256, progress=False)
        except (OSError, RuntimeError) as error:  # URLError is an OSError, a wrong checksum a RuntimeError
            raise DataError(
                f"{self.title} do not come with the library and could not be downloaded ({error}). Fetch {self.url} "
                f"({self.megabytes} MB, sha256 {self.sha256}) where there is a network and put it at {path}"
            ) from error
        return path

    def is_released(self, path: Path) -> bool:
        """Whether a file is the published one, by its checksum."""
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest().startswith(self.sha256)

    def read(self, path: str | Path | None = None) -> tuple[dict[str, torch.Tensor], bool]:
        """Tensors of the file, or of another file of the same format, and whether it is the published one.

        Args:
            path: of the file; None for ``fetch()``.

        Raises:
            DataError: the file is missing, or it holds anything else than a dictionary of tensors.
        """
        path = self.fetch() if path is None else Path(path).expanduser()
        if not path.is_file():
            raise DataError(f"{path} is missing; {self.title} are {self.url} ({self.megabytes} MB)")
        try:
            tensors = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # what the restricted unpickler raises on other files is not documented
            raise DataError(f"{path} cannot be read as a torch file that holds tensors only") from error
        if not isinstance(tensors, dict) or not all(isinstance(value, torch.Tensor) for value in tensors.values()):
            raise DataError(f"{path} must hold a dictionary of tensors, as {self.title} do")
        return tensors, self.is_released(path)
