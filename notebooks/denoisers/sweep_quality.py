# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Tables 3, 8, 9 and 10: the columns of image quality
#
# {doc}`tab03_beta`, {doc}`tab08_sweep_cifar10`, {doc}`tab09_sweep_celeba` and {doc}`tab10_celeba` reproduce the privacy columns, which need no image. The FID columns
# do. Here the samplers of those rows run on the data that this book can use, and a stand-in distance is put beside each printed FID. The
# numbers cannot agree, since data, public denoiser and features are others; their order can.
#
# * Tables 8, 9 and 10 vary hand-off, re-noising and block size. The private denoiser here is the **softmax over the block**: it shows what such a
#   sampler can reach, and has no guarantee. Its epsilon is that of the paper's accounting *if the sensitivity were* $1/\beta$.
# * Table 3 varies $\beta$, by which the sum over the block is divided. A softmax has no such sum, so the rows are run with the sum of
#   `ClippedDenoiser` and a clip that never binds: its true sensitivity is the clip over $\beta$, and the certified epsilon says so.

# %% tags=["parameters"]
private_data = "emoji/private"  # private records, a name that privlib.data.load accepts
public_data = "emoji/public"  # public images that the sum over the block leans on, another such name
reference_data = "emoji/private"  # images that samples are compared with, another such name
weights = "emoji"  # public neural denoiser of the tail, a name that load_named accepts
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
nominal_records = 3448  # public number that stands for the number n of private records, at least 1
num_public = 0  # public images that are used, a random choice; 0 for all
num_reference = 0  # reference images that are used, a random choice; 0 for all
cells = [
    [55, 1, 25],
    [55, 1, 200],
    [62, 1, 25],
    [55, 3, 100],
    [65, 3, 100],
    [70, 3, 100],
]  # rows of Tables 8 to 10, each percent, re-noising steps, B
betas = [4.0, 2.0, 1.0, 0.5]  # rows of Table 3, falling, each above 0; an empty list leaves the table out
beta_percent = 65  # share of the grid that is private in Table 3, percent, in 1..100
beta_renoise_steps = 3  # levels of public re-noising in Table 3; the paper does not say how many
beta_batch_size = 25  # expected records in a block in Table 3, at least 1; the paper's is 50
loose_clip = 120.0  # norm that no contribution reaches, above the diameter of the image cube
num_steps = 39  # levels of the EDM grid, a whole number of at least 10
num_public_levels = 5  # levels of the public tail, on a grid of its own, at least 4
num_samples = 96  # samples of each row, more than twice the number of components
components = 16  # principal components of the features that distances are taken in, at least 1
network = "efficientnet"  # whose features distances are taken in: efficientnet, icon_text; inception, clip, dinov2 (these need weights)
feature_side = 64  # input side of efficientnet, a multiple of 32
count = 3448  # outputs that epsilon is stated for, at least 1
delta = 1e-5  # delta at which epsilon is stated, between 0 and 1
run_folder = (
    ""  # folder that keeps finished batches of every row, so that rows can be sampled apart; empty to keep none
)
at_once = 96  # samples in memory at once, at least 1
seed = 0  # seed of noise and blocks, a whole number from 0
device = "auto"  # where everything runs, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from privlib import figures, report
from privlib.accounting.certified import epsilon_interval
from privlib.data import load
from privlib.denoisers.anchors import PublicAnchor
from privlib.denoisers.clipped import ClippedDenoiser
from privlib.denoisers.empirical import EmpiricalDenoiser
from privlib.denoisers.named import card_of, load_named
from privlib.metrics.named import load_features
from privlib.metrics.paired import paired_distances
from privlib.metrics.principal import principal_components
from privlib.metrics.trends import falls, has_inner_minimum
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
swept = [Setting(*cell) for cell in cells]
scaled = [Setting(beta_percent, beta_renoise_steps, beta_batch_size, beta) for beta in betas]

# %% tags=["hide-input"]
features, mechanisms = {}, {}


def sample(design, denoiser, settings):
    """Features and mechanism of settings that share a denoiser and a block size."""
    runs = draw_settings(
        denoiser,
        {setting: setting.plan(sigmas, neural, solver=CoarseHeun(num_public_levels)) for setting in settings},
        num_records=nominal_records,
        num_samples=num_samples,
        at_once=at_once,
        seed=seed,
        device=where,
        folder=Path(run_folder) if run_folder else None,
    )
    for setting, run in runs.items():
        features[design, setting] = project(extractor(run.images.float()))
        mechanisms[design, setting] = run.mechanism


for size in sorted({setting.batch_size for setting in swept}):
    sample("softmax", softmax, [setting for setting in swept if setting.batch_size == size])
for setting in scaled:
    loose = ClippedDenoiser(private, anchor, public_weight=beta_batch_size, clip=loose_clip, beta=setting.beta)
    sample("sum", loose, [setting])
distances = paired_distances(features, project(target_features), seed=seed)


def printed(asset, row):
    """The printed FID of a row; None where the paper prints none."""
    return {claim.id: claim.printed for claim in report.load_claims(asset)}.get(f"{asset[:5]}.{row}.fid")


def fids(design, setting):
    """Printed FIDs of the row or rows that a setting stands for."""
    if design == "sum":
        return {"table 3": printed("tab03_beta", f"beta{setting.beta:g}")}
    row = f"{setting.percent:g}.{setting.batch_size}"
    if setting.num_renoise_steps == 1:
        return {"table 8": printed("tab08_sweep_cifar10", row), "table 9": printed("tab09_sweep_celeba", row)}
    if (setting.num_renoise_steps, setting.batch_size) == (3, 100):
        return {"table 10": printed("tab10_celeba", f"{setting.percent:g}")}
    return {}


rows = []
for design, setting in features:
    found, charged = distances.distance((design, setting)), mechanisms[design, setting]
    reported = setting.as_reported(sigmas, num_records=nominal_records, count=count)
    rows.append(
        {
            "design": design,
            "percent": setting.percent,
            "renoise": setting.num_renoise_steps,
            "batch": setting.batch_size,
            "beta": setting.beta,
            "distance": found.value,
            "low": found.lower,
            "high": found.upper,
            "epsilon_reported": epsilon_interval(reported, delta).upper,
            "certified_mu": None if charged is None else charged.gdp_mu,
            **{f"table {n}": fids(design, setting).get(f"table {n}") for n in (3, 8, 9, 10)},
        }
    )
table = pd.DataFrame(rows)


# %% [markdown]
# ## Tables 8, 9 and 10
#
# Distances are between Gaussian fits of features of a small ImageNet network {cite:p}`tan2019efficientnet` on their leading principal components, extrapolated to
# infinitely many samples: a stand-in for FID {cite:p}`heusel2017gans`, and not comparable with FID.


# %% tags=["hide-input"]
def sweep_words(rows):
    """Rows of Tables 8 to 10, printed beside measured."""
    chosen = rows[rows.design == "softmax"]
    return pd.DataFrame(
        {
            "private share": [f"{share:g} %" for share in chosen.percent],
            "re-noising steps": [int(steps) for steps in chosen.renoise],
            "B": [int(size) for size in chosen.batch],
            **{f"FID, printed in Table {n}": list(chosen[f"table {n}"]) for n in (8, 9, 10)},
            "distance here": list(chosen.distance),
            "95 % interval": [Interval(row.low, row.high) for row in chosen.itertuples()],
            "epsilon here if the sensitivity were 1/beta": list(chosen.epsilon_reported),
        }
    )


where_printed = "Table 8 is CIFAR-10, Tables 9 and 10 are CelebA-64"
report.table(
    sweep_words(table),
    f"Softmax over the block at the {tier} scale, {num_samples} samples a row, {components} components of {extractor.name}; epsilon at delta = {delta:g} "
    f"for {count:,} outputs, q = B/{nominal_records:,}, add or remove one record: no guarantee of this denoiser. {where_printed}; a dash: not printed",
    digits=3,
)

# %% [markdown]
# ## Table 3
#
# A large $\beta$ keeps the private sum small, and the sample stays with the public images; a small one exaggerates it. In this design a public posterior mean
# carries the picture whatever $\beta$ is. The printed column, which is least inside, says that the sum of the paper's denoiser has to
# carry the picture by itself (inferred): the two need not have their best $\beta$ at the same place.


# %% tags=["hide-input"]
def beta_words(rows):
    """Rows of Table 3, printed beside measured."""
    chosen = rows[rows.design == "sum"]
    return pd.DataFrame(
        {
            "beta": list(chosen.beta),
            "FID, printed": list(chosen["table 3"]),
            "distance here": list(chosen.distance),
            "95 % interval": [Interval(row.low, row.high) for row in chosen.itertuples()],
            "epsilon here if the sensitivity were 1/beta": list(chosen.epsilon_reported),
            "certified GDP mu of one output": list(chosen.certified_mu),
        }
    )


if betas:
    report.table(
        beta_words(table),
        f"Sum over the block with a clip that never binds, at the {tier} scale: {beta_percent} % private, B = {beta_batch_size}, {beta_renoise_steps} "
        f"re-noising steps, {num_samples} samples a row; epsilon at delta = {delta:g} for {count:,} outputs, q = {beta_batch_size}/{nominal_records:,}, "
        "Poisson blocks, add or remove one record, upper bounds",
        digits=3,
    )
    certain = replace(mechanisms["sum", scaled[0]], count=1)
    report.privacy_statement(
        gdp_mu=certain.gdp_mu,
        adjacency=Adjacency.ADD_OR_REMOVE_ONE,
        sampling=f"the sum at beta = {betas[0]:g}, given that the record is in the block of that output; sensitivity {loose_clip:g}/beta, proved",
        count=1,
        accountant="exact Gaussian composition",
        kind="certified upper bound",
    )

# %% [markdown]
# The last column is what this sum really costs: a record in the block is not hidden at all. The small epsilon beside it belongs to a denoiser
# with contributions of norm 1, which {doc}`bounded_utility` runs.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Distance to the private images against beta on a log axis, one point with an error bar for each beta that was run."}}
if betas:
    figure, axes = plt.subplots(figsize=figures.SINGLE)
    points = table[table.design == "sum"]
    bars = [points.distance - points.low, points.high - points.distance]
    axes.errorbar(points.beta, points.distance, yerr=bars, marker="o", capsize=3)
    axes.set(xscale="log", xlabel=r"$\beta$", ylabel="distance to the private images", xticks=betas)
    axes.set_xticklabels([f"{beta:g}" for beta in betas])
    axes.minorticks_off()
    plt.show()

# %% [markdown]
# ## Which trends hold


# %% tags=["hide-input"]
def settings_where(design, order, **fixed):
    """Settings that were run with the fixed values, in the order of another."""
    chosen = [
        setting
        for kind, setting in features
        if kind == design and all(getattr(setting, k) == v for k, v in fixed.items())
    ]
    return [(design, setting) for setting in sorted(chosen, key=lambda setting: getattr(setting, order))]


curves = {
    "Table 3: an inner beta is best": (has_inner_minimum, settings_where("sum", "beta"), 3),
    "Table 8: larger blocks are better (55 %, one step)": (
        falls,
        settings_where("softmax", "batch_size", percent=55, num_renoise_steps=1),
        2,
    ),
    "Table 8: a later hand-off is better (B = 25, one step)": (
        falls,
        settings_where("softmax", "percent", batch_size=25, num_renoise_steps=1),
        2,
    ),
    "Table 10: a later hand-off is better (B = 100, three steps)": (
        falls,
        settings_where("softmax", "percent", batch_size=100, num_renoise_steps=3),
        2,
    ),
}
verdicts, trend_rows = {}, []
for name, (rule, curve, least) in curves.items():
    verdicts[name] = rule(distances, curve) if len(curve) >= least else Trend.UNRESOLVED
    trend_rows.append({"trend": name, "points": len(curve), "verdict": verdicts[name].value})
report.table(
    pd.DataFrame(trend_rows),
    f"Trends of the FID columns at the {tier} scale, by paired bootstrap intervals of {num_samples} samples",
)

# %% [markdown]
# ## On real CIFAR-10
#
# Under the `cifar10` profile each row is sampled by a job of its own ({doc}`/book/rerun`), and the numbers travel as a bundle. Where the book has one, it is
# shown here.

# %% tags=["hide-input"]
if tier != "cifar10" and bundles.bundle_path("sweep_quality", "cifar10").is_file():
    bundle = bundles.read_bundle("sweep_quality", "cifar10")
    real, made = pd.DataFrame(bundle.tables["rows"]), bundle.made["parameters"]
    scale = f"on CIFAR-10 (JPEG copy), {bundle.origin}, {made['num_samples']:,} samples a row"
    report.table(sweep_words(real), f"Softmax over the block {scale}. {where_printed}; a dash: not printed", digits=3)
    report.table(beta_words(real), f"Sum over the block with a clip that never binds {scale}", digits=3)
    report.table(pd.DataFrame(bundle.tables["trends"]), f"Trends {scale}")

# %% tags=["hide-input"]
inputs = {data.name: data.sha256 for data in (private, public, target)} | {weights: card_of(weights)["sha256"]}
if tier == "cifar10" and len(features) > 1:  # a single row is a part of the sweep
    bundles.keep("sweep_quality", globals(), tables={"rows": rows, "trends": trend_rows}, inputs=inputs)

# %% tags=["hide-input"]
report.claims(
    "sweep_quality",
    dict(
        zip(
            ("sweep.beta.inner", "sweep.blocks.better", "sweep.handoff.better", "sweep.handoff.celeba"),
            verdicts.values(),
            strict=True,
        )
    ),
    tier=tier,
)

# %% tags=["hide-input"]
report.footer("sweep_quality", globals(), inputs=inputs)
