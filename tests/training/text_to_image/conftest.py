"""A tiny model, a few pictures and words: every part of the real recipe in a second or two."""

import dataclasses

import pytest
import torch

from privlib.training.text_to_image.assemble import assemble
from privlib.training.text_to_image.autoencoder import build_autoencoder
from privlib.training.text_to_image.captions import Captioned
from privlib.training.text_to_image.diffusion import build_text_to_latent
from privlib.training.text_to_image.recipe import RECIPE
from privlib.training.text_to_image.vocabulary import learn_merges, write_tokenizer

WORDS = ("icon of a cat in the style of carbon", "icon of a dog in the style of noto", "white on dark blue")


@pytest.fixture(scope="session")
def recipe():
    autoencoder = dataclasses.replace(
        RECIPE.autoencoder, total_images=24, batch_size=4, warmup_images=4, ema_halflife=8, save_every=8
    )
    return dataclasses.replace(
        RECIPE,
        autoencoder=autoencoder,
        diffusion=dataclasses.replace(autoencoder, total_images=32),
        vocabulary_size=560,
        text_width=16,
        text_layers=1,
        text_heads=2,
        autoencoder_channels=(8, 8, 8),
        latent_channels=4,
        unet_channels=(16, 32),
        unet_heads=2,
        picture_variants=2,
        glyph_variants=3,
    )


@pytest.fixture(scope="session")
def pictures():
    """Four squares of one colour and four glyphs, in two styles with the same names."""
    pixels = torch.zeros(8, 3, 32, 32, dtype=torch.uint8)
    for index in range(8):
        pixels[index, index % 3, 4 * (index % 4) : 20] = 200
    pixels[4:] = pixels[4:].amax(dim=1, keepdim=True)
    names = ("cat", "dog", "owl", "red apple")
    return Captioned(pixels, torch.arange(8) >= 4, ("noto",) * 4 + ("carbon",) * 4, names * 2)


@pytest.fixture(scope="session")
def tokenizer_folder(recipe, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(learn_merges(WORDS * 2, recipe.vocabulary_size), folder, max_tokens=recipe.max_tokens)
    return folder


@pytest.fixture(scope="session")
def tokenizer(tokenizer_folder):
    from transformers import CLIPTokenizer

    return CLIPTokenizer.from_pretrained(tokenizer_folder)


@pytest.fixture
def pipeline(recipe, tokenizer):
    torch.manual_seed(0)
    return assemble(tokenizer, build_autoencoder(recipe).eval(), build_text_to_latent(recipe, tokenizer).eval())
