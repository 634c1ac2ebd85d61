"""Both sides of an attack: disjoint by picture, and those that the weights say."""

import dataclasses
import json

import pytest
import torch

from privlib.attacks.targets import Target, check_sides, load_target, never_members
from privlib.data import load
from privlib.data.images import ImageSet
from privlib.data.locate import DataError
from privlib.denoisers.checkpoints import save_denoiser
from privlib.denoisers.neural import NeuralDenoiser, UNetConfig, build_unet
from privlib.training.members import picture_hashes, split_members


def shades(*levels, name="shades"):
    pixels = torch.tensor(levels, dtype=torch.uint8).reshape(-1, 1, 1, 1).expand(-1, 3, 4, 4)
    return ImageSet(name, pixels, torch.zeros(len(levels), dtype=torch.int64), ("shade",))


@pytest.fixture
def small():
    torch.manual_seed(0)
    config = UNetConfig((3, 32, 32), channels=(32,), attention=(False,))
    return NeuralDenoiser(build_unet(config), config)


def save(denoiser, folder, data, name="small", **recipe):
    card = {"recipe": {"name": name, "data": "emoji/public", "held_out": "emoji/public_held_out"} | recipe}
    save_denoiser(denoiser, name, card | {"data_sha256": data.sha256}, folder=folder)


def test_overlapping_sides_are_refused_with_the_number_of_common_pictures():
    with pytest.raises(ValueError, match=r"members \(in\) and others \(out\) have 2 pictures in common"):
        check_sides(shades(1, 2, 3, name="in"), shades(2, 3, 4, name="out"))
    with pytest.raises(ValueError, match="others hold 1 pictures more than once"):
        check_sides(shades(1, 2), shades(3, 3))
    check_sides(shades(1, 2), shades(3, 4))


def test_a_target_is_checked_when_it_is_made():
    with pytest.raises(ValueError, match="in common"):
        Target("t", lambda x, sigma: x, shades(1, 2), shades(2), checksum="")


def test_others_are_distinct_and_never_members():
    left = never_members(shades(1, 2, 3, 3, 4), shades(1, 4))
    assert left.pixels[:, 0, 0, 0].tolist() == [2, 3]
    with pytest.raises(ValueError, match="data must hold a picture that is no member"):
        never_members(shades(1, 1), shades(1, 2))


def test_weights_of_drawn_members_are_attacked_with_the_rest_of_the_same_set(small, tmp_path):
    members, others = split_members(load("emoji/public"), 50)
    save(small, tmp_path, members, members=50)
    target = load_target("small", folder=tmp_path)
    assert picture_hashes(target.members) == picture_hashes(members)
    assert picture_hashes(target.others) == picture_hashes(others)
    assert target.checksum == json.loads((tmp_path / "small.json").read_text())["sha256"]


def test_pictures_that_the_starting_weights_saw_are_on_neither_side(small, tmp_path):
    many, others = split_members(load("emoji/public"), 50)
    save(small, tmp_path, many, name="start", members=50)
    save(small, tmp_path, split_members(load("emoji/public"), 10)[0], members=10, initial="start")
    target = load_target("small", folder=tmp_path)
    assert picture_hashes(target.members) == picture_hashes(many)[:10]
    assert picture_hashes(target.others) == picture_hashes(others)
    save(small, tmp_path, split_members(load("emoji/public"), 10)[0], members=10, initial="emoji")
    with pytest.raises(ValueError, match="weights emoji, the start of small, have seen all of emoji/public"):
        load_target("small", folder=tmp_path)


def test_weights_of_a_whole_set_are_attacked_with_its_held_out_pictures(small, tmp_path):
    data = load("emoji/public")
    save(small, tmp_path, data)
    target = load_target("small", folder=tmp_path)
    held_out = set(picture_hashes(load("emoji/public_held_out")))
    assert set(picture_hashes(target.members)) == set(picture_hashes(data))
    assert set(picture_hashes(target.others)) == held_out - set(picture_hashes(data))


def test_weights_of_other_images_than_their_card_says_are_refused(small, tmp_path):
    save(small, tmp_path, load("emoji/private"))
    with pytest.raises(ValueError, match="weights small were trained on other images than emoji/public"):
        load_target("small", folder=tmp_path)
    with pytest.raises(DataError, match="no denoiser is named 'large'"):
        load_target("large", folder=tmp_path)


def test_weights_that_are_not_in_the_folder_are_the_shipped_ones(tmp_path):
    assert load_target("emoji", folder=tmp_path).checksum == load_target("emoji").checksum


def test_a_published_network_is_attacked_with_the_sets_that_are_named(monkeypatch):
    sets = {"in": shades(1, 2, 2), "out": shades(2, 3)}
    monkeypatch.setattr("privlib.attacks.targets.load", lambda spec, folder: sets[spec])
    monkeypatch.setattr("privlib.attacks.targets.load_published", lambda source: source.upper)
    monkeypatch.setattr("privlib.attacks.targets.published_sha256", lambda source: f"sum of {source}")
    target = load_target("google/ddpm-cifar10-32", published_data=("in", "out"))
    assert target.checksum == "sum of google/ddpm-cifar10-32"
    assert target.denoiser() == "GOOGLE/DDPM-CIFAR10-32"
    assert (len(target.members), len(target.others)) == (2, 1)
    assert dataclasses.is_dataclass(target) and "denoiser" not in repr(target)
