"""Batches that depend on seed and step only, captions that are dropped, and a run that can be broken off."""

import dataclasses

import pytest
import torch

from privlib.training.text_to_image.assemble import assemble
from privlib.training.text_to_image.autoencoder import (
    build_autoencoder,
    encode_views,
    generator_of,
    normalise_latents,
)
from privlib.training.text_to_image.captions import render
from privlib.training.text_to_image.diffusion import (
    all_views,
    build_scheduler,
    build_text_to_latent,
    captions_of,
    epoch_order,
    kept_latents,
    spread_timesteps,
    tokens_of,
    train_diffusion,
)


def test_every_picture_is_moved_and_every_glyph_coloured(pictures, recipe):
    views = all_views(pictures, recipe)
    assert torch.bincount(views.picture).tolist() == [2] * 4 + [3] * 4
    assert bool(((views.colours >= 0) == pictures.is_glyph[views.picture]).all())


def test_an_epoch_shows_every_view_once():
    order = torch.cat([epoch_order(10, 4, step, 0) for step in range(5)])
    assert sorted(order[:10].tolist()) == list(range(10)) == sorted(order[10:].tolist())
    assert order[:10].tolist() != order[10:].tolist()


def test_timesteps_are_even_together():
    steps = spread_timesteps(50, 1000, torch.Generator().manual_seed(0))
    assert (steps // 20).tolist() == list(range(50))


def test_captions_are_dropped_as_often_as_asked(pictures, recipe):
    views = all_views(pictures, recipe).at(torch.arange(20).repeat(100))
    words = captions_of(pictures, views, torch.Generator().manual_seed(0), dropout=0.1)
    assert 0.07 < words.count("") / 2000 < 0.13
    assert {"noto icon of a red apple", "icon of cat in the style of noto"} <= set(words)
    assert any(text.startswith("icon of an owl in the style of carbon") for text in words)


def test_tokens_are_those_of_the_pipeline(pipeline, tokenizer):
    words = ["icon of a cat", ""]
    tokens = tokens_of(tokenizer, words)
    expected = pipeline.encode_prompt(words, "cpu", 1, False)[0]
    assert torch.allclose(pipeline.text_encoder(tokens)[0], expected)


def test_the_last_level_is_noise_alone():
    scheduler = build_scheduler()
    assert float(scheduler.alphas_cumprod[-1]) < 1e-5
    scheduler.set_timesteps(10)
    assert int(scheduler.timesteps[0]) == 999


def test_heads_are_a_number_of_heads(recipe, tokenizer):
    unet = build_text_to_latent(recipe, tokenizer).unet
    attention = [module for name, module in unet.named_modules() if name.endswith(("attn1", "attn2"))]
    assert attention and all(module.heads == recipe.unet_heads for module in attention)


def test_an_interrupted_run_ends_with_the_same_weights(recipe, pictures, tokenizer, tmp_path):
    torch.manual_seed(0)
    autoencoder = build_autoencoder(recipe).eval().requires_grad_(False)

    def run(name, stop_at=None):
        def progress(images, loss, measured):
            if images == stop_at:
                raise KeyboardInterrupt

        return train_diffusion(recipe, pictures, tokenizer, autoencoder, tmp_path / name, progress=progress)

    whole = run("whole")
    with pytest.raises(KeyboardInterrupt):
        run("halved", stop_at=20)
    resumed = run("halved")
    for key, value in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[key], value), key


def test_latents_are_kept_for_the_same_run_only(tmp_path):
    path = tmp_path / "run" / "latents.pt"
    first = kept_latents(path, ["a"], lambda: torch.zeros(1))
    assert torch.equal(kept_latents(path, ["a"], lambda: torch.ones(1)), first)
    assert torch.equal(kept_latents(path, ["b"], lambda: torch.ones(1)), torch.ones(1))


@pytest.mark.slow
def test_a_small_model_learns_which_caption_is_which(recipe, pictures, tokenizer, tmp_path):
    two = pictures.subset([0, 3])
    stage = dataclasses.replace(recipe.diffusion, total_images=6400, batch_size=16, learning_rate=3e-3)
    stage = dataclasses.replace(stage, warmup_images=160, ema_halflife=300, save_every=6400)
    recipe = dataclasses.replace(recipe, diffusion=stage, shift=0)
    torch.manual_seed(0)
    autoencoder = build_autoencoder(recipe).eval().requires_grad_(False)
    normalise_latents(autoencoder, render(two.pixels, all_views(two, recipe)))
    networks = train_diffusion(recipe, two, tokenizer, autoencoder, tmp_path)
    prompts = [f"icon of {name} in the style of noto" for name in two.names] * 4
    drawn = assemble(tokenizer, autoencoder, networks)(
        prompts, num_inference_steps=20, guidance_scale=1.0, output_type="latent", generator=generator_of(0, 0)
    ).images
    targets = encode_views(autoencoder, two.pixels, all_views(two, recipe))[::2].float()
    nearest = torch.cdist(drawn.flatten(1), targets.flatten(1)).argmin(dim=1)
    assert nearest.tolist() == [0, 1] * 4
