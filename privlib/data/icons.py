"""The bundled icons: six public styles with captions for text models, and two private styles to adapt them to.

Public icons are pictures in colour on white, and glyphs that are kept as masks and shown in colours (see
``privlib.data.recolour``). The private styles are 47 sport glyphs in gold on navy, and 158 of the Fluent 3D emoji,
which are one artist's hand as far as a set under a free licence can have it. No public style is kin to a private one:
no other Material Symbol and no other Fluent emoji is among the icons. Concepts are another matter: a public tennis
racket says nothing of how the private one is drawn, but that it is one is no secret.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import torch

from privlib.data.emoji import FOLDER as EMOJI
from privlib.data.emoji import SIDES, load_emoji, read_cells
from privlib.data.images import ImageSet, check_split
from privlib.data.locate import ASSETS, check_sums
from privlib.data.recolour import PALETTE, in_colours, recolour

FOLDER = ASSETS / "icons"

PUBLIC = ("public", "public_held_out")
PRIVATE = ("pictograms", "artwork")
SPLITS = (*PUBLIC, *PRIVATE, "rehearsal")

#: The colours of the private pictograms, red, green, blue.
GOLD, NAVY = (242, 184, 64), (14, 28, 68)

#: Public glyphs that play the private set while methods are tuned: a style, and colours of ``PALETTE``.
REHEARSAL = ("carbon", "yellow", "brown")


def read_table() -> dict:
    """``icons.json``: styles with their names, licences and what is held out; pictograms; artwork.

    Raises:
        DataError: a file of the set that is not the one whose checksum is committed.
    """
    check_sums(FOLDER)
    return json.loads((FOLDER / "icons.json").read_text(encoding="utf-8"))


def _styles(split: str, *, masks: bool) -> ImageSet:
    """The public icons of one kind."""
    check_split(split, PUBLIC)
    table = read_table()
    styles = [style for style, entry in table["styles"].items() if entry["mask"] == masks]
    pixels, captions, labels = [], [], []
    for label, style in enumerate(styles):
        names, held_out = table["styles"][style]["names"], set(table["styles"][style]["held_out"])
        cells = [i for i in range(len(names)) if (i in held_out) == (split == "public_held_out")]
        pixels.append(read_cells(FOLDER / f"{style}.webp", cells, side=table["side"]))
        captions += [f"{style} icon of {names[i]}" for i in cells]
        labels += [label] * len(cells)
    joined = torch.cat(pixels)
    kind = "glyphs" if masks else "pictures"
    return ImageSet(
        f"icons/{split} ({kind})",
        joined[:, :1].contiguous() if masks else joined,
        torch.tensor(labels),
        tuple(styles),
        tuple(captions),
    )


def load_pictures(split: str) -> ImageSet:
    """The public icons in colour, on white, with captions such as "noto icon of alarm clock".

    Args:
        split: ``public`` or ``public_held_out``.

    Returns:
        pixels (n, 3, 32, 32); the label is the style.

    Raises:
        ValueError: an unknown split.
        DataError: an atlas that is not the one whose checksum is committed.
    """
    return _styles(split, masks=False)


def load_glyphs(split: str) -> ImageSet:
    """The public glyphs as masks with captions such as "game icon of sword"; the rest is as for ``load_pictures``.

    Returns:
        pixels (n, 1, 32, 32): how much of a pixel the glyph covers, 0 to 255. ``privlib.data.recolour.in_colours``
        makes pictures of them, other ones for every seed.
    """
    return _styles(split, masks=True)


def join(name: str, sets: Sequence[ImageSet]) -> ImageSet:
    """Sets of one image shape with captions, one after the other; classes of the same name become one."""
    names = tuple(dict.fromkeys(name for part in sets for name in part.class_names))
    labels = [torch.tensor([names.index(class_name) for class_name in part.class_names])[part.labels] for part in sets]
    captions = tuple(caption for part in sets for caption in part.captions)
    return ImageSet(name, torch.cat([part.pixels for part in sets]), torch.cat(labels), names, captions)


def load_icons(split: str, *, seed: int = 0) -> ImageSet:
    """The bundled icons at 32 by 32 pixels.

    Args:
        split: ``public``; ``public_held_out``: the concepts, about a tenth, that no public style shows in ``public``;
            ``pictograms`` or ``artwork``: the two private sets, 47 and 158 images; ``rehearsal``: as many public
            glyphs as there are pictograms, of one style and in one pair of colours, from ``public_held_out``, to tune
            a method on.
        seed: of the colours of the public glyphs.

    Returns:
        pixels (n, 3, 32, 32). Public: the label is the style, captions are "noto icon of alarm clock" for pictures and
        "game icon of sword, white on dark blue" for glyphs. Private: one class; the caption is the bare name of the
        concept, since a private style has no name that a public model knows.

    Raises:
        ValueError: an unknown split.
        DataError: an atlas that is not the one whose checksum is committed.
    """
    check_split(split, SPLITS)
    if split in PUBLIC:
        glyphs = in_colours(load_glyphs(split), seed=seed)
        return join(f"icons/{split}", [load_pictures(split), glyphs])
    table = read_table()
    if split == "pictograms":
        names = table["pictograms"]["names"]
        masks = read_cells(FOLDER / "pictograms.webp", range(len(names)), side=table["side"])[:, :1]
        pixels = _in_one_pair(masks, GOLD, NAVY)
    elif split == "rehearsal":
        style, ink, ground = REHEARSAL
        glyphs = load_glyphs("public_held_out")
        wanted = (glyphs.labels == glyphs.class_names.index(style)).nonzero()[:, 0]
        chosen = glyphs.subset(wanted).draw(len(table["pictograms"]["names"]), seed=0)
        names = [caption.partition(" icon of ")[2] for caption in chosen.captions]
        pixels = _in_one_pair(chosen.pixels, PALETTE[ink], PALETTE[ground])
    else:
        check_sums(EMOJI)
        emoji = json.loads((EMOJI / "emoji.json").read_text(encoding="utf-8"))
        indices = emoji["vendors"]["fluent3d"]["concepts"]
        names = [emoji["concepts"][indices[cell]]["name"] for cell in table["artwork"]]
        pixels = read_cells(EMOJI / "fluent3d.webp", table["artwork"], side=emoji["side"])
    return ImageSet(f"icons/{split}", pixels, torch.zeros(len(names), dtype=torch.int64), (split,), tuple(names))


def _in_one_pair(masks: torch.Tensor, ink: tuple[int, int, int], ground: tuple[int, int, int]) -> torch.Tensor:
    """All glyphs in the same two colours."""
    inks, grounds = (torch.tensor(colour, dtype=torch.uint8).expand(len(masks), 3) for colour in (ink, ground))
    return recolour(masks, inks=inks, grounds=grounds)


def load_emoji_by_style(split: str) -> ImageSet:
    """The public emoji with the vendor as their label, in place of the category, so that they join the icons.

    Args:
        split: ``public`` or ``public_held_out``.

    Raises:
        ValueError: an unknown split.
        DataError: an atlas that is not the one whose checksum is committed.
    """
    check_split(split, PUBLIC)
    emoji, vendors = load_emoji(split), SIDES["public"]
    labels = torch.tensor([vendors.index(caption.partition(" ")[0]) for caption in emoji.captions])
    return ImageSet(emoji.name, emoji.pixels, labels, vendors, emoji.captions)


def load_captioned(split: str, *, seed: int = 0) -> ImageSet:
    """All public captioned images: the icons, and the public emoji ("google emoji of grinning face").

    Args:
        split: ``public`` or ``public_held_out``. Icons with the name of an emoji are held out with it.
        seed: of the colours of the glyphs.

    Returns:
        pixels (n, 3, 32, 32); the label is the style.

    Raises:
        ValueError: an unknown split.
        DataError: an atlas that is not the one whose checksum is committed.
    """
    check_split(split, PUBLIC)
    return join(f"captioned/{split}", [load_icons(split, seed=seed), load_emoji_by_style(split)])
