"""The bundled emoji: who is public, what is held out, and that no drawing crosses a split it should not."""

import hashlib
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from privlib.data import emoji_atlases
from privlib.data.emoji import FOLDER, SIDES, SPLITS, load_emoji

TABLE = json.loads((FOLDER / "emoji.json").read_text(encoding="utf-8"))
CONCEPTS, VENDORS = TABLE["concepts"], TABLE["vendors"]


def split_concepts(split: str) -> list[int]:
    held_out = split.endswith("_held_out")
    cells = [index for vendor in SIDES[split.partition("_")[0]] for index in VENDORS[vendor]["concepts"]]
    return [index for index in cells if CONCEPTS[index]["held_out"] == held_out]


@pytest.mark.parametrize("split", SPLITS)
def test_images_labels_and_captions_belong_together(split):
    images, concepts = load_emoji(split), split_concepts(split)
    assert images.name == f"emoji/{split}" and images.image_shape == (3, 32, 32) and len(images) == len(concepts)
    assert images.labels.tolist() == [CONCEPTS[index]["category"] for index in concepts]
    assert images.class_names == tuple(TABLE["categories"]) and len(images.class_names) == 9
    for caption, index in zip(images.captions, concepts, strict=True):
        vendor, _, name = caption.partition(" emoji of ")
        assert vendor in SIDES[split.partition("_")[0]] and name == CONCEPTS[index]["name"]


def test_splits_add_up_to_all_that_the_vendors_drew():
    assert sum(len(load_emoji(split)) for split in SPLITS) == sum(len(v["concepts"]) for v in VENDORS.values())
    assert {vendor for side in SIDES.values() for vendor in side} == set(VENDORS)


def test_no_concept_is_both_held_out_and_not_by_any_vendor():
    shown = {i for split in ("public", "private") for i in split_concepts(split)}
    held_out = {i for split in ("public_held_out", "private_held_out") for i in split_concepts(split)}
    assert not shown & held_out and len(shown) > 8 * len(held_out) > 0
    codes = [concept["code"] for concept in CONCEPTS]
    assert len(set(codes)) == len(codes), "a concept that stands twice could be in both"


def test_held_out_is_a_hash_of_the_code_point():
    for concept in CONCEPTS:
        first = int(hashlib.sha256(concept["code"].encode("ascii")).hexdigest()[:2], 16)
        assert concept["held_out"] == emoji_atlases.is_held_out(concept["code"]) == (first % 10 == 0)


def test_no_public_picture_is_a_private_one():
    bytes_of = {split: {picture.numpy().tobytes() for picture in load_emoji(split).pixels} for split in SPLITS}
    for public in ("public", "public_held_out"):
        for private in ("private", "private_held_out"):
            assert not bytes_of[public] & bytes_of[private]


@pytest.mark.parametrize("vendor", VENDORS)
def test_pictures_stand_where_the_table_says(vendor):
    """Cut out with arithmetic of its own: the cell of the first, the last and some picture between."""
    atlas = np.asarray(Image.open(FOLDER / f"{vendor}.webp").convert("RGB"))
    cells = VENDORS[vendor]["concepts"]
    side = next(side for side, vendors in SIDES.items() if vendor in vendors)
    for cell in (0, len(cells) // 2, len(cells) - 1):
        concept = CONCEPTS[cells[cell]]
        images = load_emoji(side + ("_held_out" if concept["held_out"] else ""))
        # A name can belong to two code points; both pictures are then candidates.
        found = [i for i, caption in enumerate(images.captions) if caption == f"{vendor} emoji of {concept['name']}"]
        y, x = 32 * (cell // TABLE["columns"]), 32 * (cell % TABLE["columns"])
        expected = torch.from_numpy(atlas[y : y + 32, x : x + 32].copy()).permute(2, 0, 1)
        assert any(torch.equal(images.pixels[i], expected) for i in found)


def test_loading_again_gives_the_same_set():
    assert len({load_emoji("private").sha256 for _ in range(2)}) == 1


def test_a_yellow_face_is_yellow():
    """Channels in the wrong order would turn it blue."""
    for side, vendors in SIDES.items():
        images = load_emoji(side)
        for vendor in vendors:
            face = images.pixels[images.captions.index(f"{vendor} emoji of grinning face")]
            red, green, blue = face.float().mean((1, 2)).tolist()
            assert red > green > blue + 15 and red > blue + 60


def test_unknown_splits_are_refused():
    with pytest.raises(ValueError, match="public_held_out.*got 'held_out'"):
        load_emoji("held_out")


def test_attribution_names_every_package_version_and_licence():
    text = (FOLDER / "ATTRIBUTION.md").read_text(encoding="utf-8")
    for vendor in VENDORS.values():
        assert f"{vendor['package']}@{vendor['version']}" in text and vendor["licence"] in text


def fake_packages(folder: Path) -> Path:
    """A node_modules folder with two concepts, one of which only some vendors drew."""
    concepts = [
        {
            "unified": code,
            "non_qualified": plain,
            "name": name,
            "short_name": short,
            "category": kind,
            "sort_order": order,
        }
        for code, plain, name, short, kind, order in (
            ("2600-FE0F", "2600", "BLACK SUN WITH RAYS", "sunny", "Nature", 2),
            ("1F600", None, None, "grinning_face", "Smileys", 1),
            ("1F3FB", None, "SKIN", "skin", "Component", 3),
        )
    ]
    (folder / "emoji-datasource").mkdir(parents=True)
    (folder / "emoji-datasource" / "emoji.json").write_text(json.dumps(concepts))
    for package, *_ in emoji_atlases.VENDORS.values():
        (folder / package).mkdir(parents=True)
        (folder / package / "package.json").write_text('{"version": "1.2.3"}')
    for vendor in ("google", "twitter"):
        pictures = folder / f"emoji-datasource-{vendor}" / "img" / vendor / "64"
        pictures.mkdir(parents=True)
        Image.new("RGBA", (64, 64), (255, 0, 0, 255)).save(pictures / "1f600.png")
        Image.new("RGBA", (64, 32), (0, 0, 0, 0)).save(pictures / "2600-fe0f.png")
    pictures = folder / "@lobehub/fluent-emoji-3d" / "assets"
    pictures.mkdir()
    Image.new("RGBA", (96, 96), (0, 0, 255, 255)).save(pictures / "2600.webp", lossless=True)
    flat = folder / "@iconify-json/fluent-emoji-flat"
    icons = {"sun": {"body": "<circle/>"}, "wide": {"body": "<path/>", "width": 64}}
    icons = {"icons": icons, "aliases": {"sunny": {"parent": "sun"}}, "width": 32, "height": 32}
    (flat / "icons.json").write_text(json.dumps(icons))
    (flat / "chars.json").write_text(json.dumps({"2600": "sunny", "1f600": "wide"}))
    return folder


def fake_renderer(drawn: list[str]) -> SimpleNamespace:
    """Stands in for resvg_py, which is not installed for the tests: every drawing is a green square."""

    def svg_to_bytes(*, svg_string, width, height):
        drawn.append(svg_string)
        buffer = io.BytesIO()
        Image.new("RGBA", (width, height), (0, 255, 0, 255)).save(buffer, "PNG")
        return buffer.getvalue()

    return SimpleNamespace(svg_to_bytes=svg_to_bytes)


def test_the_build_script_draws_on_white_and_skips_what_is_not_drawn(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setitem(sys.modules, "resvg_py", fake_renderer(drawn))
    packages = fake_packages(tmp_path / "node_modules")
    outputs = []
    for name in ("one", "two"):
        emoji_atlases.build(packages, tmp_path / name)
        outputs.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert outputs[0] == outputs[1], "the same packages give the same bytes"
    table = json.loads(outputs[0]["emoji.json"])
    assert [concept["name"] for concept in table["concepts"]] == ["grinning face", "black sun with rays"]
    assert table["categories"] == ["Smileys", "Nature"] and table["vendors"]["google"]["version"] == "1.2.3"
    assert [table["vendors"][vendor]["concepts"] for vendor in emoji_atlases.VENDORS] == [[0, 1], [0, 1], [1], [0, 1]]
    google = np.asarray(Image.open(tmp_path / "one" / "google.webp").convert("RGB"))
    assert (google[:32, :32] == [255, 0, 0]).all() and (google[:, 32:] == 255).all()
    assert drawn[1] == '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle/></svg>'
    assert 'viewBox="0 0 64 32"><path/>' in drawn[0]
    for line in outputs[0]["SHA256SUMS"].decode().splitlines():
        expected, name = line.split()
        assert hashlib.sha256(outputs[0][name]).hexdigest() == expected


def test_the_build_script_averages_and_centres():
    """A black 64 by 32 picture becomes 16 black rows between 8 white ones on each side; a fine grid becomes grey."""
    wide = np.asarray(emoji_atlases.on_white(Image.new("RGB", (64, 32))))
    assert (wide[8:24] == 0).all() and (wide[:8] == 255).all() and (wide[24:] == 255).all()
    grid = (np.indices((64, 64)).sum(0) % 2 * 255).astype(np.uint8)
    assert np.isin(np.asarray(emoji_atlases.on_white(Image.fromarray(grid))), (127, 128)).all()
