"""Captions say what is drawn, novel combinations are kept apart, and views move and colour as they say."""

from collections import Counter

import torch

from privlib.data.recolour import PAIRS, PALETTE
from privlib.training.text_to_image.captions import (
    PLAIN,
    WORDINGS,
    Captioned,
    Views,
    caption,
    clean_name,
    colour_pairs,
    draw_views,
    load_pictures_and_glyphs,
    recurring,
    render,
    split_novel,
)


def views(picture, colours, move=(0, 0)):
    zero = torch.zeros(1, 2, 3, dtype=torch.int64)
    return Views(torch.tensor([picture]), torch.tensor([move]), torch.tensor([colours]), zero)


def test_wordings():
    blue = PAIRS.index(("white", "dark blue"))
    assert caption("game", "axe", blue, 0) == "game icon of axe, white on dark blue"
    assert caption("game", "axe", PLAIN, 1) == "game icon of an axe"
    assert caption("game", "axe", blue, 4) == "icon of axe in the style of game, white on dark blue"
    assert caption("noto", "cat", -1, 5) == "icon of a cat in the style of noto"
    assert caption("game", "axe", blue, 8) == "icon of axe in the style of white on dark blue"
    assert caption("noto", "cat", -1, 9) == "icon of a cat"
    assert caption("game", "axe", blue, 10) == "icon in the style of game, white on dark blue"
    assert caption("noto", "cat", -1, WORDINGS - 1) == "icon in the style of noto"
    assert clean_name("Family: WOMAN, girl") == "family woman girl"


def test_novel_colours_are_trained_on_one_by_one_but_not_together():
    known, novel = colour_pairs(novel=False), colour_pairs(novel=True)
    assert sorted(known + novel) == list(range(len(PAIRS)))
    assert PLAIN in known and 3 <= len(novel) <= 15
    for index in novel:
        ink, ground = PAIRS[index]
        assert any(PAIRS[other][0] == ink for other in known) and any(PAIRS[other][1] == ground for other in known)


def test_names_of_words_that_recur():
    names = ["cat", "red cat", "red apple", "cat", "red"]
    assert recurring(names, 2) == [0, 1, 3, 4]
    assert recurring(names, 3) == [0, 1, 3, 4] and recurring(names, 4) == []


def test_public_pictures_only_and_novel_ones_have_two_others():
    pictures = load_pictures_and_glyphs()
    assert set(pictures.styles) == {"noto", "firefox", "emojione", "flat", "google", "twitter", "game", "carbon"}
    assert set(torch.tensor([s in ("game", "carbon") for s in pictures.styles])[pictures.is_glyph].tolist()) == {True}
    words = Counter(word for name in pictures.names for word in set(name.split()))
    assert not any("flag" in name.split() for name in pictures.names) and words["cat"] > 5
    known, novel = split_novel(pictures)
    assert len(known) + len(novel) == len(pictures) and len(novel) >= 100
    there = set(zip(known.styles, known.names, strict=True))
    for style, name in zip(novel.styles, novel.names, strict=True):
        assert (style, name) not in there
        assert sum(other == name for _, other in there) >= 2


def test_a_glyph_is_shown_in_its_colours(pictures):
    index = PAIRS.index(("white", "dark blue"))
    image = (render(pictures.pixels, views(4, index))[0] + 1) * 127.5
    ink, ground = torch.tensor(PALETTE["white"]), torch.tensor(PALETTE["dark blue"])
    assert torch.allclose(image[:, -1, 0], ground.float())
    blend = ground + (ink - ground) * int(pictures.pixels[4, 0, 0, 0]) / 255
    assert torch.allclose(image[:, 0, 0], blend.float(), atol=0.5)


def test_a_picture_keeps_its_colours_and_moves_by_whole_pixels(pictures):
    still = render(pictures.pixels, views(1, -1))[0]
    assert torch.equal(still, pictures.pixels[1] / 127.5 - 1)
    moved = render(pictures.pixels, views(1, -1, (1, 0)))[0]
    assert torch.equal(moved[:, :-1], still[:, 1:]) and torch.equal(moved[:, -1], still[:, -1])


def test_drawn_views_are_a_function_of_the_generator(pictures):
    picture = torch.arange(8).repeat(50)
    one, two = (draw_views(pictures.is_glyph, picture, torch.Generator().manual_seed(1), shift=1) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(vars(one).values(), vars(two).values(), strict=True))
    assert bool((one.colours[~pictures.is_glyph[picture]] == -1).all())
    glyphs = one.colours[pictures.is_glyph[picture]]
    assert set(glyphs.tolist()) <= set(colour_pairs(novel=False))
    assert 0.15 < float((glyphs == PLAIN).float().mean()) < 0.4
    assert set(one.move.flatten().tolist()) == {-1, 0, 1}
    novel = draw_views(pictures.is_glyph, picture, torch.Generator().manual_seed(1), shift=0, novel=True)
    assert set(novel.colours[pictures.is_glyph[picture]].tolist()) <= set(colour_pairs(novel=True))


def test_checksum_sees_pixels_and_words(pictures):
    renamed = Captioned(pictures.pixels, pictures.is_glyph, pictures.styles, ("hen", *pictures.names[1:]))
    assert len({pictures.sha256(), renamed.sha256(), pictures.subset([0, 1]).sha256()}) == 3
