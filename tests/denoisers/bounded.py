"""What the tests of bounded denoisers share: small public and private images, and norms that do not round."""

from fractions import Fraction

import torch

SHAPE = (1, 4, 4)
PUBLIC = torch.rand(40, *SHAPE, generator=torch.Generator().manual_seed(7)) * 2 - 1


def records(count: int, seed: int, kind: str = "uniform") -> torch.Tensor:
    """Private images: random, on the corners of the cube, all the same, or copies of public ones."""
    draw = torch.Generator().manual_seed(seed)
    images = torch.rand(count, *SHAPE, generator=draw) * 2 - 1
    if kind == "corner":
        images = images.sign()
    elif kind == "same":
        images = images[:1].expand(count, *SHAPE)
    elif kind == "public":
        images = PUBLIC[torch.randint(len(PUBLIC), (count,), generator=draw)]
    return images


def without(data: torch.Tensor, place: int) -> torch.Tensor:
    """The neighbouring data set that lacks one record."""
    return torch.cat([data[:place], data[place + 1 :]])


def exact_norm_squared(difference: torch.Tensor) -> Fraction:
    """Squared norm as an exact fraction, so that the check itself does not round."""
    return sum((Fraction(v) ** 2 for v in difference.flatten().tolist()), Fraction(0))
