r"""Neural denoisers: EDM preconditioning around a network that sees inputs and targets of unit variance."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
from torch.nn.functional import pixel_shuffle, pixel_unshuffle

from privlib.numerics import check_positive


@dataclass(frozen=True)
class UNetConfig:
    """A diffusers ``UNet2DModel`` on images whose ``patch`` by ``patch`` pixels are folded into channels first.

    Attributes:
        image_shape: (channels, height, width) of the images.
        patch: side of the folded squares; 2 makes a small network about five times faster than full resolution.
        channels: width of each resolution level, the first at height / patch.
        layers_per_block: residual blocks at each level on the way down.
        attention: for each level, whether it attends over positions.
        sigma_data: root mean square of the data on the unit scale, which sets the preconditioning.
        noise_scale: factor on ln(sigma) / 4 before the network's sinusoidal embedding.
    """

    image_shape: tuple[int, int, int]
    patch: int = 2
    channels: tuple[int, ...] = (64, 128, 128)
    layers_per_block: int = 1
    attention: tuple[bool, ...] = (False, False, True)
    sigma_data: float = 0.5
    noise_scale: float = 100.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "image_shape", tuple(self.image_shape))
        object.__setattr__(self, "channels", tuple(self.channels))
        object.__setattr__(self, "attention", tuple(self.attention))
        check_positive("sigma_data", self.sigma_data)
        check_positive("noise_scale", self.noise_scale)
        if len(self.attention) != len(self.channels):
            raise ValueError(f"attention must have one entry for each of {len(self.channels)} levels")
        divisor = self.patch * 2 ** (len(self.channels) - 1)
        if any(side % divisor for side in self.image_shape[1:]):
            raise ValueError(f"image_shape must have sides divisible by {divisor}, got {self.image_shape}")

    def to_dict(self) -> dict[str, object]:
        """Plain values, as a model card stores them."""
        return asdict(self)


def build_unet(config: UNetConfig) -> torch.nn.Module:
    """The network of ``config`` with fresh weights from torch's global generator."""
    from diffusers import UNet2DModel  # takes seconds to import; reading a config does not need it

    folded = config.image_shape[0] * config.patch**2
    return UNet2DModel(
        sample_size=tuple(side // config.patch for side in config.image_shape[1:]),
        in_channels=folded,
        out_channels=folded,
        block_out_channels=config.channels,
        layers_per_block=config.layers_per_block,
        down_block_types=tuple("AttnDownBlock2D" if attends else "DownBlock2D" for attends in config.attention),
        up_block_types=tuple("AttnUpBlock2D" if attends else "UpBlock2D" for attends in reversed(config.attention)),
        attention_head_dim=32,
    )


class NeuralDenoiser(torch.nn.Module):
    r"""EDM preconditioning (Karras et al. 2022, Table 1) around a diffusers U-Net.

    .. math:: D(x, \sigma) = c_{skip} x + c_{out} F(c_{in} x, c_{noise}),\quad
        c_{skip} = \frac{\sigma_d^2}{\sigma^2 + \sigma_d^2},\;
        c_{out} = \frac{\sigma \sigma_d}{\sqrt{\sigma^2 + \sigma_d^2}},\;
        c_{in} = \frac{1}{\sqrt{\sigma^2 + \sigma_d^2}},\; c_{noise} = \tfrac14 \ln \sigma

    Any floating dtype comes in and goes out; the preconditioning runs in that dtype, the network in its own.

    Args:
        network: a module called as ``network(images, noise_label, return_dict=False)[0]``.
        config: how the network was built.
    """

    def __init__(self, network: torch.nn.Module, config: UNetConfig) -> None:
        super().__init__()
        self.network = network
        self.config = config

    def forward(self, x: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        if tuple(x.shape[1:]) != self.config.image_shape:
            raise ValueError(f"x must have shape (batch, {self.config.image_shape}), got {tuple(x.shape)}")
        sigma = torch.as_tensor(sigma, dtype=x.dtype, device=x.device).expand(len(x))
        if not bool((sigma > 0).all()):
            raise ValueError("sigma must be positive, since the denoiser is undefined at 0")
        level = sigma.reshape(-1, 1, 1, 1)
        data = self.config.sigma_data
        total = (level**2 + data**2).sqrt()
        weights = next(self.network.parameters())
        folded = pixel_unshuffle(x / total, self.config.patch).to(weights.dtype)
        label = (0.25 * self.config.noise_scale) * sigma.log().to(weights.dtype)
        output = pixel_shuffle(self.network(folded, label, return_dict=False)[0], self.config.patch)
        return (data / total) ** 2 * x + (level * data / total) * output.to(x.dtype)
