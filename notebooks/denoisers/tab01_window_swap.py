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
weights = "emoji"  # neural denoiser trained on these records, a name of shipped weights
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
networks = ["efficientnet"]  # what the distance is between features of: efficientnet, clip (needs weights), or both
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
from privlib.denoisers.checkpoints import load_denoiser, read_card
from privlib.denoisers.empirical import EmpiricalDenoiser
from privlib.metrics.bootstrap import paired_bootstrap
from privlib.metrics.clip import load_clip
from privlib.metrics.features import efficientnet_lite0
from privlib.metrics.pairs import cosine_distances_of
from privlib.numerics import choose_device
from privlib.report import bundles
from privlib.samplers.steps import ANCESTRAL, EULER_MARUYAMA
from privlib.samplers.window import Sampler, window_endpoints
from privlib.schedules import edm_sigmas

figures.use_style()
where = choose_device(device)
WINDOWS = {"high-noise": range(9, 15), "mid-noise": range(15, 21), "low-noise": range(21, 27), "min-noise": range(29, 35)}
NETWORKS = {
    "efficientnet": lambda: efficientnet_lite0(side=feature_side, device=where),
    "clip": lambda: load_clip(device=where),
}
updates = {kind.name: kind.update for kind in (ANCESTRAL, EULER_MARUYAMA)}
if step not in updates:
    raise ValueError(f"step must be one of {', '.join(updates)}, got {step!r}")
if not networks or set(networks) - set(NETWORKS):
    raise ValueError(f"networks must be some of {', '.join(NETWORKS)}, got {networks!r}")
extractors = {name: NETWORKS[name]() for name in networks}
records, card = load(data, folder=data_folder), read_card(weights)
sigmas = edm_sigmas(num_steps).tolist()
ends = window_endpoints(
    Sampler(load_denoiser(weights).to(where), sigmas, updates[step]),
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
def estimate(columns, statistic):
    return paired_bootstrap(torch.stack(columns, dim=1), statistic, resamples=resamples, seed=seed)


rows, printable, agreement = [], [], []
for name, extractor in extractors.items():
    kept = extractor(ends.unchanged)
    for (window_name, window), swapped, redrawn in zip(WINDOWS.items(), ends.swapped, ends.redrawn, strict=True):
        swap, ref = (cosine_distances_of(extractor(images), kept) for images in (swapped, redrawn))
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

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over the four windows, noise falling from left to right, with error bars. Left: the distance after the swap rises from window to window, the distance after drawing the noise again stays level and then falls; they cross between the mid-noise and the low-noise window. Right: their ratio on a log axis, rising from below one half to well above one and crossing one between the same windows."}}
first = table[table.network == networks[0]]
figure, (left, right) = plt.subplots(1, 2, figsize=figures.DOUBLE)
places = range(len(WINDOWS))
for column, label, marker, colour in (
    ("swap", "empirical denoiser in the window", "o", figures.PALETTE[0]),
    ("ref", "noise of the window drawn again", "s", figures.PALETTE[1]),
):
    bars = [first[column] - first[f"{column}, low"], first[f"{column}, high"] - first[column]]
    left.errorbar(places, first[column], yerr=bars, fmt=marker, color=colour, capsize=3, linestyle="-", label=label)
left.set(ylabel="1 - cos of features", ylim=(0, None))
left.legend(loc="upper left", fontsize=9, bbox_to_anchor=(0.0, 1.18))
bars = [first["rel"] - first["rel, low"], first["rel, high"] - first["rel"]]
right.errorbar(places, first["rel"], yerr=bars, fmt="o", color=figures.PALETTE[2], capsize=3, linestyle="-")
right.axhline(1.0, color="#5c5c5c", linestyle="--", linewidth=1)
right.set(yscale="log", ylabel="swap / ref.")
for axes in (left, right):
    axes.set_xticks(places, list(WINDOWS))
plt.show()

# %% [markdown]
# Unless the table says otherwise, distances are between features of a small ImageNet network {cite:p}`tan2019efficientnet`, which stands in for DINO {cite:p}`oquab2024dinov2`. They are not
# DINO or CLIP distances and cannot be compared with the printed ones; only their order can. `networks` takes `clip` {cite:p}`radford2021learning` too, where its weights can be had.
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
ratios, swaps = list(first["rel"]), list(first["swap"])
values = {
    "tab01.rel.grows": all(before < after for before, after in zip(ratios, ratios[1:], strict=False)),
    "tab01.rel.crosses": bool(ratios[1] < 1.0 < ratios[2]),
    "tab01.agreement.falls": all(before < after for before, after in zip(swaps, swaps[1:], strict=False)),
}
if tier in ("cifar10", "paper"):
    for row in table[table.network == "clip"].to_dict("records"):
        window = row["window"].removesuffix("-noise")
        values |= {f"tab01.{window}.clip_{column}": row[column] for column in ("swap", "ref", "rel")}
        values |= {f"tab01.table5.{window}.clip": 1.0 - row["swap"], f"tab01.table5.{window}.delta_clip": row["saved"]}
report.claims("tab01_window_swap", values, tier=tier)

# %% tags=["hide-input"]
report.footer("tab01_window_swap", globals(), inputs=inputs)
