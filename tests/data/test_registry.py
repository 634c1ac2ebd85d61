"""The names of the sets, and that each leads to its reader."""

import pytest

from privlib import data
from privlib.data import DataError, load
from privlib.data.registry import BUNDLED
from privlib.training.recipes import RECIPES

OTHERS = [spec for spec in data.SPECS if "/" in spec and spec.partition("/")[0] not in BUNDLED]


def test_all_promised_names_and_those_that_recipes_use():
    assert set(data.SPECS) == {
        *("emoji/public", "emoji/public_held_out", "emoji/private", "emoji/private_held_out"),
        *("icons/public", "icons/public_held_out", "icons/pictograms", "icons/artwork", "icons/rehearsal"),
        *("cifar10/train", "cifar10/test", "tiny_imagenet/public", "tiny_imagenet/held_out"),
        *("celeba/train", "celeba/valid", "celeba/test", "folder"),
    }
    assert {spec for recipe in RECIPES.values() for spec in (recipe.data, recipe.held_out)} <= set(data.SPECS)


@pytest.mark.parametrize("spec", [spec for spec in data.SPECS if "/" in spec and spec not in OTHERS])
def test_bundled_sets_need_no_folder(spec):
    name, _, split = spec.partition("/")
    images = load(spec, folder="/nowhere")
    assert images.name == spec and images.sha256 == BUNDLED[name][1](split).sha256


@pytest.mark.parametrize("spec", OTHERS)
def test_other_sets_are_looked_for_where_the_caller_says(spec, tmp_path, monkeypatch):
    with pytest.raises(DataError, match="does not come with the library"):
        load(spec)
    with pytest.raises(DataError, match=f"Looked in: {tmp_path}"):
        load(spec, folder=tmp_path)
    monkeypatch.setenv("PRIVLIB_DATA", str(tmp_path / "variable"))
    with pytest.raises(DataError, match=f"Looked in: {tmp_path / 'variable'}"):
        load(spec)


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("cifar10/test", "cat is missing|airplane is missing"),
        ("celeba/valid", "list_eval"),
        ("tiny_imagenet/public", "1 class"),
    ],
)
def test_each_name_leads_to_its_reader(spec, found, tmp_path):
    for place in ("cifar10/test/dog", "celeba/img_align_celeba", "tiny_imagenet32/n01443537_goldfish"):
        (tmp_path / place).mkdir(parents=True)
    with pytest.raises(DataError, match=found):
        load(spec, folder=tmp_path)


def test_a_folder_of_ones_own(tmp_path, paint):
    paint(tmp_path / "a.png", size=(90, 50))
    assert load("folder", folder=tmp_path).image_shape == (3, 32, 32)
    assert load("folder", folder=tmp_path, side=64).image_shape == (3, 64, 64)


def test_arguments_that_do_not_belong_are_refused(tmp_path):
    with pytest.raises(ValueError, match="emoji/public.*folder, got 'imagenet'"):
        load("imagenet")
    with pytest.raises(ValueError, match="folder must name"):
        load("folder", folder="")
    with pytest.raises(ValueError, match="side is for spec 'folder' only"):
        load("cifar10/train", folder=tmp_path, side=32)


def test_a_random_part_depends_on_the_seed_alone():
    whole, part = load("emoji/public"), load("emoji/public", most=7, seed=3)
    assert len(part) == 7 and part.sha256 == whole.draw(7, seed=3).sha256 != load("emoji/public", most=7).sha256
    assert load("emoji/public", most=10**6).sha256 == whole.sha256
    with pytest.raises(ValueError, match="most must be at least 0, got -1"):
        load("emoji/public", most=-1)
