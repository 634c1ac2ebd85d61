"""The numbers that the page on data prints, against the data and the loaders."""

import json
from collections import Counter
from pathlib import Path

import pytest

from privlib.data import load
from privlib.data.celeba import COUNTS as CELEBA
from privlib.data.cifar10 import COUNTS as CIFAR10
from privlib.data.emoji import FOLDER, SIDES, SPLITS
from privlib.data.tiny_imagenet import NUM_CLASSES, PER_CLASS, STRIDE

PAGE = (Path(__file__).resolve().parents[2] / "book" / "data.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
TABLE = json.loads((FOLDER / "emoji.json").read_text(encoding="utf-8"))


def rows() -> dict[str, list[str]]:
    """The other cells of every table row, by its first cell; no first cell may come twice."""
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("|")
    ]
    cells = [row for row in cells if row[0].startswith("`") or row[0] in TABLE["vendors"]]
    assert len({row[0] for row in cells}) == len(cells)
    return {row[0].strip("`"): row[1:] for row in cells}


ROWS = rows()
HELD_OUT = NUM_CLASSES * PER_CLASS // STRIDE
BROUGHT = {
    **{f"cifar10/{split}": count for split, count in CIFAR10.items()},
    **{f"celeba/{split}": count for split, count in CELEBA.items()},
    "tiny_imagenet/public": NUM_CLASSES * PER_CLASS - HELD_OUT,
    "tiny_imagenet/held_out": HELD_OUT,
}


@pytest.mark.parametrize("split", SPLITS)
def test_counts_of_the_bundled_sets(split):
    assert ROWS[f"emoji/{split}"] == [", ".join(SIDES[split.partition("_")[0]]), f"{len(load(f'emoji/{split}')):,}"]


@pytest.mark.parametrize("spec", BROUGHT)
def test_counts_that_the_loaders_insist_on(spec):
    assert ROWS[spec][0] == f"{BROUGHT[spec]:,}"


@pytest.mark.parametrize("vendor", TABLE["vendors"])
def test_licences_packages_and_counts_of_vendors(vendor):
    entry = TABLE["vendors"][vendor]
    _, licence, package, count = ROWS[vendor]
    assert licence == entry["licence"] and package == f"`{entry['package']}` {entry['version']}"
    assert count == f"{len(entry['concepts']):,}"


def test_numbers_in_sentences():
    concepts = TABLE["concepts"]
    shown = {
        side: Counter(
            index
            for vendor in vendors
            for index in TABLE["vendors"][vendor]["concepts"]
            if not concepts[index]["held_out"]
        )
        for side, vendors in SIDES.items()
    }
    assert shown["private"].keys() <= shown["public"].keys()
    pictures = {split: [p.numpy().tobytes() for p in load(f"emoji/{split}").pixels] for split in SPLITS}
    public = set(pictures["public"])
    twins = sum(picture in public for picture in pictures["public_held_out"])
    repeated = len(pictures["private"]) - len(set(pictures["private"]))
    for sentence in (
        f"one of {len(TABLE['categories'])} categories",
        f"there are {len(concepts):,}.",
        f"This holds for {sum(concept['held_out'] for concept in concepts)} concepts.",
        f"All {len(shown['private']):,} concepts of `emoji/private` are also in `emoji/public`.",
        f"{sum(count == 2 for count in shown['private'].values()):,} concepts are in `emoji/private` twice",
        f"{twins} of the {len(pictures['public_held_out'])} public held-out pictures equal",
        f"Within `emoji/private` {repeated} pictures repeat",
        f"{NUM_CLASSES} classes of {PER_CLASS} training images",
        f"i \\bmod {STRIDE} = {STRIDE - 1}$, which is {PER_CLASS // STRIDE} images of each class",
    ):
        assert sentence in TEXT, sentence
