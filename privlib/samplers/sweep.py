"""Points of the paper's sweep (Tables 3, 8, 9 and 10, Figure 3), each of them one run and one mechanism.

A point can be sampled on its own and kept in a folder, so a large sweep can be spread over machines: whoever asks for
the same point later, with the same data, weights and seed, reads it back (see ``batched.in_batches``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from privlib.mechanisms import SubsampledGaussian, output_wise_block
from privlib.numerics import check_count, check_positive
from privlib.samplers.batched import in_batches
from privlib.samplers.hybrid import PrivateDenoiser, output_wise
from privlib.samplers.path import Plan, PublicTail
from privlib.samplers.runs import Run
from privlib.samplers.steps import Denoiser
from privlib.schedules import num_block_steps


@dataclass(frozen=True)
class Setting:
    """What the paper varies.

    Attributes:
        percent: share of the grid that is private, in (0, 100]; the hand-off comes after it.
        num_renoise_steps: levels that public noise goes back up after the hand-off, at least 0.
        batch_size: expected number B of records in a block, at least 1.
        beta: public normalization, positive.

    Raises:
        ValueError: a value outside its range.
    """

    percent: float
    num_renoise_steps: int
    batch_size: int
    beta: float = 1.0

    def __post_init__(self) -> None:
        check_positive("percent", self.percent)
        if self.percent > 100:
            raise ValueError(f"percent must lie in (0, 100], got {self.percent}")
        check_count(self.num_renoise_steps, "num_renoise_steps", minimum=0)
        check_count(self.batch_size, "batch_size")
        check_positive("beta", self.beta)

    @property
    def name(self) -> str:
        return f"{self.percent:g} %, T = {self.num_renoise_steps}, B = {self.batch_size}, beta = {self.beta:g}"

    def plan(self, sigmas: object, denoiser: Denoiser, *, solver: Callable[..., torch.Tensor]) -> Plan:
        """Private steps on ``sigmas``, then a tail of the public ``denoiser``; see ``path``."""
        steps = num_block_steps(self.percent / 100, len(sigmas))
        return Plan(sigmas, steps, tail=PublicTail(denoiser, self.num_renoise_steps, solver))

    def as_reported(self, sigmas: object, *, num_records: int, count: int) -> SubsampledGaussian:
        """What the paper's accounting charges: sensitivity 1 / beta *taken as given*, whatever the denoiser.

        It is a guarantee for a denoiser that proves this sensitivity, and for no other. Re-noising does not enter.
        """
        return output_wise_block(
            sigmas,
            self.percent / 100,
            batch_size=self.batch_size,
            num_records=num_records,
            count=count,
            beta=self.beta,
        )


def draw_setting(
    private: PrivateDenoiser,
    setting: Setting,
    plan: Plan,
    *,
    num_records: int,
    num_samples: int,
    at_once: int,
    seed: int,
    device: torch.device | str = "cpu",
    folder: Path | None = None,
) -> Run:
    """Samples of the output-wise sampler at one setting.

    Args:
        private: denoiser of the private records, made for this setting's block size and beta where they matter to it.
        setting: of the sweep.
        plan: ``setting.plan(...)``.
        num_records: public, nominal number n of records; q = B / n.
        num_samples: how many.
        at_once: samples in memory at once.
        seed: of noise and blocks; settings that share it are paired sample by sample, and may not all be released
            under the price of one (see ``noise``).
        device: of the state.
        folder: where finished batches are kept and found again, one folder below it for each kind of denoiser and
            setting; None keeps nothing.

    Raises:
        ValueError: as ``hybrid.output_wise`` and ``batched.in_batches``; B above n.
    """
    if setting.batch_size > check_count(num_records, "num_records"):
        raise ValueError(f"batch_size must lie in 1..num_records = {num_records}, got {setting.batch_size}")
    sampler = functools.partial(
        output_wise, private, plan, sampling_probability=setting.batch_size / num_records, device=device
    )
    kept = None if folder is None else folder / f"{type(private).__name__} {setting.name}"
    return in_batches(sampler, count=num_samples, batch_size=at_once, seed=seed, folder=kept)
