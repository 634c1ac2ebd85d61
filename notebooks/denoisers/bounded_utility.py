# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What the clipped denoiser reaches at one epsilon
#
# This page has no counterpart in the paper. The clipped denoiser has three knobs besides the hand-off: the clip $C$, the public normalization $\beta$ and the
# block size $B$. Its sensitivity $C/\beta$ is proved. A wider clip lets a record say more, and pays with an earlier hand-off; a larger block lets more records
# speak, and pays in the same way. So the fair comparison is at *equal certified epsilon*: for each choice the hand-off is the latest one that
# meets the target, and the samples are compared with the control, the same sampler over no private record.

# %% tags=["parameters"]
private_data = "emoji/private"  # private records, a name that privlib.data.load accepts
public_data = "emoji/public"  # public images that the clipped denoiser leans on, another such name
reference_data = "emoji/private"  # images that samples are compared with, another such name
weights = "emoji"  # public neural denoiser of the tail, a name that load_named accepts
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
nominal_records = 3448  # public number that stands for the number n of private records, at least 1
num_public = 0  # public images that are used, a random choice; 0 for all
num_reference = 0  # reference images that are used, a random choice; 0 for all
target_epsilon = 10.0  # epsilon that every choice meets, above 0
choices = [
    [1.0, 1.0, 25],
    [4.0, 1.0, 25],
    [16.0, 1.0, 25],
    [1.0, 2.0, 25],
    [1.0, 1.0, 50],
]  # each clip, beta, expected block size; the first is the one that the softmax is shown at
num_steps = 39  # levels of the EDM grid, a whole number of at least 10
num_public_levels = 5  # levels of the public tail, on a grid of its own, at least 4
num_samples = 96  # samples of each choice, more than twice the number of components
components = 16  # principal components of the features that distances are taken in, at least 1
network = "efficientnet"  # whose features distances are taken in: efficientnet, icon_text; inception, clip, dinov2 (these need weights)
feature_side = 64  # input side of efficientnet, a multiple of 32
count = 3448  # outputs that epsilon is stated for, at least 1
delta = 1e-5  # delta at which epsilon is stated, between 0 and 1
run_folder = ""  # folder that keeps finished batches of samples, so that a run can go on; empty to keep none
at_once = 96  # samples in memory at once, at least 1
seed = 0  # seed of noise and blocks, a whole number from 0
device = "auto"  # where everything runs, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import torch

from privlib import figures, report
from privlib.accounting.calibrate import latest_handoff
from privlib.accounting.certified import epsilon_interval
from privlib.data import load
from privlib.denoisers.anchors import PublicAnchor
from privlib.denoisers.clipped import ClippedDenoiser
from privlib.denoisers.empirical import EmpiricalDenoiser
from privlib.denoisers.named import card_of, load_named
from privlib.metrics.named import load_features
from privlib.metrics.paired import paired_distances
from privlib.metrics.principal import principal_components
from privlib.metrics.trends import falls
from privlib.numerics import choose_device
from privlib.report import bundles
from privlib.samplers.path import CoarseHeun
from privlib.samplers.sweep import Setting, draw_settings
from privlib.schedules import edm_sigmas
from privlib.types import Adjacency, Interval, Trend

figures.use_style()
where = choose_device(device)
private = load(private_data, folder=data_folder)
public = load(public_data, folder=data_folder, most=num_public, seed=seed)
target = load(reference_data, folder=data_folder, most=num_reference, seed=seed)
extractor = load_features(network, side=feature_side, device=where)
target_features = extractor(target.unit())
project = principal_components(target_features, components=components)
neural = load_named(weights).to(where)
sigmas = edm_sigmas(num_steps)
softmax, anchor = EmpiricalDenoiser(private), PublicAnchor(public)
nothing = torch.empty(0, *softmax.image_shape)

# %% tags=["hide-input"]
features, mechanisms = {}, {}


def sample(key, denoiser, steps, size, beta=1.0):
    """Features of one choice; ``steps`` private steps are named by their share of the grid."""
    setting = Setting(100 * steps / num_steps, 0, size, beta)
    runs = draw_settings(
        denoiser,
        {setting: setting.plan(sigmas, neural, solver=CoarseHeun(num_public_levels))},
        num_records=nominal_records,
        num_samples=num_samples,
        at_once=at_once,
        seed=seed,
        device=where,
        folder=Path(run_folder) / "-".join(map(str, key)) if run_folder else None,
    )
    features[key] = project(extractor(runs[setting].images.float()))
    mechanisms[key] = runs[setting].mechanism


steps_of = {
    choice: latest_handoff(
        sigmas, choice[2] / nominal_records, count, target_epsilon, delta, beta=choice[1] / choice[0]
    )
    for choice in map(tuple, choices)
}
for (clip, beta, size), steps in steps_of.items():
    clipped = ClippedDenoiser(private, anchor, public_weight=size, clip=clip, beta=beta)
    sample((clip, beta, size), clipped, steps, size, beta)
    if ("control", steps) not in features:
        sample(("control", steps), ClippedDenoiser(nothing, anchor, public_weight=size), steps, size)
first = tuple(choices[0])
sample(("softmax", steps_of[first]), softmax, steps_of[first], first[2])
distances = paired_distances(features, project(target_features), seed=seed)

rows = []
for choice, steps in steps_of.items():
    control = ("control", steps)
    found, alone, gain = distances.distance(choice), distances.distance(control), distances.difference(choice, control)
    rows.append(
        {
            "clip": choice[0],
            "beta": choice[1],
            "batch": choice[2],
            "steps": steps,
            "handoff": float(sigmas[steps]),
            "epsilon": epsilon_interval(replace(mechanisms[choice], count=count), delta).upper,
            "distance": found.value,
            "low": found.lower,
            "high": found.upper,
            "control": alone.value,
            "gain": gain.value,
            "gain_low": gain.lower,
            "gain_high": gain.upper,
            "verdict": falls(distances, [control, choice]).value,
        }
    )
table = pd.DataFrame(rows)
shown = distances.distance(("softmax", steps_of[first]))
softmax_row = {"distance": shown.value, "low": shown.lower, "high": shown.upper, "steps": steps_of[first]}

# %% [markdown]
# ## Distance at equal epsilon
#
# Distances are between Gaussian fits of features of a small ImageNet network {cite:p}`tan2019efficientnet` on their leading principal components: a stand-in for
# FID, and not comparable with FID. Bars are 95 % intervals of the sampling error. The band is the softmax over the block at the hand-off of the first choice: the kind of image that
# the paper shows, with no guarantee.


# %% tags=["hide-input"] mystnb={"image": {"alt": "Distance to the private images at one certified epsilon, one place on the horizontal axis for each choice of clip, beta and block size, with error bars; beside each clipped denoiser the control without private records, and a band for the softmax over the block below them."}}
def draw(rows, band):
    figure, axes = plt.subplots(figsize=figures.DOUBLE)
    axes.axhspan(band["low"], band["high"], color="#e6e6e6", zorder=0)
    axes.axhline(band["distance"], color="#5c5c5c", linestyle=":", linewidth=1, label="softmax, no guarantee")
    places = range(len(rows))
    bars = [rows.distance - rows.low, rows.high - rows.distance]
    axes.errorbar(places, rows.distance, yerr=bars, fmt="o", linestyle="", capsize=3, label="clipped denoiser")
    axes.plot(places, rows.control, "^", linestyle="", color=figures.PALETTE[1], label="no private record")
    names = [
        f"C = {row.clip:g}\nbeta = {row.beta:g}\nB = {row.batch}\nhand-off {row.handoff:.2g}"
        for row in rows.itertuples()
    ]
    axes.set_xticks(list(places), names)
    axes.set(ylabel="distance to the private images", ylim=(0, None))
    figure.legend(fontsize=9, loc="outside right center")
    plt.show()


draw(table, softmax_row)


# %% tags=["hide-input"]
def in_words(rows):
    """The choices as a table for readers."""
    return pd.DataFrame(
        {
            "C": list(rows["clip"]),
            "beta": list(rows.beta),
            "B": [int(size) for size in rows.batch],
            "private steps": [int(steps) for steps in rows.steps],
            "hand-off level": list(rows.handoff),
            "certified epsilon": list(rows.epsilon),
            "distance": list(rows.distance),
            "without records": list(rows.control),
            "difference": list(rows.gain),
            "95 % interval": [Interval(row.gain_low, row.gain_high) for row in rows.itertuples()],
            "a gain": list(rows.verdict),
        }
    )


report.table(
    in_words(table),
    f"The latest hand-off with certified epsilon at most {target_epsilon:g} (delta = {delta:g}, {count:,} outputs, add or remove one record, q = "
    f"B/{nominal_records:,}) at the {tier} scale, {num_samples} samples each. Difference: with private records minus without",
    digits=3,
)
costliest = max(rows, key=lambda row: row["epsilon"])
report.privacy_statement(
    epsilon=costliest["epsilon"],
    delta=delta,
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    sampling=f"the costliest choice: output-wise Poisson blocks, q = {costliest['batch']}/{nominal_records:,}, {costliest['steps']} private steps, public tail",
    count=count,
    accountant="certified interval by Laplace inversion",
    kind="certified upper bound",
)

# %% [markdown]
# ## The result
#
# The next table sums up what this run says of the question behind the page: does the clipped denoiser, at an epsilon that it can prove, make images like those
# of a sampler whose epsilon is not proved?

# %% tags=["hide-input"]
best = min(steps_of, key=lambda choice: distances.distance(choice).value)
gap = distances.difference(first, ("softmax", steps_of[first]))
helped = [row for row in rows if row["verdict"] == Trend.HOLDS.value]
answer = "no" if gap.lower > 0 else "yes" if gap.upper < 0 else "not resolved at this scale"
summary = pd.DataFrame(
    {
        "question": [
            "choices whose private records bring a gain beyond the sampling error",
            "choice of least distance",
            "the first choice minus the softmax at its hand-off",
            "is the first choice as near as that softmax?",
        ],
        "answer": [
            f"{len(helped)} of {len(rows)}",
            f"C = {best[0]:g}, beta = {best[1]:g}, B = {best[2]}: the hand-off at {float(sigmas[steps_of[best]]):.2g}",
            f"{gap.value:.3g}, 95 % interval [{gap.lower:.3g}, {gap.upper:.3g}]",
            answer,
        ],
    }
)
report.table(summary, f"At epsilon at most {target_epsilon:g}, {tier} scale")

# %% [markdown]
# With $C = \beta = 1$ the clipped denoiser is charged exactly what the paper charges its sampler, so the last two rows ask whether the paper's epsilon and the paper's
# kind of image can be had from this design together. The first row asks more: whether the private records are heard at all. A late hand-off comes near in
# any case, since the public images that the denoiser leans on are sharp, and the control comes as near for nothing. {doc}`bounded_denoisers` has
# designs that make more of the same budget, by asking coarser questions.
#
# ## On real CIFAR-10
#
# Where the book has a bundle of the `cifar10` profile ({doc}`/book/rerun`), it is shown here.

# %% tags=["hide-input"] mystnb={"image": {"alt": "The same plot for CIFAR-10: distance at one certified epsilon for each choice of clip, beta and block size, with the control and the band of the softmax."}}
inputs = {data.name: data.sha256 for data in (private, public, target)} | {weights: card_of(weights)["sha256"]}
if tier == "cifar10":
    bundles.keep("bounded_utility", globals(), tables={"choices": rows, "softmax": [softmax_row]}, inputs=inputs)
elif bundles.bundle_path("bounded_utility", "cifar10").is_file():
    bundle = bundles.read_bundle("bounded_utility", "cifar10")
    real, made = pd.DataFrame(bundle.tables["choices"]), bundle.made["parameters"]
    draw(real, bundle.tables["softmax"][0])
    report.table(
        in_words(real),
        f"Choices on CIFAR-10 (JPEG copy), {bundle.origin}, {made['num_samples']:,} samples each",
        digits=3,
    )

# %% tags=["hide-input"]
report.claims("bounded_utility", {}, tier=tier)

# %% tags=["hide-input"]
report.footer("bounded_utility", globals(), inputs=inputs)
