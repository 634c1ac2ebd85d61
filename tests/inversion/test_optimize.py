"""Batched Textual Inversion: against a plain one-at-a-time loop, and independent of company, order and interruption."""

from dataclasses import replace

import pytest
import torch
from diffusers import DDPMScheduler

from privlib.inversion import optimize
from privlib.inversion.checkpoints import read_checkpoint
from privlib.inversion.draws import draw, picture_keys
from privlib.inversion.kept import invert_once
from privlib.inversion.model import FrozenModel
from privlib.inversion.optimize import Settings, adam_step, invert
from tests.inversion import tiny

SETTINGS = Settings(tiny.TEMPLATES, tiny.WORD, steps=4, learning_rate=0.01, batch_size=3, seed=5)


def one_at_a_time(pipeline, image, settings):
    """As diffusers' example script does it: a new token, resized embeddings, one picture, torch's Adam."""
    pipeline.tokenizer.add_tokens([settings.placeholder])
    encoder = pipeline.text_encoder
    encoder.resize_token_embeddings(len(pipeline.tokenizer))
    words = encoder.get_input_embeddings().weight
    token = pipeline.tokenizer.convert_tokens_to_ids(settings.placeholder)
    initial = pipeline.tokenizer.convert_tokens_to_ids(settings.initial_word + "</w>")
    words.data[token] = words.data[initial]
    words.requires_grad_(True)
    public = words.detach().clone()
    optimizer = torch.optim.Adam([words], lr=settings.learning_rate)
    schedule = DDPMScheduler.from_config(pipeline.scheduler.config)
    latent = pipeline.vae.encode(image).latent_dist.mode() * pipeline.vae.config.scaling_factor
    keys = picture_keys(image)
    losses = []
    for step in range(settings.steps):
        drawn = draw(
            keys,
            step,
            seed=settings.seed,
            num_templates=len(settings.templates),
            num_times=schedule.config.num_train_timesteps,
            shape=latent.shape[1:],
        )
        text = settings.templates[int(drawn.templates)].replace("{}", settings.placeholder)
        ids = pipeline.tokenizer(text, padding="max_length", max_length=tiny.LENGTH, return_tensors="pt").input_ids
        noisy = schedule.add_noise(latent, drawn.noise.to(latent), drawn.times)
        predicted = pipeline.unet(noisy, drawn.times, encoder(ids)[0]).sample
        loss = torch.nn.functional.mse_loss(predicted, drawn.noise.to(latent))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            words[:token] = public[:token]
        losses.append(loss.item())
    return words.detach()[token], torch.tensor(losses)


def test_batch_agrees_with_the_plain_loop(model, pipeline):
    images = tiny.images(3).double()
    batched = invert(model, images, SETTINGS)
    assert batched.vectors.dtype == torch.float64 and batched.losses.shape == (3, 4)
    for i in range(3):
        vector, losses = one_at_a_time(pipeline, images[i : i + 1], SETTINGS)
        torch.testing.assert_close(batched.vectors[i], vector, rtol=1e-9, atol=1e-11)
        torch.testing.assert_close(batched.losses[i].double(), losses.double(), rtol=1e-6, atol=1e-7)
    assert (batched.vectors - batched.initial).norm(dim=1).min() > 0.01
    torch.testing.assert_close(batched.norms, batched.vectors.norm(dim=1))


def test_single_runs_agree_with_the_batch(model):
    images = tiny.images(3).double()
    together = invert(model, images, SETTINGS)
    alone = [invert(model, images[i : i + 1], replace(SETTINGS, batch_size=1)) for i in range(3)]
    torch.testing.assert_close(together.vectors, torch.cat([run.vectors for run in alone]), rtol=1e-9, atol=1e-11)


def test_a_vector_does_not_depend_on_company_or_place(pipeline):
    """In single precision too, to the last bit: what a noisy mean is charged for."""
    model, images = FrozenModel.from_pipeline(pipeline), tiny.images(5)
    vectors = invert(model, images, SETTINGS).vectors
    others = torch.cat([tiny.images(2, seed=9), images[2:]])
    assert torch.equal(invert(model, others, SETTINGS).vectors[2:], vectors[2:])
    assert torch.equal(invert(model, images[:4], SETTINGS).vectors, vectors[:4])
    assert torch.equal(invert(model, images.flip(0), SETTINGS).vectors.flip(0), vectors)


def test_draws_depend_on_seed_picture_and_step():
    keys = picture_keys(tiny.images(2))
    assert picture_keys(tiny.images(2).flip(0)) == keys[::-1]
    arguments = {"num_templates": 100, "num_times": 1000, "shape": (2, 3)}
    first = draw(keys, 0, seed=1, **arguments)
    again = draw(keys[::-1], 0, seed=1, **arguments)
    assert torch.equal(first.noise, again.noise.flip(0)) and torch.equal(first.times, again.times.flip(0))
    for other in (draw(keys, 1, seed=1, **arguments), draw(keys, 0, seed=2, **arguments)):
        assert not torch.equal(first.noise, other.noise) and not torch.equal(first.times, other.times)
    many = draw(keys[:1] * 1, 7, seed=3, num_templates=3, num_times=50, shape=(20_000,))
    assert abs(float(many.noise.mean())) < 0.03 and float(many.noise.std()) == pytest.approx(1.0, abs=0.02)
    with pytest.raises(ValueError, match="seed must"):
        draw(keys, 0, seed=2**64, **arguments)


def test_gradient_reaches_the_vectors_and_nothing_else(model):
    invert(model, tiny.images(2), replace(SETTINGS, steps=1))
    for part in (model.text_encoder, model.unet, model.vae):
        assert all(p.grad is None and not p.requires_grad for p in part.parameters())
    assert not model.text_encoder.get_input_embeddings()._forward_hooks


def test_adam_is_torchs():
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    reference = start.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([reference], lr=0.02)
    moments, current = (torch.zeros_like(start), torch.zeros_like(start)), start
    for step in range(5):
        gradient = torch.randn(3, 4, generator=generator, dtype=torch.float64)
        reference.grad = gradient.clone()
        optimizer.step()
        current = adam_step(current, gradient, moments, step, 0.02)
    torch.testing.assert_close(current, reference.detach(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("stop", [1, 2, 5, 7])
def test_interrupted_runs_go_on_where_they_were(model, tmp_path, monkeypatch, stop):
    images = tiny.images(4).double()
    whole = invert(model, images, SETTINGS)
    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == stop + 1:
            raise KeyboardInterrupt
        return original(*arguments)

    original = optimize.row_gradients
    monkeypatch.setattr(optimize, "row_gradients", interrupted)
    with pytest.raises(KeyboardInterrupt):
        invert(model, images, SETTINGS, folder=tmp_path / "run", save_every=2)
    monkeypatch.setattr(optimize, "row_gradients", original)
    seen = []
    again = invert(model, images, SETTINGS, folder=tmp_path / "run", save_every=2, progress=lambda *at: seen.append(at))
    assert torch.equal(again.vectors, whole.vectors) and torch.equal(again.losses, whole.losses)
    assert seen[-1] == (8, 8) and seen[0][0] == stop // 2 * 2 + 1
    # A finished run is read, not repeated.
    seen.clear()
    assert torch.equal(invert(model, images, SETTINGS, folder=tmp_path / "run").vectors, whole.vectors)


def test_kept_vectors_are_found_again_and_never_taken_for_others(model, tmp_path, monkeypatch):
    settings, images = replace(SETTINGS, steps=1), tiny.images(2)
    first = invert_once(model, images, settings, folder=tmp_path)
    assert torch.equal(first.vectors, invert(model, images, settings).vectors)
    for changed, pictures in [(replace(settings, seed=6), images), (settings, tiny.images(2, seed=1))]:
        other = invert_once(model, pictures, changed, folder=tmp_path)
        assert not torch.equal(other.vectors, first.vectors)
    monkeypatch.setattr(optimize, "row_gradients", None)  # learning again would fail
    assert torch.equal(invert_once(model, images, settings, folder=tmp_path).vectors, first.vectors)
    monkeypatch.setattr(optimize, "code_checksum", lambda *parts: "other")
    with pytest.raises(TypeError):
        invert_once(model, images, settings, folder=tmp_path)


def test_checkpoints_of_other_runs_and_damaged_ones_are_refused(model, tmp_path):
    settings = replace(SETTINGS, steps=1)
    invert(model, tiny.images(2), settings, folder=tmp_path)
    for changed, pictures in [(replace(settings, seed=6), tiny.images(2)), (settings, tiny.images(2, seed=1))]:
        with pytest.raises(ValueError, match="other settings, pictures, weights or code"):
            invert(model, pictures, changed, folder=tmp_path)
    path = tmp_path / "inversion.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match="damaged"):
        read_checkpoint(path, key="")
    assert [file.name for file in tmp_path.glob("*.part")] == []


def test_bad_settings_are_refused(model):
    for change, match in [
        ({"steps": 0}, "steps must be at least 1"),
        ({"learning_rate": -1.0}, "learning_rate must lie"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"seed": -1}, "seed must be"),
    ]:
        with pytest.raises(ValueError, match=match):
            replace(SETTINGS, **change)
    for change, match in [
        ({"initial_word": "icons"}, "initial_word must be one token"),
        ({"initial_word": "?"}, "initial_word must be one token"),
        ({"placeholder": "a</w>"}, "placeholder must be a token that the vocabulary does not have"),
        ({"templates": ()}, "templates must hold at least one"),
        ({"templates": ("no place",)}, "must hold {} once each"),
        ({"templates": ("a b c d e f g h i j k l {}",)}, "does not survive"),
    ]:
        with pytest.raises(ValueError, match=match):
            invert(model, tiny.images(1), replace(SETTINGS, **change))
    with pytest.raises(ValueError, match="images must have shape"):
        invert(model, torch.zeros(1, 3, 8, 8), SETTINGS)


def test_only_the_noisiest_times_are_drawn_where_that_is_asked_for() -> None:
    keys = picture_keys(tiny.images(2)) * 500
    steps = [
        draw(keys[:2], step, seed=1, num_templates=1, num_times=50, shape=(1,), first_time=40) for step in range(400)
    ]
    times = torch.cat([each.times for each in steps])
    assert times.min() == 40 and times.max() == 49
    # Ten times, 800 draws: each 80 times, four deviations either way.
    assert all(46 <= int(count) <= 114 for count in times.bincount()[40:])
    for wrong in (0.0, 1.5):
        with pytest.raises(ValueError, match="noisiest must lie above 0 and up to 1"):
            Settings(tiny.TEMPLATES, tiny.WORD, noisiest=wrong)
