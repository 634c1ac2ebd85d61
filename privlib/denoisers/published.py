r"""Published diffusion checkpoints in diffusers' folder format, as denoisers of the variance-exploding process.

Unrun at full scale in this book: a hub cannot be reached where it is built. The tests load small folders of the same
structure. NVIDIA's own EDM pickles are left out: loading one executes code from the file.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from privlib.data.locate import DataError
from privlib.denoisers.hub import model_folder, sha256_of


class PublishedDenoiser(torch.nn.Module):
    """What both kinds share: the network runs in its own precision, ``x`` keeps its dtype.

    Args:
        network: a diffusers ``UNet2DModel``.
        class_label: class that a conditional network is asked for; None for an unconditional one.
    """

    def __init__(self, network: torch.nn.Module, *, class_label: int | None = None) -> None:
        super().__init__()
        count = network.config.num_class_embeds
        if (count is None) != (class_label is None):
            accepted = "None, the network has no classes" if count is None else f"in 0..{count - 1}"
            raise ValueError(f"class_label must be {accepted}, got {class_label}")
        if count is not None and not 0 <= class_label < count:
            raise ValueError(f"class_label must be in 0..{count - 1}, got {class_label}")
        self.network = network
        self.class_label = class_label

    def _levels(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        channels, side = self.network.config.in_channels, self.network.config.sample_size
        if x.ndim != 4 or tuple(x.shape[1:]) != (channels, side, side):
            raise ValueError(f"x must have shape (batch, {channels}, {side}, {side}), got {tuple(x.shape)}")
        sigma = torch.as_tensor(sigma, dtype=x.dtype, device=x.device).expand(len(x))
        if not bool((sigma > 0).all()):
            raise ValueError("sigma must be positive, since the denoiser is undefined at 0")
        return sigma

    def _network(self, scaled: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        weights = next(self.network.parameters())
        labels = None
        if self.class_label is not None:
            labels = torch.full((len(scaled),), self.class_label, device=scaled.device)
        output = self.network(scaled.to(weights.dtype), label.to(weights.dtype), class_labels=labels)
        # A network that also predicts a variance returns it as further channels.
        return output.sample[:, : scaled.shape[1]].to(scaled.dtype)


class EDMDenoiser(PublishedDenoiser):
    """A network trained with EDM preconditioning, such as the ImageNet-64 port of OpenAI's EDM baseline.

    The formulas are those of ``neural.NeuralDenoiser`` with sigma_data = 0.5 and a noise label of 1000 ln(sigma) / 4.
    """

    sigma_data = 0.5
    noise_scale = 1000.0

    def forward(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        sigma = self._levels(x, sigma)
        level = sigma.reshape(-1, 1, 1, 1)
        total = (level**2 + self.sigma_data**2).sqrt()
        output = self._network(x / total, 0.25 * self.noise_scale * sigma.log())
        return (self.sigma_data / total) ** 2 * x + level * self.sigma_data / total * output


class DDPMDenoiser(PublishedDenoiser):
    r"""A network that predicts the noise of a variance-preserving chain (Ho et al. 2020): google/ddpm-cifar10-32.

    With :math:`\bar\alpha_k` the cumulative product of the chain, step k has level
    :math:`\sigma_k = \sqrt{1/\bar\alpha_k - 1}` and

    .. math:: D(x, \sigma) = x - \sigma\,\epsilon\bigl(x / \sqrt{1 + \sigma^2},\, k(\sigma)\bigr),

    where k is interpolated linearly in :math:`\ln\sigma` between steps. Levels beyond the chain's own use its first or
    last step.

    Args:
        network, class_label: as in ``PublishedDenoiser``.
        betas: variances of the chain, shape (steps,).
    """

    def __init__(self, network: torch.nn.Module, betas: torch.Tensor, *, class_label: int | None = None) -> None:
        super().__init__(network, class_label=class_label)
        kept = torch.cumprod(1.0 - betas.to(torch.float64), dim=0)
        self.log_sigmas = 0.5 * (torch.log1p(-kept) - torch.log(kept))

    def forward(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        sigma = self._levels(x, sigma)
        level = sigma.reshape(-1, 1, 1, 1)
        steps = np.interp(sigma.log().cpu().numpy(), self.log_sigmas.numpy(), np.arange(len(self.log_sigmas)))
        noise = self._network(x / (1.0 + level**2).sqrt(), torch.as_tensor(steps, device=x.device))
        return x - level * noise


def load_published(source: str | Path, *, class_label: int | None = None) -> PublishedDenoiser:
    """A denoiser from a diffusers pipeline: a local folder with ``unet/`` and ``scheduler/``, or a hub name.

    The scheduler's configuration tells the kind: ``DDPMScheduler`` and its relatives with linear betas make a
    ``DDPMDenoiser``; ``EDMEulerScheduler`` and ``CMStochasticIterativeScheduler`` make an ``EDMDenoiser``. Weights are
    read from safetensors only.

    Args:
        source: folder, or a hub name such as ``google/ddpm-cifar10-32`` (needs the network).
        class_label: class for a conditional network.

    Raises:
        DataError: a part of the pipeline is missing or of another kind; the message names it.
    """
    from diffusers import DDPMScheduler, UNet2DModel  # takes seconds to import

    folder = model_folder(source)
    try:
        scheduler = json.loads((folder / "scheduler" / "scheduler_config.json").read_text(encoding="utf-8"))
        network = UNet2DModel.from_pretrained(folder / "unet", use_safetensors=True).eval().requires_grad_(False)
    except (OSError, json.JSONDecodeError) as error:
        raise DataError(f"{source} is not a diffusers pipeline with unet/ and scheduler/: {error}") from None
    kind = scheduler.get("_class_name")
    if kind in ("EDMEulerScheduler", "CMStochasticIterativeScheduler"):
        return EDMDenoiser(network, class_label=class_label)
    if kind in ("DDPMScheduler", "DDIMScheduler", "PNDMScheduler"):
        if scheduler.get("prediction_type", "epsilon") != "epsilon":
            raise DataError(f"{source}: the network must predict epsilon, got {scheduler['prediction_type']}")
        return DDPMDenoiser(network, DDPMScheduler.from_config(scheduler).betas, class_label=class_label)
    raise DataError(f"{source}: scheduler {kind!r} is not one that can be turned into a denoiser")


def published_sha256(source: str | Path) -> str:
    """Checksum of the network's weight files, in the order of their names: what a result made with them depends on.

    Raises:
        DataError: the source cannot be had, or has no weights in safetensors.
    """
    files = sorted((model_folder(source) / "unet").glob("*.safetensors"))
    if not files:
        raise DataError(f"{source} has no weights in safetensors under unet/")
    return sha256_of(files)
