"""Which images of a set a denoiser was trained on, and which it never saw: the two sides of a membership attack.

The split is by picture, at random, within the whole set: each picture of one artist is as likely a member as any other,
so before training nothing tells the two sides apart, and whatever does afterwards was learned. Splitting by concept
instead would put all drawings of one thing on one side; for emoji that would make pairs, not pictures, the independent
units. What remains is kinship: an emoji that was never seen may have a twin by the other vendor among the members,
which makes an attack harder, never easier.
"""

from __future__ import annotations

import hashlib

from privlib.data.images import ImageSet
from privlib.numerics import check_count


def picture_hashes(data: ImageSet) -> list[str]:
    """SHA-256 of the pixels of each image: equal for copies, whatever their labels and captions."""
    return [hashlib.sha256(image.tobytes()).hexdigest() for image in data.pixels.contiguous().numpy()]


def distinct_pictures(data: ImageSet) -> ImageSet:
    """The set without copies: of images that are equal in every pixel the first stays (some flags are the same)."""
    first = dict(reversed(list(zip(picture_hashes(data), range(len(data)), strict=True))))
    return data.subset(sorted(first.values()))


def split_members(data: ImageSet, count: int) -> tuple[ImageSet, ImageSet]:
    """A random choice of ``count`` distinct pictures that are trained on, and all the others, which are not.

    The same for every call; a smaller choice is a part of a larger one. No picture is in both sets, nor twice in one.

    Args:
        data: the set that is split.
        count: members, at least 1 and fewer than the distinct pictures.

    Raises:
        ValueError: ``count`` out of range.
    """
    distinct = distinct_pictures(data)
    if check_count(count, "count") >= len(distinct):
        raise ValueError(
            f"count must lie in 1..{len(distinct) - 1} for the distinct pictures of {data.name}, got {count}"
        )
    order = distinct.draw(len(distinct), seed=0)
    return (
        order.subset(range(count), name=f"{data.name}, {count:,} members"),
        order.subset(range(count, len(order)), name=f"{data.name}, all but {count:,} members"),
    )
