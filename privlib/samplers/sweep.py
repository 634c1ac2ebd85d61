"""Points of the paper's sweep (Tables 3, 8, 9 and 10, Figure 3): settings of the sampler, and samples at them.

Points that differ in hand-off and re-noising share their private steps. Or each is sampled on its own and kept in a
folder, so that a large sweep can be spread over machines: whoever asks for the same point later, with the same data,
weights and seed, reads it back.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from privlib.mechanisms import SubsampledGaussian, block_mechanism, output_wise_block, pooled
from privlib.numerics import check_count, check_positive
from privlib.samplers.batched import in_batches
from privlib.samplers.hybrid import PrivateDenoiser, output_wise
from privlib.samplers.noise import SampleNoise
from privlib.samplers.path import Plan, PublicTail, private_steps, public_tail
from privlib.samplers.runs import Run
from privlib.samplers.steps import Denoiser
from privlib.samplers.subsampling import poisson_blocks
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


def draw_settings(
    private: PrivateDenoiser,
    plans: Mapping[Setting, Plan],
    *,
    num_records: int,
    num_samples: int,
    at_once: int,
    seed: int,
    device: torch.device | str = "cpu",
    folder: Path | None = None,
) -> dict[Setting, Run]:
    """Samples of ``hybrid.output_wise`` at several settings that differ in hand-off and re-noising.

    They share noise and blocks, so they are paired sample by sample. Each run is charged as if it alone were released;
    a release of them all is not covered by any one of the charges.

    Args:
        private: denoiser of the private records, made for the block size and beta of the settings where they matter.
        plans: ``setting.plan(...)`` of each setting; one block size, one grid, one kind of step.
        num_records: public, nominal number n of records; q = B / n.
        num_samples: of each setting.
        at_once: samples in memory at once.
        seed: of noise and blocks.
        device: of the state.
        folder: where finished batches of each setting are kept and found again (see ``batched.in_batches``). Without
            one the settings share their private steps, which are run once: the same images, sooner.

    Raises:
        ValueError: no setting, settings with different block sizes or plans with different grids or steps, B above n,
            or as ``hybrid.output_wise`` and ``batched.in_batches``.

    Cost: the private steps of the longest block and every tail; with a folder the private steps of every setting.
    """
    sizes = {setting.batch_size for setting in plans}
    if len(sizes) != 1 or len({(plan.sigmas, plan.step, plan.adjacency) for plan in plans.values()}) != 1:
        raise ValueError(
            f"plans must be of one block size, one grid and one kind of step, got block sizes {sorted(sizes)}"
        )
    (size,) = sizes
    if size > check_count(num_records, "num_records"):
        raise ValueError(f"batch_size must lie in 1..num_records = {num_records}, got {size}")
    probability = size / num_records
    if folder is not None:
        return {
            setting: in_batches(
                functools.partial(output_wise, private, plan, sampling_probability=probability, device=device),
                count=num_samples,
                batch_size=at_once,
                seed=seed,
                folder=folder / f"{type(private).__name__} {setting.name}",
            )
            for setting, plan in plans.items()
        }
    num_samples, at_once = check_count(num_samples, "num_samples"), check_count(at_once, "at_once")
    parts: dict[Setting, list[Run]] = {setting: [] for setting in plans}
    for first in range(0, num_samples, at_once):
        samples = range(first, min(first + at_once, num_samples))
        noise = SampleNoise(seed, samples, private.image_shape, device)
        for setting, run in _shared(private, plans, probability, noise):
            parts[setting].append(run)
    return {setting: _joined(runs) for setting, runs in parts.items()}


@torch.no_grad()
def _shared(
    private: PrivateDenoiser, plans: Mapping[Setting, Plan], probability: float, noise: SampleNoise
) -> Iterator[tuple[Setting, Run]]:
    """One batch of every setting, from the states of the longest block at the hand-offs."""
    started = time.perf_counter()
    longest = max(plans.values(), key=lambda plan: plan.num_private_steps)
    states = {}

    def keep(index: int, sigma: float, x: torch.Tensor, denoised: torch.Tensor) -> None:
        states[index] = x

    denoiser = private.on_blocks(poisson_blocks(noise, private.num_records, probability))
    states[longest.num_private_steps] = private_steps(longest, lambda i: denoiser, noise, keep)
    for setting, plan in plans.items():
        images = public_tail(plan, states[plan.num_private_steps], noise)
        gdp_mus = plan.gdp_mus(private)
        mechanism = gdp_mus and block_mechanism(
            gdp_mus, probability, count=len(noise.samples), adjacency=plan.adjacency
        )
        settings = {"sampler": "output-wise", "setting": setting.name, "seed": noise.seed}
        yield setting, Run(images.cpu(), mechanism, plan.end_sigma, settings, time.perf_counter() - started)
        started = time.perf_counter()


def _joined(runs: list[Run]) -> Run:
    """Batches of one run, the charge for all of its outputs."""
    mechanisms = [run.mechanism for run in runs]
    return Run(
        torch.cat([run.images for run in runs]),
        None if None in mechanisms else pooled(mechanisms),
        runs[0].sigma,
        runs[0].settings,
        sum(run.seconds for run in runs),
    )
