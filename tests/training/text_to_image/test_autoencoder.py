"""The loss against torch's own divergence, and latents of unit variance that decode to the same pictures."""

from types import SimpleNamespace

import pytest
import torch

from privlib.training.text_to_image.autoencoder import (
    build_autoencoder,
    encode_views,
    normalise_latents,
    reconstruction_loss,
    reconstruction_psnr,
    train_autoencoder,
)
from privlib.training.text_to_image.captions import draw_views, render


@pytest.fixture
def images(pictures):
    picture = torch.arange(8).repeat(3)
    return render(pictures.pixels, draw_views(pictures.is_glyph, picture, torch.Generator().manual_seed(0), shift=1))


def test_loss_is_two_errors_and_a_divergence(recipe, images):
    torch.manual_seed(0)
    autoencoder = build_autoencoder(recipe).requires_grad_(False)
    noise = torch.zeros(24, 4, 8, 8)
    posterior = autoencoder.encode(images).latent_dist
    decoded = autoencoder.decode(posterior.mean).sample
    normal = torch.distributions.Normal
    divergence = torch.distributions.kl_divergence(normal(posterior.mean, posterior.std), normal(0.0, 1.0)).mean()
    expected = torch.nn.functional.l1_loss(decoded, images) + torch.nn.functional.mse_loss(decoded, images)
    loss = reconstruction_loss(autoencoder, images, noise, kl_weight=0.5)
    assert float(loss) == pytest.approx(float(expected + 0.5 * divergence), rel=1e-5)


def test_normalising_changes_no_picture(recipe, images):
    torch.manual_seed(0)
    autoencoder = build_autoencoder(recipe).eval().requires_grad_(False)
    autoencoder.quant_conv.bias += torch.randn(8)
    before = autoencoder.encode(images).latent_dist
    decoded = autoencoder.decode(before.mean).sample
    normalise_latents(autoencoder, images)
    after = autoencoder.encode(images).latent_dist
    assert torch.allclose(after.mean.mean(dim=(0, 2, 3)), torch.zeros(4), atol=1e-4)
    assert torch.allclose(after.mean.std(dim=(0, 2, 3)), torch.ones(4), atol=1e-4)
    assert torch.allclose(autoencoder.decode(after.mean).sample, decoded, atol=1e-4)
    ratio = before.std / after.std
    assert torch.allclose(ratio, ratio[:1, :, :1, :1].expand_as(ratio), rtol=1e-4)


def test_psnr_of_a_known_error():
    class Dimmer(torch.nn.Module):
        def encode(self, x):
            return SimpleNamespace(latent_dist=SimpleNamespace(mean=x))

        def decode(self, z):
            return SimpleNamespace(sample=z - 0.2)

    assert reconstruction_psnr(Dimmer(), torch.zeros(70, 3, 4, 4)) == pytest.approx(20.0)


def test_training_is_repeatable_and_ends_normalised(recipe, pictures, tmp_path):
    one = train_autoencoder(recipe, pictures, tmp_path / "one")
    two = train_autoencoder(recipe, pictures, tmp_path / "two")
    again = train_autoencoder(recipe, pictures, tmp_path / "one")
    for key, value in one.state_dict().items():
        assert torch.equal(two.state_dict()[key], value) and torch.equal(again.state_dict()[key], value), key
    views = draw_views(pictures.is_glyph, torch.arange(8), torch.Generator().manual_seed(0), shift=0)
    latents = encode_views(one, pictures.pixels, views)
    assert latents.shape == (8, 4, 8, 8) and latents.dtype == torch.float16
