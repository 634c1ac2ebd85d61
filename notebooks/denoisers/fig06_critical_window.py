# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 6: the critical window
#
# At high noise a sample can still become anything; at low noise it is settled. In between lies a window in which its class is decided. The
# paper follows the probability of one class along the trajectory (ship, by a zero-shot CLIP model {cite:p}`radford2021learning`), and shows the privacy cost at three
# times and images denoised at several times. Its claim: the privacy loss grows steeply near that window.
#
# Here the trajectories are those of the full-batch empirical denoiser on the private side of the data. For this denoiser the class
# probability given the state is known exactly: it is the sum of the softmax weights of the records of that class. A classifier that
# looks at the denoised images, as the paper's does, is drawn beside it.

# %% tags=["parameters"]
private_data = "emoji/private"  # private records, a name that privlib.data.load accepts
public_data = "emoji/public"  # labelled public images that the linear probe is fitted on, another such name
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
class_name = "Flags"  # class that is followed, one of the class names of private_data
classifier = (
    "probe"  # what judges the denoised images: probe (linear, fitted on public_data) or clip (zero-shot, needs weights)
)
num_steps = 50  # levels of the EDM grid, a whole number of at least 10
num_samples = 192  # trajectories, at least 32
beta = 1.0  # public normalization (sensitivity 1/beta in the accounting), above 0
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
from privlib.data.images import to_bytes
from privlib.denoisers.empirical import EmpiricalDenoiser
from privlib.mechanisms import reverse_sde_gdp_mu
from privlib.metrics.classifiers import fit_linear_probe, score_probabilities
from privlib.metrics.clip import load_clip, zero_shot
from privlib.metrics.features import efficientnet_lite0
from privlib.numerics import choose_device
from privlib.report import bundles
from privlib.samplers.hybrid import full_batch
from privlib.samplers.path import Plan
from privlib.samplers.trajectory import Trajectory
from privlib.schedules import edm_sigmas
from privlib.types import Adjacency

figures.use_style()
where = choose_device(device)
private, public = load(private_data, folder=data_folder), load(public_data, folder=data_folder)
names = private.class_names
if class_name not in names:
    raise ValueError(f"class_name must be one of {', '.join(names)}, got {class_name!r}")
followed = names.index(class_name)
if classifier == "clip":
    judge = zero_shot(load_clip(device=where), names)
elif classifier == "probe":
    judge = fit_linear_probe(efficientnet_lite0(device=where), public)
else:
    raise ValueError(f"classifier must be probe or clip, got {classifier!r}")

posterior_mean = EmpiricalDenoiser(private)
path = Trajectory()
plan = Plan(edm_sigmas(num_steps), num_steps - 1)
full_batch(posterior_mean, plan, count=num_samples, seed=seed, device=where, observe=path)
sigmas = torch.tensor(path.sigmas)
posterior = torch.stack(
    [
        posterior_mean.class_probabilities(x, sigma, private.labels, len(names))
        for x, sigma in zip(path.states, path.sigmas, strict=True)
    ]
)
final = posterior[-1].argmax(dim=1)
ends_here = final == followed

# %% [markdown]
# ## (a) When the class is decided

# %% tags=["hide-input"]
own = posterior.gather(2, final.expand(len(sigmas), -1)[..., None])[..., 0]
mean = own.mean(dim=1)
rise = (mean - mean[0]) / (mean[-1] - mean[0])
start, end = int((rise < 0.1).nonzero()[-1]), int((rise < 0.9).nonzero()[-1]) + 1
watched = [index for index in range(len(sigmas)) if 0.3 < sigmas[index]]
judged = torch.stack([judge(path.denoised[index, ends_here].float())[:, followed] for index in watched])

per_step = reverse_sde_gdp_mu(plan.sigmas, sensitivity=1.0 / beta)
so_far = per_step.square().cumsum(0).sqrt()
marks = [start, (start + end) // 2, end]
curves = [
    {
        "sigma": float(sigmas[index]),
        "inside": float(posterior[index, ends_here, followed].mean()),
        "judged": float(judged[watched.index(index)].mean()) if index in watched else None,
        "outside": float(posterior[index, ~ends_here, followed].mean()),
        "own": float(mean[index]),
        "per_step": float(per_step[index]),
        "so_far": float(so_far[index]),
        "mark": int(index in marks),
    }
    for index in range(len(sigmas))
]


# %% tags=["hide-input"] mystnb={"image": {"alt": "Left: probability of the followed class against the noise level, which falls from left to right. For samples that end in the class the exact posterior rises from the share of the class in the data to one inside a shaded window; the classifier on the denoised images rises at about the same place; for other samples the posterior falls to zero. Right: GDP parameter against noise level on log axes, per step and summed up, both rising all the way; three marks show start, middle and end of the window."}}
def draw(rows, name):
    """Both panels; the marks are start, middle and end of the window."""
    _, (left, right) = plt.subplots(1, 2, figsize=figures.DOUBLE)
    seen, marked = rows[rows.judged.notna()], rows[rows.mark == 1]
    for axes in (left, right):
        axes.axvspan(marked.sigma.iloc[0], marked.sigma.iloc[-1], color="#f2e6c9", zorder=0)
        axes.set(xscale="log", xlabel=r"noise level $\sigma$", xlim=(rows.sigma.iloc[0], seen.sigma.iloc[-1]))
    left.plot(rows.sigma, rows.inside, label="posterior, samples that end in the class")
    left.plot(seen.sigma, seen.judged, label="classifier on the denoised images, the same samples")
    left.plot(rows.sigma, rows.outside, label="posterior, the other samples")
    left.set(ylabel=f"probability of {name}", ylim=(-0.02, 1.3), yticks=np.linspace(0, 1, 6))
    left.legend(loc="upper left", fontsize=9)
    right.loglog(rows.sigma, rows.per_step, label="one step")
    right.loglog(rows.sigma, rows.so_far, label="all steps so far")
    right.plot(marked.sigma, marked.so_far, "o", color=figures.PALETTE[1])
    for row in marked.itertuples():
        right.annotate(f"{row.so_far:.2g}", (row.sigma, row.so_far), (-4, 6), textcoords="offset points", ha="right")
    right.set(ylabel=r"GDP $\mu$ of one output", ylim=(rows.per_step.iloc[0] / 2, seen.so_far.max() * 3))
    right.legend(loc="upper left")
    plt.show()


draw(pd.DataFrame(curves), class_name)

# %% [markdown]
# The window (shaded) is where the posterior probability of the class that a sample ends in, averaged over *all* samples, goes from 10 to
# 90 % of its rise.

# %% tags=["hide-input"]
score = score_probabilities(
    judge(private.draw(min(500, len(private)), seed=seed).unit()),
    private.draw(min(500, len(private)), seed=seed).labels,
    class_names=names,
)
stand_in = f", a stand-in for {judge.stand_in_for}" if judge.stand_in_for else ""
report.table(
    pd.DataFrame(
        {
            "": [
                "samples",
                "that end in the class",
                "noise level at the start of the window",
                "at its end",
                "accuracy of the classifier",
            ],
            "value": [
                num_samples,
                int(ends_here.sum()),
                f"{sigmas[start]:.3g}",
                f"{sigmas[end]:.3g}",
                f"{score.accuracy:.2f}",
            ],
        }
    ),
    f"The window. The classifier is a {judge.name}{stand_in}; its accuracy is over {score.num_images} clean private images",
)

# %% [markdown]
# ## (b) What it costs to get there
#
# Full batch, one output, add or remove one record, with the sensitivity $\Delta = 1/\beta$ taken as given, as in the paper's accounting. The
# softmax that draws these pictures does not have that sensitivity (see {doc}`/book/accounting`), so the costs below are what the
# paper would charge, not a guarantee.

# %% tags=["hide-input"]
report.table(
    pd.DataFrame(
        {
            "time": ["start of the window", "middle", "end of the window", "end of the path"],
            "noise level": [float(sigmas[mark]) for mark in (*marks, -1)],
            "probability of the final class": [float(mean[mark]) for mark in (*marks, -1)],
            "mu of this step": [float(per_step[mark]) for mark in (*marks, -1)],
            "mu so far": [float(so_far[mark]) for mark in (*marks, -1)],
        }
    ),
    f"Privacy cost of one full-batch output at three times and at the end, beta = {beta:g}",
)
report.privacy_statement(
    gdp_mu=float(so_far[end]),
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    sampling="none, every record at every step down to the end of the window; sensitivity 1/beta taken as given",
    count=1,
    accountant="exact Gaussian composition",
    kind="estimate",
)

# %% [markdown]
# Two things can be read off. The cost does rise steeply through the window. It also goes on rising at the same pace below it, where nothing is
# decided any more: $\mu$ so far is about $\Delta/\sigma$ at every level, since the steps down to $\sigma$ release what one Gaussian mechanism of that
# noise would. So the window is not special to the accountant. It is special to the sampler: handing over right after it keeps what was
# decided for a small part of the price of the whole path, which is the reason for the hybrid.

# %% [markdown]
# ## (c) Denoised on the way

# %% tags=["hide-input"] mystnb={"image": {"alt": "Grid of denoised images, one sample of the followed class in each row, noise level falling from left to right. Left of the window all rows show the same blur, within it shapes of the class appear, right of it each row shows one sharp picture that does not change any more."}}
rows = ends_here.nonzero().flatten()[:5].tolist()
columns = np.linspace(0, len(watched) - 1, 11).round().astype(int).tolist()
pictures = to_bytes(path.denoised[columns][:, rows]).permute(1, 0, 3, 4, 2).numpy()
figures.image_grid(
    pictures,
    rows=[f"sample {row + 1}" for row in rows],
    columns=[f"{sigmas[column]:.2g}" for column in columns],
    title=f"Denoised estimates of samples that end in {class_name}, by noise level",
)
plt.show()

# %% [markdown]
# ## On real CIFAR-10
#
# The same for 50,000 photographs and the paper's own class, from a bundle ({doc}`/book/rerun`). Full-batch samples end in photographs of CIFAR-10, which may
# not be passed on; so there are curves and no pictures.

# %% tags=["hide-input"] mystnb={"image": {"alt": "The same two panels for the class ship of CIFAR-10: probability of the class against the noise level, and the GDP parameter against the noise level."}}
real = None
if tier != "cifar10" and bundles.bundle_path("fig06_critical_window", "cifar10").is_file():
    real = bundles.read_bundle("fig06_critical_window", "cifar10")
    (made,) = real.tables["run"]
    draw(pd.DataFrame(real.tables["curves"]), made["class_name"])

# %% tags=["hide-input"]
if real is not None:
    points = pd.DataFrame(real.tables["curves"])
    points = points[points.mark == 1]
    report.table(
        pd.DataFrame(
            {
                "time": ["start of the window", "middle", "end of the window"],
                "noise level": list(points.sigma),
                "probability of the final class": list(points.own),
                "mu of this step": list(points.per_step),
                "mu so far": list(points.so_far),
            }
        ),
        f"The window on CIFAR-10 (JPEG copy), {made['num_samples']:,} trajectories, {made['in_class']:,} of which end in {made['class_name']}, "
        f"classifier: {made['classifier']}, accuracy {made['accuracy']:.2f}; {real.origin}",
    )

# %% tags=["hide-input"]
inputs = {data.name: data.sha256 for data in (private, public)}
if tier == "cifar10":
    made = {"num_samples": num_samples, "in_class": int(ends_here.sum()), "class_name": class_name}
    made |= {"classifier": judge.name, "accuracy": score.accuracy}
    bundles.keep("fig06_critical_window", globals(), tables={"curves": curves, "run": [made]}, inputs=inputs)

# %% tags=["hide-input"]
inside = slice(start, end + 1)
report.claims(
    "fig06_critical_window",
    {
        "fig06.class.forms": bool(rise[:start].max() < 0.15 and rise[end + 1 :].min() > 0.85),
        "fig06.mu.rises": bool((per_step[inside].diff() > 0).all() and so_far[end] > 2.0 * so_far[start]),
    },
    tier=tier,
)

# %% tags=["hide-input"]
report.footer("fig06_critical_window", globals(), inputs=inputs)
