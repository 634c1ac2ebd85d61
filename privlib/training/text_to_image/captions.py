"""Public pictures with a style and a name, glyphs in any ink on any ground, and the captions that say so."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from privlib.data.icons import load_emoji_by_style, load_glyphs, load_pictures
from privlib.data.images import to_unit
from privlib.data.recolour import JITTER, PAIRS, PALETTE, recolour

#: Words of names that 32 pixels cannot tell, or that are written signs rather than things.
UNWANTED = re.compile(r"\b(flag|oclock|thirty|squared|ideograph|latin|keycap|skin tone)\b")

#: Each word of a name must be in the names of so many pictures: nothing general is learned from a word seen once.
MIN_PICTURES = 3

#: Forms of a caption.
WORDINGS = 11

#: Where the colours that need no words stand in PAIRS.
PLAIN = PAIRS.index(("black", "white"))


def clean_name(name: str) -> str:
    """Lower case, with letters, digits and single spaces only."""
    return " ".join(re.findall(r"[a-z0-9]+", name.lower()))


def colour_pairs(*, novel: bool) -> tuple[int, ...]:
    """Places in ``PAIRS`` of the colours that are trained on, or of the novel ones.

    One pair in ten, by a hash of its words, is novel: both colours are trained on, never together in this order.
    """
    return tuple(
        index
        for index, (ink, ground) in enumerate(PAIRS)
        if (index != PLAIN and hashlib.sha256(f"{ink} on {ground}".encode()).digest()[0] < 26) == novel
    )


@dataclass(frozen=True)
class Captioned:
    """Pictures with their words.

    Attributes:
        pixels: uint8, shape (n, 3, 32, 32); for a glyph the fraction of each pixel that it covers, 0 to 255.
        is_glyph: bool, shape (n,).
        styles, names: words for each picture.
    """

    pixels: torch.Tensor
    is_glyph: torch.Tensor
    styles: tuple[str, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.pixels)

    def subset(self, indices: list[int]) -> Captioned:
        """The pictures at ``indices``, in that order."""
        return Captioned(
            self.pixels[indices],
            self.is_glyph[indices],
            tuple(self.styles[i] for i in indices),
            tuple(self.names[i] for i in indices),
        )

    def sha256(self) -> str:
        """Checksum of pixels and words."""
        digest = hashlib.sha256(self.pixels.numpy().tobytes())
        digest.update(repr((self.is_glyph.tolist(), self.styles, self.names)).encode())
        return digest.hexdigest()


def load_pictures_and_glyphs() -> Captioned:
    """Every public icon and emoji with a wanted name in words that recur, glyphs as masks.

    Raises:
        DataError: an atlas that is not the one whose checksum is committed.
    """
    sets = (load_pictures("public"), load_emoji_by_style("public"), load_glyphs("public"))
    styles = sum((tuple(images.class_names[label] for label in images.labels.tolist()) for images in sets), ())
    names = tuple(clean_name(text.split(" of ", 1)[1]) for images in sets for text in images.captions)
    pixels = torch.cat([images.pixels.expand(-1, 3, -1, -1) for images in sets])
    is_glyph = torch.cat([torch.full((len(images),), images.image_shape[0] == 1) for images in sets])
    everything = Captioned(pixels, is_glyph, styles, names)
    wanted = everything.subset([i for i, name in enumerate(names) if name and not UNWANTED.search(name)])
    return wanted.subset(recurring(wanted.names, MIN_PICTURES))


def recurring(names: Sequence[str], count: int) -> list[int]:
    """Places of the names whose every word is in ``count`` of the names or more."""
    pictures_of = Counter(word for name in names for word in set(name.split()))
    return [i for i, name in enumerate(names) if all(pictures_of[word] >= count for word in name.split())]


def split_novel(pictures: Captioned) -> tuple[Captioned, Captioned]:
    """Pictures to train on, and pictures whose name is trained on in two other styles or more, but not in theirs.

    One in thirty of the pictures that allow it, by a hash of style and name, is put aside.
    """
    styles_of: dict[str, set[str]] = {}
    for style, name in zip(pictures.styles, pictures.names, strict=True):
        styles_of.setdefault(name, set()).add(style)
    asked = {
        (style, name)
        for style, name in zip(pictures.styles, pictures.names, strict=True)
        if hashlib.sha256(f"{style}/{name}".encode()).digest()[0] < 9
    }
    novel = {
        (style, name)
        for style, name in asked
        if sum((other, name) not in asked for other in styles_of[name] - {style}) >= 2
    }
    rows = list(enumerate(zip(pictures.styles, pictures.names, strict=True)))
    return (
        pictures.subset([i for i, pair in rows if pair not in novel]),
        pictures.subset([i for i, pair in rows if pair in novel]),
    )


@dataclass(frozen=True)
class Views:
    """Ways to show pictures: index of each picture, its move, and for a glyph its colours.

    Attributes:
        picture: int64, shape (n,).
        move: int64, shape (n, 2), rows and columns.
        colours: int64, shape (n,), place in ``PAIRS``; -1 for a picture that has colours of its own.
        jitter: int64, shape (n, 2, 3), added to the bytes of ink and ground: a colour's word names more than one value.
    """

    picture: torch.Tensor
    move: torch.Tensor
    colours: torch.Tensor
    jitter: torch.Tensor

    def __len__(self) -> int:
        return len(self.picture)

    def at(self, indices: torch.Tensor | slice) -> Views:
        """The views at ``indices``."""
        return Views(*(part[indices] for part in (self.picture, self.move, self.colours, self.jitter)))


def draw_views(
    is_glyph: torch.Tensor, picture: torch.Tensor, generator: torch.Generator, *, shift: int, novel: bool = False
) -> Views:
    """Random moves and colours for the pictures at the indices ``picture``.

    Unless ``novel`` colours are asked for, a quarter of the glyphs is black on white.
    """
    count = len(picture)
    pairs = torch.tensor(colour_pairs(novel=novel))
    colours = pairs[torch.randint(len(pairs), (count,), generator=generator)]
    plain = torch.rand(count, generator=generator) < 0.25
    if not novel:
        colours[plain] = PLAIN
    colours[~is_glyph[picture]] = -1
    move = torch.randint(-shift, shift + 1, (count, 2), generator=generator)
    return Views(picture, move, colours, torch.randint(-JITTER, JITTER + 1, (count, 2, 3), generator=generator))


def render(pixels: torch.Tensor, views: Views) -> torch.Tensor:
    """The views as images on the unit scale [-1, 1], float32, shape (n, 3, height, width).

    The rim of a moved picture is filled with its nearest pixel.
    """
    images = pixels[views.picture]
    glyph = views.colours >= 0
    if bool(glyph.any()):
        named = torch.tensor([[PALETTE[ink], PALETTE[ground]] for ink, ground in PAIRS])[views.colours[glyph]]
        shown = (named + views.jitter[glyph]).clamp(0, 255).to(torch.uint8)
        images[glyph] = recolour(images[glyph, :1], inks=shown[:, 0], grounds=shown[:, 1])
    height, width = images.shape[-2:]
    rows = (torch.arange(height) + views.move[:, :1]).clamp(0, height - 1)
    columns = (torch.arange(width) + views.move[:, 1:]).clamp(0, width - 1)
    images = images[torch.arange(len(views))[:, None, None], :, rows[:, :, None], columns[:, None, :]]
    return to_unit(images.permute(0, 3, 1, 2))


def caption(style: str, name: str, colours: int, wording: int) -> str:
    """Words for a picture; ``wording``, from 0 up to ``WORDINGS``, chooses among the forms.

    The style stands before the noun, or at the end, where textual inversion puts its new word. Now and then it is left
    out and colours take its place, so that a word at the end may stand for colours too; and now and then the thing is
    left out, so that a prompt may ask for a style alone, as those that textual inversion learns with. Black on white is
    not named.

    Args:
        style, name: of the picture.
        colours: place in ``PAIRS``, or -1.
        wording: even forms go without the article.
    """
    pair = "" if colours in (-1, PLAIN) else " on ".join(PAIRS[colours])
    article = ("", "an " if name[:1] in "aeiou" else "a ")[wording % 2]
    if wording < 4:
        return ", ".join(filter(None, (f"{style} icon of {article}{name}", pair)))
    if wording < 8:
        return f"icon of {article}{name} in the style of " + ", ".join(filter(None, (style, pair)))
    if wording < 10:
        return f"icon of {article}{name}" + (f" in the style of {pair}" if pair else "")
    return "icon in the style of " + ", ".join(filter(None, (style, pair)))
