"""Make the bundled emoji atlases: ``python -m privlib.data.emoji_atlases NODE_MODULES FOLDER``.

NODE_MODULES is a folder with the vendors' npm packages in the versions that ``privlib/assets/emoji/ATTRIBUTION.md``
names. The vector graphics among them are drawn by ``resvg-py``, which nothing else needs and which is not installed
with the library. About 100 seconds.

Every picture is drawn on white and averaged down to 32 by 32 pixels. A concept is one entry of emoji-datasource; the
same tenth of the concepts is held out for every vendor, chosen by a hash of the code point, so that no vendor's drawing
of a held-out concept is ever in a training or private set.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from privlib.data.locate import write_sums

SIDE = 32
COLUMNS = 48

#: vendor: (npm package, licence, copyright holder). Which vendors are public is decided in ``privlib.data.emoji``.
VENDORS = {
    "google": ("emoji-datasource-google", "Apache-2.0", "Google Inc., Noto Emoji"),
    "twitter": ("emoji-datasource-twitter", "CC-BY-4.0", "Twitter, Inc. and other contributors, Twemoji"),
    "fluent3d": ("@lobehub/fluent-emoji-3d", "MIT", "Microsoft Corporation, Fluent Emoji"),
    "fluentflat": ("@iconify-json/fluent-emoji-flat", "MIT", "Microsoft Corporation, Fluent Emoji"),
}


def is_held_out(code: str) -> bool:
    """One concept in ten, by a hash of its code point."""
    return hashlib.sha256(code.encode()).digest()[0] % 10 == 0


def spellings(concept: dict) -> list[str]:
    """Names under which a vendor may file the concept: with and without the emoji variation selector."""
    codes = [concept["unified"], concept["non_qualified"] or "", concept["unified"].replace("-FE0F", "")]
    return list(dict.fromkeys(code.lower() for code in codes if code))


def on_white(image: Image.Image) -> Image.Image:
    """The picture on white, averaged down to SIDE by SIDE; centred where it is not square."""
    image = image.convert("RGBA")
    side = max(image.size)
    canvas = Image.new("RGBA", (side, side), "white")
    canvas.alpha_composite(image, ((side - image.width) // 2, (side - image.height) // 2))
    return canvas.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX)


def draw_svg(body: str, box: tuple[float, float, float, float]) -> Image.Image:
    """Vector graphics as RGBA at eight times SIDE; ``box`` is (left, top, width, height) in the drawing's own units."""
    from resvg_py import svg_to_bytes  # only whoever makes atlases again has it

    view = " ".join(f"{end:g}" for end in box)
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}">{body}</svg>'
    return Image.open(io.BytesIO(bytes(svg_to_bytes(svg_string=svg, width=8 * SIDE, height=8 * SIDE))))


def write_atlas(cells: list[np.ndarray], path: Path) -> None:
    """Join pictures of shape (SIDE, SIDE, 3), row by row on white, into one lossless WebP file."""
    atlas = np.full((math.ceil(len(cells) / COLUMNS) * SIDE, COLUMNS * SIDE, 3), 255, np.uint8)
    for index, cell in enumerate(cells):
        row, column = divmod(index, COLUMNS)
        atlas[row * SIDE : (row + 1) * SIDE, column * SIDE : (column + 1) * SIDE] = cell
    Image.fromarray(atlas).save(path, lossless=True, quality=100, method=6)


def package_version(packages: Path, package: str) -> str:
    """The version that a package states of itself."""
    return json.loads((packages / package / "package.json").read_text())["version"]


def picture_finder(vendor: str, package: Path) -> Callable[[dict], Image.Image | None]:
    """A function from a concept to the vendor's picture of it, or None."""
    if vendor == "fluentflat":
        icons = json.loads((package / "icons.json").read_text())
        names = json.loads((package / "chars.json").read_text())

        def find(concept: dict) -> Image.Image | None:
            name = next((names[code] for code in spellings(concept) if code in names), None)
            if name is None:
                return None
            name = icons["aliases"].get(name, {}).get("parent", name)
            icon = icons["icons"][name]
            width, height = icon.get("width", icons["width"]), icon.get("height", icons["height"])
            return draw_svg(icon["body"], (0, 0, width, height))

        return find
    if vendor == "fluent3d":
        folder, suffix = package / "assets", ".webp"
    else:
        folder, suffix = package / "img" / vendor / "64", ".png"

    def find(concept: dict) -> Image.Image | None:
        files = (folder / f"{code}{suffix}" for code in spellings(concept))
        file = next((file for file in files if file.exists()), None)
        return Image.open(file) if file else None

    return find


def build(packages: Path, folder: Path) -> None:
    """Write ``<vendor>.webp`` (lossless), ``emoji.json`` and ``SHA256SUMS`` into ``folder``.

    Raises:
        FileNotFoundError: a package is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    concepts = json.loads((packages / "emoji-datasource" / "emoji.json").read_text())
    concepts = sorted(
        (concept for concept in concepts if concept["category"] != "Component"), key=lambda c: c["sort_order"]
    )
    categories = list(dict.fromkeys(concept["category"] for concept in concepts))
    vendors = {}
    for vendor, (package, licence, holder) in VENDORS.items():
        find = picture_finder(vendor, packages / package)
        found = [(index, picture) for index, c in enumerate(concepts) if (picture := find(c)) is not None]
        write_atlas([np.asarray(on_white(picture)) for _, picture in found], folder / f"{vendor}.webp")
        vendors[vendor] = {
            "package": package,
            "version": package_version(packages, package),
            "licence": licence,
            "copyright": holder,
            "concepts": [index for index, _ in found],
        }
    table = {
        "side": SIDE,
        "columns": COLUMNS,
        "categories": categories,
        "concepts": [
            {
                "code": concept["unified"],
                "name": (concept["name"] or concept["short_name"].replace("_", " ")).lower(),
                "category": categories.index(concept["category"]),
                "held_out": is_held_out(concept["unified"]),
            }
            for concept in concepts
        ],
        "vendors": vendors,
    }
    (folder / "emoji.json").write_text(json.dumps(table, ensure_ascii=False, separators=(",", ":")) + "\n")
    write_sums([*(folder / f"{vendor}.webp" for vendor in VENDORS), folder / "emoji.json"], folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the bundled emoji atlases from npm packages.")
    parser.add_argument("packages", type=Path, help="node_modules folder with the packages of VENDORS")
    parser.add_argument("folder", type=Path, help="where the atlases go")
    arguments = parser.parse_args()
    build(arguments.packages, arguments.folder)
