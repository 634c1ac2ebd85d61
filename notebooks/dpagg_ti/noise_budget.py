# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Where a noisy mean can work
#
# DPAgg-TI {cite:p}`peetathawatchai2024dpagg` learns one embedding for each private picture, brings each to a public norm $R$, and publishes the mean of $m$ of the $n$ with
# Gaussian noise. Whether such a mean can carry a style can be judged before any picture is drawn: the centroid is at most $R$ long, and the noise has a length that
# $n$, $m$, $\varepsilon$, $\delta$ and the width $d$ of the embedding determine. Where the noise is longer than $R$, what is released is more noise than centroid, whatever the pictures.
#
# The vectors enter the sum with norm at most $R$, so the sum moves by at most $R$ when a picture is added or removed and by $2R$ when one is replaced. The
# noise is calibrated to the exact privacy profile of the subsampled mechanism, not by the classical formula. $R$ drops out of everything below: lengths are
# in units of it.

# %% tags=["parameters"]
set_sizes = [47, 158]  # numbers n of private pictures, each at least 2; the paper's two sets
shares = [0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0]  # shares m / n that take part, rising, each above 0 and at most 1
epsilons = [0.1, 0.5, 1.0, 5.0]  # targets, each above 0
delta = 1e-3  # delta of the targets, between 0 and 1; small sets cannot afford a small one
widths = [96, 768]  # widths d of an embedding: of the model that this book trains, of Stable Diffusion v1.5
shown_width = 96  # the one of widths that the figure is drawn for
group_sizes = [1, 2, 5, 10]  # pictures of one artist that are protected together, each at least 1
classical_deltas = [1e-3, 1e-5]  # deltas at which the classical calibration is compared, each between 0 and 1
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import math
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from privlib import figures, report
from privlib.accounting.aggregation import calibrated, expected_noise_norm, guarantee
from privlib.accounting.noise_table import noise_table
from privlib.aggregation import NoisyAggregate, Sampling
from privlib.types import Adjacency

figures.use_style()
if shown_width not in widths:
    raise ValueError(f"shown_width must be one of widths = {widths}, got {shown_width}")
SCHEMES = {
    "Poisson, add or remove": (Sampling.POISSON, Adjacency.ADD_OR_REMOVE_ONE),
    "fixed size, replace": (Sampling.FIXED_SIZE, Adjacency.REPLACE_ONE),
    "Poisson, replace": (Sampling.POISSON, Adjacency.REPLACE_ONE),
}


def everyone(n, adjacency=Adjacency.ADD_OR_REMOVE_ONE, group=1):
    """All n vectors in the mean, norm 1; the noise is what a calibration puts in."""
    return NoisyAggregate(n, n, 1.0, 1.0, adjacency=adjacency, group_size=group)


rows = []
for scheme, (sampling, adjacency) in SCHEMES.items():
    for n in set_sizes:
        sizes = sorted({max(1, round(share * n)) for share in shares})
        start = replace(everyone(n, adjacency), sample_size=sizes[0], sampling=sampling)
        table = noise_table(
            start, sample_sizes=sizes, epsilons=epsilons, delta=delta, dimension=shown_width, centroid_norm=1.0
        )
        rows += [
            {
                "scheme": scheme,
                "n": n,
                "m": row.mechanism.sample_size,
                "epsilon": row.epsilon,
                "multiplier": row.mechanism.noise_multiplier,
                "noise": row.noise_norm,
            }
            for row in table
        ]
noise = pd.DataFrame(rows)

# %% [markdown]
# ## The length of the noise
#
# Each line is one $\varepsilon$. Above the shaded edge the noise is longer than any centroid can be.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Grid of panels, one for each sampling scheme and each set size. Each shows the length of the noise in units of the norm of a vector, on a log axis, against the share of pictures that take part, one line for each epsilon. The lines fall from left to right, flatter for small epsilon; for Poisson sampling with replacement of a picture they level off, and the one for epsilon 5 rises a little at the end. With 47 pictures the lines for epsilon 0.5, 1 and 5 end below one when a picture is added or removed, only that for 5 when one is replaced; with 158 all but that for epsilon 0.1 do."}}
figure, panels = plt.subplots(
    len(set_sizes), len(SCHEMES), figsize=(12.0, 3.3 * len(set_sizes)), sharex=True, sharey=True, squeeze=False
)
for across, n in zip(panels, set_sizes, strict=True):
    for axes, scheme in zip(across, SCHEMES, strict=True):
        axes.axhspan(1.0, 1.2 * noise.noise.max(), color="#ececec", zorder=0)
        for epsilon in epsilons:
            points = noise[(noise.scheme == scheme) & (noise.n == n) & (noise.epsilon == epsilon)]
            axes.plot(points.m / n, points.noise, marker="o", markersize=3.5, label=rf"$\varepsilon$ = {epsilon:g}")
        axes.set(yscale="log", ylim=(0.8 * noise.noise.min(), 1.2 * noise.noise.max()))
        axes.set_title(f"{scheme}, n = {n}", fontsize=11)
    across[0].set(ylabel="length of the noise / R")
for axes in panels[-1]:
    axes.set(xlabel="share m / n that takes part")
figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside right center")
plt.show()

# %% tags=["hide-input"]
wide = []
for n in set_sizes:
    for scheme in list(SCHEMES)[:2]:
        for width in widths:
            found = [calibrated(everyone(n, SCHEMES[scheme][1]), epsilon, delta) for epsilon in epsilons]
            wide.append({"n": n, "neighbours": scheme.split(", ")[1], "width d": width})
            wide[-1] |= {f"epsilon = {e:g}": expected_noise_norm(one, width) for e, one in zip(epsilons, found, strict=True)}
report.table(
    pd.DataFrame(wide),
    f"Length of the noise in units of R when all pictures take part (m = n), one release, delta = {delta:g}, exact Gaussian calibration",
    digits=3,
)

# %% [markdown]
# A width of 768 makes the noise longer by the square root of the ratio of the widths: a narrow text encoder is easier to adapt under privacy.
#
# ## Does subsampling help?
#
# Fewer pictures in the sample lower the noise *multiplier* that a target asks for: that is amplification. They also make the mean one of fewer vectors, so that the same
# multiplier is a longer noise. The table has both.

# %% tags=["hide-input"]
focus = noise[(noise.n == set_sizes[0]) & (noise.epsilon == epsilons[len(epsilons) // 2])]
report.table(
    pd.DataFrame(
        {
            "scheme": list(focus.scheme),
            "m": list(focus.m),
            "noise multiplier": list(focus.multiplier),
            "length of the noise / R": list(focus.noise),
        }
    ),
    f"n = {set_sizes[0]}, epsilon = {epsilons[len(epsilons) // 2]:g}, delta = {delta:g}, d = {shown_width}: the multiplier of the noise in the sum, and the noise in the mean",
)
best = noise.loc[noise.groupby(["scheme", "n", "epsilon"]).noise.idxmin()]
at_all = noise[noise.m == noise.n].set_index(["scheme", "n", "epsilon"]).noise
report.table(
    pd.DataFrame(
        {
            "scheme": list(best.scheme),
            "n": list(best.n),
            "epsilon": list(best.epsilon),
            "m with the shortest noise": list(best.m),
            "shorter than at m = n by": [
                f"{1 - row.noise / at_all[row.scheme, row.n, row.epsilon]:.1%}" for row in best.itertuples()
            ],
        }
    ),
    f"The best of the sample sizes tried, delta = {delta:g}",
)

# %% [markdown]
# With neighbours that differ by one added or removed picture, and with samples of fixed size, the noise is shortest when everybody takes part. Only under Poisson
# sampling with replacement of a picture there is a gain below $n$, since the picture that takes the other's place is in the sample by chance too. Except there,
# privacy is no reason to leave pictures out. The time that inversion takes is one, and so is a centroid of fewer pictures that happen to agree.
#
# ## The classical calibration
#
# The textbook noise multiplier $\sqrt{2 \ln(1.25/\delta)}/\varepsilon$ is proved for $\varepsilon \le 1$ only {cite:p}`dwork2014algorithmic,balle2018improving`. Where it is valid it wastes noise; further up it
# gives less than is needed.

# %% tags=["hide-input"]
grid = np.geomspace(0.05, 20.0, 60).tolist()
classical = [
    {
        "delta": each,
        "epsilon": epsilon,
        "ratio": math.sqrt(2 * math.log(1.25 / each)) / epsilon / calibrated(everyone(set_sizes[0]), epsilon, each).noise_multiplier,
    }
    for each in classical_deltas
    for epsilon in grid
]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Classical noise over exact noise against epsilon on a log axis, one line for each delta. The lines start at 1.7 and 2.5 at epsilon 0.05, fall, cross one between epsilon 7 and 9, and end below one; the region below one is shaded."}}
_, axes = plt.subplots(figsize=figures.SINGLE)
axes.axhspan(0.5, 1.0, color="#ececec", zorder=0)
for each, points in pd.DataFrame(classical).groupby("delta"):
    axes.plot(points.epsilon, points.ratio, label=rf"$\delta$ = {each:g}")
axes.axvline(1.0, color="#5c5c5c", linestyle=":", linewidth=1)
axes.set(xscale="log", xlabel=r"$\varepsilon$", ylabel="classical noise / exact noise", ylim=(0.5, None))
axes.legend()
plt.show()

# %% [markdown]
# Shaded: not enough noise. Left of the dotted line the classical formula is proved.
#
# ## One artist with several pictures
#
# A guarantee for one picture is not one for its artist. The remark of the paper on an extension to artists amounts to a group: $k$ pictures that are added or removed together.

# %% tags=["hide-input"]
groups = [
    {"pictures k": k, "n": n}
    | {
        f"epsilon = {epsilon:g}": expected_noise_norm(calibrated(everyone(n, group=k), epsilon, delta), shown_width)
        for epsilon in epsilons
    }
    for n in set_sizes
    for k in group_sizes
]
report.table(
    pd.DataFrame(groups),
    f"Length of the noise in units of R for a group of k pictures, m = n, d = {shown_width}, delta = {delta:g}",
    digits=3,
)
stated = guarantee(calibrated(everyone(set_sizes[-1]), epsilons[-1], delta), delta)
report.privacy_statement(**stated.statement())

# %% [markdown]
# If all pictures are one artist's, as in the paper's set of artwork, a guarantee for the artist leaves nothing to publish: the group is the whole set.

# %% tags=["hide-input"]
def amplified(rows):
    """Whether a smaller share never asks for a larger multiplier."""
    return bool((rows.sort_values("m").multiplier.diff().dropna() >= 0).all())


report.claims(
    "noise_budget",
    {"noise.subsampling.amplifies": all(amplified(rows) for _, rows in noise.groupby(["scheme", "n", "epsilon"]))},
    tier=tier,
)

# %% tags=["hide-input"]
report.footer("noise_budget", globals())
