"""A name gives shipped weights or a published checkpoint, each with the checksum of what was loaded."""

import pytest
import torch
from diffusers import DDPMScheduler, UNet2DModel

from privlib.data.locate import DataError
from privlib.denoisers.checkpoints import read_card
from privlib.denoisers.named import card_of, load_named
from privlib.denoisers.neural import NeuralDenoiser
from privlib.denoisers.published import DDPMDenoiser


@pytest.fixture
def checkpoint(tmp_path):
    torch.manual_seed(0)
    network = UNet2DModel(
        sample_size=8,
        block_out_channels=(32,),
        layers_per_block=1,
        down_block_types=("DownBlock2D",),
        up_block_types=("UpBlock2D",),
    )
    folder = tmp_path / "somebody" / "small-ddpm"
    network.save_pretrained(folder / "unet")
    DDPMScheduler().save_pretrained(folder / "scheduler")
    return folder


def test_shipped_weights():
    assert isinstance(load_named("emoji"), NeuralDenoiser)
    assert card_of("emoji") == read_card("emoji")


def test_a_published_checkpoint(checkpoint):
    assert isinstance(load_named(str(checkpoint)), DDPMDenoiser)
    card = card_of(str(checkpoint))
    assert card["name"] == "small-ddpm" and len(card["sha256"]) == 64
    weights = next((checkpoint / "unet").glob("*.safetensors"))
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert card_of(str(checkpoint))["sha256"] != card["sha256"]


def test_what_is_not_there_is_named(checkpoint):
    with pytest.raises(DataError, match="no denoiser is named 'moji'"):
        load_named("moji")
    for weights in (checkpoint / "unet").glob("*.safetensors"):
        weights.unlink()
    with pytest.raises(DataError, match="no weights in safetensors"):
        card_of(str(checkpoint))
