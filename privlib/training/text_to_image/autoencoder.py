"""The autoencoder: 32 by 32 pictures to 8 by 8 latents of unit variance and back."""

from __future__ import annotations

from pathlib import Path

import torch

from privlib.training.resumable import Progress, fit
from privlib.training.text_to_image.captions import Captioned, Views, draw_views, render
from privlib.training.text_to_image.recipe import TextToImageRecipe

#: Streams of random numbers: first weights, the views that are trained on, the latents' views, diffusion.
WEIGHTS, PICTURES, LATENTS, DIFFUSION = range(4)


def generator_of(seed: int, stream: int, step: int = 0) -> torch.Generator:
    """A generator for one step of one stream. Torch's CPU generator looks at the lowest 32 bits of a seed only."""
    return torch.Generator().manual_seed((seed * 1_000_003 + stream * 500_009 + step * 7_919) % 2**32)


def build_autoencoder(recipe: TextToImageRecipe) -> torch.nn.Module:
    """A diffusers ``AutoencoderKL`` with fresh weights from torch's global generator."""
    from diffusers import AutoencoderKL

    levels = len(recipe.autoencoder_channels)
    return AutoencoderKL(
        block_out_channels=recipe.autoencoder_channels,
        down_block_types=("DownEncoderBlock2D",) * levels,
        up_block_types=("UpDecoderBlock2D",) * levels,
        latent_channels=recipe.latent_channels,
        layers_per_block=1,
        norm_num_groups=8,
        sample_size=32,
        scaling_factor=1.0,
        mid_block_add_attention=False,
    )


def reconstruction_loss(
    autoencoder: torch.nn.Module, images: torch.Tensor, noise: torch.Tensor, *, kl_weight: float
) -> torch.Tensor:
    """Mean absolute error plus mean squared error of the decoded sample, plus the weighted mean divergence."""
    posterior = autoencoder.encode(images).latent_dist
    mean, logvar = posterior.mean.float(), posterior.logvar.float()
    decoded = autoencoder.decode(mean + (0.5 * logvar).exp() * noise).sample.float()
    divergence = 0.5 * (mean.square() + logvar.exp() - 1.0 - logvar).mean()
    error = decoded - images
    return error.abs().mean() + error.square().mean() + kl_weight * divergence


@torch.no_grad()
def normalise_latents(autoencoder: torch.nn.Module, images: torch.Tensor) -> None:
    """Give each latent channel mean 0 and deviation 1 over ``images``, by folding both into the 1 by 1 convolutions.

    The decoded pictures stay the same, and the pipeline's one scaling factor can be 1.
    """
    means = torch.cat([autoencoder.encode(part).latent_dist.mean for part in images.split(256)])
    shift, scale = means.mean(dim=(0, 2, 3)), means.std(dim=(0, 2, 3))
    channels = len(shift)
    before, after = autoencoder.quant_conv, autoencoder.post_quant_conv
    after.bias += (after.weight[:, :, 0, 0] * shift).sum(dim=1)
    after.weight *= scale[:, None, None]
    before.weight[:channels] /= scale[:, None, None, None]
    before.bias[:channels] = (before.bias[:channels] - shift) / scale
    before.bias[channels:] -= 2.0 * scale.log()


def train_autoencoder(
    recipe: TextToImageRecipe,
    pictures: Captioned,
    folder: Path,
    *,
    device: str | torch.device = "cpu",
    progress: Progress = lambda images, loss, measured: None,
) -> torch.nn.Module:
    """Train the autoencoder (see ``fit`` for interruptions) and normalise its latents; it ends on the CPU."""
    stage = recipe.autoencoder
    torch.manual_seed(stage.seed)
    # Channels last and reduced precision are what makes a CPU fast here; neither changes what is saved.
    network = build_autoencoder(recipe).to(memory_format=torch.channels_last)

    def loss_of(current: torch.nn.Module, step: int) -> torch.Tensor:
        generator = generator_of(stage.seed, PICTURES, step)
        chosen = torch.randint(len(pictures), (stage.batch_size,), generator=generator)
        views = draw_views(pictures.is_glyph, chosen, generator, shift=recipe.shift)
        noise = torch.randn((stage.batch_size, recipe.latent_channels, 8, 8), generator=generator)
        images = render(pictures.pixels, views).contiguous(memory_format=torch.channels_last)
        return reconstruction_loss(current, images.to(device), noise.to(device), kl_weight=recipe.kl_weight)

    key = ["autoencoder", recipe.autoencoder_dict(), pictures.sha256()]
    return finish(fit(network, loss_of, stage, folder, key=key, device=device, progress=progress), recipe, pictures)


def finish(network: torch.nn.Module, recipe: TextToImageRecipe, pictures: Captioned) -> torch.nn.Module:
    """Normalise the latents of an autoencoder, trained to its end or not, over some of the pictures; returns it."""
    generator = generator_of(recipe.autoencoder.seed, LATENTS)
    chosen = torch.randperm(len(pictures), generator=generator)[:2048]
    views = draw_views(pictures.is_glyph, chosen, generator, shift=recipe.shift)
    normalise_latents(network, render(pictures.pixels, views))
    return network


@torch.no_grad()
def reconstruction_psnr(autoencoder: torch.nn.Module, images: torch.Tensor) -> float:
    """Peak signal-to-noise ratio in decibels of images, on the unit scale, that were encoded and decoded."""
    decoded = torch.cat([autoencoder.decode(autoencoder.encode(x).latent_dist.mean).sample for x in images.split(64)])
    error = (decoded.clamp(-1.0, 1.0) - images).square().mean(dtype=torch.float64)
    return float(10.0 * torch.log10(4.0 / error))


@torch.no_grad()
def encode_views(autoencoder: torch.nn.Module, pixels: torch.Tensor, views: Views) -> torch.Tensor:
    """Latent means of the views, float16, shape (n, channels, 8, 8); 1 KiB and about 3 ms a view."""
    parts = []
    for start in range(0, len(views), 256):
        images = render(pixels, views.at(slice(start, start + 256))).contiguous(memory_format=torch.channels_last)
        with torch.autocast("cpu", torch.bfloat16):
            parts.append(autoencoder.encode(images).latent_dist.mean.half().contiguous())
    return torch.cat(parts)
