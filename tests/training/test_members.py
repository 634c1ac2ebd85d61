"""Members and the others: no picture on both sides, whatever copies a set holds, and the same split every time."""

import pytest
import torch

from privlib.data import load
from privlib.data.images import ImageSet
from privlib.training.members import distinct_pictures, picture_hashes, split_members
from privlib.training.recipes import NOT_SHIPPED, RECIPES


def with_copies(count, copies):
    """``count`` different images, then the first ``copies`` of them again under another label."""
    pixels = torch.arange(count, dtype=torch.uint8).reshape(-1, 1, 1, 1).expand(-1, 3, 4, 4)
    labels = torch.cat([torch.zeros(count, dtype=torch.int64), torch.ones(copies, dtype=torch.int64)])
    return ImageSet("copies", torch.cat([pixels, pixels[:copies]]), labels, ("first", "copy"))


def test_copies_are_known_by_their_pixels():
    data = with_copies(20, 5)
    assert picture_hashes(data)[:5] == picture_hashes(data)[20:]
    distinct = distinct_pictures(data)
    assert torch.equal(distinct.pixels, data.pixels[:20]) and distinct.labels.sum() == 0


def test_no_picture_is_on_both_sides_or_twice_on_one():
    members, others = split_members(with_copies(20, 20), 8)
    assert len(members) == 8 and len(others) == 12
    assert len({*picture_hashes(members), *picture_hashes(others)}) == 20


def test_a_smaller_choice_is_a_part_of_a_larger_one():
    data = with_copies(20, 0)
    few, many = split_members(data, 3)[0], split_members(data, 9)[0]
    assert torch.equal(few.pixels, many.pixels[:3])
    assert picture_hashes(many) != picture_hashes(data)[:9]


@pytest.mark.parametrize("count", [0, 20, 21])
def test_both_sides_must_have_pictures(count):
    with pytest.raises(ValueError, match="count must"):
        split_members(with_copies(20, 5), count)


def test_the_emoji_denoiser_of_members_saw_half_of_the_distinct_pictures():
    members, others = split_members(load("emoji/public"), RECIPES["emoji_members"].members)
    assert 0 <= len(others) - len(members) <= 1


def test_over_fitting_starts_from_weights_that_saw_the_same_images_and_none_of_the_attacked_others():
    for tier in ("emoji", "cifar10"):
        start, after = RECIPES[f"{tier}_members"], RECIPES[f"{tier}_overfitted"]
        assert after.initial == start.name and after.data == start.data and after.members < start.members
    members, others = split_members(load("emoji/public"), RECIPES["emoji_members"].members)
    few, rest = split_members(load("emoji/public"), RECIPES["emoji_overfitted"].members)
    assert set(picture_hashes(few)) <= set(picture_hashes(members))
    assert picture_hashes(rest)[-len(others) :] == picture_hashes(others)


def test_targets_are_never_called_public_and_only_the_bundled_images_shape_shipped_ones():
    targets = {name: recipe for name, recipe in RECIPES.items() if recipe.members}
    assert len(targets) == 4 and not any(recipe.public for recipe in targets.values())
    assert {name for name in targets if not targets[name].data.startswith("emoji/")} == set(NOT_SHIPPED)
