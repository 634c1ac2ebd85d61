# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 1: do the empirical and the neural denoiser point the same way?
#
# The empirical denoiser $\hat{\mathbb E}$ is the posterior mean over the records: exact, and as private as a copy of them. A neural denoiser $D$,
# trained on the same records, approximates it. If the two agree while an image forms, then the cost of the first, which can be
# computed, says something about the second. The paper follows the cosine between their directions,
#
# ```{math}
# \cos\bigl(x_t - \hat{\mathbb E}(x_t, t),\; x_t - D(x_t, t)\bigr),
# ```
#
# along the path of a sampler, against $\log \mathrm{SNR} = \log \frac{1}{4 t^2}$, and finds that they agree at high noise and part at low noise.
#
# Which sampler makes the path is not printed. Here there are two, both on the 50-level grid with the stochastic step of {doc}`/book/accounting`, from the same
# noise: one is led by the empirical denoiser, the other by the neural one. {doc}`tab04_directions` has the numbers of Table 4.

# %% tags=["parameters"]
data = "emoji/public"  # records that both denoisers are about, a name that privlib.data.load accepts
weights = "emoji"  # neural denoiser trained on these records, a name that load_named accepts
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
num_steps = 50  # levels of the EDM grid, a whole number of at least 10
num_samples = 32  # paths for each seed, at least 1
num_seeds = 3  # seeds that means and standard errors are over, at least 2
seed = 0  # first seed of the noise, a whole number from 0
device = "auto"  # where denoisers run, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import pandas as pd
import torch

from privlib import figures, report
from privlib.data import load
from privlib.denoisers.empirical import EmpiricalDenoiser
from privlib.denoisers.named import card_of, load_named
from privlib.metrics.directions import Directions, average_over_seeds
from privlib.numerics import choose_device
from privlib.report import bundles
from privlib.samplers.hybrid import reference
from privlib.samplers.path import public_euler_maruyama
from privlib.schedules import edm_sigmas, log_snr

figures.use_style()
where = choose_device(device)
records, card = load(data, folder=data_folder), card_of(weights)
empirical, neural = EmpiricalDenoiser(records), load_named(weights).to(where)
centre = records.unit().mean(dim=0)
sigmas = edm_sigmas(num_steps)


def mean_image(x, sigma):
    """The control: a denoiser that knows no more than the mean of the records."""
    return centre.to(x).expand_as(x)


def follow(leader, other, run_seed):
    """Compare ``leader`` with ``other`` and with the control along the path that it leads."""
    compared, control = Directions(other), Directions(mean_image)

    def both(*state):
        compared(*state)
        control(*state)

    reference(
        leader,
        sigmas,
        image_shape=records.image_shape,
        count=num_samples,
        seed=run_seed,
        solver=public_euler_maruyama,
        device=where,
        observe=both,
    )
    return compared, control


seeds = range(seed, seed + num_seeds)
led_by_empirical, controls = zip(*(follow(empirical, neural, s) for s in seeds), strict=True)
led_by_neural, _ = zip(*(follow(neural, empirical, s) for s in seeds), strict=True)


def cosine(runs):
    return average_over_seeds(torch.stack([run.cosines.mean(dim=1) for run in runs]))


def distance(runs):
    return average_over_seeds(torch.stack([run.squared_distances.mean(dim=1) for run in runs]))


axis = log_snr(sigmas)

# %% [markdown]
# ## Along the path

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels against log SNR, which rises from left to right as the noise falls. Left: cosine between the directions. All three curves are one at high noise. The one of the path led by the empirical denoiser bends down last, that of the path led by the neural denoiser earlier, and the control first, to zero. Right: squared distance of the outputs on a log axis. All three rise at high noise; then the path led by the empirical denoiser falls steadily while the other two stay level."}}
figure, (left, right) = plt.subplots(1, 2, figsize=figures.DOUBLE)
lines = (
    (led_by_empirical, "path led by the empirical denoiser"),
    (led_by_neural, "path led by the neural denoiser"),
    (controls, "empirical denoiser and mean image"),
)
for axes, measure in ((left, cosine), (right, distance)):
    for runs, label in lines:
        average = measure(runs)
        line = axes.plot(axis, average.mean, label=label)[0]
        low, high = average.mean - average.standard_error, average.mean + average.standard_error
        axes.fill_between(axis, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
    axes.set(xlabel=r"$\log\,\mathrm{SNR} = \log\,1/(4t^2)$")
left.set(ylabel=r"$\cos(x_t - \hat{E},\, x_t - D)$")
left.legend(loc="lower left", fontsize=9)
right.set(yscale="log", ylabel=r"$\|\hat{E} - D\|^2$")
plt.show()

# %% [markdown]
# Lines are means over the seeds, bands their standard errors. Distances are summed over pixels and channels, on the unit scale $[-1, 1]$.
#
# **A cosine near one at high noise is no achievement.** Both directions contain the same noise, of norm $t \sqrt d$, and whatever two denoisers disagree about is small
# beside it. The control shows how much of the agreement comes for free: it compares the empirical denoiser with the mean of the records, which knows nothing
# of $x_t$. What the neural denoiser has learned is the gap between the two curves. The right panel, without the noise, is the stricter comparison: where
# the control lies below a path there, the network is further off than the mean image would be.
#
# **Who leads the path decides what happens at low noise.** A path led by the empirical denoiser ends in one of the records. Near a record the neural denoiser
# only has to take off a little noise, and the two are close. A path led by the neural denoiser ends in a new image; there the empirical denoiser answers with the nearest
# record, which is another picture. The agreement that the paper reports at low noise is of the first kind: {doc}`tab04_directions` compares.

# %% tags=["hide-input"]
shown = [int((sigmas - level).abs().argmin()) for level in (80.0, 20.0, 10.2, 3.29, 1.29, 0.55, 0.27, 0.1, 0.02)]
agreement, agreement_neural, control = cosine(led_by_empirical), cosine(led_by_neural), cosine(controls)
apart, apart_neural = distance(led_by_empirical), distance(led_by_neural)
rows = [
    {
        "noise level": float(sigmas[i]),
        "log SNR": float(axis[i]),
        "cosine, led by empirical": float(agreement.mean[i]),
        "its standard error": float(agreement.standard_error[i]),
        "cosine, led by neural": float(agreement_neural.mean[i]),
        "cosine, control": float(control.mean[i]),
        "squared distance, led by empirical": float(apart.mean[i]),
        "squared distance, led by neural": float(apart_neural.mean[i]),
    }
    for i in dict.fromkeys(shown)
]
report.table(
    pd.DataFrame(rows),
    f"Agreement of the denoisers at some noise levels, {num_seeds} seeds with {num_samples} paths each, records {records.name}, weights {weights}",
)

# %% [markdown]
# ## What limits the comparison
#
# The neural denoiser is small, was trained for a few hours, and saw its records in changed forms, so what it approximates is the posterior mean over all those
# forms and not over the records as they are.

# %% tags=["hide-input"]
if recipe := card.get("recipe"):  # of published weights it is not known
    trained = {
        "data": recipe["data"],
        "images seen in training": f"{card['images_seen']:,}",
        "mirrored at random": "yes" if recipe["flip"] else "no",
        "moved at random, pixels": str(recipe["shift"]),
        "mean and deviation of ln(noise level)": f"{recipe['p_mean']:g} and {recipe['p_std']:g}",
    }
    report.table(
        pd.DataFrame({"": list(trained), "value": list(trained.values())}),
        f"How the neural denoiser {weights} was trained",
    )

# %% tags=["hide-input"]
inputs = {records.name: records.sha256, f"weights/{weights}": card["sha256"]}
if tier == "cifar10":
    bundles.keep("fig01_cosine_similarity", globals(), tables={"levels": rows}, inputs=inputs)
elif bundles.bundle_path("fig01_cosine_similarity", "cifar10").is_file():
    bundle = bundles.read_bundle("fig01_cosine_similarity", "cifar10")
    report.table(pd.DataFrame(bundle.tables["levels"]), f"The same on CIFAR-10 (JPEG copy), {bundle.origin}")

# %% tags=["hide-input"]
by_level = agreement.mean[[int((sigmas - level).abs().argmin()) for level in (10.2, 3.29, 1.29, 0.55, 0.27)]]
report.claims(
    "fig01_cosine_similarity",
    {
        "fig01.high_noise.agrees": bool((agreement.mean[sigmas > 10.0] >= 0.999).all()),
        "fig01.low_noise.parts": bool((by_level.diff() < 0).all()),
    },
    tier=tier,
)

# %% tags=["hide-input"]
report.footer("fig01_cosine_similarity", globals(), inputs=inputs)
