"""One plotting style: colour-blind safe, and legible on light and dark pages.

Text in a figure is dark, so a transparent figure would vanish on a dark page. Figures are drawn on an opaque white
panel instead; ``book/_static/book.css`` rounds and pads the panel. Colour never carries meaning alone: line styles
change with it, and ``label_ends`` writes names beside the lines.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from IPython import get_ipython
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib_inline.backend_inline import set_matplotlib_formats

#: Colours after Okabe and Ito (2008) that keep a contrast of at least 3 to 1 on white, in the order of use.
PALETTE = ("#0072b2", "#c44e00", "#00805d", "#a3547f", "#5c5c5c", "#8a6a00")

#: Line styles that go with the colours, so that a grey-scale print still tells lines apart.
LINE_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))

#: Perceptually uniform map for magnitudes, and a diverging one whose ends colour-blind readers can tell apart.
SEQUENTIAL_MAP = "cividis"
DIVERGING_MAP = "RdBu_r"

#: Figure sizes in inches: one panel, two panels side by side, three panels.
SINGLE = (6.4, 4.0)
DOUBLE = (9.6, 4.0)
TRIPLE = (12.0, 3.8)


def use_style() -> None:
    """Set the style for the whole session; in a notebook also draw as SVG, which stays sharp at every size."""
    mpl.rcdefaults()
    mpl.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=PALETTE) + cycler(linestyle=LINE_STYLES),
            "axes.grid": True,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlesize": 12,
            "axes.labelsize": 11,
            "figure.constrained_layout.use": True,
            "figure.facecolor": "white",
            "figure.figsize": SINGLE,
            "font.size": 11,
            "grid.color": "#d9d9d9",
            "grid.linewidth": 0.6,
            "image.cmap": SEQUENTIAL_MAP,
            "legend.frameon": False,
            "lines.linewidth": 1.8,
            "savefig.facecolor": "white",
            "svg.hashsalt": "privlib",  # the same figure gives the same file
        }
    )
    if get_ipython() is not None:
        set_matplotlib_formats("svg", metadata={"Date": None})


def label_ends(axes: Axes) -> None:
    """Write the label of every labelled line beside its right end, in its colour, in place of a legend.

    Labels keep one line of text apart from each other, in the order in which the lines end.
    """
    lines = [line for line in axes.get_lines() if not line.get_label().startswith("_") and len(line.get_xdata())]
    height = 1.25 * mpl.rcParams["font.size"] / 72 / (axes.get_position().height * axes.figure.get_figheight())
    axes.autoscale_view()  # limits are set lazily, and the transform below does not ask for them
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = sorted(
        (to_axes.transform((line.get_xdata()[-1], line.get_ydata()[-1]))[1], i) for i, line in enumerate(lines)
    )
    lowest = float("-inf")
    for end, index in ends:
        line = lines[index]
        lowest = max(end, lowest + height)
        axes.annotate(
            line.get_label(),
            xy=(1.02, lowest),
            xycoords="axes fraction",
            color=line.get_color(),
            va="center",
            annotation_clip=False,
        )


def image_grid(
    images: np.ndarray, *, rows: Sequence[str], columns: Sequence[str], title: str = "", cell: float = 0.72
) -> Figure:
    """Draw a grid of small images, each pixel a sharp square, with a label for each row and column.

    Args:
        images: uint8, shape (len(rows), len(columns), height, width, channels), channels 1 or 3.
        rows, columns: labels, at the left and on top; an empty text leaves a place free.
        title: above the column labels.
        cell: side of an image in inches.

    Raises:
        ValueError: images of another dtype, or not one for each row and column.
    """
    images = np.asarray(images)
    if images.dtype != np.uint8 or images.ndim != 5 or images.shape[:2] != (len(rows), len(columns)):
        raise ValueError(
            f"images must be uint8 of shape ({len(rows)}, {len(columns)}, height, width, channels), "
            f"got {images.dtype} of shape {images.shape}"
        )
    height, width = images.shape[2:4]
    gap = 2
    panel = np.full((len(rows) * (height + gap), len(columns) * (width + gap), 3), 255, np.uint8)
    for row, line in enumerate(images):
        for column, image in enumerate(line):
            top, left = row * (height + gap), column * (width + gap)
            panel[top : top + height, left : left + width] = image
    figure, axes = plt.subplots(figsize=(cell * len(columns) + 1.1, cell * len(rows) + 0.5 + 0.3 * bool(title)))
    axes.imshow(panel, interpolation="nearest")
    axes.set_xticks([column * (width + gap) + width / 2 for column in range(len(columns))], columns)
    axes.set_yticks([row * (height + gap) + height / 2 for row in range(len(rows))], rows)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    if title:
        axes.set_title(title)
    return figure
