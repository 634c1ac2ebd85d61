# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What the wide intervals hide
#
# Every interval in the paper's tables is about 0.25 wide, whatever $\varepsilon$ is. That width says nothing about the mechanism: it is
# 50,000 outputs times half a grid step. This page asks what becomes visible when it is gone. First, how wide the certified
# intervals of this book are over the whole sweep. Second, where the two estimates that the paper uses as diagnostics fall *below* the
# certified lower end. The paper finds that at five points; here it is mapped over $\mu$, $q$ and the number of outputs.

# %% tags=["parameters"]
num_records = 50000  # private records n of the sweep
count = 50000  # outputs of the sweep and of the first map, a whole number of at least 1
delta = 1e-5  # between 0 and 1
paper_step = 1e-5  # grid step of the paper's accountant, nats
gdp_mus = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]  # GDP parameters of one block on the maps, each above 0
sampling_probabilities = [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2]  # q on the first map, each between 0 and 1
counts = [1000, 3000, 10000, 30000, 100000, 300000, 1000000]  # outputs on the second map, each at least 1
map_sampling_probability = 5e-4  # q of the second map, between 0 and 1
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm

from privlib import figures, report
from privlib.accounting.certified import epsilon_interval
from privlib.accounting.clt import clt_epsilon_estimate
from privlib.accounting.edgeworth import edgeworth_epsilon_estimate
from privlib.mechanisms import SubsampledGaussian, output_wise_block
from privlib.schedules import edm_sigmas
from privlib.types import AccountingError, Adjacency

figures.use_style()
sigmas = edm_sigmas(39)
blocks = {
    (percent, batch): output_wise_block(sigmas, percent / 100, batch_size=batch, num_records=num_records, count=count)
    for percent in (55, 62, 65, 67, 70)
    for batch in (25, 50, 100, 200)
}
sweep = {cell: epsilon_interval(block, delta) for cell, block in blocks.items()}

# %% tags=["hide-input"] mystnb={"image": {"alt": "Width of the interval relative to epsilon against epsilon, both on log scales, for the twenty mechanisms of the CIFAR-10 sweep. The paper's grid gives points on a falling line from about one at epsilon 0.3 to a few in ten thousand at epsilon 700. The certified intervals lie near one in ten billion throughout."}}
figure, axes = plt.subplots()
epsilon = np.array([interval.upper for interval in sweep.values()])
axes.loglog(epsilon, count * paper_step / 2 / epsilon, "s", linestyle="none", label="rounded down to a grid of 1e-5")
axes.loglog(
    epsilon, [interval.width / interval.upper for interval in sweep.values()], "o", linestyle="none", label="this book"
)
axes.set(xlabel=r"certified $\varepsilon$", ylabel=r"interval width / $\varepsilon$", title="The sweep of Table 8")
axes.legend()
plt.show()

# %% tags=["hide-input"]
report.table(
    pd.DataFrame(
        [
            {
                "private share": f"{percent} %",
                "B": batch,
                "lower": interval.lower,
                "upper": interval.upper,
                "width": interval.width,
                "lower end on a grid of 1e-5, about": max(0.0, interval.lower - count * paper_step / 2),
            }
            for (percent, batch), interval in sweep.items()
        ]
    ),
    f"Certified epsilon of the CIFAR-10 sweep at delta = {delta:g}, {count:,} outputs, Poisson blocks of n = {num_records:,}, "
    "add or remove one record",
    digits=9,
)
report.privacy_statement(
    epsilon=sweep[70, 200],
    delta=delta,
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    sampling=f"Poisson blocks, q = 200/{num_records:,}, one for each output, 70 % private",
    count=count,
    accountant="certified contour inversion",
    kind="certified interval",
)

# %% [markdown]
# ## Where the estimates turn anti-conservative
#
# Each cell of the maps holds *estimate / certified epsilon*. Cells marked with a dot are anti-conservative: the estimate lies below the
# certified lower end, so a guarantee quoted from it would be false. Crosses mark cells where the Edgeworth expansion has no
# valid root and the library refuses to answer. Empty cells have $\varepsilon = 0$: the mechanism is $(0, \delta)$-private.


# %% tags=["hide-input"]
def ratio(mechanism: SubsampledGaussian, estimate) -> tuple[float, bool]:
    """Estimate over certified epsilon, and whether the estimate is below the certified lower end; NaN where there is none."""
    certified = epsilon_interval(mechanism, delta)
    if certified.upper == 0.0:
        return np.nan, False
    try:
        value = estimate(mechanism, delta)
    except AccountingError:
        return np.inf, False
    return value / certified.upper, value < certified.lower


def draw(axes, estimate, columns: list, build, labels: list[str], title: str) -> tuple[int, int]:
    """One map, GDP parameter upwards; returns how many cells are anti-conservative and how many have an estimate."""
    cells = [[ratio(build(mu, column), estimate) for column in columns] for mu in gdp_mus]
    ratios = np.array([[cell[0] for cell in row] for row in cells])
    below = np.array([[cell[1] for cell in row] for row in cells])
    image = axes.pcolormesh(
        np.where(np.isfinite(ratios), ratios, np.nan), norm=LogNorm(0.5, 2.0), cmap=figures.DIVERGING_MAP
    )
    for (row, column), value in np.ndenumerate(ratios):
        if np.isposinf(value):
            axes.text(column + 0.5, row + 0.5, "×", ha="center", va="center", fontsize=9)
        elif below[row, column]:
            axes.text(column + 0.5, row + 0.5, "●", ha="center", va="center", fontsize=6)
    axes.set_xticks(np.arange(len(columns)) + 0.5, labels, rotation=45)
    axes.set_yticks(np.arange(len(gdp_mus)) + 0.5, [f"{mu:g}" for mu in gdp_mus])
    axes.set(title=title, ylabel=r"GDP parameter $\mu$ of a block")
    axes.grid(visible=False)
    bar = axes.figure.colorbar(
        image, ax=axes, label="estimate / certified", extend="both", ticks=[0.5, 0.7, 1.0, 1.4, 2.0], format="%.1f"
    )
    bar.minorticks_off()
    return int(below.sum()), int(np.isfinite(ratios).sum())


by_probability = (
    sampling_probabilities,
    lambda mu, q: SubsampledGaussian(mu, q, count),
    [f"{q:g}" for q in sampling_probabilities],
    "sampling probability q",
    f"{count:,} outputs",
)
by_count = (
    counts,
    lambda mu, outputs: SubsampledGaussian(mu, map_sampling_probability, outputs),
    [f"{outputs:,}" for outputs in counts],
    "number of outputs",
    f"q = {map_sampling_probability:g}",
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two heat maps over sampling probability and GDP parameter at 50,000 outputs. The Edgeworth estimate agrees closely up to GDP parameter 1.5. From 2 upwards it is below the certified value, marked by dots, at sampling probabilities from 0.0005 to 0.005, agrees at larger ones, and is refused, marked by crosses, at smaller ones. The CLT estimate is below the certified value almost everywhere up to GDP parameter 2, by half and more at small sampling probability, and far too large above."}}
estimates = (("Edgeworth, degree 2", edgeworth_epsilon_estimate), ("central limit", clt_epsilon_estimate))
summary = []


def both_maps(columns: list, build, labels: list[str], name: str, what: str) -> None:
    """The two estimates side by side over one pair of axes."""
    figure, panels = plt.subplots(1, 2, figsize=figures.DOUBLE)
    for axes, (title, estimate) in zip(panels, estimates, strict=True):
        low, valid = draw(axes, estimate, columns, build, labels, f"{title}, {what}")
        axes.set_xlabel(name)
        summary.append(
            {"estimate": title, "map": f"{name}, {what}", "cells with an estimate": valid, "anti-conservative": low}
        )
    plt.show()


both_maps(*by_probability)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two heat maps over number of outputs and GDP parameter at sampling probability 0.0005. The Edgeworth estimate agrees at GDP parameters up to 1, is below the certified value, marked by dots, in a band that runs from 1.5 at 10,000 outputs to 4 at 300,000, and is refused, marked by crosses, at fewer outputs. The CLT estimate is below the certified value almost everywhere up to GDP parameter 2, by half and more at few outputs, and far too large from 3 upwards."}}
both_maps(*by_count)

# %% tags=["hide-input"]
report.table(
    pd.DataFrame(summary),
    f"How often each estimate is below the certified lower end on the maps (delta = {delta:g}, Poisson blocks, "
    "add or remove one record)",
)

# %% [markdown]
# More outputs alone do not rescue either estimate: what matters is whether the rare output whose block contains the record, and
# which then reveals it, is averaged over. That needs $q\,N_{out}$ large *and* a single output that is not too telling.

# %% tags=["hide-input"]
report.claims("tight_intervals", {}, tier=tier)

# %% tags=["hide-input"]
report.footer("tight_intervals", globals())
