"""Glyphs in colours: the arithmetic, the choice of colours, and what captions say of them."""

import pytest
import torch

from privlib.data.images import ImageSet
from privlib.data.recolour import CONTRAST, JITTER, PAIRS, PALETTE, brightness, draw_colours, in_colours, recolour

BYTES = torch.uint8


def colours(*rows):
    return torch.tensor(rows, dtype=BYTES)


def test_full_coverage_is_ink_none_is_ground_and_half_is_between():
    masks = torch.tensor([[[[0, 255, 51]]]], dtype=BYTES)
    shown = recolour(masks, inks=colours((200, 0, 10)), grounds=colours((0, 100, 15)))
    assert shown.shape == (1, 3, 1, 3) and shown.dtype == BYTES
    assert shown[0, :, 0, :].T.tolist() == [[0, 100, 15], [200, 0, 10], [40, 80, 14]]


def test_swapping_ink_and_ground_is_the_negative_mask():
    masks = torch.randint(0, 256, (4, 1, 8, 8), dtype=BYTES, generator=torch.Generator().manual_seed(0))
    inks, grounds = (torch.randint(0, 256, (4, 3), dtype=BYTES) for _ in range(2))
    swapped = recolour(255 - masks, inks=grounds, grounds=inks)
    assert (recolour(masks, inks=inks, grounds=grounds).int() - swapped.int()).abs().max() <= 1


def test_every_pair_stands_out_and_has_dark_and_coloured_grounds():
    assert len(set(PAIRS)) == len(PAIRS)
    for ink, ground in PAIRS:
        assert abs(brightness(PALETTE[ink]) - brightness(PALETTE[ground])) >= CONTRAST
        assert (ground, ink) in PAIRS
    assert {"white", "black", "dark blue", "purple", "yellow"} <= {ground for _, ground in PAIRS}
    assert brightness((255, 255, 255)) == pytest.approx(255.0)


def test_drawn_colours_are_those_that_the_caption_names():
    captions, inks, grounds = draw_colours(2000, generator=torch.Generator().manual_seed(3))
    for caption, ink, ground in zip(captions, inks, grounds, strict=True):
        names = caption.split(" on ")
        assert tuple(names) in PAIRS
        for name, colour in zip(names, (ink, ground), strict=True):
            assert (colour.int() - torch.tensor(PALETTE[name])).abs().max() <= JITTER
    assert len(set(captions)) == len(PAIRS), "every pair comes up in so many draws"
    none = draw_colours(0, generator=torch.Generator())
    assert none[0] == [] and none[1].shape == none[2].shape == (0, 3)


def glyphs(captions=("game icon of sword", "game icon of axe")):
    masks = torch.zeros(2, 1, 4, 4, dtype=BYTES)
    masks[:, :, 1:3, 1:3] = 255
    return ImageSet("glyphs", masks, torch.tensor([0, 0]), ("game",), captions)


def test_captions_are_completed_and_labels_kept():
    shown = in_colours(glyphs(), seed=5)
    assert shown.image_shape == (3, 4, 4) and torch.equal(shown.labels, glyphs().labels)
    for picture, caption in zip(shown.pixels, shown.captions, strict=True):
        ink, ground = caption.partition(", ")[2].split(" on ")
        assert (picture[:, 1, 1].int() - torch.tensor(PALETTE[ink])).abs().max() <= JITTER
        assert (picture[:, 0, 0].int() - torch.tensor(PALETTE[ground])).abs().max() <= JITTER
    assert in_colours(glyphs(), seed=5).sha256 == shown.sha256


def test_what_is_no_glyph_is_refused():
    with pytest.raises(ValueError, match="must have captions"):
        in_colours(glyphs(captions=()), seed=0)
    with pytest.raises(ValueError, match=r"masks must be uint8 of shape \(n, 1, height, width\)"):
        recolour(torch.zeros(2, 3, 4, 4, dtype=BYTES), inks=colours((0, 0, 0)), grounds=colours((0, 0, 0)))
    with pytest.raises(ValueError, match=r"grounds must be uint8 of shape \(1, 3\)"):
        recolour(torch.zeros(1, 1, 4, 4, dtype=BYTES), inks=colours((0, 0, 0)), grounds=torch.zeros(1, 3))
