"""Text encoder and U-Net, trained together to predict the velocity of noisy latents from a caption."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from privlib.files import replace_file
from privlib.training.resumable import Progress, fit
from privlib.training.text_to_image.autoencoder import DIFFUSION, LATENTS, encode_views, generator_of
from privlib.training.text_to_image.captions import WORDINGS, Captioned, Views, caption, draw_views
from privlib.training.text_to_image.recipe import TextToImageRecipe

if TYPE_CHECKING:
    from transformers import CLIPTokenizer


class TextToLatent(torch.nn.Module):
    """The two networks as one: ``forward(noisy, timesteps, tokens)`` is the predicted velocity."""

    def __init__(self, text_encoder: torch.nn.Module, unet: torch.nn.Module) -> None:
        super().__init__()
        self.text_encoder = text_encoder
        self.unet = unet

    def forward(self, noisy: torch.Tensor, timesteps: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        words = self.text_encoder(tokens, return_dict=False)[0]
        return self.unet(noisy, timesteps, words, return_dict=False)[0]


def build_text_to_latent(recipe: TextToImageRecipe, tokenizer: CLIPTokenizer) -> TextToLatent:
    """A ``CLIPTextModel`` and a ``UNet2DConditionModel`` with fresh weights from torch's global generator."""
    from diffusers import UNet2DConditionModel
    from diffusers.models.attention_processor import AttnProcessor
    from transformers import CLIPTextConfig, CLIPTextModel

    config = CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=recipe.text_width,
        intermediate_size=4 * recipe.text_width,
        num_hidden_layers=recipe.text_layers,
        num_attention_heads=recipe.text_heads,
        max_position_embeddings=recipe.max_tokens,
        projection_dim=recipe.text_width,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        attn_implementation="eager",
    )
    unet = UNet2DConditionModel(
        sample_size=8,
        in_channels=recipe.latent_channels,
        out_channels=recipe.latent_channels,
        block_out_channels=recipe.unet_channels,
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=recipe.text_width,
        attention_head_dim=recipe.unet_heads,
        norm_num_groups=16,
    )
    # The fused attention's backward pass in bfloat16 is ten times slower on a CPU than the plain one.
    unet.set_attn_processor(AttnProcessor())
    return TextToLatent(CLIPTextModel(config), unet)


def build_scheduler() -> object:
    """Cosine noise, velocity prediction, steps counted from the last: what the model is trained for.

    The last level is pure noise to six digits, so that dark and bright grounds can be drawn.
    """
    from diffusers import DDIMScheduler

    return DDIMScheduler(
        beta_schedule="squaredcos_cap_v2",
        prediction_type="v_prediction",
        clip_sample=False,
        timestep_spacing="trailing",
        steps_offset=1,  # without effect on trailing steps, and what the pipeline expects
        set_alpha_to_one=True,
    )


def all_views(pictures: Captioned, recipe: TextToImageRecipe) -> Views:
    """The views whose latents diffusion is trained on: each picture in several moves, each glyph in several colours."""
    repeats = torch.where(pictures.is_glyph, recipe.glyph_variants, recipe.picture_variants)
    picture = torch.arange(len(pictures)).repeat_interleave(repeats)
    generator = generator_of(recipe.diffusion.seed, LATENTS, 1)
    return draw_views(pictures.is_glyph, picture, generator, shift=recipe.shift)


def epoch_order(count: int, batch_size: int, step: int, seed: int) -> torch.Tensor:
    """Indices of the batch of a step; an epoch is a permutation, so that every view is seen equally often."""
    positions = torch.arange(step * batch_size, (step + 1) * batch_size)
    order = torch.empty_like(positions)
    for epoch in torch.unique(positions // count).tolist():
        here = positions // count == epoch
        permutation = torch.randperm(count, generator=generator_of(seed, DIFFUSION, -1 - epoch))
        order[here] = permutation[positions[here] % count]
    return order


def captions_of(pictures: Captioned, views: Views, generator: torch.Generator, *, dropout: float) -> list[str]:
    """A caption for each view in a random wording, or an empty one with probability ``dropout``."""
    wording = torch.randint(WORDINGS, (len(views),), generator=generator).tolist()
    dropped = (torch.rand(len(views), generator=generator) < dropout).tolist()
    rows = zip(views.picture.tolist(), views.colours.tolist(), wording, dropped, strict=True)
    return [
        "" if drop else caption(pictures.styles[i], pictures.names[i], colours, form) for i, colours, form, drop in rows
    ]


def spread_timesteps(count: int, num_train_timesteps: int, generator: torch.Generator) -> torch.Tensor:
    """Time steps, each uniform, one in each ``count``-th of the range, which steadies the loss."""
    places = (torch.arange(count) + torch.rand(count, generator=generator)) / count
    return (places * num_train_timesteps).long().clamp(max=num_train_timesteps - 1)


def tokens_of(tokenizer: CLIPTokenizer, captions: list[str]) -> torch.Tensor:
    """Token numbers as the diffusers pipeline computes them: cut or filled to the length of the model."""
    length = tokenizer.model_max_length
    batch = tokenizer(captions, padding="max_length", max_length=length, truncation=True, return_tensors="pt")
    return batch.input_ids


def kept_latents(path: Path, key: object, make: Callable[[], torch.Tensor]) -> torch.Tensor:
    """The latents of an earlier start of the same run, or new ones, which are kept: making them takes minutes."""
    words = json.dumps(key, sort_keys=True)
    if path.exists():
        kept = torch.load(path, weights_only=True)
        if kept["key"] == words:
            return kept["latents"]
    latents = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, lambda part: torch.save({"key": words, "latents": latents}, part))
    return latents


def train_diffusion(
    recipe: TextToImageRecipe,
    pictures: Captioned,
    tokenizer: CLIPTokenizer,
    autoencoder: torch.nn.Module,
    folder: Path,
    *,
    device: str | torch.device = "cpu",
    progress: Progress = lambda images, loss, measured: None,
) -> TextToLatent:
    r"""Train text encoder and U-Net on the latents of all views (see ``fit`` for interruptions).

    The loss is the squared error of the velocity :math:`v = \sqrt{\bar\alpha}\,\epsilon - \sqrt{1-\bar\alpha}\,x`
    (Salimans and Ho 2022) at uniform time steps.
    """
    stage = recipe.diffusion
    views = all_views(pictures, recipe)
    key = ["diffusion", recipe.to_dict(), pictures.sha256()]
    latents = kept_latents(folder / "latents.pt", key, lambda: encode_views(autoencoder, pictures.pixels, views))
    torch.manual_seed(stage.seed + 1)
    network = build_text_to_latent(recipe, tokenizer).to(memory_format=torch.channels_last)
    scheduler = build_scheduler()

    def loss_of(current: torch.nn.Module, step: int) -> torch.Tensor:
        generator = generator_of(stage.seed, DIFFUSION, step)
        chosen = epoch_order(len(views), stage.batch_size, step, stage.seed)
        words = captions_of(pictures, views.at(chosen), generator, dropout=recipe.caption_dropout)
        clean = latents[chosen].float()
        noise = torch.randn(clean.shape, generator=generator)
        timesteps = spread_timesteps(len(clean), scheduler.config.num_train_timesteps, generator)
        noisy = scheduler.add_noise(clean, noise, timesteps).contiguous(memory_format=torch.channels_last)
        velocity = scheduler.get_velocity(clean, noise, timesteps)
        tokens = tokens_of(tokenizer, words)
        predicted = current(noisy.to(device), timesteps.to(device), tokens.to(device))
        return (predicted.float() - velocity.to(device)).square().mean()

    return fit(network, loss_of, stage, folder, key=key, device=device, progress=progress)
