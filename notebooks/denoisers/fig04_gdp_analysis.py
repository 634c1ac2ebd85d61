# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 4: full-batch Gaussian DP, and where the grid ends
#
# With every record at every step the whole sampler is one Gaussian mechanism, and its GDP parameter says everything. The paper's
# Figure 4 varies the last noise level `sigma_min` of the grid. Its left panel turns $\mu$ into $(\varepsilon, \delta)$, its
# middle panel into the errors of the best membership test. Its right panel shows the images.
#
# The paper does not list the values of `sigma_min` in the text of the figure; the ones below span the range in which the
# guarantee goes from meaningful to void.

# %% tags=["parameters"]
num_steps = 50  # levels of the EDM grid, a whole number of at least 2
sigma_mins = [
    10.0,
    5.0,
    2.0,
    1.0,
    0.5,
    0.002,
]  # last noise levels compared, pixel units, each above 0 and below sigma_max
sigma_max = 80.0  # first noise level, pixel units
rho = 7.0  # curvature of the EDM grid, above 0
beta = 1.0  # public normalization of the clipped denoiser (sensitivity 1/beta), above 0
delta = 1e-5  # delta at which the table states epsilon, between 0 and 1
private_data = "emoji/private"  # records of the pictures, a name that privlib.data.load accepts
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
seed = 5  # seed of the noise in the pictures, a whole number from 0
device = "auto"  # where the pictures are computed, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

from privlib import figures, report
from privlib.accounting import gdp
from privlib.data import load
from privlib.data.images import to_bytes
from privlib.denoisers.empirical import EmpiricalDenoiser
from privlib.mechanisms import block_gdp_mu
from privlib.numerics import choose_device
from privlib.samplers.hybrid import full_batch
from privlib.samplers.path import Plan
from privlib.samplers.trajectory import Trajectory
from privlib.schedules import edm_sigmas
from privlib.types import Adjacency

figures.use_style()
mus = {
    sigma_min: block_gdp_mu(
        edm_sigmas(num_steps, sigma_min=sigma_min, sigma_max=sigma_max, rho=rho), num_steps - 1, beta=beta
    )
    for sigma_min in sigma_mins
}

# %% tags=["hide-input"] mystnb={"image": {"alt": "Left: delta against epsilon, log scale in delta, one curve for each last noise level; curves for large last levels fall off below epsilon 1, the curve for the smallest stays at one across the whole panel. Right: type II error against type I error; large last levels lie close to the diagonal of random guessing, the smallest hugs the axes, where membership is certain."}}
figure, (left, right) = plt.subplots(1, 2, figsize=figures.DOUBLE)
epsilons, alpha = np.linspace(0.0, 12.0, 241), np.linspace(0.0, 1.0, 201)
for (sigma_min, mu), colour, style in zip(mus.items(), figures.PALETTE, figures.LINE_STYLES, strict=False):
    label = rf"{sigma_min:g}  ($\mu$ = {mu:.3g})"
    left.semilogy(
        epsilons, [gdp.delta_for_epsilon(mu, e) for e in epsilons], color=colour, linestyle=style, label=label
    )
    right.plot(alpha, gdp.tradeoff(mu, alpha), color=colour, linestyle=style, label=label)
right.plot(alpha, 1 - alpha, color="#999999", linewidth=1, label="random guessing")
left.set(xlabel=r"$\varepsilon$", ylabel=r"$\delta$", ylim=(1e-10, 2), title=r"$(\varepsilon, \delta)$ of one sample")
right.set(xlabel="type I error", ylabel="smallest type II error", title="Best membership test")
right.legend(title=r"last level $\sigma_{\min}$", loc="upper right", fontsize=9)
plt.show()

# %% [markdown]
# Every curve is exact, not a bound: a composition of Gaussian mechanisms is a Gaussian mechanism. The guarantee is about one
# sample; a second sample from the same records adds its $\mu^2$.

# %% tags=["hide-input"]
report.table(
    pd.DataFrame(
        {
            "last level": list(mus),
            "gdp_mu": list(mus.values()),
            "epsilon": [gdp.epsilon_for_delta(mu, delta) for mu in mus.values()],
            "attack success at most": [0.5 * (1.0 + gdp.delta_for_epsilon(mu, 0.0)) for mu in mus.values()],
        }
    ),
    f"Exact privacy of one full-batch sample by last noise level: epsilon at delta = {delta:g}, add or remove one record, and the "
    "success rate of the best membership test with even odds",
)
report.privacy_statement(
    epsilon=gdp.epsilon_interval(mus[sigma_mins[-1]], delta),
    delta=delta,
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    sampling=f"none, every record at every step down to sigma_min of {sigma_mins[-1]:g}",
    count=1,
    accountant="exact Gaussian formula",
    kind="certified interval",
)

# %% [markdown]
# ## The process behind the numbers
#
# One sample for each last level, from the same initial noise, with the posterior mean over all records. Six states of each path are
# shown, scaled so that noise and image both fit the grey range. The columns are shares of the path, and the noise level is written
# into each row's label at its end.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Grid of images: one row for each last noise level, six columns from the start of the path to its end. The first columns are noise. Rows that stop at a large level end in noise through which nothing can be seen; rows that stop at a small level end in one clean picture, a copy of a record."}}
private = load(private_data, folder=data_folder)
posterior_mean = EmpiricalDenoiser(private)
shown = np.linspace(0, num_steps - 1, 6).round().astype(int).tolist()
pictures, last_states = [], {}
for sigma_min in sigma_mins:
    path = Trajectory()
    levels = edm_sigmas(num_steps, sigma_min=sigma_min, sigma_max=sigma_max, rho=rho)
    run = full_batch(
        posterior_mean, Plan(levels, num_steps - 1), count=1, seed=seed, device=choose_device(device), observe=path
    )
    states = torch.cat([path.states[:, 0], run.images.cpu()])
    scaled = states / (1.0 + 4.0 * levels**2).sqrt().reshape(-1, 1, 1, 1)
    pictures.append(to_bytes(scaled[shown]).permute(0, 2, 3, 1).numpy())
    last_states[sigma_min] = run.images.cpu()
figures.image_grid(
    np.stack(pictures),
    rows=[rf"to $\sigma$ = {sigma_min:g}" for sigma_min in sigma_mins],
    columns=[f"{index / (num_steps - 1):.0%}" for index in shown],
)
plt.show()

# %% [markdown]
# The picture at the bottom is not new: it is one of the records, as every output of this sampler is once the noise is small. The
# table measures it. A released state that lies much closer to one record than to all others gives that record away, which is what the
# large $\mu$ of the last rows says.

# %% tags=["hide-input"]
records = private.unit(torch.float64).flatten(1)
nearest = {
    sigma_min: torch.cdist(state.flatten(1), records)[0].sort().values[:2] / records.shape[1] ** 0.5
    for sigma_min, state in last_states.items()
}
report.table(
    pd.DataFrame(
        {
            "last level": list(nearest),
            "gdp_mu": [mus[sigma_min] for sigma_min in nearest],
            "to the nearest record": [float(distances[0]) for distances in nearest.values()],
            "to the second": [float(distances[1]) for distances in nearest.values()],
        }
    ),
    f"Distance of the released state from the nearest two of the {len(private):,} records, root mean square over pixels",
)

# %% tags=["hide-input"]
report.claims("fig04_gdp_analysis", {}, tier=tier)

# %% tags=["hide-input"]
report.footer("fig04_gdp_analysis", globals(), inputs={private.name: private.sha256})
