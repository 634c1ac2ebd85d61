"""The bundled icons: captions, what is held out, that no private style is public, and that licences are stated."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from privlib.data.emoji import FOLDER as EMOJI
from privlib.data.emoji import load_emoji
from privlib.data.icon_atlases import NUM_ARTWORK, PICTOGRAMS, STYLES, draw_artwork, key_of
from privlib.data.icons import (
    FOLDER,
    GOLD,
    NAVY,
    PUBLIC,
    REHEARSAL,
    SPLITS,
    load_captioned,
    load_glyphs,
    load_icons,
    load_pictures,
)
from privlib.data.recolour import JITTER, PAIRS, PALETTE

TABLE = json.loads((FOLDER / "icons.json").read_text(encoding="utf-8"))
EMOJI_TABLE = json.loads((EMOJI / "emoji.json").read_text(encoding="utf-8"))
PAGE = (Path(__file__).resolve().parents[2] / "book" / "data.md").read_text(encoding="utf-8")


def concepts_of(split: str) -> set[str]:
    """Keys of the names, read from the table without the loader."""
    return {
        key_of(name)
        for entry in TABLE["styles"].values()
        for i, name in enumerate(entry["names"])
        if (i in entry["held_out"]) == (split == "public_held_out")
    }


def test_checksums_list_every_file_and_the_folder_is_small():
    listed = {line.split()[1] for line in (FOLDER / "SHA256SUMS").read_text().splitlines()}
    assert listed == {file.name for file in FOLDER.iterdir()} - {"SHA256SUMS", "ATTRIBUTION.md"}
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 6e6


@pytest.mark.parametrize("split", PUBLIC)
def test_public_icons_are_complete_and_captions_name_style_and_concept(split):
    icons = load_icons(split)
    assert icons.name == f"icons/{split}" and icons.image_shape == (3, 32, 32)
    expected = sum(
        len(entry["held_out"]) if split == "public_held_out" else len(entry["names"]) - len(entry["held_out"])
        for entry in TABLE["styles"].values()
    )
    assert len(icons) == expected == len(icons.captions)
    for caption, label in zip(icons.captions, icons.labels.tolist(), strict=True):
        style, _, rest = caption.partition(" icon of ")
        name, _, colours = rest.partition(", ")
        entry = TABLE["styles"][style]
        assert style == icons.class_names[label] and name in entry["names"]
        assert (entry["names"].index(name) in entry["held_out"]) == (split == "public_held_out")
        assert bool(colours) == entry["mask"] and all(
            colour in PALETTE for colour in filter(None, colours.split(" on "))
        )


def test_no_concept_is_held_out_of_one_style_and_public_in_another():
    shown, held_out = concepts_of("public"), concepts_of("public_held_out")
    assert not shown & held_out and len(shown) > 8 * len(held_out) > 0


def test_icons_with_the_name_of_an_emoji_are_held_out_with_it():
    """By the emoji's own table; names that two emoji share count as held out if one of them is."""
    rule: dict[str, bool] = {}
    for concept in EMOJI_TABLE["concepts"]:
        key = key_of(concept["name"])
        rule[key] = rule.get(key, False) or concept["held_out"]
    seen = 0
    for split in PUBLIC:
        for key in concepts_of(split) & set(rule):
            # A name can also be the short name of a second emoji that is held out.
            assert split == "public_held_out" or not rule[key]
            seen += 1
    assert seen > 300


def test_names_that_no_emoji_has_follow_the_hash():
    emoji = {key_of(concept["name"]) for concept in EMOJI_TABLE["concepts"]}
    keys = [key_of(name) for name in TABLE["styles"]["game"]["names"]]
    held_out = set(TABLE["styles"]["game"]["held_out"])
    fraction = np.mean(
        [
            (hashlib.sha256(key.encode()).digest()[0] % 10 == 0) == (i in held_out)
            for i, key in enumerate(keys)
            if key not in emoji
        ]
    )
    assert fraction > 0.97, "only icons under another name of an emoji may differ"


@pytest.mark.parametrize("style", STYLES)
def test_names_are_words_and_no_style_has_one_twice(style):
    names = TABLE["styles"][style]["names"]
    assert len(set(names)) == len(names) <= 1800
    assert all(1 <= len(name.split()) <= 4 and name == name.lower() for name in names)


@pytest.mark.parametrize("style", [*STYLES, "pictograms"])
def test_pictures_stand_where_the_table_says(style):
    """Cut out with arithmetic of its own: the first, the last and a middle cell; masks have three equal channels."""
    atlas = np.asarray(Image.open(FOLDER / f"{style}.webp").convert("RGB"))
    entry = TABLE["styles"].get(style, TABLE["pictograms"])
    count = len(entry["names"])
    assert atlas.shape == (32 * -(-count // 48), 32 * 48, 3)
    masks = entry.get("mask", True)
    if masks:
        assert (atlas == atlas[:, :, :1]).all()
    for cell in (0, count // 2, count - 1):
        y, x = 32 * (cell // 48), 32 * (cell % 48)
        expected = torch.from_numpy(atlas[y : y + 32, x : x + 32].copy()).permute(2, 0, 1)
        assert 0 < len(expected.unique()), "an empty cell"
        if style == "pictograms":
            continue
        split = "public_held_out" if cell in entry["held_out"] else "public"
        images = (load_glyphs if masks else load_pictures)(split)
        found = images.pixels[images.captions.index(f"{style} icon of {entry['names'][cell]}")]
        assert torch.equal(found, expected[: len(found)])


@pytest.mark.parametrize("style", STYLES)
def test_no_picture_is_blank(style):
    for split in PUBLIC:
        images = (load_glyphs if TABLE["styles"][style]["mask"] else load_pictures)(split)
        of_style = images.pixels[images.labels == images.class_names.index(style)].flatten(1)
        assert (of_style.amin(1) < of_style.amax(1)).all()


def test_pictograms_are_gold_on_navy():
    pictograms = load_icons("pictograms")
    assert len(pictograms) == 47 == len(set(pictograms.captions)) and pictograms.captions == tuple(PICTOGRAMS.values())
    assert pictograms.class_names == ("pictograms",)
    corner = pictograms.pixels[:, :, 0, 0]
    assert (corner == torch.tensor(NAVY, dtype=torch.uint8)).all()
    reddest = pictograms.pixels[:, 0].flatten(1).argmax(1)
    inks = pictograms.pixels.flatten(2)[torch.arange(47), :, reddest].int()
    assert (inks - torch.tensor(GOLD)).abs().max() <= 2, "somewhere each glyph covers a pixel whole"
    assert len({picture.numpy().tobytes() for picture in pictograms.pixels}) == 47


def test_private_colours_are_out_of_reach_of_the_palette():
    for private in (GOLD, NAVY):
        assert all(max(abs(a - b) for a, b in zip(private, c, strict=True)) > JITTER for c in PALETTE.values())


def test_artwork_is_the_fixed_draw_from_fluent():
    artwork = load_icons("artwork")
    assert len(artwork) == NUM_ARTWORK == 158 and TABLE["artwork"] == draw_artwork(EMOJI_TABLE)
    fluent = load_emoji("private")
    known = {
        picture.numpy().tobytes(): caption for picture, caption in zip(fluent.pixels, fluent.captions, strict=True)
    }
    for picture, caption in zip(artwork.pixels, artwork.captions, strict=True):
        assert known[picture.numpy().tobytes()].partition(" emoji of ")[2] == caption


def test_private_styles_are_never_public():
    packages = [entry["package"] for entry in TABLE["styles"].values()]
    assert not [package for package in packages if "fluent" in package or "material" in package]
    public = {picture.numpy().tobytes() for split in PUBLIC for picture in load_captioned(split).pixels}
    for split in ("pictograms", "artwork"):
        assert not public & {picture.numpy().tobytes() for picture in load_icons(split).pixels}
    # The shapes of the pictograms are not among the public glyphs either, whatever the colours.
    gold, navy = (torch.tensor(colour, dtype=torch.float32)[:, None, None] for colour in (GOLD, NAVY))
    shapes = ((load_icons("pictograms").pixels.float() - navy) / (gold - navy)).mean(1).flatten(1)
    glyphs = torch.cat([load_glyphs(split).pixels for split in PUBLIC]).float().flatten(1) / 255.0
    assert float(torch.cdist(shapes, glyphs).min()) > 3.0


@pytest.mark.parametrize("split", PUBLIC)
def test_the_captioned_set_adds_the_public_emoji(split):
    captioned, icons, emoji = load_captioned(split), load_icons(split), load_emoji(split)
    assert captioned.captions == icons.captions + emoji.captions
    assert captioned.class_names == (*STYLES, "google", "twitter")
    for caption, label in zip(captioned.captions, captioned.labels.tolist(), strict=True):
        assert caption.split()[0] == captioned.class_names[label]


def test_seeds_change_the_colours_of_glyphs_and_nothing_else():
    first, again, other = load_icons("public"), load_icons("public"), load_icons("public", seed=1)
    assert first.sha256 == again.sha256 != other.sha256
    pictures = load_pictures("public")
    assert torch.equal(other.pixels[: len(pictures)], pictures.pixels)
    names = [[caption.partition(", ")[0] for caption in icons.captions] for icons in (first, other)]
    assert names[0] == names[1] and first.captions != other.captions


def test_unknown_splits_are_refused():
    with pytest.raises(ValueError, match="split must be one of public, public_held_out, pictograms, artwork"):
        load_icons("private")
    for loader in (load_glyphs, load_pictures, load_captioned):
        with pytest.raises(ValueError, match="got 'artwork'"):
            loader("artwork")


@pytest.mark.parametrize("style", [*STYLES, "pictograms"])
def test_licence_package_and_count_of_every_style_are_stated(style):
    entry = TABLE["styles"].get(style, TABLE["pictograms"])
    attribution = (FOLDER / "ATTRIBUTION.md").read_text(encoding="utf-8")
    row = next(line for line in attribution.splitlines() if line.startswith(f"| `{style}.webp`"))
    assert entry["licence"].split("-")[0] in row and f"`{entry['package']}@{entry['version']}`" in row
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {style} |"))
    _, _, licence, package, count = (cell.strip() for cell in row.strip("|").split("|"))
    assert licence == entry["licence"] and package == f"`{entry['package']}` {entry['version']}"
    assert count == f"{len(entry['names']):,}"


def test_counts_on_the_page():
    for split in SPLITS:
        assert f"| `{split}` | {len(load_icons(split)):,} |" in PAGE
    captioned = load_captioned("public")
    assert f'load_captioned("public")    # {len(captioned):,} images: {len(load_icons("public")):,} icons' in PAGE
    assert f'public.captions[0]                   # "{captioned.captions[0]}"' in PAGE


def test_the_rehearsal_is_of_public_glyphs_that_nothing_is_trained_on():
    from privlib.training.text_to_image.captions import colour_pairs

    style, ink, ground = REHEARSAL
    glyphs, rehearsal = load_glyphs("public_held_out"), load_icons("rehearsal")
    assert len(rehearsal) == len(load_icons("pictograms")) and len(set(rehearsal.captions)) == len(rehearsal)
    names = TABLE["styles"][style]["names"]
    assert {names.index(name) for name in rehearsal.captions} <= set(TABLE["styles"][style]["held_out"])
    assert PAIRS.index((ink, ground)) in colour_pairs(novel=True), (
        "a pair of colours that is trained on is no new style"
    )
    masks = {
        caption.partition(" icon of ")[2]: i for i, caption in enumerate(glyphs.captions) if caption.startswith(style)
    }
    for name, picture in zip(rehearsal.captions, rehearsal.pixels, strict=True):
        cover = glyphs.pixels[masks[name]].double() / 255
        expected = (
            cover * torch.tensor(PALETTE[ink])[:, None, None]
            + (1 - cover) * torch.tensor(PALETTE[ground])[:, None, None]
        )
        assert float((picture - expected).abs().max()) <= 0.5
