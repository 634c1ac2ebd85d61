"""Hybrid samplers: private steps down to the hand-off, then a public tail.

They differ in which records take part in a private step: ``output_wise`` draws one random block for each output and
keeps it, ``per_step`` draws a fresh block at every step, ``full_batch`` uses all records. ``reference`` has no private
part. With one seed all of them start from the same noise and add the same noise in each step (Figure 2 of the paper
compares the first two so). A seed is for one release: see ``noise``.

Common arguments
----------------
* ``private``: denoiser of the private records; see ``PrivateDenoiser``. If it has a method ``sensitivity(sigma)``, the
  run is charged that sensitivity at every level where it was evaluated; if not, the run has no mechanism.
* ``plan``: grid, private steps, tail and adjacency; see ``path.Plan``.
* ``sampling_probability``: q in (0, 1], public: ``B / n`` with n the nominal size of the data set, not a private count.
* ``count``, ``seed``, ``first_sample``: samples ``first_sample .. first_sample + count - 1`` of the run with that seed.
  Sample i is the same in every batch, as far as the denoiser's rounding does not depend on the size of its batch.
* ``device``: of the state; ``observe``: see ``path.Observer``.

All raise ValueError for arguments outside their range. Cost: the private evaluations on ``count`` rows and those of the
tail. The whole batch is in memory at once; ``batched.in_batches`` splits a long run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import torch

from privlib.denoisers.blocks import Blocks
from privlib.mechanisms import Mechanism, block_mechanism, per_step_composition
from privlib.numerics import check_count, check_sigmas
from privlib.samplers.noise import Purpose, SampleNoise
from privlib.samplers.path import Observer, Plan, ignore, private_steps, public_heun, public_tail
from privlib.samplers.runs import Run
from privlib.samplers.steps import Denoiser
from privlib.samplers.subsampling import poisson_blocks


class PrivateDenoiser(Protocol):
    """A denoiser over private records.

    One with a proof has also ``sensitivity(sigma) -> float``: the L2 distance that adding or removing one record can
    move a row of the output, for all records as well as for a block, at every x. It must be a public function of sigma.
    """

    num_records: int
    image_shape: tuple[int, ...]

    def __call__(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor: ...

    def on_blocks(self, blocks: Blocks) -> Denoiser: ...


@torch.no_grad()
def output_wise(
    private: PrivateDenoiser,
    plan: Plan,
    *,
    sampling_probability: float,
    count: int,
    seed: int,
    first_sample: int = 0,
    device: torch.device | str = "cpu",
    observe: Observer = ignore,
) -> Run:
    """The paper's sampler: one random block for each output, reused in all its private steps.

    Charged as ``count`` Poisson-subsampled Gaussians whose ``gdp_mu`` is the root of the summed squares of the steps.
    Arguments: see the module.
    """
    started = time.perf_counter()
    noise = SampleNoise(seed, _samples(first_sample, count), private.image_shape, device)
    gdp_mus = plan.gdp_mus(private)
    denoiser = private.on_blocks(poisson_blocks(noise, private.num_records, sampling_probability))
    x = private_steps(plan, lambda i: denoiser, noise, observe)
    images = public_tail(plan, x, noise, observe)
    mechanism = gdp_mus and block_mechanism(gdp_mus, sampling_probability, count=count, adjacency=plan.adjacency)
    return _run(images, mechanism, "output-wise", plan, sampling_probability, noise, started)


@torch.no_grad()
def per_step(
    private: PrivateDenoiser,
    plan: Plan,
    *,
    sampling_probability: float,
    count: int,
    seed: int,
    first_sample: int = 0,
    device: torch.device | str = "cpu",
    observe: Observer = ignore,
) -> Run:
    """A fresh random block for each output at every private step; at the first step the block of ``output_wise``.

    Charged as the composition of the steps, each ``count`` Poisson-subsampled Gaussians. Arguments: see the module.
    """
    started = time.perf_counter()
    noise = SampleNoise(seed, _samples(first_sample, count), private.image_shape, device)
    gdp_mus = plan.gdp_mus(private)

    def denoiser_at(i: int) -> Denoiser:
        return private.on_blocks(poisson_blocks(noise, private.num_records, sampling_probability, step=i))

    x = private_steps(plan, denoiser_at, noise, observe)
    images = public_tail(plan, x, noise, observe)
    mechanism = gdp_mus and per_step_composition(gdp_mus, sampling_probability, count=count, adjacency=plan.adjacency)
    return _run(images, mechanism, "per-step", plan, sampling_probability, noise, started)


@torch.no_grad()
def full_batch(
    private: PrivateDenoiser,
    plan: Plan,
    *,
    count: int,
    seed: int,
    first_sample: int = 0,
    device: torch.device | str = "cpu",
    observe: Observer = ignore,
) -> Run:
    """All records at every private step.

    Charged as ``count`` Gaussians without subsampling, ``gdp_mu`` the root of the summed squares of the steps.
    Arguments: see the module.
    """
    started = time.perf_counter()
    noise = SampleNoise(seed, _samples(first_sample, count), private.image_shape, device)
    gdp_mus = plan.gdp_mus(private)
    x = private_steps(plan, lambda i: private, noise, observe)
    images = public_tail(plan, x, noise, observe)
    mechanism = gdp_mus and block_mechanism(gdp_mus, 1.0, count=count, adjacency=plan.adjacency)
    return _run(images, mechanism, "full batch", plan, 1.0, noise, started)


@torch.no_grad()
def reference(
    denoiser: Denoiser,
    sigmas: object,
    *,
    image_shape: tuple[int, ...],
    count: int,
    seed: int,
    solver: Callable[..., torch.Tensor] = public_heun,
    first_sample: int = 0,
    device: torch.device | str = "cpu",
    observe: Observer = ignore,
) -> Run:
    """One denoiser from the first level to zero, no private step, from the initial noise of the other samplers.

    The run has no mechanism, since what the denoiser was trained on is not known here: the images of a public denoiser
    cost nothing, and those of one that has seen the private records come with no promise.

    Args:
        denoiser: any.
        sigmas: decreasing noise levels.
        image_shape: of one image.
        solver: ``path.public_heun`` or ``path.public_sde``.
        count, seed, first_sample, device, observe: see the module.
    """
    started = time.perf_counter()
    levels = check_sigmas(sigmas).tolist()
    noise = SampleNoise(seed, _samples(first_sample, count), image_shape, device)
    images = solver(denoiser, levels[0] * noise.normal(Purpose.INITIAL), levels, 0, noise, observe)
    settings = {"sampler": "reference", "solver": solver.__name__, "seed": seed}
    return Run(images, None, 0.0, settings, time.perf_counter() - started)


def _samples(first_sample: int, count: int) -> range:
    first_sample = check_count(first_sample, "first_sample", minimum=0)
    return range(first_sample, first_sample + check_count(count))


def _run(
    images: torch.Tensor,
    mechanism: Mechanism | None,
    sampler: str,
    plan: Plan,
    sampling_probability: float,
    noise: SampleNoise,
    started: float,
) -> Run:
    settings = {
        "sampler": sampler,
        "step": plan.step.name,
        "num_private_steps": plan.num_private_steps,
        "handoff_sigma": plan.sigmas[plan.num_private_steps],
        "handoff_noise": plan.handoff_noise,
        "num_renoise_steps": 0 if plan.tail is None else plan.tail.num_renoise_steps,
        "solver": None if plan.tail is None else plan.tail.solver.__name__,
        "sampling_probability": sampling_probability,
        "seed": noise.seed,
    }
    return Run(images, mechanism, plan.end_sigma, settings, time.perf_counter() - started)
