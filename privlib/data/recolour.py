"""Glyphs of one colour, kept as masks: shown in any ink on any ground, with captions that name the two."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import torch

from privlib.data.images import ImageSet

#: Colours that captions name. The two colours of the private pictograms are not among them, nor within JITTER of one.
PALETTE = {
    "black": (20, 20, 20),
    "white": (250, 250, 250),
    "grey": (130, 130, 130),
    "red": (205, 45, 45),
    "orange": (240, 130, 30),
    "yellow": (250, 215, 60),
    "green": (50, 150, 75),
    "teal": (25, 150, 150),
    "blue": (50, 110, 220),
    "dark blue": (25, 35, 110),
    "purple": (120, 60, 170),
    "pink": (240, 135, 175),
    "brown": (110, 70, 40),
    "cream": (250, 238, 210),
}

#: Largest distance of a shown colour from the one it is named after, on each channel.
JITTER = 12

#: Least difference of brightness between ink and ground, on the scale 0 to 255.
CONTRAST = 70.0


def brightness(colour: tuple[int, int, int]) -> float:
    """Luma of Rec. 601, 0 to 255: how light a colour of three bytes is."""
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]


#: (ink, ground): every two colours of PALETTE that stand out from each other.
PAIRS = tuple(
    (ink, ground)
    for ink, ground in permutations(PALETTE, 2)
    if abs(brightness(PALETTE[ink]) - brightness(PALETTE[ground])) >= CONTRAST
)


def recolour(masks: torch.Tensor, *, inks: torch.Tensor, grounds: torch.Tensor) -> torch.Tensor:
    r"""Show glyphs in an ink on a ground: ``ground + (ink - ground) * mask / 255``, rounded.

    Args:
        masks: how much of each pixel the glyph covers, uint8, shape (n, 1, height, width).
        inks, grounds: colours, uint8, shape (n, 3).

    Returns:
        uint8, shape (n, 3, height, width).

    Raises:
        ValueError: another dtype or shape.
    """
    if masks.dtype != torch.uint8 or masks.ndim != 4 or masks.shape[1] != 1:
        raise ValueError(
            f"masks must be uint8 of shape (n, 1, height, width), got {masks.dtype} of shape {tuple(masks.shape)}"
        )
    for name, colours in (("inks", inks), ("grounds", grounds)):
        if colours.dtype != torch.uint8 or colours.shape != (len(masks), 3):
            raise ValueError(
                f"{name} must be uint8 of shape ({len(masks)}, 3), got {colours.dtype} of shape {tuple(colours.shape)}"
            )
    ink, ground = (colours.to(torch.float32)[:, :, None, None] for colours in (inks, grounds))
    return torch.lerp(ground, ink, masks.to(torch.float32) / 255.0).round_().to(torch.uint8)


def draw_colours(count: int, *, generator: torch.Generator) -> tuple[list[str], torch.Tensor, torch.Tensor]:
    """``count`` pairs of colours from PAIRS, equally likely, each channel moved at random by at most JITTER.

    Returns:
        what a caption says of each, such as "white on dark blue"; inks and grounds, uint8, shape (count, 3).
    """
    pairs = [PAIRS[i] for i in torch.randint(len(PAIRS), (count,), generator=generator).tolist()]
    named = (
        torch.tensor([[PALETTE[ink], PALETTE[ground]] for ink, ground in pairs]).to(torch.int64).reshape(count, 2, 3)
    )
    moves = torch.randint(-JITTER, JITTER + 1, named.shape, generator=generator)
    colours = (named + moves).clamp(0, 255).to(torch.uint8)
    return [f"{ink} on {ground}" for ink, ground in pairs], colours[:, 0], colours[:, 1]


def in_colours(glyphs: ImageSet, *, seed: int) -> ImageSet:
    """Every glyph in colours of its own; the caption says which: "game icon of sword, white on dark blue".

    Args:
        glyphs: masks (one channel) with captions, as ``privlib.data.icons.load_glyphs`` gives them.
        seed: of the colours; the same seed gives the same pictures.

    Raises:
        ValueError: images that are no masks, or have no captions.
    """
    if not glyphs.captions:
        raise ValueError(f"{glyphs.name}: glyphs must have captions, which the names of the colours complete")
    generator = torch.Generator().manual_seed(seed)
    colours, inks, grounds = draw_colours(len(glyphs), generator=generator)
    pixels = recolour(glyphs.pixels, inks=inks, grounds=grounds)
    captions = tuple(f"{caption}, {pair}" for caption, pair in zip(glyphs.captions, colours, strict=True))
    return replace(glyphs, pixels=pixels, captions=captions)
