# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Tables 1 and 5: swapping the denoiser inside one window
#
# Where along the path may the empirical denoiser stand in for the neural one? The paper runs a sampler of 39 steps with the neural denoiser and changes one window of six steps at a time:
#
# * *swap*: the empirical denoiser in the steps of the window, all noise kept;
# * *ref.*: the neural denoiser kept, and the noise of the window drawn again.
#
# Both are compared with the endpoint of the unchanged path, by $1 - \cos$ of image features. The second says how far the endpoint moves when nothing but chance changes,
# so the ratio swap/ref. tells whether the swap does less harm than chance. The paper finds that it does at high noise and does not at low noise.
#
# The windows of steps 9–14, 15–20 and 21–26 are printed in Table 6. Those of the last one, 29–34, are inferred from the noise levels.

# %% tags=["parameters"]
data = "emoji/public"  # records of the empirical denoiser, a name that privlib.data.load accepts
weights = "emoji"  # neural denoiser trained on these records, a name that load_named accepts
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
networks = ["efficientnet", "icon_text"]  # what the distance is between features of: efficientnet, icon_text; clip, dinov2 (need weights)
feature_side = 96  # input side of efficientnet, a multiple of 32
num_steps = 39  # levels of the EDM grid, a whole number of at least 35
step = "ancestral"  # update of the sampler: ancestral or Euler-Maruyama
num_samples = 80  # paths, at least 10
batch_size = 40  # paths in memory at once, at least 1
resamples = 4000  # of the bootstrap, at least 100
seed = 0  # seed of the noise, a whole number from 0
device = "auto"  # where denoisers and networks run, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import pandas as pd
import torch

from privlib import figures, report
from privlib.data import load
from privlib.data.images import to_bytes
from privlib.denoisers.empirical import EmpiricalDenoiser
from privlib.denoisers.named import card_of, load_named
from privlib.metrics.bootstrap import paired_bootstrap
from privlib.metrics.named import load_features
from privlib.metrics.pairs import cosine_distances_of
from privlib.metrics.trends import all_negative, falling
from privlib.numerics import choose_device
from privlib.report import bundles
from privlib.samplers.steps import ANCESTRAL, EULER_MARUYAMA
from privlib.samplers.window import Sampler, window_endpoints
from privlib.schedules import edm_sigmas
from privlib.types import Trend

figures.use_style()
where = choose_device(device)
WINDOWS = {"high-noise": range(9, 15), "mid-noise": range(15, 21), "low-noise": range(21, 27), "min-noise": range(29, 35)}
COLUMNS = {"CLIP": ("clip", "icon_text"), "DINO": ("dinov2", "efficientnet")}  # the network of the paper, and its stand-in
updates = {kind.name: kind.update for kind in (ANCESTRAL, EULER_MARUYAMA)}
if step not in updates:
    raise ValueError(f"step must be one of {', '.join(updates)}, got {step!r}")
extractors = {name: load_features(name, side=feature_side, device=where) for name in networks}
records, card = load(data, folder=data_folder), card_of(weights)
sigmas = edm_sigmas(num_steps).tolist()
ends = window_endpoints(
    Sampler(load_named(weights).to(where), sigmas, updates[step]),
    EmpiricalDenoiser(records),
    list(WINDOWS.values()),
    image_shape=records.image_shape,
    count=num_samples,
    seed=seed,
    batch_size=batch_size,
    device=where,
)

# %% [markdown]
# ## The endpoints

# %% tags=["hide-input"] mystnb={"image": {"alt": "Grid of images, one starting noise in each column. The first row is the unchanged path. Swapping the high-noise window leaves nearly the same picture, swapping a window at lower noise gives sharp pictures that differ from it. Drawing the noise again gives another picture at high noise and the same picture at the lowest noise."}}
if tier in ("smoke", "embedded"):
    shown = min(10, num_samples)
    lines = {
        "unchanged": ends.unchanged,
        **{f"swap, {name}": images for name, images in zip(WINDOWS, ends.swapped, strict=True)},
        "swap, all steps": ends.all_swapped,
        **{f"ref., {name}": images for name, images in zip(WINDOWS, ends.redrawn, strict=True)},
    }
    figures.image_grid(
        torch.stack([to_bytes(images[:shown]).permute(0, 2, 3, 1) for images in lines.values()]).numpy(),
        rows=list(lines),
        columns=[""] * shown,
        title="Endpoints, the same starting noise in a column",
    )
    plt.show()

# %% [markdown]
# After a swap at low noise the endpoint is nearly, after one in all steps exactly, one of the records. So pictures are shown for the bundled records only, which may be passed on.
#
# ## The distances

# %% tags=["hide-input"]
def estimate(columns, statistic, looks=1):
    """Bootstrap over the paths; looks is the number of differences that one verdict is made of."""
    return paired_bootstrap(torch.stack(columns, dim=1), statistic, resamples=resamples, seed=seed, confidence=1.0 - 0.05 / looks)


rows, printable, agreement, all_steps, distances = [], [], [], {}, {}
for name, extractor in extractors.items():
    kept = extractor(ends.unchanged)
    for (window_name, window), swapped, redrawn in zip(WINDOWS.items(), ends.swapped, ends.redrawn, strict=True):
        swap, ref = (cosine_distances_of(extractor(images), kept) for images in (swapped, redrawn))
        distances[name, window_name] = swap, ref
        ratio = estimate([swap, ref], lambda s, r: s / r)
        saved = estimate([swap, ref], lambda s, r: r - s)
        mean_swap, mean_ref = (estimate([column], lambda mean: mean) for column in (swap, ref))
        rows.append(
            {
                "network": name,
                "window": window_name,
                "first level": sigmas[window[0]],
                "last level": sigmas[window[-1]],
                "swap": mean_swap.value,
                "swap, low": mean_swap.lower,
                "swap, high": mean_swap.upper,
                "ref": mean_ref.value,
                "ref, low": mean_ref.lower,
                "ref, high": mean_ref.upper,
                "rel": ratio.value,
                "rel, low": ratio.lower,
                "rel, high": ratio.upper,
                "saved": saved.value,
                "saved, low": saved.lower,
                "saved, high": saved.upper,
            }
        )
        printable.append(
            {
                "window": window_name,
                "levels": f"{sigmas[window[0]]:.3g} to {sigmas[window[-1]]:.3g}",
                "features": name,
                "swap": str(mean_swap),
                "ref.": str(mean_ref),
                "rel.": str(ratio),
            }
        )
        similar = estimate([swap], lambda mean: 1.0 - mean)
        agreement.append(
            {"window": window_name, "features": name, "cosine": str(similar), "ref. minus swap": str(saved)}
        )
    for window_name, column in (
        ("all steps", cosine_distances_of(extractor(ends.all_swapped), kept)),
        ("other starting noise", cosine_distances_of(kept.roll(1, 0), kept)),
    ):
        similar = estimate([column], lambda mean: 1.0 - mean)
        all_steps.setdefault(name, similar.value)
        agreement.append({"window": window_name, "features": name, "cosine": str(similar), "ref. minus swap": None})
table = pd.DataFrame(rows)
named = "; ".join(
    f"{name}: {extractor.name}" + (f", which stands in for {extractor.stand_in_for}" if extractor.stand_in_for else "")
    for name, extractor in extractors.items()
)

report.table(
    pd.DataFrame(printable),
    f"As Table 1: distance 1 - cos from the unchanged endpoint, {num_samples} paths, {step} steps, records {records.name}, weights {weights}; "
    f"95 % paired bootstrap intervals in brackets. Features: {named}",
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "One panel for each network and a last one for the ratios, over the four windows, noise falling from left to right, with error bars. By efficientnet the distance after the swap rises from window to window; by icon_text it is largest in the mid-noise window. By both the distance after drawing the noise again falls, to nearly nothing by icon_text. The ratios on a log axis rise from below one to well above one."}}
figure, panels = plt.subplots(1, len(networks) + 1, figsize=figures.TRIPLE)
places, last = range(len(WINDOWS)), panels[-1]
for axes, name, marker in zip(panels, networks, "oDv^", strict=False):
    shown = table[table.network == name]
    for column, label, shape, colour in (
        ("swap", "swap", "o", figures.PALETTE[0]),
        ("ref", "ref.", "s", figures.PALETTE[1]),
    ):
        bars = [shown[column] - shown[f"{column}, low"], shown[f"{column}, high"] - shown[column]]
        axes.errorbar(places, shown[column], yerr=bars, fmt=shape, color=colour, capsize=3, linestyle="-", label=label)
    axes.set(title=name, ylabel="1 - cos of features", ylim=(0, None))
    axes.legend(fontsize=9)
    bars = [shown["rel"] - shown["rel, low"], shown["rel, high"] - shown["rel"]]
    last.errorbar(places, shown["rel"], yerr=bars, fmt=marker, color=figures.PALETTE[2 + networks.index(name)], capsize=3, linestyle="-", label=name)
last.axhline(1.0, color="#5c5c5c", linestyle="--", linewidth=1)
last.set(title="ratio", yscale="log", ylabel="swap / ref.")
last.legend(fontsize=9)
for axes in panels:
    axes.set_xticks(places, [name.removesuffix("-noise") for name in WINDOWS])
plt.show()

# %% [markdown]
# Unless the table says otherwise, both networks are stand-ins. `efficientnet`, a small ImageNet network {cite:p}`tan2019efficientnet`, takes the place of DINO {cite:p}`oquab2024dinov2`;
# `icon_text`, a model of images and captions that was trained on icons for this book ({doc}`stand_ins`), takes the place of CLIP {cite:p}`radford2021learning`. Their distances are
# not DINO or CLIP distances and cannot be compared with the printed ones; only their order can. `networks` takes `clip` and `dinov2` too, where their weights can be had.
#
# ## Agreement, as in Table 5

# %% tags=["hide-input"]
report.table(
    pd.DataFrame(agreement),
    "As Table 5: cosine with the unchanged endpoint after the swap, and how much nearer it is than with the noise drawn again (negative: further); the last row compares endpoints of "
    "different starting noise",
)

# %% [markdown]
# ## The step of the sampler
#
# That the sampler is stochastic follows from the reference, which draws noise again. Which stochastic step is not printed. The step of the accounting is Euler-Maruyama {eq}`eq-step`. On a grid of 39 levels it leaves
# more noise in the state than the level says (see {doc}`tab04_directions`), and a neural denoiser, told the level, paints the surplus as texture. The default here is the ancestral step, which leaves
# what the level says; `-p step Euler-Maruyama` takes the other.

# %% tags=["hide-input"]
inputs = {records.name: records.sha256, f"weights/{weights}": card["sha256"]}
if tier == "cifar10":
    bundles.keep("tab01_window_swap", globals(), tables={"windows": rows}, inputs=inputs)
elif bundles.bundle_path("tab01_window_swap", "cifar10").is_file():
    bundle = bundles.read_bundle("tab01_window_swap", "cifar10")
    report.table(
        pd.DataFrame(bundle.tables["windows"])[["network", "window", "swap", "ref", "rel", "rel, low", "rel, high"]],
        f"The same on CIFAR-10 (JPEG copy), {bundle.origin}",
    )

# %% tags=["hide-input"]
values = {}
for column, candidates in COLUMNS.items():
    column, chosen = column.lower(), next((name for name in candidates if name in networks), None)
    if chosen is None:
        undecided = (f"rel.{column}_grows", f"rel.{column}_crosses", f"agreement.{column}_falls")
        values |= {f"tab01.{name}": Trend.UNRESOLVED for name in undecided}
        continue
    shown = table[table.network == chosen]
    by_window = [distances[chosen, window_name] for window_name in WINDOWS]
    steps = list(zip(by_window, by_window[1:], strict=False))
    ends_of_path = [by_window[0][0], by_window[-1][0]]
    values |= {
        # Each difference is negative where the paper's order holds; see privlib.metrics.trends for what decides.
        f"tab01.rel.{column}_grows": all_negative([estimate([*a, *b], lambda s, r, t, q: s / r - t / q, len(steps)) for a, b in steps]),
        f"tab01.rel.{column}_crosses": all_negative(
            [estimate(list(by_window[1]), lambda s, r: s / r - 1.0, 2), estimate(list(by_window[2]), lambda s, r: 1.0 - s / r, 2)]
        ),
        f"tab01.agreement.{column}_falls": falling(
            [estimate([a[0], b[0]], lambda s, t: s - t, len(steps) + 1) for a, b in steps],
            estimate(ends_of_path, lambda s, t: s - t, len(steps) + 1),
        ),
    }
    if chosen == candidates[0] and tier in ("cifar10", "paper"):
        for row in shown.to_dict("records"):
            window = row["window"].removesuffix("-noise")
            values |= {f"tab01.{window}.{column}_{part}": row[part] for part in ("swap", "ref", "rel")}
            values[f"tab01.table5.{window}.{column}"] = 1.0 - row["swap"]
            if column == "clip":
                values[f"tab01.table5.{window}.delta_clip"] = row["saved"]
        values[f"tab01.table5.all.{column}"] = all_steps[chosen]
report.claims("tab01_window_swap", values, tier=tier)

# %% tags=["hide-input"]
report.footer("tab01_window_swap", globals(), inputs=inputs)
