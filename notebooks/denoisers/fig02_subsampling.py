# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 2: one block for each output, or a fresh one at each step
#
# A private step looks at a random block of the records. The paper compares two ways to choose it. *Output-wise*: the block is drawn
# once and kept for the whole output. *Per-step*: each step draws a fresh block. From identical initial noise, the first gives
# an image that emerges and stays; the second is pulled towards different records at each step and never settles. That is the
# reason to reuse blocks, although fresh blocks are cheaper.
#
# Here both samplers run on the private side of the data, with the same initial noise and the same noise in every step.

# %% tags=["parameters"]
private_data = "emoji/private"  # private records, a name that privlib.data.load accepts
public_data = "emoji/public"  # public images around which the third panel clips, another such name
public_weights = "emoji"  # neural denoiser of its public steps, a name that load_named accepts
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
batch_size = 25  # expected number of records in a block, at least 2
num_steps = 39  # levels of the EDM grid, a whole number of at least 12
num_samples = 12  # samples that the statistics are over, at least 4
num_rows = 4  # samples that are shown, at most num_samples
percent = 55  # length of the private block in the third panel and of the statement below it, percent of num_steps
beta = 1.0  # public normalization (sensitivity 1/beta in the accounting), above 0
count = 50_000  # outputs that epsilon in the table is for, at least 1
delta = 1e-5  # delta at which the table states epsilon, between 0 and 1
seed = 2  # seed of noise and blocks, a whole number from 0
device = "auto"  # where denoisers run, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from privlib import figures, report
from privlib.accounting.certified import epsilon_interval
from privlib.data import load
from privlib.data.images import to_bytes
from privlib.denoisers.anchors import PublicAnchor
from privlib.denoisers.clipped import ClippedDenoiser
from privlib.denoisers.empirical import EmpiricalDenoiser
from privlib.denoisers.named import card_of, load_named
from privlib.mechanisms import block_mechanism, per_step_composition, reverse_sde_gdp_mu
from privlib.numerics import choose_device
from privlib.report import bundles
from privlib.samplers.hybrid import output_wise, per_step
from privlib.samplers.path import Plan, PublicTail
from privlib.samplers.trajectory import Trajectory
from privlib.schedules import edm_sigmas, num_block_steps
from privlib.types import Adjacency

figures.use_style()
where = choose_device(device)
private = load(private_data, folder=data_folder)
public = load(public_data, folder=data_folder)
sampling_probability = batch_size / len(private)
sigmas = edm_sigmas(num_steps).tolist()
plan = Plan(sigmas, num_steps - 1)
softmax = EmpiricalDenoiser(private)
anchor = PublicAnchor(public)
clipped = ClippedDenoiser(private, anchor, public_weight=batch_size, clip=1.0, beta=beta)
tail = PublicTail(load_named(public_weights).to(where))
hybrid = Plan(sigmas, num_block_steps(percent / 100, num_steps), tail=tail)
settings = {"sampling_probability": sampling_probability, "count": num_samples, "seed": seed, "device": where}


kept, fresh, bounded = Trajectory(), Trajectory(), Trajectory()
output_wise(softmax, plan, observe=kept, **settings)
per_step(softmax, plan, observe=fresh, **settings)
proved = output_wise(clipped, hybrid, observe=bounded, **settings)

# %% [markdown]
# ## The pictures
#
# Each row is one sample, and each column one noise level $\sigma$ on the way down. What is shown is the denoised estimate
# $\hat{\mathbb E}(x_\sigma, \sigma)$: what the sampler steers towards at that level. (The state itself is that plus noise.)

# %% tags=["hide-input"]
columns = np.linspace(0, num_steps - 3, 12).round().astype(int).tolist()


def show(path, title):
    images = to_bytes(path.denoised[columns, :num_rows]).permute(1, 0, 3, 4, 2).numpy()
    figures.image_grid(
        images,
        rows=[f"sample {row + 1}" for row in range(num_rows)],
        columns=[f"{sigmas[column]:.2g}" for column in columns],
        title=title,
    )
    plt.show()


# %% tags=["hide-input"] mystnb={"image": {"alt": "Grid of small images, one sample in each row, noise level falling from left to right. In every row a blurred average sharpens into one picture, which then stays the same in all columns to the right."}}
show(kept, f"(a) output-wise: one block of about {batch_size} records, kept")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Grid of small images from the same initial noise. In every row each column shows a different sharp picture, down to the smallest noise level; no row settles."}}
show(fresh, "(b) per-step: a fresh block at each step")

# %% [markdown]
# Both panels use the softmax over the block, which is the posterior mean of the block and, as far as its pictures tell, what the paper
# shows. It has no bound on what one record can do: at low noise the output *is* one of the records. So the two panels come
# with no guarantee, whatever an accountant says; see {doc}`/book/accounting`.
#
# A denoiser that keeps the promise $\Delta = 1/\beta$ looks different. Below, each record's contribution is clipped to norm 1
# around a public posterior mean; the norm of an image is about fifty. The private steps end at the hand-off, and the public neural denoiser
# ({doc}`public_denoisers`) does the rest: this is the hybrid sampler of the paper, with a bound that is proved. What emerges looks like a
# *public* image. {doc}`bounded_denoisers` asks how much better one can do.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Grid of small images from the same initial noise with the clipped denoiser. Every row settles on one picture of the public kind, finished by the neural denoiser."}}
show(bounded, "(c) output-wise, contributions clipped to norm 1: with a proof")

# %% [markdown]
# ## Does a row settle?
#
# The change of the estimate from one step to the next, as a root mean square over pixels of the unit scale $[-1, 1]$.

# %% tags=["hide-input"]
PATHS = {"output-wise": kept, "per-step": fresh, "clipped": bounded}
steps = sigmas[1 : num_steps - 1]
changes = [
    {"sampler": name, "sigma": sigma, "median": float(row.median()), "low": float(row.amin()), "high": float(row.amax())}
    for name, path in PATHS.items()
    for sigma, row in zip(steps, path.changes(), strict=False)
]


# %% tags=["hide-input"] mystnb={"image": {"alt": "Change of the denoised estimate from one step to the next against the noise level, which falls from left to right on a log scale. The output-wise curve rises, then falls to zero below noise level six. The per-step curve stays near 0.35 down to the smallest level."}}
def draw_changes(rows):
    """One line and one band for each sampler."""
    _, axes = plt.subplots(figsize=figures.SINGLE)
    for name, points in rows.groupby("sampler", sort=False):
        line = axes.plot(points.sigma, points["median"], label=name)[0]
        axes.fill_between(points.sigma, points.low, points.high, alpha=0.15, color=line.get_color(), linewidth=0)
    axes.set(xscale="log", xlabel=r"noise level $\sigma$", ylabel="change of the estimate")
    axes.invert_xaxis()
    figures.label_ends(axes)
    plt.show()


draw_changes(pd.DataFrame(changes))

# %% [markdown]
# Lines are medians over the samples, bands reach from the least to the largest.

# %% tags=["hide-input"]
late = slice(3 * len(steps) // 4, len(steps))
LABELS = {"output-wise": "output-wise, softmax", "per-step": "per-step, softmax", "clipped": "output-wise, clipped"}
settled = [
    {
        "sampler": LABELS[name],
        "largest change": float(path.changes()[late].amax()),
        "smallest change": float(path.changes()[late].amax(dim=0).amin()),
    }
    for name, path in PATHS.items()
]
CAPTION = (
    "Change of the estimate between steps in the last quarter of the path (from noise level {:.2g} down): the largest over {} samples, "
    "and that of the sample that changes least"
)
report.table(pd.DataFrame(settled), CAPTION.format(steps[late][0], num_samples))

# %% [markdown]
# ## On real CIFAR-10
#
# The same two softmax samplers and the clipped one over 50,000 photographs, from a bundle ({doc}`/book/rerun`). Photographs of CIFAR-10 may not be passed on, and here the
# output-wise rows end in them; so there are curves and no pictures.

# %% tags=["hide-input"] mystnb={"image": {"alt": "The same curves for CIFAR-10: change of the denoised estimate from one step to the next against the noise level, one line for each sampler."}}
real = None
if tier != "cifar10" and bundles.bundle_path("fig02_subsampling", "cifar10").is_file():
    real = bundles.read_bundle("fig02_subsampling", "cifar10")
    draw_changes(pd.DataFrame(real.tables["changes"]))

# %% tags=["hide-input"]
if real is not None:
    (made,) = real.tables["run"]
    report.table(
        pd.DataFrame(real.tables["settled"]),
        f"{CAPTION.format(made['late_sigma'], made['num_samples'])}. CIFAR-10 (JPEG copy), {made['num_records']:,} records, {real.origin}",
    )

# %% [markdown]
# ## What each would be charged
#
# The accounting of the paper takes the sensitivity $\Delta = 1/\beta$ as given. Under it a fresh block is the cheaper choice, since each
# step is amplified on its own; so the paper pays for pictures that settle. The table charges the first steps of the grid, as a hybrid
# sampler would use them, for all outputs together.

# %% tags=["hide-input"]
rows = []
for num_private in sorted({round(share * num_steps) for share in (0.4, 0.5, 0.55, 0.6)}):
    mus = reverse_sde_gdp_mu(sigmas[: num_private + 1], sensitivity=1.0 / beta).tolist()
    rows.append(
        {
            "private steps": num_private,
            "down to noise level": sigmas[num_private],
            "output-wise": epsilon_interval(block_mechanism(mus, sampling_probability, count=count), delta).upper,
            "per-step": epsilon_interval(per_step_composition(mus, sampling_probability, count=count), delta).upper,
        }
    )
report.table(
    pd.DataFrame(rows),
    f"Certified upper bound on epsilon for {count:,} outputs at delta = {delta:g}, add or remove one record, Poisson blocks with "
    f"probability {batch_size}/{len(private):,}, sensitivity 1/beta with beta = {beta:g} taken as given",
)
report.privacy_statement(
    epsilon=epsilon_interval(proved.mechanism, delta),
    delta=delta,
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    sampling=f"panel (c): output-wise Poisson blocks, probability {batch_size}/{len(private):,}, {hybrid.num_private_steps} private steps, "
    "public neural tail",
    count=num_samples,
    accountant="certified interval by Laplace inversion",
    kind="certified interval",
)

# %% tags=["hide-input"]
largest, least = kept.changes()[late].amax(), fresh.changes()[late].amax(dim=0).amin()
report.claims(
    "fig02_subsampling",
    {
        "fig02.output_wise.settles": bool(largest < 0.02),
        "fig02.per_step.never_settles": bool(least > 0.1),
    },
    tier=tier,
)

# %% tags=["hide-input"]
inputs = {data.name: data.sha256 for data in (private, public)}
inputs[f"weights/{public_weights}"] = card_of(public_weights)["sha256"]
if tier == "cifar10":
    made = {"late_sigma": steps[late][0], "num_samples": num_samples, "num_records": len(private)}
    tables = {"changes": changes, "settled": settled, "run": [made]}
    bundles.keep("fig02_subsampling", globals(), tables=tables, inputs=inputs)

# %% tags=["hide-input"]
report.footer("fig02_subsampling", globals(), inputs=inputs)
