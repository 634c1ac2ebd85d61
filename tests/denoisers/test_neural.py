"""EDM preconditioning against the formulas, with networks whose output is known."""

import math

import pytest
import torch

from privlib.denoisers.neural import NeuralDenoiser, UNetConfig, build_unet

TINY = UNetConfig((3, 8, 8), channels=(32,), attention=(False,), sigma_data=0.7)


class Known(torch.nn.Module):
    """Returns ``scale`` times its input and keeps what it was given."""

    def __init__(self, scale):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(float(scale)))

    def forward(self, images, label, return_dict):
        self.images, self.label = images, label
        return (self.scale * images,)


@pytest.fixture
def x():
    return torch.randn(4, 3, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_a_silent_network_gives_the_posterior_mean_of_gaussian_data(x):
    for sigma in (0.01, 0.7, 30.0):
        shrunk = NeuralDenoiser(Known(0.0), TINY)(x, sigma)
        torch.testing.assert_close(shrunk, x * 0.7**2 / (sigma**2 + 0.7**2))


def test_the_network_sees_unit_variance_and_a_quarter_of_the_log_level(x):
    denoiser = NeuralDenoiser(Known(1.0), TINY)
    sigma = torch.tensor([0.05, 0.5, 5.0, 50.0], dtype=torch.float64)
    clean = 0.7 * x
    noisy = (
        clean + sigma.reshape(-1, 1, 1, 1) * torch.randn(x.shape, generator=torch.Generator().manual_seed(2)).double()
    )
    output = denoiser(noisy, sigma)
    level = sigma.reshape(-1, 1, 1, 1)
    total = (level**2 + 0.49).sqrt()
    expected = 0.49 / total**2 * noisy + level * 0.7 / total * (noisy / total)
    torch.testing.assert_close(output, expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(denoiser.network.label, (100 * sigma.log() / 4).float())
    assert denoiser.network.images.shape == (4, 12, 4, 4)
    assert float(denoiser.network.images.square().mean()) == pytest.approx(1.0, abs=0.15)


def test_the_target_of_the_network_has_unit_variance():
    # F = (D - c_skip x) / c_out for D = x0: what training asks of the network at any level.
    generator = torch.Generator().manual_seed(3)
    clean = 0.7 * torch.randn(200_000, dtype=torch.float64, generator=generator)
    for sigma in (0.02, 0.7, 20.0):
        noisy = clean + sigma * torch.randn(clean.shape, dtype=torch.float64, generator=generator)
        total = math.hypot(sigma, 0.7)
        target = (clean - 0.49 / total**2 * noisy) / (sigma * 0.7 / total)
        assert float(target.square().mean()) == pytest.approx(1.0, abs=0.02)


def test_dtype_and_batch_are_kept_and_rows_do_not_mix(x):
    torch.manual_seed(0)
    denoiser = NeuralDenoiser(build_unet(TINY), TINY).eval()
    sigma = torch.tensor([0.1, 1.0, 2.0, 3.0], dtype=torch.float64)
    with torch.no_grad():
        together = denoiser(x, sigma)
        alone = torch.cat([denoiser(x[i : i + 1], sigma[i]) for i in range(4)])
        assert together.dtype == torch.float64 and denoiser(x.float(), 1.0).dtype == torch.float32
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan])
def test_sigma_must_be_positive(x, sigma):
    with pytest.raises(ValueError, match="sigma must be positive"):
        NeuralDenoiser(Known(0.0), TINY)(x, sigma)


def test_images_must_have_the_shape_of_the_network(x):
    with pytest.raises(ValueError, match=r"x must have shape .*\(3, 8, 8\)"):
        NeuralDenoiser(Known(0.0), TINY)(x[:, :, :4], 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_shape": (3, 9, 8)}, "divisible by 2"),
        ({"attention": (True, True)}, "one entry for each of 1"),
        ({"sigma_data": 0.0}, "sigma_data"),
        ({"noise_scale": -1.0}, "noise_scale"),
    ],
)
def test_config_is_checked(change, message):
    with pytest.raises(ValueError, match=message):
        UNetConfig(**(TINY.to_dict() | change))
