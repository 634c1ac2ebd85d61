r"""Noisy aggregates of one vector for each picture, as frozen descriptions that the accountants charge for.

The release
-----------
Each private picture gives one vector, by a procedure that looks at this picture, at public quantities and at its own
random numbers only. A bound makes its norm public: ``SPHERE`` scales every vector to norm R, ``BALL`` only those that
are longer. With S the set of pictures that take part and m a *public* number, what is released is

.. math:: \frac1m \Bigl(\sum_{i \in S} v_i + z R\, g\Bigr), \qquad g \sim N(0, I),

one Gaussian vector. z is the noise multiplier, so the noise in the released mean has standard deviation ``z R / m`` in
each coordinate. In units of that noise a vector of norm R is ``gdp_mu = 1 / z`` long; R drops out of the privacy.

Sensitivity
-----------
*Adding or removing a picture* adds or takes away one vector in the sum: it moves by at most R, for both bounds (on the
sphere by exactly R). The denominator must not move with it. Dividing by the number of pictures at hand, or under
Poisson sampling by the number that was drawn, moves the mean of m vectors by up to ``2R / (m + 1)``, since every other
vector is weighed anew, and by 2R where nearly nothing was drawn: that is another mechanism than the one charged here.

*Replacing a picture* takes one vector out and puts another in: the sum moves by up to 2R, on the sphere as in the ball,
since two vectors of norm R can point in opposite directions.

*A group of k pictures*, such as all those of one artist, moves the sum k times as far: kR if they are added or removed
(all k of them, or fewer), 2kR if they are replaced. That is exact for Gaussian noise, and below the generic bound for
groups, which takes k times epsilon and multiplies delta as well.

Sampling
--------
* ``ALL``: every picture takes part, m is the public nominal number n. No amplification.
* ``POISSON``: each picture takes part with probability ``q = m / n``, independently; m is the expected number. n and m
  are public and the same for both neighbours, so this goes with either adjacency.
* ``FIXED_SIZE``: exactly m of exactly n pictures, without replacement. A picture that leaves the sample makes room for
  another one, so whether it is there shows by two vectors, and the chance of it, ``m / n``, depends on the number of
  pictures. The natural adjacency is therefore ``REPLACE_ONE``, which keeps n; ``ADD_OR_REMOVE_ONE`` is refused. With
  m = n this is ``ALL``.

``accounting.aggregation`` proves what each combination costs.

Assumptions
-----------
The vectors of the other pictures do not change with the picture in question. The number of releases is one. Noise and
sample are drawn with fresh, secret randomness; float64 stands for real numbers.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from privlib.numerics import check_count, check_nonnegative, check_positive
from privlib.types import Adjacency


class Bound(enum.Enum):
    """How a vector is brought to its public norm."""

    SPHERE = "sphere"
    BALL = "ball"


class Sampling(enum.Enum):
    """Which pictures take part in a release."""

    ALL = "all"
    POISSON = "poisson"
    FIXED_SIZE = "fixed_size"


@dataclass(frozen=True)
class NoisyAggregate:
    """One release of a noisy mean of bounded vectors.

    Attributes:
        num_vectors: public number n of vectors; nominal under ``ADD_OR_REMOVE_ONE``, exact under ``REPLACE_ONE``.
        sample_size: public m by which the sum is divided: how many vectors take part, or are expected to; in 1..n, and
            n where all take part.
        norm: public norm R, positive.
        noise_multiplier: standard deviation of the noise in the sum, in units of R; 0 is no noise and no privacy.
        sampling: which vectors take part.
        bound: how vectors are brought to norm R.
        adjacency: neighbouring relation that is charged, on groups of ``group_size`` pictures.
        group_size: number k of pictures that are added, removed or replaced together, in 1..n.
    """

    num_vectors: int
    sample_size: int
    norm: float
    noise_multiplier: float
    sampling: Sampling = Sampling.ALL
    bound: Bound = Bound.SPHERE
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE_ONE
    group_size: int = 1

    def __post_init__(self) -> None:
        for name, kind in (("sampling", Sampling), ("bound", Bound), ("adjacency", Adjacency)):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{name} must be one of {[k.name for k in kind]}, got {getattr(self, name)!r}")
        object.__setattr__(self, "num_vectors", check_count(self.num_vectors, "num_vectors"))
        for name in ("sample_size", "group_size"):
            value = check_count(getattr(self, name), name)
            if value > self.num_vectors:
                raise ValueError(f"{name} must lie in 1..num_vectors = {self.num_vectors}, got {value}")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "norm", check_positive("norm", self.norm))
        object.__setattr__(self, "noise_multiplier", check_nonnegative("noise_multiplier", self.noise_multiplier))
        if self.sampling is Sampling.ALL and self.sample_size != self.num_vectors:
            raise ValueError(
                f"sample_size must be num_vectors = {self.num_vectors} where all vectors take part, "
                f"got {self.sample_size}"
            )
        if self.sampling is Sampling.FIXED_SIZE and self.adjacency is not Adjacency.REPLACE_ONE:
            raise ValueError(
                "adjacency must be REPLACE_ONE for a sample of fixed size: its probability m / n would differ between "
                "data sets of n and n + 1 pictures; take POISSON sampling, or ALL, for ADD_OR_REMOVE_ONE"
            )

    @property
    def sampling_probability(self) -> float:
        """Chance that a picture takes part, ``m / n``."""
        return self.sample_size / self.num_vectors

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise in each coordinate of the released mean."""
        return self.noise_multiplier * self.norm / self.sample_size

    @property
    def sensitivity(self) -> float:
        """L2 distance that the released mean moves if the whole group is added, removed or replaced and takes part."""
        factor = 2 if self.adjacency is Adjacency.REPLACE_ONE else 1
        return factor * self.group_size * self.norm / self.sample_size
