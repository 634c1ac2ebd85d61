# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Table 6: the swapped windows in image space
#
# The endpoints of {doc}`tab01_window_swap` again, compared without features: by peak signal-to-noise ratio, by structural similarity {cite:p}`wang2004image`, and by whether a classifier
# gives both images of a pair the same label. *Swap* puts the empirical denoiser into the steps of a window, *ref.* keeps the neural denoiser and draws the noise of the window again. Higher means
# closer to the endpoint of the unchanged path.

# %% tags=["parameters"]
data = "emoji/public"  # records of the empirical denoiser, a name that privlib.data.load accepts
weights = "emoji"  # neural denoiser trained on these records, a name that load_named accepts
label_data = "emoji/private"  # labelled images that the linear probe is fitted on, not the records, another such name
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
classifier = "probe"  # what gives the labels: probe (linear, fitted on label_data) or clip (zero-shot, needs weights)
feature_side = 64  # input side of the network under the probe, a multiple of 32
num_steps = 39  # levels of the EDM grid, a whole number of at least 27
step = "ancestral"  # update of the sampler: ancestral or Euler-Maruyama
num_samples = 80  # paths, at least 10
batch_size = 40  # paths in memory at once, at least 1
resamples = 4000  # of the bootstrap, at least 100
seed = 0  # seed of the noise, a whole number from 0
device = "auto"  # where denoisers and networks run, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from privlib import figures, report
from privlib.data import load
from privlib.denoisers.empirical import EmpiricalDenoiser
from privlib.denoisers.named import card_of, load_named
from privlib.metrics.bootstrap import paired_bootstrap
from privlib.metrics.classifiers import fit_linear_probe
from privlib.metrics.clip import load_clip, zero_shot
from privlib.metrics.features import efficientnet_lite0
from privlib.metrics.pairs import label_agreement, psnr, ssim
from privlib.metrics.trends import all_negative, falling
from privlib.numerics import choose_device
from privlib.report import bundles
from privlib.samplers.steps import ANCESTRAL, EULER_MARUYAMA
from privlib.samplers.window import Sampler, window_endpoints
from privlib.schedules import edm_sigmas

figures.use_style()
where = choose_device(device)
WINDOWS = {"high-noise": range(9, 15), "mid-noise": range(15, 21), "low-noise": range(21, 27)}
updates = {kind.name: kind.update for kind in (ANCESTRAL, EULER_MARUYAMA)}
if step not in updates:
    raise ValueError(f"step must be one of {', '.join(updates)}, got {step!r}")
records, labelled, card = load(data, folder=data_folder), load(label_data, folder=data_folder), card_of(weights)
if classifier == "clip":
    judge = zero_shot(load_clip(device=where), labelled.class_names)
elif classifier == "probe":
    judge = fit_linear_probe(efficientnet_lite0(side=feature_side, device=where), labelled)
else:
    raise ValueError(f"classifier must be probe or clip, got {classifier!r}")
ends = window_endpoints(
    Sampler(load_named(weights).to(where), edm_sigmas(num_steps), updates[step]),
    EmpiricalDenoiser(records),
    list(WINDOWS.values()),
    image_shape=records.image_shape,
    count=num_samples,
    seed=seed,
    batch_size=batch_size,
    device=where,
)

# %% [markdown]
# ## The table

# %% tags=["hide-input"]
METRICS = ("PSNR (dB)", "SSIM", "label agreement")
kept = judge(ends.unchanged)


def compare(images, labels):
    """Each metric against the unchanged endpoint, path by path."""
    columns = (psnr(images, ends.unchanged), ssim(images, ends.unchanged), label_agreement(labels, kept))
    return dict(zip(METRICS, columns, strict=True))


def averaged(columns):
    """Means over the paths, with their intervals."""
    bootstrapped = {"resamples": resamples, "seed": seed}
    return {name: paired_bootstrap(column, lambda mean: mean, **bootstrapped) for name, column in columns.items()}


by_path, rows, printable = {}, [], []
for (window_name, window), swapped, redrawn in zip(WINDOWS.items(), ends.swapped, ends.redrawn, strict=True):
    for variant, images in (("swap", swapped), ("ref.", redrawn)):
        by_path[window_name, variant] = compare(images, judge(images))
        found = averaged(by_path[window_name, variant])
        steps = f"{window_name} ({window[0]}\N{EN DASH}{window[-1]})"
        printable.append({"window (steps)": steps, "": variant, **{key: str(value) for key, value in found.items()}})
        rows.append({"window": window_name, "variant": variant})
        for name, value in found.items():
            rows[-1] |= {name: value.value, f"{name}, low": value.lower, f"{name}, high": value.upper}
unrelated = averaged(compare(ends.unchanged.roll(1, 0), kept.roll(1, 0)))
printable.append(
    {"window (steps)": "none", "": "other noise", **{name: str(value) for name, value in unrelated.items()}}
)
table = pd.DataFrame(rows)
stand_in = f", a stand-in for {judge.stand_in_for}" if judge.stand_in_for else ""
report.table(
    pd.DataFrame(printable),
    f"As Table 6: agreement with the unchanged endpoint, {num_samples} paths, {step} steps, records {records.name}, weights {weights}; 95 % bootstrap intervals "
    f"in brackets; the last row compares unchanged endpoints of different starting noise. Labels by a {judge.name}{stand_in}",
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, one for each metric, over the three windows with error bars. The swap starts high above the redrawn noise in the high-noise window and is much lower in the other two; the redrawn noise changes less and lies level with or above the swap in the low-noise window. A dashed line marks pairs of different starting noise, below nearly all points."}}
figure, panels = plt.subplots(1, 3, figsize=figures.TRIPLE)
for axes, name in zip(panels, METRICS, strict=True):
    for variant, marker, colour in (("swap", "o", figures.PALETTE[0]), ("ref.", "s", figures.PALETTE[1])):
        chosen = table[table.variant == variant]
        bars = [chosen[name] - chosen[f"{name}, low"], chosen[f"{name}, high"] - chosen[name]]
        axes.errorbar(
            range(len(WINDOWS)), chosen[name], yerr=bars, fmt=marker, color=colour, capsize=3, linestyle="-", label=variant
        )
    axes.axhline(unrelated[name].value, color="#5c5c5c", linestyle="--", linewidth=1, label="other noise")
    axes.set_xticks(range(len(WINDOWS)), list(WINDOWS))
    axes.set(title=name)
panels[0].legend(fontsize=9)
plt.show()

# %% [markdown]
# That the paper's sampler is stochastic, and which step it takes, is inferred; see {doc}`tab01_window_swap`. So are the details of the metrics: PSNR and SSIM here are on the scale $[0, 1]$, of
# images clamped to it, for each pair and then averaged. The labels are those of a linear probe that was fitted on other images; the paper does not say whose its labels are.

# %% tags=["hide-input"]
inputs = {data_set.name: data_set.sha256 for data_set in (records, labelled)} | {f"weights/{weights}": card["sha256"]}
if tier == "cifar10":
    bundles.keep("tab06_image_space", globals(), tables={"windows": rows}, inputs=inputs)
elif bundles.bundle_path("tab06_image_space", "cifar10").is_file():
    bundle = bundles.read_bundle("tab06_image_space", "cifar10")
    printed = {claim.id: float(claim.printed.split()[0]) for claim in report.load_claims("tab06_image_space") if claim.kind == "scale"}
    ids = {"PSNR (dB)": "psnr", "SSIM": "ssim", "label agreement": "labels"}
    lines = []
    for row in bundle.tables["windows"]:
        lines.append({"window": row["window"], "variant": row["variant"]})
        for name, key in ids.items():
            claim = f"tab06.{row['window'].removesuffix('-noise')}_{row['variant'].rstrip('.')}.{key}"
            found = f"{row[name]:.3g} [{row[f'{name}, low']:.3g}, {row[f'{name}, high']:.3g}]"
            lines[-1] |= {name: found, f"{name}, printed": printed[claim]}
        lines[-1]["PSNR (dB), peak 1"] = row["PSNR (dB)"] - 20 * np.log10(2)
    report.table(
        pd.DataFrame(lines),
        f"The same on CIFAR-10 (JPEG copy), {bundle.made['parameters']['num_samples']:,} paths, 95 % bootstrap intervals in brackets, beside the printed values, "
        f"{bundle.origin}. The last column takes the peak as 1 on images of the scale -1 to 1, where it is 2: a common slip, worth {20 * np.log10(2):.3g} dB; "
        "whether the printed column has it is not known",
    )

# %% tags=["hide-input"]
cells = {(row["window"].removesuffix("-noise"), row["variant"].rstrip(".")): row for row in rows}


def change(name, first, second, comparisons):
    """A metric at ``second`` minus that at ``first`` on the same paths; the confidence is shared by all comparisons."""
    pairs = torch.stack([by_path[second][name], by_path[first][name]], dim=1)
    split = 1.0 - 0.05 / comparisons
    return paired_bootstrap(pairs, lambda after, before: after - before, resamples=resamples, confidence=split, seed=seed)


def falls(name):
    """Whether a metric of the swap falls from window to window."""
    high, mid, low = ((window, "swap") for window in WINDOWS)
    return falling([change(name, high, mid, 3), change(name, mid, low, 3)], change(name, high, low, 3))


def swap_and_redraw(window):
    return (window, "swap"), (window, "ref.")


values = {
    "tab06.high.swap_is_closer": all_negative([change(name, *swap_and_redraw("high-noise"), 3) for name in METRICS]),
    "tab06.swap.psnr_falls": falls("PSNR (dB)"),
    "tab06.swap.ssim_falls": falls("SSIM"),
    "tab06.swap.labels_fall": falls("label agreement"),
    "tab06.labels.turn": all_negative(
        [
            change("label agreement", *swap_and_redraw("high-noise"), 2),
            change("label agreement", *reversed(swap_and_redraw("low-noise")), 2),
        ]
    ),
}
if tier in ("cifar10", "paper"):
    for (window, variant), row in cells.items():
        values |= {f"tab06.{window}_{variant}.psnr": row["PSNR (dB)"], f"tab06.{window}_{variant}.ssim": row["SSIM"]}
report.claims("tab06_image_space", values, tier=tier)

# %% tags=["hide-input"]
report.footer("tab06_image_space", globals(), inputs=inputs)
