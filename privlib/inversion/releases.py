"""What a noising function returns, and the only thing that a certificate is made from.

A ``Release`` offers no way to build one or to change its vector: its constructor asks for a mark that only this
library's noising functions pass. A run without noise returns an ``Unprotected`` vector, of another class, which nothing
turns into a release.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from privlib.aggregation import NoisyAggregate
from privlib.mechanisms import SubsampledGaussian

_MARK = object()


class Release:
    """One vector that has been noised, with the mechanism that says how."""

    __slots__ = ("_mechanism", "_vector")

    def __init__(self, vector: torch.Tensor, mechanism: NoisyAggregate | SubsampledGaussian, *, mark: object) -> None:
        if mark is not _MARK:
            raise ValueError("a Release is made by the function that adds the noise, and by nothing else")
        self._vector, self._mechanism = vector.detach().to("cpu", torch.float64, copy=True), mechanism

    @property
    def vector(self) -> torch.Tensor:
        """A copy of the noised vector, float64, shape (dimension,)."""
        return self._vector.clone()

    @property
    def mechanism(self) -> NoisyAggregate | SubsampledGaussian:
        return self._mechanism

    def scaled_to(self, norm: float) -> Release:
        """The same direction with a public norm: post-processing, which costs nothing.

        Noise makes a vector long, and a text encoder takes a word that is much longer than all others for noise.
        """
        return Release(_scaled(self._vector, norm), self._mechanism, mark=_MARK)


@dataclass(frozen=True)
class Unprotected:
    """A vector that nothing protects.

    Attributes:
        vector: float64, shape (dimension,).
    """

    vector: torch.Tensor = field(repr=False)

    def scaled_to(self, norm: float) -> Unprotected:
        """The same direction with norm ``norm``, as a release is scaled."""
        return Unprotected(_scaled(self.vector, norm))


def noised(vector: torch.Tensor, mechanism: NoisyAggregate | SubsampledGaussian) -> Release:
    """Mark a vector as noised. To be called by the code that has just added the noise that ``mechanism`` describes."""
    return Release(vector, mechanism, mark=_MARK)


def _scaled(vector: torch.Tensor, norm: float) -> torch.Tensor:
    # Without noise a sample that came out empty has the mean zero, which has no direction and stays where it is.
    return vector if not bool(vector.any()) else vector * (norm / vector.norm())
