"""The loops that samplers are made of: stochastic steps down the grid, and a public tail after the hand-off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from privlib.numerics import check_count, check_positive, check_sigmas
from privlib.samplers.noise import Purpose, SampleNoise
from privlib.samplers.steps import (
    EULER_MARUYAMA,
    Denoiser,
    PrivateStep,
    ancestral_step,
    euler_maruyama_step,
    heun_step,
    renoise,
)
from privlib.schedules import edm_sigmas
from privlib.types import Adjacency

#: Called before every step with its index on the grid, the noise level, the state and the denoiser's output there.
#: Of a private run, the charge covers the states; the denoiser's outputs carry no noise and are not to be released.
Observer = Callable[[int, float, torch.Tensor, torch.Tensor], None]


def ignore(index: int, sigma: float, x: torch.Tensor, denoised: torch.Tensor) -> None:
    """The observer that does nothing."""


def denoise(denoiser: Denoiser, x: torch.Tensor, sigma: float) -> torch.Tensor:
    """``denoiser(x, sigma)``; ValueError if the shape is not that of ``x``, which broadcasting would hide."""
    denoised = denoiser(x, sigma)
    if denoised.shape != x.shape:
        raise ValueError(f"denoiser must return the shape of x, {tuple(x.shape)}, got {tuple(denoised.shape)}")
    return denoised


def stochastic_steps(
    denoiser_at: Callable[[int], Denoiser],
    x: torch.Tensor,
    levels: Sequence[float],
    indices: range,
    *,
    update: Callable[..., torch.Tensor],
    noise_at: Callable[[int], torch.Tensor],
    observe: Observer = ignore,
) -> torch.Tensor:
    """Steps ``levels[i] -> levels[i + 1]`` for i in ``indices``.

    Args:
        denoiser_at: the denoiser of step i.
        x: state at ``levels[indices[0]]``, float64.
        levels: decreasing noise levels.
        indices: which steps.
        update: a step of ``steps``, called as ``update(x, denoised, t, s, noise=...)``.
        noise_at: standard normal noise of step i.
        observe: see ``Observer``.
    """
    for i in indices:
        t, s = levels[i], levels[i + 1]
        denoised = denoise(denoiser_at(i), x, t)
        observe(i, t, x, denoised)
        x = update(x, denoised, t, s, noise=noise_at(i))
    return x


def public_heun(
    denoiser: Denoiser, x: torch.Tensor, levels: Sequence[float], start: int, noise: SampleNoise, observe: Observer
) -> torch.Tensor:
    """Deterministic Heun steps from ``levels[start]`` down the grid and to zero; ``noise`` is not used."""
    ends = [*levels[1:], 0.0]
    for i in range(start, len(levels)):
        denoised = denoise(denoiser, x, levels[i])
        observe(i, levels[i], x, denoised)
        x = heun_step(denoiser, x, denoised, levels[i], ends[i])
    return x


@dataclass(frozen=True)
class CoarseHeun:
    """``public_heun`` on a grid of its own, for tails that have to be cheap: 2 ``num_levels`` - 1 evaluations.

    The levels are those of ``schedules.edm_sigmas`` from the level where the tail starts down to ``sigma_min``, however
    many levels of the plan's grid lie between; from there the denoised image is taken.

    Attributes:
        num_levels: at least 2.
        sigma_min: last level, below every level that a tail can start from.

    Raises:
        ValueError: a value outside its range, ``sigma_min`` when the tail starts.
    """

    num_levels: int
    sigma_min: float = 0.02

    def __post_init__(self) -> None:
        check_count(self.num_levels, "num_levels", minimum=2)
        check_positive("sigma_min", self.sigma_min)

    @property
    def __name__(self) -> str:
        return f"public_heun, {self.num_levels} levels down to {self.sigma_min:g}"

    def __call__(
        self,
        denoiser: Denoiser,
        x: torch.Tensor,
        levels: Sequence[float],
        start: int,
        noise: SampleNoise,
        observe: Observer,
    ) -> torch.Tensor:
        own = edm_sigmas(self.num_levels, sigma_min=self.sigma_min, sigma_max=levels[start]).tolist()
        return public_heun(denoiser, x, own, 0, noise, observe)


def public_ancestral(
    denoiser: Denoiser, x: torch.Tensor, levels: Sequence[float], start: int, noise: SampleNoise, observe: Observer
) -> torch.Tensor:
    """Ancestral steps from ``levels[start]`` down the grid, then the denoised image of the last level."""
    return _public_steps(denoiser, x, levels, start, noise, observe, ancestral_step)


def public_euler_maruyama(
    denoiser: Denoiser, x: torch.Tensor, levels: Sequence[float], start: int, noise: SampleNoise, observe: Observer
) -> torch.Tensor:
    """Euler-Maruyama steps from ``levels[start]`` down the grid, then the denoised image of the last level.

    They leave more noise than the denoiser is told (``steps.euler_maruyama_noise``), and a network draws that as
    texture: it is the paper's step to look at, not the one to make pictures with.
    """
    return _public_steps(denoiser, x, levels, start, noise, observe, euler_maruyama_step)


def _public_steps(
    denoiser: Denoiser,
    x: torch.Tensor,
    levels: Sequence[float],
    start: int,
    noise: SampleNoise,
    observe: Observer,
    update: Callable[..., torch.Tensor],
) -> torch.Tensor:
    last = len(levels) - 1
    x = stochastic_steps(
        lambda i: denoiser,
        x,
        levels,
        range(start, last),
        update=update,
        noise_at=lambda i: noise.normal(Purpose.PUBLIC_STEP, i),
        observe=observe,
    )
    denoised = denoise(denoiser, x, levels[last])
    observe(last, levels[last], x, denoised)
    return denoised


@dataclass(frozen=True)
class PublicTail:
    """What follows the private steps, free of charge: re-noising, then public steps to a clean image.

    After k private steps the state has noise of ``Plan.handoff_noise``, and the public steps start there, not at
    ``sigmas[k]``. With re-noising, noise is added up to ``sigmas[k - num_renoise_steps]``, in one go, and the public
    steps start there. The paper names "T public re-noising steps from t0 to t1" without the formula; that they are T
    levels of the grid, as in SDEdit (Meng et al. 2022), is inferred.

    Attributes:
        denoiser: public denoiser. It must not have been trained on, or chosen by, the private records: then its steps
            would not be post-processing, and the mechanism of the run would be void. This cannot be checked here.
        num_renoise_steps: T, from 0 to the number of private steps.
        solver: ``public_heun``, ``public_ancestral``, ``public_euler_maruyama`` or a ``CoarseHeun``.
    """

    denoiser: Denoiser
    num_renoise_steps: int = 0
    solver: Callable[..., torch.Tensor] = public_heun

    def __post_init__(self) -> None:
        check_count(self.num_renoise_steps, "num_renoise_steps", minimum=0)


@dataclass(frozen=True)
class Plan:
    """Private steps down a noise grid, and what follows them.

    Attributes:
        sigmas: decreasing noise levels, at least two; kept as floats.
        num_private_steps: k in 1..len(sigmas) - 1; the hand-off is at ``sigmas[k]``. For a block that is named by its
            share of the grid, ``schedules.num_block_steps(fraction, len(sigmas))``.
        step: ``steps.EULER_MARUYAMA`` (the paper's) or ``steps.ANCESTRAL``: the update together with its charge.
        tail: public part, or None to stop at the hand-off with noise of ``sigmas[k]`` left in the images.
        adjacency: neighbouring relation that is charged.

    Raises:
        ValueError: a bad grid, ``num_private_steps`` outside its range, more levels of re-noising than private steps,
            or re-noising to a level below the noise that is there.
    """

    sigmas: tuple[float, ...]
    num_private_steps: int
    step: PrivateStep = EULER_MARUYAMA
    tail: PublicTail | None = None
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE_ONE

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigmas", tuple(check_sigmas(self.sigmas).tolist()))
        last, steps = len(self.sigmas) - 1, check_count(self.num_private_steps, "num_private_steps")
        if steps > last:
            raise ValueError(f"num_private_steps must lie in 1..{last} for this grid, got {steps}")
        if self.tail is not None and self.tail.num_renoise_steps > steps:
            raise ValueError(
                f"num_renoise_steps must lie in 0..num_private_steps = {steps}, got {self.tail.num_renoise_steps}"
            )
        start = steps if self.tail is None else steps - self.tail.num_renoise_steps
        if start < steps and self.handoff_noise > self.sigmas[start]:
            raise ValueError(
                f"num_renoise_steps = {self.tail.num_renoise_steps} leads to level {self.sigmas[start]:.4g}, but steps "
                f"this coarse leave noise of {self.handoff_noise:.4g}: take more, a finer grid or ANCESTRAL steps"
            )

    @property
    def handoff_noise(self) -> float:
        """Noise level that the state has after the private steps, for a denoised image that stays where it is.

        ``sigmas[num_private_steps]`` for ancestral steps; more for Euler-Maruyama, see ``steps.euler_maruyama_noise``.
        """
        return self.step.noise_levels(self.sigmas[: self.num_private_steps + 1])[-1]

    @property
    def end_sigma(self) -> float:
        """Noise level that is left in the images: 0 after a tail, else ``handoff_noise``."""
        return self.handoff_noise if self.tail is None else 0.0

    def gdp_mus(self, private: object) -> list[float] | None:
        """GDP parameter of each private step, from ``private.sensitivity`` at the levels where it is evaluated.

        None if ``private`` has no such method: then nothing is proved, and nothing may be charged.
        """
        if not hasattr(private, "sensitivity"):
            return None
        levels = self.sigmas[: self.num_private_steps + 1]
        return self.step.gdp_mu(levels, sensitivity=[private.sensitivity(t) for t in levels[:-1]]).tolist()


def private_steps(
    plan: Plan, denoiser_at: Callable[[int], Denoiser], noise: SampleNoise, observe: Observer = ignore
) -> torch.Tensor:
    """From pure noise at ``plan.sigmas[0]`` to the hand-off, with denoiser ``denoiser_at(i)`` in step i."""
    return stochastic_steps(
        denoiser_at,
        plan.sigmas[0] * noise.normal(Purpose.INITIAL),
        plan.sigmas,
        range(plan.num_private_steps),
        update=plan.step.update,
        noise_at=lambda i: noise.normal(Purpose.PRIVATE_STEP, i),
        observe=observe,
    )


def public_tail(plan: Plan, x: torch.Tensor, noise: SampleNoise, observe: Observer = ignore) -> torch.Tensor:
    """From the hand-off to the clean image; ``x`` as it is if the plan has no tail."""
    if plan.tail is None:
        return x
    levels, start = list(plan.sigmas), plan.num_private_steps - plan.tail.num_renoise_steps
    if plan.handoff_noise < levels[start]:
        x = renoise(x, plan.handoff_noise, levels[start], noise=noise.normal(Purpose.RENOISE))
    levels[start] = max(levels[start], plan.handoff_noise)
    return plan.tail.solver(plan.tail.denoiser, x, levels, start, noise, observe)
