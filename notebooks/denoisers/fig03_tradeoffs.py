# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 3: privacy against image quality
#
# The hybrid sampler has three knobs. The paper plots FID against the certified epsilon while it turns one of them at a time: (a) the
# hand-off time $t_0$, (b) the number of public re-noising steps after it, (c) the share $q = B/n$ of the records that a block holds.
#
# Here the private records, the public denoiser and the measure of quality are those that this book can ship, so the numbers are not the paper's;
# what can be compared is which way each knob turns. Two private denoisers run side by side:
#
# * the **softmax over the block**, the posterior mean of the block. It is, as far as the pictures tell, what the paper shows. It has *no* proved
#   sensitivity. Its epsilon below is what the paper's accounting gives **if the sensitivity were** $1/\beta$: no guarantee of this sampler.
# * the **clipped denoiser** around a public posterior mean, contributions clipped to norm 1. Its sensitivity is proved, and its epsilon, the
#   same number, is a certified upper bound.
#
# A third line is the control: the clipped denoiser over *no* private record, which costs nothing. Whatever it reaches, the private records did not bring.

# %% tags=["parameters"]
private_data = "emoji/private"  # private records, a name that privlib.data.load accepts
public_data = "emoji/public"  # public images that the clipped denoiser leans on, another such name
reference_data = "emoji/private"  # images that samples are compared with, another such name
weights = "emoji"  # public neural denoiser of the tail, a name that load_named accepts
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
nominal_records = 3448  # public number that stands for the number n of private records, at least 1
num_public = 0  # public images that are used, a random choice; 0 for all
num_reference = 0  # reference images that are used, a random choice; 0 for all
percents = [55, 62, 70]  # (a) share of the grid that is private, percent, increasing, in 1..100
renoise_steps = [1, 3, 9]  # (b) levels of public re-noising, increasing, at the first of percents
batch_sizes = [25, 50]  # (c) expected records in a block, increasing, at the second of percents
num_renoise_steps = 3  # levels of public re-noising in (a) and (c)
batch_size = 25  # expected records in a block in (a) and (b), at least 20 for the softmax
num_steps = 39  # levels of the EDM grid, a whole number of at least 10
num_public_levels = 5  # levels of the public tail, on a grid of its own, at least 4
num_samples = 120  # samples of each setting, more than twice the number of components
components = 16  # principal components of the features that distances are taken in, at least 1
network = "efficientnet"  # whose features distances are taken in: efficientnet, icon_text; inception, clip, dinov2 (these need weights)
feature_side = 64  # input side of efficientnet, a multiple of 32
count = 3448  # outputs that epsilon is stated for, at least 1
delta = 1e-5  # delta at which epsilon is stated, between 0 and 1
run_folder = ""  # folder that keeps finished batches of samples, so that a run can go on; empty to keep none
at_once = 120  # samples in memory at once, at least 1
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
from privlib.accounting.certified import epsilon_interval
from privlib.data import load
from privlib.data.images import to_bytes
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
from privlib.samplers.hybrid import reference
from privlib.samplers.path import CoarseHeun
from privlib.samplers.sweep import Setting, draw_settings
from privlib.schedules import edm_sigmas
from privlib.types import Adjacency, Interval

figures.use_style()
where = choose_device(device)
private = load(private_data, folder=data_folder)
public = load(public_data, folder=data_folder, most=num_public, seed=seed)
target = load(reference_data, folder=data_folder, most=num_reference, seed=seed)
extractor = load_features(network, side=feature_side, device=where)
target_features = extractor(target.unit())
project = principal_components(target_features, components=components)

neural = load_named(weights).to(where)
tail = CoarseHeun(num_public_levels)
sigmas = edm_sigmas(num_steps)
anchor = PublicAnchor(public)
softmax = EmpiricalDenoiser(private)
SOFTMAX, CLIPPED = "softmax over the block", "clipped to norm 1"
CONTROL, PUBLIC = "no private record", "public denoiser alone"
SHORT = {SOFTMAX: "softmax", CLIPPED: "clipped", CONTROL: "no record"}
nothing = torch.empty(0, *softmax.image_shape)


def denoiser_of(design, size):
    """The private denoiser for blocks of an expected size, which the clipped ones are told."""
    if design == SOFTMAX:
        return softmax
    return ClippedDenoiser(private if design == CLIPPED else nothing, anchor, public_weight=size)


panels = {
    "a": [Setting(percent, num_renoise_steps, batch_size) for percent in percents],
    "b": [Setting(percents[0], steps, batch_size) for steps in renoise_steps],
    "c": [Setting(percents[1], num_renoise_steps, size) for size in batch_sizes],
}
settings = list(dict.fromkeys(setting for panel in panels.values() for setting in panel))
drawn = {SOFTMAX: settings, CLIPPED: settings, CONTROL: panels["a"]}

# %% tags=["hide-input"]
features, pictures, mechanisms = {}, {}, {}
for design in drawn:
    for size in sorted({setting.batch_size for setting in drawn[design]}):
        runs = draw_settings(
            denoiser_of(design, size),
            {s: s.plan(sigmas, neural, solver=tail) for s in drawn[design] if s.batch_size == size},
            num_records=nominal_records,
            num_samples=num_samples,
            at_once=at_once,
            seed=seed,
            device=where,
            folder=Path(run_folder) / design if run_folder else None,
        )
        for setting, run in runs.items():
            features[design, setting] = project(extractor(run.images.float()))
            pictures[design, setting] = to_bytes(run.images[:10]).permute(0, 2, 3, 1).numpy()
            mechanisms[design, setting] = run.mechanism
run = reference(
    neural,
    sigmas,
    image_shape=softmax.image_shape,
    count=num_samples,
    seed=seed,
    solver=CoarseHeun(2 * num_public_levels),
    device=where,
)
features[PUBLIC] = project(extractor(run.images.float()))
distances = paired_distances(features, project(target_features), seed=seed)


def epsilon_of(setting):
    """As the paper accounts for it, sensitivity 1 / beta taken as given."""
    return epsilon_interval(setting.as_reported(sigmas, num_records=nominal_records, count=count), delta).upper


rows = []
for design in drawn:
    for setting in drawn[design]:
        found, charged = distances.distance((design, setting)), mechanisms[design, setting]
        proved = None if charged is None else epsilon_interval(replace(charged, count=count), delta).upper
        proved = 0.0 if design == CONTROL else proved
        rows.append(
            {
                "design": design,
                "percent": setting.percent,
                "renoise": setting.num_renoise_steps,
                "batch": setting.batch_size,
                "distance": found.value,
                "low": found.lower,
                "high": found.upper,
                "epsilon_reported": epsilon_of(setting),
                "epsilon_certified": proved,
            }
        )
alone = distances.distance(PUBLIC)
rows.append(
    {"design": PUBLIC, "percent": 0, "renoise": 0, "batch": 0, "distance": alone.value, "low": alone.lower}
    | {"high": alone.upper, "epsilon_reported": 0.0, "epsilon_certified": 0.0}
)
table = pd.DataFrame(rows)

# %% [markdown]
# ## The three panels
#
# Distances are between Gaussian fits of features of a small ImageNet network {cite:p}`tan2019efficientnet`, on their leading principal
# components: a stand-in for FID {cite:p}`heusel2017gans`, and not comparable with FID. They are extrapolated to infinitely many samples; bars are
# 95 % intervals of the sampling error. The band is the public denoiser alone, which costs nothing; so does the control, which is drawn at the epsilon that
# the same hand-off would cost with records. Re-noising is free, so epsilon does not change along panel (b).


# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels of the distance between samples and private images, each with one line for the softmax over the block and one for the clipped denoiser, error bars, and a band for the public denoiser alone. Left: against epsilon on a log axis, points marked with the private share of the grid. Middle: against the number of re-noising steps. Right: against epsilon, points marked with the block size. The left panel has a third line, the clipped denoiser without private records, which runs close to the clipped one. The softmax line lies below both."}}
def draw(rows, panel, keys, axes):
    """One panel; ``keys`` are (percent, renoise, batch) in order."""
    public_row = rows[rows.design == PUBLIC].iloc[0]
    axes.axhspan(public_row.low, public_row.high, color="#e6e6e6", zorder=0)
    axes.axhline(public_row.distance, color="#5c5c5c", linestyle=":", linewidth=1, label=PUBLIC)
    designs = (SOFTMAX, CLIPPED, CONTROL) if panel == "a" else (SOFTMAX, CLIPPED)
    for design, colour, marker, style in zip(designs, figures.PALETTE, "os^", ("-", "--", ":"), strict=False):
        indexed = rows[rows.design == design].set_index(["percent", "renoise", "batch"])
        points = indexed.loc[keys].reset_index()
        across = points.renoise if panel == "b" else points.epsilon_reported
        bars = [points.distance - points.low, points.high - points.distance]
        axes.errorbar(
            across, points.distance, yerr=bars, color=colour, marker=marker, linestyle=style, capsize=3, label=design
        )
        if design == SOFTMAX and panel != "b":
            for x, y, row in zip(across, points.distance, points.itertuples(), strict=True):
                mark = f"{row.percent:g} %" if panel == "a" else f"B = {row.batch}"
                axes.annotate(mark, (x, y), (6, 5), textcoords="offset points", fontsize=9)
    if panel == "b":
        axes.set(xlabel="re-noising steps", xticks=[key[1] for key in keys])
    else:
        axes.set(xscale="log" if panel == "a" else "linear", xlabel=r"$\varepsilon$ at sensitivity $1/\beta$")
        axes.margins(x=0.25)


def draw_all(rows, points):
    """The panels; ``points`` names panel, percent, renoise and batch of every point."""
    figure, all_axes = plt.subplots(1, 3, figsize=figures.TRIPLE, sharey=True)
    titles = ("hand-off", "re-noising", "block size")
    for (panel, keys), axes, title in zip(points.groupby("panel"), all_axes, titles, strict=True):
        draw(rows, panel, list(zip(keys.percent, keys.renoise, keys.batch, strict=True)), axes)
        axes.set_title(f"({panel}) {title}")
    all_axes[0].set(ylabel="distance to the private images")
    figure.legend(*all_axes[0].get_legend_handles_labels(), fontsize=9, loc="outside right center")
    plt.show()


points_of = [
    {"panel": panel, "percent": setting.percent, "renoise": setting.num_renoise_steps, "batch": setting.batch_size}
    for panel in panels
    for setting in panels[panel]
]
draw_all(table, pd.DataFrame(points_of))


# %% tags=["hide-input"]
def in_words(rows):
    """The points as a table for readers."""
    return pd.DataFrame(
        {
            "private denoiser": list(rows.design),
            "private share": [f"{share:g} %" for share in rows.percent],
            "re-noising steps": [int(steps) for steps in rows.renoise],
            "B": [int(size) for size in rows.batch],
            "distance": list(rows.distance),
            "95 % interval": [Interval(row.low, row.high) for row in rows.itertuples()],
            "epsilon if the sensitivity were 1/beta": list(rows.epsilon_reported),
            "certified epsilon": [None if pd.isna(value) else value for value in rows.epsilon_certified],
        }
    )


report.table(
    in_words(table),
    f"Every point at the {tier} scale, {num_samples} samples each: distance in {components} components of {extractor.name}; epsilon at "
    f"delta = {delta:g} for {count:,} outputs, add or remove one record, q = B/{nominal_records:,}. A dash: nothing is proved; no private record: nothing to charge",
    digits=3,
)
costliest = max((row for row in rows if row["design"] == CLIPPED), key=lambda row: row["epsilon_certified"])
report.privacy_statement(
    epsilon=costliest["epsilon_certified"],
    delta=delta,
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    sampling=f"clipped denoiser, the costliest of its settings alone: output-wise Poisson blocks, q = {costliest['batch']}/{nominal_records:,}, "
    f"{costliest['percent']:g} % private, public tail; the softmax has no guarantee",
    count=count,
    accountant="certified interval by Laplace inversion",
    kind="certified upper bound",
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Grid of samples, one setting in each row, the same initial noise down each column. Rows of the softmax show private images, smoother for an early hand-off; rows of the clipped denoiser show other pictures, of the public kind."}}
shown = [(design, setting) for design in drawn for setting in panels["a"]]
figures.image_grid(
    [list(pictures[key]) for key in shown],
    rows=[f"{SHORT[design]}, {setting.percent:g} %" for design, setting in shown],
    columns=[""] * 10,
    title="Samples along panel (a), the same noise in a column",
)
plt.show()

# %% [markdown]
# ## Which trends hold
#
# Differences between settings are tested with the same samples resampled in both, since sample by sample they start from the same noise. A trend *holds*
# if the difference from end to end is larger than its sampling error and no step goes the other way beyond it. One that is smaller than its error is *not
# resolved*, which is neither a confirmation nor a refutation.


# %% tags=["hide-input"]
def verdict(design, panel):
    return falls(distances, [(design, setting) for setting in panels[panel]])


def end_to_end(design, panel):
    return distances.difference((design, panels[panel][-1]), (design, panels[panel][0]))


questions = {
    "a": "distance falls with a later hand-off",
    "b": f"re-noising helps an early hand-off ({percents[0]} %)",
    "c": "distance falls with larger blocks",
}
trend_rows = [
    {
        "trend": questions[panel],
        "private denoiser": design,
        "change from first to last": end_to_end(design, panel).value,
        "verdict": verdict(design, panel).value,
        "low": end_to_end(design, panel).lower,
        "high": end_to_end(design, panel).upper,
    }
    for panel in panels
    for design in (SOFTMAX, CLIPPED)
]


def with_interval(trends):
    """The two ends as one column."""
    ends = zip(trends.low, trends.high, strict=True)
    return trends.drop(columns=["low", "high"]).assign(**{"95 % interval": [Interval(*pair) for pair in ends]})


report.table(
    with_interval(pd.DataFrame(trend_rows)), f"Trends at the {tier} scale, {num_samples} paired samples", digits=3
)


# %% [markdown]
# ## What the private records bring
#
# At the same hand-off, with the same noise, the distance with private records minus that without. A negative difference is a gain.

# %% tags=["hide-input"]
gains = []
for design in (SOFTMAX, CLIPPED):
    for setting in panels["a"]:
        gain = distances.difference((design, setting), (CONTROL, setting))
        gains.append(
            {
                "private denoiser": design,
                "private share": f"{setting.percent:g} %",
                "difference": gain.value,
                "epsilon if the sensitivity were 1/beta": epsilon_of(setting),
                "that epsilon is": "no guarantee" if design == SOFTMAX else "certified",
                "low": gain.lower,
                "high": gain.upper,
            }
        )
report.table(
    with_interval(pd.DataFrame(gains)),
    f"Gain over the control at the {tier} scale, {num_samples} paired samples",
    digits=3,
)
rising = [epsilon_of(setting) for setting in panels["a"]]

# %% [markdown]
# The softmax shows private images: its distance is small because its samples *are* private records, smoothed. That is what no guarantee can allow. The clipped
# denoiser has the guarantee, and its samples are public images; as its hand-off gets later they get sharper, and so does the control. Clipping
# to norm 1 leaves of an image of norm fifty too little to be seen.

# %% [markdown]
# ## On real CIFAR-10
#
# The same notebook under the `cifar10` profile ({doc}`/book/rerun`) takes hours, so its numbers travel as a bundle. Where the book has one, it is shown here.

# %% tags=["hide-input"] mystnb={"image": {"alt": "The same three panels for CIFAR-10 test images as the reference: distance against epsilon, re-noising steps and epsilon, with one line for each private denoiser."}}
real = None
if tier != "cifar10" and bundles.bundle_path("fig03_tradeoffs", "cifar10").is_file():
    bundle = bundles.read_bundle("fig03_tradeoffs", "cifar10")
    real, (made,) = pd.DataFrame(bundle.tables["points"]), bundle.tables["run"]
    draw_all(real, pd.DataFrame(bundle.tables["panels"]))

# %% tags=["hide-input"]
if real is not None:
    report.table(
        in_words(real),
        f"Every point on CIFAR-10 (JPEG copy), {bundle.origin}: {made['num_samples']:,} samples each, {made['components']} components; epsilon at "
        f"delta = {made['delta']:g} for {made['count']:,} outputs, add or remove one record, q = B/{made['nominal_records']:,}",
        digits=3,
    )
    report.table(with_interval(pd.DataFrame(bundle.tables["trends"])), f"Trends on CIFAR-10, {bundle.origin}", digits=3)
    report.table(
        with_interval(pd.DataFrame(bundle.tables["gains"])),
        f"Gain over the control on CIFAR-10, {bundle.origin}",
        digits=3,
    )

# %% tags=["hide-input"]
inputs = {data.name: data.sha256 for data in (private, public, target)} | {weights: card_of(weights)["sha256"]}
if tier == "cifar10":
    made = {"num_samples": num_samples, "components": components, "count": count, "delta": delta}
    tables = {"points": rows, "panels": points_of, "trends": trend_rows, "gains": gains}
    tables["run"] = [made | {"nominal_records": nominal_records}]
    bundles.keep("fig03_tradeoffs", globals(), tables=tables, inputs=inputs)

# %% tags=["hide-input"]
report.claims(
    "fig03_tradeoffs",
    {
        "fig03.handoff.epsilon_rises": all(a < b for a, b in zip(rising, rising[1:], strict=False)),
        "fig03.handoff.quality_rises": verdict(SOFTMAX, "a"),
        "fig03.renoise.helps_early": verdict(SOFTMAX, "b"),
        "fig03.blocks.quality_rises": verdict(SOFTMAX, "c"),
    },
    tier=tier,
)

# %% tags=["hide-input"]
report.footer("fig03_tradeoffs", globals(), inputs=inputs)
