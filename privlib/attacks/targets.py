"""What a membership attack is aimed at: a denoiser, pictures that it was trained on, and pictures that it never saw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from privlib.data import load
from privlib.data.images import ImageSet
from privlib.denoisers.checkpoints import FOLDER, load_denoiser, read_card
from privlib.denoisers.named import is_published
from privlib.denoisers.published import load_published, published_sha256
from privlib.training.members import distinct_pictures, picture_hashes, split_members


@dataclass(frozen=True)
class Target:
    """A denoiser with both sides.

    Attributes:
        name: of the weights.
        denoiser: what is attacked, called as ``denoiser(x, sigma)``.
        members: pictures that it was trained on.
        others: pictures that it was not trained on.
        checksum: of the weights, or their source where a hub keeps it.

    Raises:
        ValueError: a picture on both sides, or twice on one; the message says how many.
    """

    name: str
    denoiser: Callable[[torch.Tensor, float], torch.Tensor] = field(repr=False)
    members: ImageSet
    others: ImageSet
    checksum: str

    def __post_init__(self) -> None:
        check_sides(self.members, self.others)


def check_sides(members: ImageSet, others: ImageSet) -> None:
    """Raise ValueError if a picture, known by its pixels, is on both sides or twice on one.

    A picture on both sides is a member that counts as an error when it is found out; copies on one side are not
    independent.
    """
    sides = {"members": picture_hashes(members), "others": picture_hashes(others)}
    for name, hashes in sides.items():
        if twice := len(hashes) - len(set(hashes)):
            raise ValueError(f"{name} hold {twice} pictures more than once; see training.members.distinct_pictures")
    if common := len(set(sides["members"]) & set(sides["others"])):
        raise ValueError(
            f"members ({members.name}) and others ({others.name}) have {common} pictures in common: "
            "take them out of the others"
        )


def never_members(data: ImageSet, members: ImageSet) -> ImageSet:
    """The distinct pictures of ``data`` that are not among ``members``.

    Raises:
        ValueError: none is left.
    """
    seen, distinct = set(picture_hashes(members)), distinct_pictures(data)
    left = [index for index, digest in enumerate(picture_hashes(distinct)) if digest not in seen]
    if not left:
        raise ValueError(f"data must hold a picture that is no member: all of {data.name} are in {members.name}")
    return distinct.subset(left)


def load_target(
    weights: str,
    *,
    folder: str | Path | None = None,
    data_folder: str | None = None,
    published_data: tuple[str, str] = ("cifar10/train", "cifar10/test"),
) -> Target:
    """A target by the name of its weights.

    Args:
        weights: of a recipe (``emoji_members``), or a diffusers pipeline by its hub name (``google/ddpm-cifar10-32``).
            If the card of a recipe says how many members were drawn, the others are pictures of the same set that
            neither these weights nor those that they started from have seen; else the members are the whole set, and
            the others its held-out images, which need not have the same distribution.
        folder: where to look for weights before those that the library ships; None or empty for the latter only.
        data_folder: of data sets that are not bundled, see ``privlib.data.load``.
        published_data: sets that a published network was trained on and was not; its card is not read.

    Raises:
        DataError: weights or data that are missing or damaged.
        ValueError: data that are not those of the card.
    """
    if is_published(weights):
        members = distinct_pictures(load(published_data[0], folder=data_folder))
        others = never_members(load(published_data[1], folder=data_folder), members)
        return Target(weights, load_published(weights), members, others, checksum=published_sha256(weights))
    place = _place(weights, folder)
    card = read_card(weights, folder=place)
    recipe = card["recipe"]
    data = load(recipe["data"], folder=data_folder)
    if count := recipe.get("members", 0):
        members = trained_on = split_members(data, count)[0]
        others = split_members(data, _seen(recipe, folder))[1]
    else:
        members, trained_on = distinct_pictures(data), data
        others = never_members(load(recipe["held_out"], folder=data_folder), members)
    if trained_on.sha256 != card["data_sha256"]:
        raise ValueError(
            f"weights {weights} were trained on other images than {recipe['data']} gives here: see the card"
        )
    return Target(weights, load_denoiser(weights, folder=place), members, others, card["sha256"])


def _place(weights: str, folder: str | Path | None) -> Path:
    """The folder that holds these weights, or that of the shipped ones."""
    return Path(folder) if folder and (Path(folder) / f"{weights}.json").is_file() else FOLDER


def _seen(recipe: dict, folder: str | Path | None) -> int:
    """How many pictures, in the order of ``split_members``, a run or the weights that it started from have seen."""
    if not (initial := recipe.get("initial", "")):
        return recipe["members"]
    start = read_card(initial, folder=_place(initial, folder))["recipe"]
    if start["data"] != recipe["data"]:
        return recipe["members"]
    if not start.get("members"):
        raise ValueError(f"weights {initial}, the start of {recipe['name']}, have seen all of {recipe['data']}")
    return max(recipe["members"], _seen(start, folder))
