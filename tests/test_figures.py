"""The palette can be read on its panel, by everyone."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt

from privlib import figures


def linear(colour: str) -> np.ndarray:
    """Linear-light sRGB of a hex colour."""
    c = np.array(mpl.colors.to_rgb(colour))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("colour", figures.PALETTE)
def test_colours_have_contrast_on_white(colour):
    # WCAG 2.2, success criterion 1.4.11: graphics need 3 to 1.
    assert 1.05 / (luminance(colour) + 0.05) >= 3


def test_lines_that_look_alike_without_colour_differ_in_style():
    figures.use_style()
    cycle = list(mpl.rcParams["axes.prop_cycle"])
    assert len(cycle) == len(figures.PALETTE)
    for first, second in itertools.combinations(cycle, 2):
        assert first["linestyle"] != second["linestyle"] and first["color"] != second["color"]


def test_figures_are_opaque_and_labels_stay_apart():
    figures.use_style()
    assert mpl.rcParams["savefig.facecolor"] == "white"
    fig, axes = plt.subplots()
    for offset in (0.0, 0.001, 0.002):
        axes.plot([0, 1], [0, 1 + offset], label=f"line {offset}")
    figures.label_ends(axes)
    fig.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in axes.texts), key=lambda box: box.y0)
    assert len(boxes) == 3
    assert all(lower.y1 <= upper.y0 + 1 for lower, upper in itertools.pairwise(boxes))
    plt.close(fig)
