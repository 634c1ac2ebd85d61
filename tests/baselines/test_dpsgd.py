"""The shared embedding: its gradients, its noise, its charge, and Opacus beside it where that is installed."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from privlib.accounting.dpsgd import calibrated_dpsgd, guarantee_dpsgd
from privlib.baselines.dpsgd import noisy_gradient, start_gradient_norms, train_shared
from privlib.certificates import export_release
from privlib.inversion.draws import draw, picture_keys
from privlib.inversion.model import FrozenModel
from privlib.inversion.optimize import Settings, batch_gradients, row_gradients
from privlib.inversion.releases import Release, Unprotected
from privlib.mechanisms import SubsampledGaussian
from tests.inversion import tiny

SETTINGS = Settings(tiny.TEMPLATES, tiny.WORD, steps=3, learning_rate=0.01, batch_size=2, seed=4)


@pytest.fixture
def model(tmp_path):
    pipeline = tiny.pipeline(tmp_path)
    for part in (pipeline.text_encoder, pipeline.unet, pipeline.vae):
        part.double()
    return FrozenModel.from_pipeline(pipeline)


def test_clipping_bounds_what_a_picture_can_do_and_noise_is_what_is_charged():
    rng = np.random.default_rng(0)
    gradients = torch.randn(6, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 3.0
    whole, less = (noisy_gradient(part, 0.7, 0.0, 4, rng) for part in (gradients, gradients[:-1]))
    assert float((whole - less).norm()) == pytest.approx(0.7 / 4)
    small = 0.01 * gradients
    assert torch.allclose(noisy_gradient(small, 0.7, 0.0, 4, rng), small.sum(0) / 4)
    wild = torch.full((1, 5), math.nan, dtype=torch.float64)
    assert noisy_gradient(wild, 0.7, 0.0, 4, rng).tolist() == [0.0] * 5
    # An empty batch has the same noise.
    draws = torch.stack([noisy_gradient(gradients[:0], 0.7, 2.0, 4, rng) for _ in range(2000)])
    assert draws.mean(0).tolist() == pytest.approx([0.0] * 5, abs=0.03)
    assert draws.std(0).tolist() == pytest.approx([2.0 * 0.7 / 4] * 5, rel=0.06)
    with pytest.raises(ValueError, match="clip_norm must be finite"):
        noisy_gradient(gradients, math.inf, 1.0, 4, rng)


def test_row_gradients_are_those_of_single_examples(model):
    """Against finite differences of each picture's own loss."""
    images = tiny.images(2).double()
    prompts, latents = model.prompts(tiny.TEMPLATES, "<style>"), model.encode_images(images)
    drawn = draw(picture_keys(images), 0, seed=1, num_templates=3, num_times=50, shape=tuple(latents.shape[1:]))
    vectors = model.word_vector(tiny.WORD).expand(2, -1)
    gradients, _ = row_gradients(model, prompts, latents, drawn, vectors)
    direction = torch.randn(tiny.WIDTH, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ends = [row_gradients(model, prompts, latents, drawn, vectors + h * direction)[1] for h in (-1e-5, 1e-5)]
    torch.testing.assert_close(gradients @ direction, (ends[1] - ends[0]) / 2e-5, rtol=1e-5, atol=1e-8)


def test_the_start_gradients_are_those_of_the_first_steps(model):
    images = tiny.images(3).double()
    norms = start_gradient_norms(model, images, SETTINGS, draws=2)
    prompts, latents, keys = model.prompts(tiny.TEMPLATES, "<style>"), model.encode_images(images), picture_keys(images)
    vectors = model.word_vector(tiny.WORD)[None]
    for step in range(2):
        for row in range(3):
            found, _ = batch_gradients(model, prompts, latents, keys, [row], vectors, step=step, settings=SETTINGS)
            assert float(norms[step, row]) == pytest.approx(float(found.norm()), rel=1e-9)


def test_without_privacy_it_is_plain_training(model):
    images = tiny.images(3).double()
    run = train_shared(
        model,
        images,
        SETTINGS,
        sample_size=3,
        clip_norm=math.inf,
        mechanism=None,
        rng=np.random.default_rng(0),
    )
    prompts, latents = model.prompts(tiny.TEMPLATES, "<style>"), model.encode_images(images)
    vector = model.word_vector(tiny.WORD).requires_grad_(True)
    optimizer = torch.optim.Adam([vector], lr=0.01)
    for step in range(3):
        drawn = draw(picture_keys(images), step, seed=4, num_templates=3, num_times=50, shape=(2, 8, 8))
        hidden = model.encode_text(prompts.ids[drawn.templates], prompts.places[drawn.templates], vector.expand(3, -1))
        loss = model.losses(latents, drawn.noise, drawn.times, hidden).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert isinstance(run.result, Unprotected)
    torch.testing.assert_close(run.result.vector, vector.detach(), rtol=1e-9, atol=1e-11)
    assert run.iterates.shape == (3, tiny.WIDTH) and bool(torch.isfinite(run.losses).all())


def test_a_private_run_is_a_release_and_gets_its_certificate(model, tmp_path):
    mechanism = calibrated_dpsgd(0.5, 3, 2.0, 1e-2)
    run = train_shared(
        model,
        tiny.images(4).double(),
        SETTINGS,
        sample_size=2,
        clip_norm=0.1,
        mechanism=mechanism,
        rng=np.random.default_rng(0),
    )
    assert isinstance(run.result, Release)
    statement = guarantee_dpsgd(mechanism, 1e-2)
    assert 1.999 < statement.epsilon.lower <= statement.epsilon.upper <= 2.0
    _, certificate = export_release(run.result, 1e-2, tmp_path / "out", placeholder="<style>")
    assert '"sampling_probability": 0.5' in certificate.read_text()


def test_a_gradient_does_not_depend_on_company(tmp_path):
    """To the last bit in single precision: one picture more moves the sum by its own gradient and by nothing else."""
    single, images = FrozenModel.from_pipeline(tiny.pipeline(tmp_path)), tiny.images(4)
    settings = replace(SETTINGS, batch_size=3)
    prompts = single.prompts(settings.templates, settings.placeholder)
    latents, keys = single.encode_images(images, batch_size=3), picture_keys(images)
    vectors = single.word_vector(settings.initial_word).float().expand(3, -1)

    def gradients(rows):
        found, _ = batch_gradients(
            single, prompts, latents, keys, rows, vectors[: len(rows)], step=0, settings=settings
        )
        return found

    together = gradients([0, 1, 2])
    assert torch.equal(gradients([1]), together[1:2]) and torch.equal(gradients([2, 3])[0], together[2])


def test_what_does_not_fit_is_refused(model):
    arguments = {"sample_size": 2, "clip_norm": 0.1, "rng": np.random.default_rng(0)}
    with pytest.raises(ValueError, match="steps must be the mechanism's count = 7"):
        train_shared(model, tiny.images(2), SETTINGS, mechanism=SubsampledGaussian(1.0, 0.5, 7), **arguments)
    with pytest.raises(ValueError, match="clip_norm must lie"):
        train_shared(model, tiny.images(2), SETTINGS, mechanism=None, **{**arguments, "clip_norm": 0.0})
    with pytest.raises(ValueError, match="gdp_mu"):
        train_shared(model, tiny.images(2), SETTINGS, mechanism=SubsampledGaussian(0.0, 0.5, 3), **arguments)


@pytest.mark.filterwarnings("ignore")
def test_clipping_and_step_are_those_of_opacus():
    optimizers = pytest.importorskip("opacus.optimizers")
    gradients = torch.randn(5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    parameter = torch.nn.Parameter(torch.zeros(4, dtype=torch.float64))
    optimizer = optimizers.DPOptimizer(
        torch.optim.SGD([parameter], lr=1.0), noise_multiplier=0.0, max_grad_norm=0.8, expected_batch_size=3
    )
    parameter.grad_sample = gradients
    optimizer.step()
    ours = noisy_gradient(gradients, 0.8, 0.0, 3, np.random.default_rng(0))
    torch.testing.assert_close(-parameter.detach(), ours, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_accountants_of_opacus_agree():
    accountants = pytest.importorskip("opacus.accountants")
    mechanism = SubsampledGaussian(1.0 / 1.3, 0.25, 60)
    ours = guarantee_dpsgd(mechanism, 1e-4).epsilon
    rdp, prv = accountants.RDPAccountant(), accountants.PRVAccountant()
    for accountant in (rdp, prv):
        accountant.history = [(1.3, 0.25, 60)]
    assert rdp.get_epsilon(1e-4) >= ours.lower
    assert prv.get_epsilon(1e-4, eps_error=0.05, delta_error=1e-7) == pytest.approx(ours.upper, abs=0.06)
