# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Table 4: directions and distances at the hand-offs
#
# The rows of Table 4 are six levels of the path of {doc}`fig01_cosine_similarity`, the last three of them the hand-offs of the hybrid sampler. At each level the table
# gives the cosine between the directions of the empirical denoiser $\hat{\mathbb E}$ and the neural denoiser $D$, and what it calls the mean squared error
# $\lVert\hat{\mathbb E} - D\rVert^2$, over three seeds.

# %% tags=["parameters"]
data = "emoji/public"  # records that both denoisers are about, a name that privlib.data.load accepts
weights = "emoji"  # neural denoiser trained on these records, a name that load_named accepts
control_weights = "tiny_imagenet"  # neural denoiser that has not seen these records, another such name
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
num_steps = 50  # levels of the EDM grid, a whole number of at least 10
percents = [0, 32, 46, 55, 65, 70]  # rows of the table, percent of num_steps, rising, each from 0 to 98
num_samples = 48  # paths for each seed, at least 1
num_seeds = 3  # seeds that means and standard errors are over, at least 2
seed = 0  # first seed of the noise, a whole number from 0
device = "auto"  # where denoisers run, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import pandas as pd
import torch

from privlib import report
from privlib.data import load
from privlib.denoisers.empirical import EmpiricalDenoiser
from privlib.denoisers.named import card_of, load_named
from privlib.metrics.directions import Directions, average_over_seeds, implied_distance
from privlib.numerics import choose_device
from privlib.report import bundles
from privlib.report.ledger import load_claims
from privlib.samplers.hybrid import reference
from privlib.samplers.path import public_euler_maruyama
from privlib.samplers.steps import EULER_MARUYAMA
from privlib.schedules import edm_sigmas, log_snr
from privlib.types import Interval

where = choose_device(device)
records, card = load(data, folder=data_folder), card_of(weights)
empirical, neural = EmpiricalDenoiser(records), load_named(weights).to(where)
stranger, stranger_card = load_named(control_weights).to(where), card_of(control_weights)
sigmas = edm_sigmas(num_steps)
# Halves go to the even number, which Python's round does and the printed levels ask for.
steps = [round(percent * num_steps / 100) for percent in percents]


def follow(leader, others, run_seed):
    """Compare ``leader`` with each of ``others`` at the rows of the table, along the path that it leads."""
    compared = [Directions(other, steps=steps) for other in others]

    def all_of_them(*state):
        for observer in compared:
            observer(*state)

    reference(
        leader,
        sigmas[: steps[-1] + 1],
        image_shape=records.image_shape,
        count=num_samples,
        seed=run_seed,
        solver=public_euler_maruyama,
        device=where,
        observe=all_of_them,
    )
    return compared


def over_seeds(runs):
    """Cosine, squared distance and distance: each averaged over the paths of a seed, then over the seeds."""
    values = torch.stack(
        [torch.stack([r.cosines, r.squared_distances, r.squared_distances.sqrt()]).mean(dim=2) for r in runs]
    )
    return average_over_seeds(values)


seeds = range(seed, seed + num_seeds)
own_runs, stranger_runs = zip(*(follow(empirical, [neural, stranger], s) for s in seeds), strict=True)
led_by_empirical, unseen = over_seeds(own_runs), over_seeds(stranger_runs)
led_by_neural = over_seeds([run for s in seeds for run in follow(neural, [empirical], s)])

# %% [markdown]
# ## The table
#
# The path is led by the empirical denoiser; which one leads it in the paper is inferred below. Distances are over pixels and channels on the unit scale $[-1, 1]$. Two comparisons stand
# beside it: a *control*, the same path with a neural denoiser in place of $D$ that was trained on other images; and the path that $D$ leads itself.

# %% tags=["hide-input"]
rows = [
    {
        "% of the path": percent,
        "noise level": float(sigmas[step]),
        "log SNR": float(log_snr(sigmas[step])),
        "cosine": float(led_by_empirical.mean[0, i]),
        "squared distance": float(led_by_empirical.mean[1, i]),
        "its standard error": float(led_by_empirical.standard_error[1, i]),
        "distance": float(led_by_empirical.mean[2, i]),
        "cosine, control": float(unseen.mean[0, i]),
        "distance, control": float(unseen.mean[2, i]),
        "cosine, led by neural": float(led_by_neural.mean[0, i]),
        "distance, led by neural": float(led_by_neural.mean[2, i]),
    }
    for i, (percent, step) in enumerate(zip(percents, steps, strict=True))
]
report.table(
    pd.DataFrame(rows),
    f"Directions and distances of the two denoisers, {num_seeds} seeds with {num_samples} paths each, records {records.name}, weights {weights}, "
    f"control {control_weights}, which was trained on {stranger_card['recipe']['data']}",
)

# %% [markdown]
# The control tells how much of the agreement needs a network that knows the records. Where its columns are near those of $D$, what is compared is how well a network takes noise off a picture,
# which it can do without having seen the picture.

# %% tags=["hide-input"]
inputs = {
    records.name: records.sha256,
    f"weights/{weights}": card["sha256"],
    f"weights/{control_weights}": stranger_card["sha256"],
}
if tier == "cifar10":
    bundles.keep("tab04_directions", globals(), tables={"levels": rows}, inputs=inputs)
elif bundles.bundle_path("tab04_directions", "cifar10").is_file():
    bundle = bundles.read_bundle("tab04_directions", "cifar10")
    report.table(pd.DataFrame(bundle.tables["levels"]), f"The same on CIFAR-10 (JPEG copy), {bundle.origin}")

# %% [markdown]
# ## What the printed columns say about each other
#
# Let $\nu$ be the noise in the state. Then $x_t - D$ is nearly noise alone, of norm $\nu\sqrt d$ with $d = 3 \cdot 32 \cdot 32$ for CIFAR-10, and what the denoisers disagree about is
# nearly orthogonal to it. So the cosine fixes the distance of the outputs,
#
# ```{math}
# \lVert\hat{\mathbb E} - D\rVert \approx \nu \sqrt d\, \sqrt{\cos^{-2} - 1} ,
# ```
#
# and the two columns can be held against each other. In a fresh noisy image $\nu$ is the level $t$. In the state of the stochastic sampler it is more, since steps on a
# grid this coarse leave some noise behind ({doc}`/book/sampling`). First a check on the run of this page, with the latter.

# %% tags=["hide-input"]
left_in_state = EULER_MARUYAMA.noise_levels(sigmas.tolist())
num_values = records.unit()[0].numel()
checks = []
for row, step in zip(rows, steps, strict=True):
    cosine = Interval(row["cosine"], row["cosine"])
    checks.append(
        {
            "% of the path": row["% of the path"],
            "noise level": row["noise level"],
            "noise in the state": left_in_state[step],
            "cosine": row["cosine"],
            "distance it implies": implied_distance(cosine, left_in_state[step], num_values).upper,
            "root of the mean squared distance": row["squared distance"] ** 0.5,
        }
    )
report.table(
    pd.DataFrame(checks),
    "Check of the formula on the run of this page, path led by the empirical denoiser: the last two columns should agree where noise "
    "is all there is in the state",
)

# %% [markdown]
# Now the printed columns. The intervals are what the printed digits of the cosine leave open.

# %% tags=["hide-input"]
printed = {claim.id: claim.printed for claim in load_claims("tab04_directions")}
levels = edm_sigmas(50)
noise_left = EULER_MARUYAMA.noise_levels(levels.tolist())
comparison = []
for percent in (0, 32, 46, 55, 65, 70):
    index = round(percent * 50 / 100)
    digits = float(printed[f"tab04.{percent}.cos"])
    cosine = Interval(digits - 5e-5, min(digits + 5e-5, 1.0))
    fresh, kept = (implied_distance(cosine, float(noise[index]), 3 * 32 * 32) for noise in (levels, noise_left))
    comparison.append(
        {
            "% of the path": percent,
            "printed cosine": printed[f"tab04.{percent}.cos"],
            "implies, fresh noise": fresh,
            "implies, stochastic steps": kept,
            "square of the former": Interval(fresh.lower**2, fresh.upper**2),
            "printed error": printed[f"tab04.{percent}.mse"],
        }
    )
report.table(
    pd.DataFrame(comparison), "Distance of the outputs that the printed cosines imply, beside the printed error", digits=3
)

# %% [markdown]
# From 46 % down the printed error is close to the implied *distance*, a little below it, and far from its square. So the column that is headed
# $\lVert\hat{\mathbb E} - D\rVert^2$ most likely holds the mean of $\lVert\hat{\mathbb E} - D\rVert$ (which is never above the root of the mean square that the cosine depends on). This is
# inferred from the printed digits. The first two rows fit both readings, since a cosine of 1.0000 leaves nearly everything open. The column for fresh noise is the nearer one,
# so the paper's states may have been noisy records, or those of a deterministic path, rather than those of the stochastic step.
#
# The same columns tell which path was followed. On a path led by the neural denoiser the empirical one ends far away, at the distance of a different picture. The printed
# cosines stay high and the printed errors fall at low noise, as they do here on the path led by the empirical denoiser.

# %% tags=["hide-input"]
error = led_by_empirical.mean[2]
peak = int(error.argmax())
values = {"tab04.error.peaks": bool(0 < peak < len(error) - 1 and (error[peak:].diff() < 0).all())}
if tier in ("cifar10", "paper"):
    found = {"cos": led_by_empirical.mean[0], "mse": error}
    by_row = {
        f"tab04.{percent}.{name}": float(column[i]) for i, percent in enumerate(percents) for name, column in found.items()
    }
    values |= {key: value for key, value in by_row.items() if key in printed}
report.claims("tab04_directions", values, tier=tier)

# %% tags=["hide-input"]
report.footer("tab04_directions", globals(), inputs=inputs)
