"""Loaders for published checkpoints, on small folders of the same structure."""

import json
import math

import pytest
import torch
from diffusers import CMStochasticIterativeScheduler, DDPMScheduler, UNet2DModel
from diffusers.models.unets.unet_2d import UNet2DOutput

from privlib.data.locate import DataError
from privlib.denoisers import published
from privlib.denoisers.published import DDPMDenoiser, EDMDenoiser, load_published


def network(classes=None, out_channels=3):
    torch.manual_seed(0)
    return UNet2DModel(
        sample_size=8,
        out_channels=out_channels,
        block_out_channels=(32,),
        layers_per_block=1,
        down_block_types=("DownBlock2D",),
        up_block_types=("UpBlock2D",),
        num_class_embeds=classes,
    ).eval()


@pytest.fixture
def x():
    return torch.randn(3, 3, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def ddpm(tmp_path):
    network().save_pretrained(tmp_path / "unet")
    DDPMScheduler(num_train_timesteps=1000).save_pretrained(tmp_path / "scheduler")
    return tmp_path


def test_ddpm_at_the_levels_of_its_chain_is_the_formula_of_the_paper(ddpm, x):
    """x0 = (x_k - sqrt(1 - alpha_k) eps) / sqrt(alpha_k), Ho et al. (2020), equation 15, in their scaling."""
    denoiser, scheduler, plain = load_published(ddpm), DDPMScheduler(num_train_timesteps=1000), network()
    for step in (0, 10, 500, 999):
        kept = float(scheduler.alphas_cumprod[step])
        with torch.no_grad():
            noise = plain(x.float(), step).sample.double()
        expected = (x - math.sqrt(1 - kept) * noise) / math.sqrt(kept)
        sigma = math.sqrt(1 / kept - 1)
        torch.testing.assert_close(denoiser(x / math.sqrt(kept), sigma), expected, rtol=1e-3, atol=1e-3)


def test_ddpm_interpolates_steps_and_takes_its_ends_beyond(ddpm, x):
    denoiser = load_published(ddpm)
    middle = 0.5 * (denoiser.log_sigmas[300] + denoiser.log_sigmas[301])
    assert denoiser(x, math.exp(middle)).dtype == torch.float64
    seen = []

    def forward(images, label, class_labels):
        seen.append(label)
        return UNet2DOutput(images)

    denoiser.network.forward = forward
    denoiser(x, torch.tensor([math.exp(middle), 1e-6, 1e6], dtype=torch.float64))
    torch.testing.assert_close(seen[0], torch.tensor([300.5, 0.0, 999.0]), rtol=1e-4, atol=1e-3)


def test_edm_is_the_preconditioning_of_karras(tmp_path, x):
    network(classes=5, out_channels=6).save_pretrained(tmp_path / "unet")
    CMStochasticIterativeScheduler().save_pretrained(tmp_path / "scheduler")
    denoiser = load_published(tmp_path, class_label=2)
    assert isinstance(denoiser, EDMDenoiser)
    sigma = 0.8
    total = math.hypot(sigma, 0.5)
    with torch.no_grad():
        label = torch.full((3,), 250 * math.log(sigma))
        output = network(5, 6)((x / total).float(), label, class_labels=torch.full((3,), 2)).sample[:, :3].double()
    expected = 0.25 / total**2 * x + sigma * 0.5 / total * output
    torch.testing.assert_close(denoiser(x, sigma), expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match=r"class_label must be in 0..4"):
        load_published(tmp_path)
    with pytest.raises(ValueError, match=r"class_label must be in 0..4, got 5"):
        load_published(tmp_path, class_label=5)


def test_wrong_shape_level_or_label(ddpm, x):
    denoiser = load_published(ddpm)
    assert isinstance(denoiser, DDPMDenoiser)
    with pytest.raises(ValueError, match=r"x must have shape \(batch, 3, 8, 8\)"):
        denoiser(x[:, :1], 1.0)
    with pytest.raises(ValueError, match="sigma must be positive"):
        denoiser(x, 0.0)
    with pytest.raises(ValueError, match="the network has no classes"):
        load_published(ddpm, class_label=0)


@pytest.mark.parametrize("part", ["unet/config.json", "unet/diffusion_pytorch_model.safetensors"])
def test_a_missing_part_is_named(ddpm, part):
    (ddpm / part).unlink()
    with pytest.raises(DataError, match="is not a diffusers pipeline"):
        load_published(ddpm)


def test_a_pickle_is_not_loaded(ddpm):
    weights = ddpm / "unet" / "diffusion_pytorch_model.safetensors"
    torch.save(network().state_dict(), ddpm / "unet" / "diffusion_pytorch_model.bin")
    weights.unlink()
    with pytest.raises(DataError, match="safetensors"):
        load_published(ddpm)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"_class_name": "HeunScheduler"}, "HeunScheduler"), ({"prediction_type": "sample"}, "must predict epsilon")],
)
def test_another_kind_of_scheduler_is_refused(ddpm, change, message):
    path = ddpm / "scheduler" / "scheduler_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataError, match=message):
        load_published(ddpm)


def test_a_name_that_the_hub_does_not_give(monkeypatch):
    def refuse(name, allow_patterns):
        raise ConnectionError(name)

    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)
    with pytest.raises(DataError, match="someone/model is neither a folder here"):
        published.load_published("someone/model")
