"""Batches: every image equally often, augmentation that only moves pixels, and nothing but seed and step inside."""

import pytest
import torch

from privlib.training.batches import augment, draw_batch
from privlib.training.recipes import PROFILES, RECIPES, Recipe


def recipe(**change):
    values = {"name": "r", "data": "d", "held_out": "h", "total_images": 1000, "batch_size": 6, "flip": False}
    return Recipe(**(values | change))


@pytest.fixture
def pixels():
    return torch.arange(10, dtype=torch.uint8).reshape(10, 1, 1, 1).expand(10, 3, 8, 8).contiguous()


def test_an_epoch_shows_every_image_once(pixels):
    levels = torch.cat([draw_batch(pixels, recipe(), step)[0][:, 0, 0, 0] for step in range(5)])
    seen = ((levels + 1) * 127.5).round().long()
    for epoch in seen.split(10):
        assert sorted(epoch.tolist()) == list(range(10))
    assert seen[:10].tolist() != seen[10:20].tolist()


def test_a_step_depends_on_seed_and_step_only(pixels):
    torch.manual_seed(1)
    first = draw_batch(pixels, recipe(), 7)
    torch.manual_seed(2)
    draw_batch(pixels, recipe(), 3)
    assert all(torch.equal(a, b) for a, b in zip(first, draw_batch(pixels, recipe(), 7), strict=True))
    assert not torch.equal(first[2], draw_batch(pixels, recipe(), 8)[2])
    assert not torch.equal(first[2], draw_batch(pixels, recipe(seed=1), 7)[2])


def test_noise_levels_are_log_normal(pixels):
    settings = recipe(batch_size=500, p_mean=-1.0, p_std=0.5)
    logs = torch.cat([draw_batch(pixels, settings, step)[1].log() for step in range(20)])
    assert float(logs.mean()) == pytest.approx(-1.0, abs=0.03)
    assert float(logs.std()) == pytest.approx(0.5, abs=0.03)


def test_mirror_flips_half_of_the_images():
    images = torch.arange(8.0).expand(400, 1, 8, 8)
    mirrored = augment(images, recipe(flip=True), torch.Generator().manual_seed(0))[:, 0, 0, 0] == 7
    assert 150 < int(mirrored.sum()) < 250
    assert torch.equal(augment(images, recipe(), torch.Generator()), images)


def test_shift_moves_whole_images_by_at_most_its_size():
    image = torch.zeros(1, 2, 9, 9)
    image[0, :, 4, 4] = torch.tensor([1.0, 2.0])
    moved = augment(image.expand(300, 2, 9, 9), recipe(shift=2), torch.Generator().manual_seed(0))
    assert moved.shape == (300, 2, 9, 9)
    assert torch.equal(moved.sum(dim=(2, 3)), torch.tensor([1.0, 2.0]).expand(300, 2))
    places = {tuple(place.tolist()) for place in torch.nonzero(moved[:, 0])[:, 1:]}
    assert places == {(row, column) for row in range(2, 7) for column in range(2, 7)}


def test_profiles_name_recipes_and_only_public_data_is_called_public():
    assert {name for names in PROFILES.values() for name in names} == set(RECIPES)
    assert RECIPES["emoji"].data == "emoji/public" and RECIPES["emoji"].public
    assert not RECIPES["cifar10"].public
    assert {name for name, settings in RECIPES.items() if settings.public} == {"emoji", "tiny_imagenet"}
