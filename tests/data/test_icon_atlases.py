"""The build script of the icons: names, what is left out, and what a small set of packages becomes."""

import hashlib
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from privlib.data import icon_atlases
from privlib.data.icon_atlases import drawings, is_wanted, key_of, split_words, to_cell, with_margin


def test_a_concept_is_its_letters_and_digits():
    assert key_of("alarm clock") == key_of("Alarm-Clock") == key_of("alarmclock") == "alarmclock"
    assert key_of("man’s shoe") == "mansshoe"


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("alarmclock", "alarm clock"),
        ("keyboard", "keyboard"),
        ("fishingpoleandfish", "fishing pole and fish"),
        ("xyzzy", None),
        ("alarmxclock", None),
    ],
)
def test_names_in_one_word_are_cut_into_the_fewest(run, words):
    vocabulary = {"alarm", "clock", "key", "board", "keyboard", "fishing", "fish", "pole", "and"}
    assert split_words(run, vocabulary) == words


def test_what_32_pixels_hardly_tell_is_left_out():
    assert all(map(is_wanted, ("sword", "face with tears of", "a button")))
    unwanted = ("dice six 6", "thumbs up light skin tone", "flag for spain", "three oclock", "x ray", "a b c d e", "")
    assert not any(map(is_wanted, unwanted))


def test_the_margin_is_two_of_32_pixels():
    left, top, width, height = with_margin((0, 0, 280, 280))
    assert (left, top) == (-20, -20) and width == height == 320


def test_a_mask_is_the_coverage_and_a_picture_stands_on_white():
    half = Image.new("RGBA", (64, 64), (255, 0, 0, 0))
    half.paste((255, 0, 0, 255), (0, 0, 32, 64))
    mask = to_cell(half, mask=True)
    assert mask.shape == (32, 32, 3) and (mask[:, :16] == 255).all() and (mask[:, 16:] == 0).all()
    picture = to_cell(half, mask=False)
    assert (picture[:, :16] == [255, 0, 0]).all() and (picture[:, 16:] == 255).all()


def test_drawings_come_with_their_boxes_from_both_kinds_of_package(tmp_path):
    icons = {"b-side": {"body": "<b/>"}, "a": {"body": "<a/>", "width": 8}, "gone": {"body": "", "hidden": True}}
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "icons.json").write_text(json.dumps({"icons": icons, "width": 16, "height": 16}))
    assert drawings(tmp_path / "one") == {"a": ("<a/>", (0, 0, 8, 16)), "b side": ("<b/>", (0, 0, 16, 16))}
    (tmp_path / "two" / "svg").mkdir(parents=True)
    (tmp_path / "two" / "svg" / "big--cat.svg").write_text('<?xml?><svg xmlns="x" viewBox="0 0 32 32"><p/></svg>')
    assert drawings(tmp_path / "two") == {"big cat": ("<p/>", (0.0, 0.0, 32.0, 32.0))}


def package(folder, icons):
    folder.mkdir(parents=True)
    entries = {name: {"body": f"<{body}/>"} for name, body in icons.items()}
    (folder / "icons.json").write_text(json.dumps({"icons": entries, "aliases": {}, "width": 16, "height": 16}))
    (folder / "package.json").write_text('{"version": "1.2.3"}')


def test_the_build_script_holds_concepts_out_together_and_gives_the_same_bytes_again(tmp_path, monkeypatch):
    """A renderer stands in for resvg_py: every drawing is a grey square but the one that is all text."""

    def svg_to_bytes(*, svg_string, width, height):
        image = Image.new("RGBA", (width, height), (0, 0, 0, 0))
        if "<text/>" not in svg_string:
            image.paste((90, 90, 90, 255), (0, 0, width // 2, height))
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        return buffer.getvalue()

    monkeypatch.setitem(sys.modules, "resvg_py", SimpleNamespace(svg_to_bytes=svg_to_bytes))
    packages = tmp_path / "node_modules"
    held_out = next(c for c in (f"1F{i:03X}" for i in range(512)) if hashlib.sha256(c.encode()).digest()[0] % 10 == 0)
    emoji = [
        {"unified": held_out, "non_qualified": None, "name": "ALARM CLOCK", "short_names": ["alarm_clock"]},
        {"unified": "1F600", "non_qualified": None, "name": "GRIN", "short_names": ["grin"]},
    ]
    (packages / "emoji-datasource").mkdir(parents=True)
    (packages / "emoji-datasource" / "emoji.json").write_text(json.dumps(emoji))
    (packages / "@iconify-json/fluent-emoji-flat").mkdir(parents=True)
    (packages / "@iconify-json/fluent-emoji-flat" / "chars.json").write_text(
        json.dumps({held_out.lower(): "old-clock"})
    )
    spelled = {"alarm-clock": "p", "old-clock": "q", "grin": "r", "digit": "text", "grin-again": "r"}
    for style, (name, *_) in icon_atlases.STYLES.items():
        if style == "firefox":
            package(packages / name, {"alarmclock": "p", "qqq": "q"})
        elif style == "carbon":
            (packages / name / "svg").mkdir(parents=True)
            (packages / name / "svg" / "grin.svg").write_text('<svg viewBox="0 0 32 32"><p/></svg>')
            (packages / name / "package.json").write_text('{"version": "4.5.6"}')
        else:
            package(packages / name, spelled)
    package(packages / icon_atlases.PICTOGRAMS_PACKAGE[0], dict.fromkeys(icon_atlases.PICTOGRAMS, "p"))
    emoji_folder = Path(__file__).resolve().parents[2] / "privlib" / "assets" / "emoji"
    outputs = []
    for name in ("one", "two"):
        icon_atlases.build(packages, tmp_path / name, emoji_folder=emoji_folder)
        outputs.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert outputs[0] == outputs[1]
    styles = json.loads(outputs[0]["icons.json"])["styles"]
    # A blank picture and a second copy of a drawing are left out; both names of the held-out emoji are.
    assert styles["noto"]["names"] == ["alarm clock", "grin", "old clock"] and styles["noto"]["held_out"] == [0, 2]
    assert styles["firefox"]["names"] == ["alarm clock"] and styles["firefox"]["held_out"] == [0]
    assert styles["carbon"]["version"] == "4.5.6" and styles["carbon"]["held_out"] == []
    mask = np.asarray(Image.open(io.BytesIO(outputs[0]["carbon.webp"])).convert("RGB"))[:32, :32]
    assert (mask[:, :16] == 255).all() and (mask[:, 16:] == 0).all()
    for line in outputs[0]["SHA256SUMS"].decode().splitlines():
        expected, name = line.split()
        assert hashlib.sha256(outputs[0][name]).hexdigest() == expected
