"""Endpoints of a path in which one window of steps was changed: Tables 1, 5 and 6 of the paper.

A stochastic sampler runs down the grid with a neural denoiser. Two changes are made inside a window of its steps:

* *swap*: another denoiser takes the place of the neural one, all noise kept;
* *redraw* (the paper's "ref."): the denoiser is kept and the noise of the window is drawn afresh.

Everything outside the window stays the same, the initial noise and the noise of every other step included, since noise
depends on the seed, the sample and the step alone (``noise``). How far the endpoint moves tells what a window decides.

That the sampler is a stochastic one is inferred: there would be no noise to draw again in another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from privlib.numerics import check_count, check_sigmas
from privlib.samplers.noise import Purpose, SampleNoise
from privlib.samplers.path import denoise, ignore, stochastic_steps
from privlib.samplers.steps import Denoiser


@dataclass(frozen=True)
class Sampler:
    """What the unchanged path is made with.

    Attributes:
        denoiser: of every step, usually neural.
        sigmas: decreasing noise levels, at least two; kept as floats. Step i is the one from level i; the last step is
            the denoised image of the last level, without noise.
        update: ``steps.euler_maruyama_step`` or ``steps.ancestral_step``.

    Raises:
        ValueError: a bad grid, or one of fewer than two levels.
    """

    denoiser: Denoiser
    sigmas: tuple[float, ...]
    update: Callable[..., torch.Tensor]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigmas", tuple(check_sigmas(self.sigmas).tolist()))
        check_count(len(self.sigmas), "number of sigmas", minimum=2)

    def run(
        self,
        x: torch.Tensor,
        start: int,
        *,
        denoiser_at: Callable[[int], Denoiser],
        noise_at: Callable[[int], torch.Tensor],
        observe: Callable[..., None] = ignore,
    ) -> torch.Tensor:
        """From the state ``x`` at level ``start`` to the clean image."""
        last = len(self.sigmas) - 1
        x = stochastic_steps(
            denoiser_at,
            x,
            self.sigmas,
            range(start, last),
            update=self.update,
            noise_at=noise_at,
            observe=observe,
        )
        denoised = denoise(denoiser_at(last), x, self.sigmas[last])
        observe(last, self.sigmas[last], x, denoised)
        return denoised


def swap_window(
    sampler: Sampler, substitute: Denoiser, window: range, x: torch.Tensor, noise: SampleNoise
) -> torch.Tensor:
    """Endpoint with ``substitute`` in the steps of ``window``; ``x`` is the state at the first of them."""
    return sampler.run(
        x,
        window.start,
        denoiser_at=lambda i: substitute if i in window else sampler.denoiser,
        noise_at=lambda i: noise.normal(Purpose.PUBLIC_STEP, i),
    )


def redraw_window(sampler: Sampler, window: range, x: torch.Tensor, noise: SampleNoise) -> torch.Tensor:
    """Endpoint with fresh noise in the steps of ``window``; ``x`` is the state at the first of them."""
    return sampler.run(
        x,
        window.start,
        denoiser_at=lambda i: sampler.denoiser,
        noise_at=lambda i: noise.normal(Purpose.REDRAWN_STEP if i in window else Purpose.PUBLIC_STEP, i),
    )


@dataclass(frozen=True)
class WindowEndpoints:
    """Endpoints of the unchanged and the changed paths, row by row from the same noise.

    Attributes:
        unchanged: the denoiser kept in all steps, float64, shape (count, *event).
        swapped, redrawn: one such tensor for each window.
        all_swapped: the substitute in all steps.
    """

    unchanged: torch.Tensor = field(repr=False)
    swapped: tuple[torch.Tensor, ...] = field(repr=False)
    redrawn: tuple[torch.Tensor, ...] = field(repr=False)
    all_swapped: torch.Tensor = field(repr=False)


@torch.no_grad()
def window_endpoints(
    sampler: Sampler,
    substitute: Denoiser,
    windows: Sequence[range],
    *,
    image_shape: tuple[int, ...],
    count: int,
    seed: int,
    batch_size: int = 64,
    device: torch.device | str = "cpu",
) -> WindowEndpoints:
    """Run the unchanged path once, and each changed one from the state at which its window starts.

    Args:
        sampler: of the unchanged path.
        substitute: the denoiser that takes its denoiser's place in a window, usually the empirical one.
        windows: steps of each window, a range of step 1 within the steps of the grid.
        image_shape: of one image.
        count: number of samples.
        seed: of the noise.
        batch_size: samples in memory at once, with one state for each window. Sample i is the same in every batch, as
            far as the denoisers' rounding does not depend on the size of theirs.
        device: of the states; the endpoints are on the CPU.

    Raises:
        ValueError: a window that is empty, has gaps or leaves the grid; another argument outside its range.

    Cost: with N levels, N evaluations of the denoiser for the unchanged path; for each window N - stop for the swap and
    N - start for the redraw; and of the substitute N and those of the windows.
    """
    for window in windows:
        _check_window(window, len(sampler.sigmas))
    check_count(count)
    check_count(batch_size, "batch_size")
    batches = []
    for first in range(0, count, batch_size):
        noise = SampleNoise(seed, range(first, min(first + batch_size, count)), image_shape, device)
        batches.append(_endpoints(sampler, substitute, windows, noise))
    parts = [torch.cat([ends.cpu() for ends in column]) for column in zip(*batches, strict=True)]
    middle = 2 + len(windows)
    return WindowEndpoints(parts[0], tuple(parts[2:middle]), tuple(parts[middle:]), parts[1])


def _endpoints(
    sampler: Sampler, substitute: Denoiser, windows: Sequence[range], noise: SampleNoise
) -> list[torch.Tensor]:
    """Unchanged, all swapped, then each window swapped, then each redrawn."""
    initial = sampler.sigmas[0] * noise.normal(Purpose.INITIAL)
    starts = {window.start for window in windows}
    states = {}

    def keep(index: int, sigma: float, x: torch.Tensor, denoised: torch.Tensor) -> None:
        if index in starts:
            states[index] = x

    unchanged = sampler.run(
        initial,
        0,
        denoiser_at=lambda i: sampler.denoiser,
        noise_at=lambda i: noise.normal(Purpose.PUBLIC_STEP, i),
        observe=keep,
    )
    return [
        unchanged,
        swap_window(sampler, substitute, range(len(sampler.sigmas)), initial, noise),
        *(swap_window(sampler, substitute, window, states[window.start], noise) for window in windows),
        *(redraw_window(sampler, window, states[window.start], noise) for window in windows),
    ]


def _check_window(window: range, num_levels: int) -> None:
    inside = isinstance(window, range) and window.step == 1 and 0 <= window.start < window.stop <= num_levels
    if not inside:
        raise ValueError(
            f"windows must be ranges of consecutive steps within 0..{num_levels - 1} for this grid of {num_levels} "
            f"levels, got {window!r}"
        )
