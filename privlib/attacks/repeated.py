"""An attack over several seeds: which images are learned from, which choose thresholds, and which are scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from privlib.attacks.learned import LearnedAttack
from privlib.attacks.scoring import (
    BoundedRate,
    ConfidenceInterval,
    Scores,
    Success,
    auc,
    auc_interval,
    bounded_rate,
    success_rate,
)

#: Of the images of a side, these shares are learned from and choose thresholds; the rest is scored.
LEARN_SHARE, CALIBRATION_SHARE = 0.25, 0.25


@dataclass(frozen=True)
class Outcome:
    """What one repetition gave, all of it on images that chose nothing.

    Attributes:
        seed: of the random parts.
        success: success rate at even odds.
        auc, auc_interval: area under the ROC curve with its interval.
        bounded: true positives at each bound of the false positive rate.
        scored: the scores themselves, for figures.
    """

    seed: int
    success: Success
    auc: float
    auc_interval: ConfidenceInterval
    bounded: tuple[BoundedRate, ...]
    scored: Scores = field(repr=False)


def repeat_attack(
    members: torch.Tensor,
    others: torch.Tensor,
    *,
    learned: bool,
    seeds: Sequence[int],
    bounds: Sequence[float],
    confidence: float,
) -> list[Outcome]:
    """One attack at one stop, once for each seed.

    Repetitions share their images, so they tell how much the choice of the parts matters, not how much other images
    would.

    Args:
        members, others: error maps of both sides at the stop, shapes (m, side, side) and (n, side, side).
        learned: score by a ``LearnedAttack`` on the maps; else by minus the sum of a map.
        seeds: one for each repetition.
        bounds: of the false positive rate, each in (0, 1).
        confidence: of every interval, two-sided, in (0, 1).

    Raises:
        ValueError: too few images for the confidence or for a bound, see ``scoring``.
    """
    return [
        _repetition(_shuffled(members, 2 * seed), _shuffled(others, 2 * seed + 1), learned, seed, bounds, confidence)
        for seed in seeds
    ]


def repeat_control(
    others: torch.Tensor, *, learned: bool, seeds: Sequence[int], bounds: Sequence[float], confidence: float
) -> list[Outcome]:
    """The same attack where there is nothing to find: each seed calls a random half of the others members.

    Args:
        others: error maps of images that were never trained on, shape (n, side, side).
        learned, seeds, bounds, confidence: as in ``repeat_attack``.
    """
    half = len(others) // 2
    outcomes = []
    for seed in seeds:
        mixed = _shuffled(others, 2 * seed)
        outcomes.append(_repetition(mixed[:half], mixed[half:], learned, seed, bounds, confidence))
    return outcomes


def _shuffled(maps: torch.Tensor, seed: int) -> torch.Tensor:
    return maps[torch.randperm(len(maps), generator=torch.Generator().manual_seed(seed))]


def _repetition(
    members: torch.Tensor,
    others: torch.Tensor,
    learned: bool,
    seed: int,
    bounds: Sequence[float],
    confidence: float,
) -> Outcome:
    parts = [_parts(members), _parts(others)]
    score = LearnedAttack(parts[0][0], parts[1][0]) if learned else _sum_score
    calibration, scored = (Scores(score(parts[0][part]), score(parts[1][part])) for part in (1, 2))
    value = auc(scored)
    return Outcome(
        seed,
        success_rate(calibration, scored, confidence=confidence),
        value,
        auc_interval(value, len(scored.members), len(scored.others), confidence=confidence),
        tuple(bounded_rate(calibration, scored, bound, confidence=confidence) for bound in bounds),
        scored,
    )


def _parts(maps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    learn, calibrate = int(LEARN_SHARE * len(maps)), int(CALIBRATION_SHARE * len(maps))
    if calibrate < 1:
        raise ValueError(f"each side must have at least {round(1 / CALIBRATION_SHARE)} images, got {len(maps)}")
    return maps[:learn], maps[learn : learn + calibrate], maps[learn + calibrate :]


def _sum_score(maps: torch.Tensor) -> torch.Tensor:
    return -maps.to(torch.float64).flatten(1).sum(1)
