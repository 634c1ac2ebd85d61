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


def test_an_image_grid_shows_every_pixel_in_its_place():
    images = np.random.default_rng(0).integers(0, 256, (2, 3, 4, 5, 3), dtype=np.uint8)
    figure = figures.image_grid(images, rows=["a", "b"], columns=["x", "", "z"], title="t")
    axes = figure.axes[0]
    (drawn,) = axes.get_images()
    panel = np.asarray(drawn.get_array())
    for row in range(2):
        for column in range(3):
            assert np.array_equal(panel[6 * row : 6 * row + 4, 7 * column : 7 * column + 5], images[row, column])
    assert (panel[4:6] == 255).all() and (panel[:, 5:7] == 255).all()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["x", "", "z"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"] and axes.get_title() == "t"
    plt.close(figure)


def test_grey_images_are_drawn_grey():
    figure = figures.image_grid(np.full((1, 1, 2, 2, 1), 7, np.uint8), rows=["a"], columns=["x"])
    assert (np.asarray(figure.axes[0].get_images()[0].get_array())[:2, :2] == 7).all()
    plt.close(figure)


@pytest.mark.parametrize("images", [np.zeros((1, 2, 4, 4, 3)), np.zeros((2, 1, 4, 4, 3), np.uint8)])
def test_an_image_grid_needs_bytes_and_a_label_for_each_place(images):
    with pytest.raises(ValueError, match=r"images must be uint8 of shape \(1, 2"):
        figures.image_grid(images, rows=["a"], columns=["x", "y"])
