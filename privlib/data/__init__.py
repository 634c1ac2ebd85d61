"""Images: the bundled set, loaders for the sets of the papers, and a reader's own folder."""

from privlib.data.images import ImageSet
from privlib.data.locate import DataError
from privlib.data.registry import SPECS, load

__all__ = ["SPECS", "DataError", "ImageSet", "load"]
