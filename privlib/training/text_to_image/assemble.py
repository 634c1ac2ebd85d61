"""The trained parts as one diffusers pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privlib.training.text_to_image.diffusion import TextToLatent, build_scheduler

if TYPE_CHECKING:
    import torch
    from diffusers import StableDiffusionPipeline
    from transformers import CLIPTokenizer


def assemble(tokenizer: CLIPTokenizer, autoencoder: torch.nn.Module, networks: TextToLatent) -> StableDiffusionPipeline:
    """A ``StableDiffusionPipeline`` of the parts, which it shares, without a safety checker."""
    from diffusers import StableDiffusionPipeline

    pipeline = StableDiffusionPipeline(
        vae=autoencoder,
        text_encoder=networks.text_encoder,
        tokenizer=tokenizer,
        unet=networks.unet,
        scheduler=build_scheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.set_progress_bar_config(disable=True)
    return pipeline
