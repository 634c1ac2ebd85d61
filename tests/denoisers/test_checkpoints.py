"""Weights come back as they were shipped, or not at all."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from privlib.data.locate import DataError
from privlib.denoisers.checkpoints import FOLDER, load_denoiser, read_card, save_denoiser
from privlib.denoisers.neural import NeuralDenoiser, UNetConfig, build_unet

TINY = UNetConfig((3, 8, 8), channels=(32,), attention=(False,))


@pytest.fixture
def shipped(tmp_path):
    torch.manual_seed(0)
    denoiser = NeuralDenoiser(build_unet(TINY), TINY).eval()
    save_denoiser(denoiser, "tiny", {"what": "a test"}, folder=tmp_path)
    return denoiser, tmp_path


def test_round_trip_to_half_precision(shipped):
    denoiser, folder = shipped
    loaded = load_denoiser("tiny", folder=folder)
    assert loaded.config == TINY and not loaded.training
    for key, value in denoiser.network.state_dict().items():
        assert torch.equal(loaded.network.state_dict()[key], value.half().float())
    assert read_card("tiny", folder=folder)["what"] == "a test"
    assert sorted(path.name for path in folder.iterdir()) == ["tiny.json", "tiny.safetensors"]


def test_unknown_name_lists_those_there_are(shipped):
    with pytest.raises(DataError, match=r"no denoiser is named 'big'.*there: tiny"):
        load_denoiser("big", folder=shipped[1])


def test_missing_weights(shipped):
    (shipped[1] / "tiny.safetensors").unlink()
    with pytest.raises(DataError, match="is missing"):
        load_denoiser("tiny", folder=shipped[1])


def test_one_changed_byte_is_refused(shipped):
    path = shipped[1] / "tiny.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match="sha256"):
        load_denoiser("tiny", folder=shipped[1])


@pytest.mark.parametrize("change", ["drop", "rename", "reshape"])
def test_other_keys_are_refused_even_with_a_matching_checksum(shipped, change):
    import hashlib

    path = shipped[1] / "tiny.safetensors"
    weights = load_file(path)
    value = weights.pop("conv_in.weight")
    if change == "rename":
        weights["conv_in.kernel"] = value
    if change == "reshape":
        weights["conv_in.weight"] = value[:1].clone()
    save_file(weights, path)
    card = read_card("tiny", folder=shipped[1])
    card["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (shipped[1] / "tiny.json").write_text(json.dumps(card))
    with pytest.raises(DataError, match=r"does not fit its card.*conv_in"):
        load_denoiser("tiny", folder=shipped[1])


def test_weights_that_overflow_are_not_shipped(tmp_path):
    denoiser = NeuralDenoiser(build_unet(TINY), TINY)
    with torch.no_grad():
        denoiser.network.conv_in.bias[0] = 1e6
    with pytest.raises(ValueError, match=r"conv_in.bias of big is not finite"):
        save_denoiser(denoiser, "big", {}, folder=tmp_path)
    assert not list(tmp_path.iterdir())


SHIPPED = sorted(path.stem for path in FOLDER.glob("*.json"))

#: Trained to remember a few pictures, so that an attack can be seen to work.
OVERFITTED = {"emoji_overfitted": "emoji_members"}


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_denoiser_loads_and_has_a_card(name):
    card = read_card(name)
    assert set(card) >= {"what", "licence", "public", "recipe", "data_sha256", "images_seen", "held_out_mse", "network"}
    assert load_denoiser(name).config.to_dict().keys() == card["network"].keys()


@pytest.mark.parametrize("name", sorted(set(SHIPPED) - set(OVERFITTED)))
def test_every_denoiser_that_is_meant_to_be_good_beats_linear_shrinkage(name):
    """The best linear denoiser of white data is the bar that any trained network must clear."""
    card = read_card(name)
    variance = card["network"]["sigma_data"] ** 2
    for sigma, loss in card["held_out_mse"].items():
        level = float(sigma) ** 2
        assert loss < 0.9 * level * variance / (level + variance)


@pytest.mark.parametrize(("name", "start"), OVERFITTED.items())
def test_one_that_is_overfitted_does_worse_on_held_out_images_than_its_start(name, start):
    worse, better = (read_card(each)["held_out_mse"] for each in (name, start))
    assert all(worse[sigma] > better[sigma] for sigma in worse)
