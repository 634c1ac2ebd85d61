"""What a result depends on, as plain values: settings as they are, tensors and weights as checksums.

Two descriptions are equal only if the objects would compute the same, so that a stored batch is never taken for the
batch of other settings, other data, other weights or another version of the library.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import inspect
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np
import torch


def describe(value: object, name: str = "value") -> object:
    """``value`` as numbers, strings, lists and dictionaries, of which JSON can be made.

    Tensors and arrays become a SHA-256 checksum of dtype, shape and content (about a second for 500 MB); modules their
    architecture, weights and public attributes; dataclasses, functions of a module, ``functools.partial`` and other
    objects their name and contents.

    Args:
        value: what to describe.
        name: what to call it in an error message.

    Raises:
        ValueError: something whose behaviour cannot be told from its contents, such as a lambda.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, enum.Enum):
        return f"{_type_name(value)}.{value.name}"
    if isinstance(value, (torch.device, torch.dtype, torch.Size, range, np.generic)):
        return repr(value)
    if isinstance(value, torch.Tensor):
        array = value.detach().cpu().contiguous()
        return {"tensor": str(array.dtype), **_checksum(array.flatten().view(torch.uint8).numpy(), array.shape)}
    if isinstance(value, np.ndarray):
        return {"array": str(value.dtype), **_checksum(np.ascontiguousarray(value), value.shape)}
    if isinstance(value, Mapping):
        return {str(key): describe(item, f"{name}[{key!r}]") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [describe(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, functools.partial):
        parts = {"func": value.func, "args": value.args, "keywords": value.keywords}
        return {"partial": {key: describe(item, f"{name}.{key}") for key, item in parts.items()}}
    if isinstance(value, types.FunctionType):
        if "<" in value.__qualname__:
            raise ValueError(f"{name} must be a function of a module, got {value!r}: what it does cannot be checked")
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, torch.nn.Module):
        public = {key: item for key, item in vars(value).items() if not key.startswith("_")}
        parts = {"layers": repr(value), "weights": value.state_dict(), **public}
    elif is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "__dict__") and all(map(_is_transparent, type(value).__mro__[:-1])):
        cached = {key for key in vars(value) if isinstance(getattr(type(value), key, None), functools.cached_property)}
        parts = {key: item for key, item in vars(value).items() if key not in cached}
    else:
        raise ValueError(f"{name} cannot be described by its contents: {value!r}")
    return {_type_name(value): {key: describe(item, f"{name}.{key}") for key, item in parts.items()}}


def _is_transparent(cls: type) -> bool:
    """Whether ``vars`` shows all there is to an object of this class: written in Python, and without slots."""
    try:
        return inspect.getsourcefile(cls) is not None and not vars(cls).get("__slots__")
    except TypeError:  # built in
        return False


def _type_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _checksum(content: np.ndarray, shape: tuple[int, ...]) -> dict[str, object]:
    return {"shape": list(shape), "sha256": hashlib.sha256(content.reshape(-1).view(np.uint8)).hexdigest()}
