"""A random ``StableDiffusionPipeline`` with some thousand weights, in the layout and with the parts of a real one."""

from __future__ import annotations

import json
import string
from pathlib import Path

import torch
from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

WORD = "icon"
TEMPLATES = ("an {} icon", "a b in {}", "{}")
WIDTH, LENGTH, SIDE = 16, 12, 16


def tokenizer(folder: Path) -> CLIPTokenizer:
    letters = [*string.ascii_lowercase, *(letter + "</w>" for letter in string.ascii_lowercase)]
    words = ["<|startoftext|>", "<|endoftext|>", *letters, "ic", "on</w>", "icon</w>"]
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\ni c\no n</w>\nic on</w>\n")
    return CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=LENGTH)


def pipeline(folder: Path, *, prediction_type: str = "epsilon") -> StableDiffusionPipeline:
    torch.manual_seed(0)
    words = tokenizer(folder)
    text_encoder = CLIPTextModel(
        CLIPTextConfig(
            vocab_size=len(words),
            hidden_size=WIDTH,
            intermediate_size=24,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=LENGTH,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=1,
        )
    )
    unet = UNet2DConditionModel(
        sample_size=SIDE // 2,
        in_channels=2,
        out_channels=2,
        layers_per_block=1,
        block_out_channels=(8, 16),
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=WIDTH,
        attention_head_dim=2,
        norm_num_groups=4,
    )
    vae = AutoencoderKL(
        block_out_channels=(4, 8),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=2,
        norm_num_groups=2,
    )
    scheduler = DDIMScheduler(
        num_train_timesteps=50, prediction_type=prediction_type, steps_offset=1, clip_sample=False
    )
    made = StableDiffusionPipeline(
        vae=vae,
        text_encoder=text_encoder,
        tokenizer=words,
        unet=unet,
        scheduler=scheduler,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    made.set_progress_bar_config(disable=True)
    return made


def images(count: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(count, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(seed)) * 2 - 1
