"""Make the bundled icon atlases: ``python -m privlib.data.icon_atlases NODE_MODULES FOLDER``.

NODE_MODULES is a folder with the npm packages in the versions that ``privlib/assets/icons/ATTRIBUTION.md`` names. All
of them hold vector graphics, which ``resvg-py`` draws. A few minutes.

Pictures in colour are drawn on white; glyphs of one colour are kept as masks, the fraction of each pixel that the
glyph covers, so that they can be shown in any ink on any ground. A concept is a name, whatever its hyphens and
spaces. The name of an emoji is held out if the bundled emoji hold out that concept, under any of its names; every other
name by a hash of itself. So no concept that is held out of one public style is in another.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from pathlib import Path

import numpy as np
from PIL import Image

from privlib.data.emoji_atlases import (
    COLUMNS,
    SIDE,
    draw_svg,
    is_held_out,
    on_white,
    package_version,
    spellings,
    write_atlas,
)
from privlib.data.locate import write_sums

#: style: (npm package, licence, copyright holder, whether it is a mask).
STYLES = {
    "noto": ("@iconify-json/noto-v1", "Apache-2.0", "Google Inc., Noto Emoji, first design", False),
    "firefox": ("@iconify-json/fxemoji", "Apache-2.0", "Mozilla, Firefox OS Emoji", False),
    "emojione": ("@iconify-json/emojione", "CC-BY-4.0", "Emoji One, version 2.3", False),
    "flat": ("@iconify-json/flat-color-icons", "MIT", "Icons8, Flat Color Icons", False),
    "game": ("@iconify-json/game-icons", "CC-BY-3.0", "Lorc, Delapouite and contributors, Game-icons.net", True),
    "carbon": ("@carbon/pictograms", "Apache-2.0", "IBM Corp., Carbon Design System", True),
}

#: Most icons of one style; where a package has more, a hash of the name chooses.
MOST = 1800

#: The private glyphs, of one style of Material Symbols: name in the package and name of the concept.
PICTOGRAMS_PACKAGE = ("@iconify-json/material-symbols", "Apache-2.0", "Google Inc., Material Symbols")
PICTOGRAMS = {
    "sports": "whistle",
    "sports-soccer": "soccer ball",
    "sports-basketball": "basketball",
    "sports-volleyball": "volleyball",
    "sports-baseball": "baseball",
    "sports-football": "american football",
    "sports-rugby": "rugby ball",
    "sports-tennis": "tennis racket",
    "sports-cricket": "cricket bat",
    "sports-golf": "golf ball",
    "sports-handball": "handball",
    "sports-hockey": "hockey sticks",
    "sports-kabaddi": "kabaddi",
    "sports-mma": "boxing glove",
    "sports-martial-arts": "martial arts",
    "sports-gymnastics": "gymnastics",
    "sports-motorsports": "racing helmet",
    "golf-course": "golf flag",
    "badminton": "badminton",
    "padel": "padel racket",
    "pickleball": "pickleball",
    "directions-bike": "cycling",
    "directions-run": "running",
    "directions-walk": "walking",
    "hiking": "hiking",
    "nordic-walking": "nordic walking",
    "kayaking": "kayaking",
    "rowing": "rowing",
    "sailing": "sailing",
    "kitesurfing": "kitesurfing",
    "surfing": "surfing",
    "paragliding": "paragliding",
    "pool": "swimming",
    "scuba-diving": "scuba diving",
    "downhill-skiing": "skiing",
    "snowboarding": "snowboarding",
    "sledding": "sledding",
    "snowshoeing": "snowshoeing",
    "snowmobile": "snowmobile",
    "ice-skating": "ice skating",
    "roller-skating": "roller skating",
    "skateboarding": "skateboarding",
    "fitness-center": "dumbbell",
    "exercise": "exercise",
    "sprint": "sprint",
    "self-improvement": "meditation",
    "trophy": "trophy",
}

#: The private pictures of one hand: so many of the bundled Fluent 3D emoji.
NUM_ARTWORK = 158


def key_of(name: str) -> str:
    """The concept of a name: its letters and digits, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def emoji_rule(packages: Path) -> dict[str, bool]:
    """Whether the emoji concept with a given key is held out, for every name that the packages know it by."""
    concepts = json.loads((packages / "emoji-datasource" / "emoji.json").read_text())
    slugs = json.loads((packages / "@iconify-json/fluent-emoji-flat" / "chars.json").read_text())
    rule: dict[str, bool] = {}
    for concept in concepts:
        names = [concept["name"] or "", *concept["short_names"], *(slugs.get(code, "") for code in spellings(concept))]
        for key in filter(None, map(key_of, names)):
            # A name of two concepts is held out if one of them is.
            rule[key] = rule.get(key, False) or is_held_out(concept["unified"])
    return rule


def split_words(run: str, vocabulary: set[str]) -> str | None:
    """``run`` cut into the fewest words of the vocabulary (the longest first among equals), or None."""
    best: list[list[str] | None] = [[]] + [None] * len(run)
    for end in range(1, len(run) + 1):
        for start in range(end):
            before = best[start]
            shorter = best[end] is None or (before is not None and len(before) + 1 < len(best[end]))
            if before is not None and shorter and run[start:end] in vocabulary:
                best[end] = [*before, run[start:end]]
    return None if best[-1] is None else " ".join(best[-1])


def is_wanted(name: str) -> bool:
    """No digits, single letters, skin tones, flags or clock faces: nothing that 32 pixels hardly tell."""
    words = name.split()
    unwanted = ("skin tone", "flag for", "oclock", "o clock", "thirty", "regional indicator", "input symbol")
    return (
        1 <= len(words) <= 4
        and not re.search(r"[^a-z ]", name)
        and all(len(word) > 1 or word == "a" for word in words)
        and not any(phrase in name for phrase in unwanted)
    )


def drawings(package: Path) -> dict[str, tuple[str, tuple[float, float, float, float]]]:
    """Name of every icon of a package, in words, to the body of its drawing and its box; sorted by name."""
    found = {}
    if (package / "icons.json").exists():
        icons = json.loads((package / "icons.json").read_text())
        for slug, icon in icons["icons"].items():
            if not icon.get("hidden"):
                size = (icon.get("width", icons["width"]), icon.get("height", icons["height"]))
                found[slug.replace("-", " ")] = (icon["body"], (icon.get("left", 0), icon.get("top", 0), *size))
    else:
        for file in (package / "svg").glob("*.svg"):
            # The drawing stands within <svg viewBox="...">...</svg>; what comes before and after is dropped.
            match = re.search(r'<svg[^>]*viewBox="([^"]+)"[^>]*>(.*)</svg>', file.read_text(), re.DOTALL)
            if match:
                found[re.sub("-+", " ", file.stem)] = (match[2], tuple(map(float, match[1].split())))
    return dict(sorted(found.items()))


def to_cell(picture: Image.Image, *, mask: bool) -> np.ndarray:
    """What the atlas holds of a picture, uint8, shape (SIDE, SIDE, 3).

    A picture in colour stands on white. Of a glyph it is the fraction of each pixel that the glyph covers, 0 to 255,
    the same in all channels.
    """
    if not mask:
        return np.asarray(on_white(picture))
    alpha = picture.convert("RGBA").getchannel("A").resize((SIDE, SIDE), Image.Resampling.BOX)
    return np.repeat(np.asarray(alpha)[:, :, None], 3, axis=2)


def with_margin(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """The box with two pixels of SIDE more on every side, for glyphs that fill theirs."""
    left, top, width, height = box
    unit = max(width, height) / (SIDE - 4)
    return (left - 2 * unit, top - 2 * unit, width + 4 * unit, height + 4 * unit)


def choose_names(packages: Path) -> dict[str, dict[str, tuple[str, tuple[float, float, float, float]]]]:
    """The drawings of each style by caption name: wanted names only, no drawing twice, at most MOST."""
    every = {style: drawings(packages / package) for style, (package, *_) in STYLES.items()}
    spelled = ("noto", "emojione", "flat", "carbon")
    words = {word for style in spelled for name in every[style] for word in name.split()}
    emoji = json.loads((packages / "emoji-datasource" / "emoji.json").read_text())
    words |= {word for concept in emoji for word in re.findall("[a-z]+", (concept["name"] or "").lower())}
    vocabulary = {word for word in words if len(word) > 2 or word in ("of", "in", "on", "up", "no", "ok")}
    # This package writes names in one word.
    cut = {split_words(name, vocabulary): drawing for name, drawing in every["firefox"].items()}
    every["firefox"] = {name: drawing for name, drawing in sorted(cut.items(), key=str) if name}
    chosen = {}
    for style, drawn in every.items():
        bodies: set[str] = set()
        wanted = {}
        for name, (body, box) in drawn.items():
            if is_wanted(name) and body not in bodies:
                bodies.add(body)
                wanted[name] = (body, with_margin(box) if style == "game" else box)
        kept = sorted(wanted, key=lambda name: hashlib.sha256(name.encode()).digest())[:MOST]
        chosen[style] = {name: wanted[name] for name in sorted(kept)}
    return chosen


def draw_artwork(emoji: dict) -> list[int]:
    """Cells of the Fluent 3D atlas: the NUM_ARTWORK that come first by a hash, of concepts not held out; no flags."""
    concepts, flags = emoji["concepts"], emoji["categories"].index("Flags")
    cells = emoji["vendors"]["fluent3d"]["concepts"]
    free = [
        i for i, index in enumerate(cells) if not concepts[index]["held_out"] and concepts[index]["category"] != flags
    ]
    order = sorted(free, key=lambda i: hashlib.sha256(f"artwork {concepts[cells[i]]['code']}".encode()).digest())
    return sorted(order[:NUM_ARTWORK])


def build(packages: Path, folder: Path, *, emoji_folder: Path) -> None:
    """Write ``<style>.webp`` and ``pictograms.webp`` (lossless), ``icons.json`` and ``SHA256SUMS`` into ``folder``.

    Raises:
        FileNotFoundError: a package is missing.
        KeyError: the package of the pictograms lacks one of them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rule = emoji_rule(packages)
    styles = {}
    for style, drawn in choose_names(packages).items():
        package, licence, holder, mask = STYLES[style]
        cells = {name: to_cell(draw_svg(*drawing), mask=mask) for name, drawing in drawn.items()}
        # A drawing that is all text comes out blank.
        cells = {name: cell for name, cell in cells.items() if cell.min() < cell.max()}
        write_atlas(list(cells.values()), folder / f"{style}.webp")
        keys = [key_of(name) for name in cells]
        styles[style] = {
            "package": package,
            "version": package_version(packages, package),
            "licence": licence,
            "copyright": holder,
            "mask": mask,
            "names": list(cells),
            "held_out": [i for i, key in enumerate(keys) if rule.get(key, is_held_out(key))],
        }
    package, licence, holder = PICTOGRAMS_PACKAGE
    icons = json.loads((packages / package / "icons.json").read_text())
    slugs = [icons["aliases"].get(slug, {}).get("parent", slug) for slug in PICTOGRAMS]
    box = (0, 0, icons["width"], icons["height"])
    cells = [to_cell(draw_svg(icons["icons"][slug]["body"], box), mask=True) for slug in slugs]
    write_atlas(cells, folder / "pictograms.webp")
    table = {
        "side": SIDE,
        "columns": COLUMNS,
        "styles": styles,
        "pictograms": {
            "package": package,
            "version": package_version(packages, package),
            "licence": licence,
            "copyright": holder,
            "names": list(PICTOGRAMS.values()),
        },
        "artwork": draw_artwork(json.loads((emoji_folder / "emoji.json").read_text(encoding="utf-8"))),
    }
    (folder / "icons.json").write_text(json.dumps(table, ensure_ascii=False, separators=(",", ":")) + "\n")
    write_sums([*(folder / f"{name}.webp" for name in (*STYLES, "pictograms")), folder / "icons.json"], folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the bundled icon atlases from npm packages.")
    parser.add_argument("packages", type=Path, help="node_modules folder with the packages of STYLES and of the emoji")
    parser.add_argument("folder", type=Path, help="where the atlases go; the emoji atlases lie beside it, in emoji")
    arguments = parser.parse_args()
    build(arguments.packages, arguments.folder, emoji_folder=arguments.folder.parent / "emoji")
