# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which bounded denoiser is worth its price?
#
# The accounting of the paper takes the sensitivity of its denoiser as given. This chapter, which has no counterpart in the paper, asks what
# can be had when the sensitivity must be *proved*. Differential privacy forbids one record to be heard; what may be heard is the
# population. The designs below differ in how they listen to it, and in what they pay for.
#
# | Design | What is private in it | Pays |
# | --- | --- | --- |
# | public only | nothing | nothing |
# | clipped block | one clipped contribution for each record of a random block, around a public posterior mean | for each output |
# | population shift | a wide public kernel over all records, contributions clipped to a small norm | for each output |
# | group tilt | counts of records in public groups of images, one clipped voice for each record | for each output |
# | released counts | the same counts, released *once* with Gaussian noise; public images are reweighted by them | once, for any number of outputs |
#
# The proofs of sensitivity are in the modules `privlib.denoisers.clipped`, `population`, `tilted` and `released`, together with what they cover
# of floating point; tests try to break them with random and adversarial neighbours.

# %% tags=["parameters"]
private_data = "emoji/private"  # private records, a name that privlib.data.load accepts
public_data = "emoji/public"  # public images, another such name
public_denoisers = ["posterior mean", "emoji"]  # each "posterior mean" (of the public images) or the name of shipped weights
reference_data = "emoji/private"  # images that samples are compared with, another such name
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
nominal_records = 3000  # public number that stands for the number of private records, at least 1
num_public = 0  # public images that are used, a random choice; 0 for all
num_reference = 0  # reference images that are used, a random choice; 0 for all
num_samples = 72  # samples of each design, more than twice the number of components
num_steps = 39  # levels of the EDM grid of the private steps, a whole number of at least 2
handoff_sigma = 4.0  # private steps start at levels of at least this; below it the posterior of the public images has settled
num_tail_levels = 6  # levels of the public tail, on a grid of its own, at least 2
block_size = 25  # expected number of records in the block of the clipped design, at least 1
block_clip = 1.0  # norm of a contribution in the clipped design, above 0
population_clips = [0.01]  # norms of a contribution in the population shift, each from 1e-6 to 1
bandwidth = 12.0  # kernel width of the population shift, L2 norm over pixels, above 0
group_clips = [0.02]  # norms of a record's voice in the group tilt, each from 1e-6 to 1
num_groups = 100  # public groups, from 1 to the number of public images
released_mus = [0.03]  # GDP parameters of the one release, each above 0
components = 24  # principal components of the features that distances are taken in, at least 1
network = "efficientnet"  # whose features distances are taken in: efficientnet, icon_text; inception, clip, dinov2 (these need weights)
feature_side = 64  # input side of efficientnet, a multiple of 32
counts = [1_000, 10_000, 50_000]  # numbers of outputs that epsilon is stated for, each at least 1
delta = 1e-5  # delta at which epsilon is stated, between 0 and 1
seed = 0  # seed of noise, blocks and groups, a whole number from 0
device = "auto"  # where everything runs, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
from dataclasses import replace

import matplotlib.pyplot as plt
import pandas as pd
import torch

from privlib import figures, report
from privlib.accounting.certified import epsilon_interval
from privlib.data import load
from privlib.data.images import to_bytes
from privlib.denoisers.anchors import PublicAnchor
from privlib.denoisers.clipped import ClippedDenoiser
from privlib.denoisers.groups import PublicGroups
from privlib.denoisers.named import card_of, load_named
from privlib.denoisers.population import PopulationDenoiser
from privlib.denoisers.released import ReweightedDenoiser, release_counts
from privlib.denoisers.tilted import GroupDenoiser
from privlib.metrics.frechet import frechet_estimate
from privlib.metrics.named import load_features
from privlib.numerics import choose_device
from privlib.report import bundles
from privlib.samplers.hybrid import full_batch, output_wise
from privlib.samplers.path import CoarseHeun, Plan, PublicTail
from privlib.samplers.steps import ANCESTRAL
from privlib.schedules import edm_sigmas
from privlib.types import Adjacency, Interval

POSTERIOR = "posterior mean"
figures.use_style()
where = choose_device(device)
private = load(private_data, folder=data_folder)
public = load(public_data, folder=data_folder, most=num_public, seed=seed)
target = load(reference_data, folder=data_folder, most=num_reference, seed=seed)
extractor = load_features(network, side=feature_side, device=where)
public_features, target_features = extractor(public.unit()), extractor(target.unit())
private_features = target_features if private_data == reference_data else extractor(private.unit())
groups = PublicGroups(public_features, num_groups, seed=seed)
private_counts = groups.counts(private_features)

grid = edm_sigmas(num_steps).tolist()
num_private = sum(level >= handoff_sigma for level in grid)
settings = {"count": num_samples, "seed": seed, "device": where}


# %% tags=["hide-input"]
def small(images):
    """Images averaged over squares of four by four pixels, as rows: the control that knows no features."""
    return torch.nn.functional.avg_pool2d(images, 4).flatten(1)


target_pixels = small(target.unit())
results, pictures = [], {name: {} for name in public_denoisers}


def judge(public_denoiser, design, setting, run, mechanism, *, once=False):
    """Record a design: distance of its samples from the reference, and epsilon for each number of outputs."""
    estimate = frechet_estimate(extractor(run.images.float()), target_features, components=components, seed=seed)
    on_pixels = frechet_estimate(small(run.images), target_pixels, components=components, seed=seed)
    epsilons = {}
    for count in counts:
        charged = mechanism if mechanism is None or once else replace(mechanism, count=count)
        epsilons[f"epsilon, {count:,}"] = 0.0 if charged is None else epsilon_interval(charged, delta).upper
    results.append(
        {
            "public denoiser": public_denoiser,
            "design": design,
            "setting": setting,
            "distance": estimate.value,
            "extrapolated": estimate.extrapolated,
            "low": estimate.lower,
            "high": estimate.upper,
            "pixels": on_pixels.extrapolated,
            **epsilons,
        }
    )
    pictures[public_denoiser][f"{design}, {setting}" if setting else design] = (
        to_bytes(run.images[:12].cpu()).permute(0, 2, 3, 1).numpy()
    )


for name in public_denoisers:
    denoiser = PublicAnchor(public) if name == POSTERIOR else load_named(name).to(where)
    plan = Plan(grid, num_private, ANCESTRAL, PublicTail(denoiser, solver=CoarseHeun(num_tail_levels)))

    anchor = PublicAnchor(public, denoiser=denoiser)
    run = full_batch(anchor, plan, **settings)
    judge(name, "public only", "", run, None)

    clipped = ClippedDenoiser(private, anchor, public_weight=block_size, clip=block_clip)
    run = output_wise(clipped, plan, sampling_probability=block_size / nominal_records, **settings)
    judge(name, "clipped block", f"B = {block_size}, C = {block_clip:g}", run, run.mechanism)

    for clip in population_clips:
        population = PopulationDenoiser(
            private, public, denoiser, nominal_records=nominal_records, clip=clip, bandwidth=bandwidth
        )
        run = full_batch(population, plan, **settings)
        judge(name, "population shift", f"C = {clip:g}", run, run.mechanism)

    for clip in group_clips:
        tilted = GroupDenoiser(
            private_counts, groups, public, nominal_records=nominal_records, clip=clip, denoiser=denoiser
        )
        run = full_batch(tilted, plan, **settings)
        judge(name, "group tilt", f"C = {clip:g}", run, run.mechanism)

    for mu in released_mus:
        released = release_counts(
            private_counts, noise_multiplier=1.0 / mu, generator=torch.Generator().manual_seed(seed)
        )
        reweighted = ReweightedDenoiser(denoiser, public, weights=released.image_weights(groups))
        run = full_batch(reweighted, plan, **settings)
        judge(name, "released counts", f"mu = {mu:g}", run, released.mechanism, once=True)

table = pd.DataFrame(results)

# %% [markdown]
# ## Distance against epsilon
#
# Distances are between Gaussian fits of features of a small ImageNet network {cite:p}`tan2019efficientnet`, on their leading principal
# components: a stand-in for FID {cite:p}`heusel2017gans`, and not comparable with FID. They are extrapolated to infinitely many samples, and the bars are 95 % intervals of their sampling error. Epsilon is a
# certified upper bound, under adding or removing one record. The clipped block is a Poisson block, kept for each output; all other designs use all records.


# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels, one for each public denoiser: distance to the private images against certified epsilon on a log axis, with error bars, one marker shape for each design, over a band for the public denoiser alone. Released counts lie to the left of the designs that pay for each output. The intervals are wide and overlap; all distances of the neural denoiser are several times larger."}}
def draw(rows, count, axes):
    public_row = rows[rows.design == "public only"].iloc[0]
    axes.axhspan(public_row.low, public_row.high, color="#e6e6e6", zorder=0)
    axes.axhline(public_row.extrapolated, color="#5c5c5c", linestyle="--", linewidth=1, label="public only")
    for (design, points), colour, marker in zip(
        rows[rows.design != "public only"].groupby("design", sort=False), figures.PALETTE, "osD^v", strict=False
    ):
        middle = points.extrapolated
        axes.errorbar(
            points[f"epsilon, {count:,}"],
            middle,
            yerr=[(middle - points.low).clip(lower=0), (points.high - middle).clip(lower=0)],
            fmt=marker,
            color=colour,
            capsize=3,
            linestyle="",
            label=design,
        )
    axes.set(
        xscale="log", xlabel=rf"certified $\varepsilon$ for {count:,} outputs", ylabel="distance to the private images"
    )
    axes.legend(fontsize=9)


figure, panels = plt.subplots(1, len(public_denoisers), figsize=figures.DOUBLE, squeeze=False)
for (name, rows), axes in zip(table.groupby("public denoiser", sort=False), panels[0], strict=True):
    draw(rows, counts[-1], axes)
    axes.set_title(f"public denoiser: {name}")
plt.show()


# %% tags=["hide-input"]
def in_words(rows, counts):
    """The results as a table for readers."""
    names = [f"{row.design}, {row.setting}" if row.setting else row.design for row in rows.itertuples()]
    return pd.DataFrame(
        {
            "public denoiser": rows["public denoiser"],
            "design": names,
            "distance": rows.extrapolated,
            "95 % interval": [Interval(row.low, row.high) for row in rows.itertuples()],
            "on pixels": rows.pixels,
            **{f"{count:,}": rows[f"epsilon, {count:,}"] for count in counts},
        }
    )


report.table(
    in_words(table, counts),
    f"Designs at the {tier} scale, {num_samples} samples each: distance on features with its interval, distance on pixels averaged four by "
    f"four, and, under each number of outputs, the certified upper bound on epsilon at delta = {delta:g}, add or remove one record",
    digits=3,
)
best = table[table.design != "public only"].sort_values("extrapolated").iloc[0]
report.privacy_statement(
    epsilon=float(best[f"epsilon, {counts[-1]:,}"]),
    delta=delta,
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    sampling=f"the design of least distance: {best.design}, {best.setting}",
    count=counts[-1],
    accountant="certified interval by Laplace inversion or exact Gaussian formula",
    kind="certified upper bound",
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two grids of samples, one design in each row, the same initial noise down each column. In the first, of the posterior mean, all samples are sharp public images, and which of them appear changes from design to design. In the second, of the neural denoiser, they are softer pictures of the same kind, which change less."}}
for name, rows in pictures.items():
    figures.image_grid(
        [list(row) for row in rows.values()],
        rows=list(rows),
        columns=[""] * 12,
        title=f"Samples of each design, public denoiser: {name}",
    )
    plt.show()

# %% [markdown]
# With this few samples the intervals are wide and overlap: the page shows how the designs are compared and what each costs, and
# `papermill -p num_samples 1000` narrows the intervals. The next figure has the contrast that this one lacks.
#
# ## On real CIFAR-10
#
# The same notebook under the `cifar10` profile ({doc}`/book/rerun`): the private records are the 50,000 training images of CIFAR-10 (a JPEG copy, so
# slightly lossy), the public images 20,000 of Tiny-ImageNet at 32 by 32, and the reference is 5,000 test images. That takes long, so its numbers travel
# as a bundle.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two rows of three panels, for 1,000, 10,000 and 50,000 outputs: distance to CIFAR-10 test images against certified epsilon on a log axis. The released counts stay where they are in all panels, at small epsilon; in the first row, of the posterior mean, far below the band of the public denoiser. The designs that pay for each output move to the right from panel to panel and lie near the band. In the second row, of the neural denoiser, all lie near the band."}}
if tier != "cifar10":
    bundle = bundles.read_bundle("bounded_denoisers", "cifar10")
    real = pd.DataFrame(bundle.tables["designs"])
    by_denoiser = real.groupby("public denoiser", sort=False)
    figure, panels = plt.subplots(
        len(by_denoiser), 3, figsize=(figures.TRIPLE[0], 3.0 * len(by_denoiser)), sharex=True, sharey="row", squeeze=False
    )
    for (name, rows), line in zip(by_denoiser, panels, strict=True):
        for count, axes in zip((1_000, 10_000, 50_000), line, strict=True):
            draw(rows, count, axes)
            axes.set(ylabel="", xlabel="")
            axes.get_legend().set_visible(False)
        line[0].set(ylabel=f"distance, {name}")
    for count, top, bottom in zip((1_000, 10_000, 50_000), panels[0], panels[-1], strict=True):
        top.set(title=f"{count:,} outputs")
        bottom.set(xlabel=r"certified $\varepsilon$")
    panels[0, -1].legend(fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    plt.show()

# %% tags=["hide-input"]
if tier != "cifar10":
    report.table(
        in_words(real, (1_000, 10_000, 50_000)),
        f"Designs on CIFAR-10 (JPEG copy), {bundle.origin}: distance on features with its interval, distance on pixels averaged four by four, and, under "
        "each number of outputs, the certified upper bound on epsilon at delta = 1e-5, add or remove one record; "
        f"{bundle.made['parameters']['num_samples']} samples each",
        digits=3,
    )

# %% [markdown]
# ## What to make of it
#
# **Clipping single records is provable and does little for the features.** A contribution of norm 1 against images of norm fifty cannot turn a sample, and at the noise level
# at which it could, only the nearest record of the block speaks, which is what privacy forbids.
#
# **A coarse question is worth more than a fine one.** Averages of pixels around a place, however wide the kernel, move the result little. A record that says
# no more than *which group of public images it is like* moves it as far or further, for less.
#
# **And a question that coarse need not be asked again at every step of every output.** Released once, the counts serve any number of outputs; asked while
# sampling, their price grows with the root of the number of outputs. There is also a subtler loss: the exact posterior under reweighted images divides by a
# sum that contains private counts. A denoiser that must be a *sum* of bounded contributions has to leave that division out, and is too weak just where a
# sample sits among public images that the private side lacks.
#
# So the best provable design for many outputs spends its budget before sampling starts, not during it. Only for some dozens of outputs the order turns, and the
# group tilt is the cheaper of the two. Whether a sampler that looks at private records *while it samples* can beat a single release at tens of
# thousands of outputs is open.
#
# **A weak public denoiser hides all of this.** The neural denoisers of this book ({doc}`public_denoisers`) draw new images where the posterior mean repeats public ones, but they
# draw them badly, and in the distance that outweighs whatever the private records can say: the designs then differ by less than their sampling error. Private counts decide *which* images are
# drawn; they cannot mend *how*. With a public denoiser as good as a published one the first panel, not the second, should be the guide; that has not been run.
#
# **What limits these statements.** The groups are made in the feature space in which the distance is measured, which flatters both designs that use
# them. The column on pixels is the control: there the population shift gains most around the posterior mean, on CIFAR-10 by far. Distances are on few samples, from one seed each. All private steps here
# are ancestral ones, which leave exactly the noise that a denoiser is told ({doc}`/book/sampling`) and cost a little more than those of the paper.
#
# ## Tried without success
#
# Groups made from pixels in place of features; a kernel of infinite width (one mean shift: best on pixels, worst on features); a tilt multiplied by
# two. Not tried: noisy group means beside the counts, a tilt linearized around released counts, anchors for each class, second
# moments.

# %% tags=["hide-input"]
inputs = {data.name: data.sha256 for data in (private, public, target)}
inputs |= {f"weights/{name}": card_of(name)["sha256"] for name in public_denoisers if name != POSTERIOR}
if tier == "cifar10":
    bundles.keep("bounded_denoisers", globals(), tables={"designs": results}, inputs=inputs)

# %% tags=["hide-input"]
report.claims("bounded_denoisers", {}, tier=tier)

# %% tags=["hide-input"]
report.footer("bounded_denoisers", globals(), inputs=inputs)
