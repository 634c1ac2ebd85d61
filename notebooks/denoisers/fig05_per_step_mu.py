# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 5: what each step costs
#
# The paper's Figure 5 shows the GDP parameter of every denoising step when the whole data set takes part. One step from noise
# level $t$ to $s < t$ costs $\mu = \Delta\sqrt{2(t-s)/t^3}$ (see {doc}`/book/accounting`), so the cost is set by the noise grid
# alone: early steps, taken at high noise, are almost free, and the cost climbs by orders of magnitude towards the image.
#
# The page also checks the noise levels that the paper names in passing. They are how the grid was identified.

# %% tags=["parameters"]
num_steps = 50  # levels of the EDM grid of the figure, a whole number of at least 2
hybrid_num_steps = 39  # levels of the grid of the hybrid runs, a whole number of at least 36
sigma_min = 0.002  # last noise level, pixel units, above 0 and below sigma_max
sigma_max = 80.0  # first noise level, pixel units, above sigma_min
rho = 7.0  # curvature of the EDM grid, above 0
beta = 1.0  # public normalization of the clipped denoiser (sensitivity 1/beta), above 0
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from privlib import figures, report
from privlib.mechanisms import block_gdp_mu, reverse_sde_gdp_mu
from privlib.schedules import edm_sigmas, num_block_steps
from privlib.types import Adjacency

figures.use_style()
sigmas = edm_sigmas(num_steps, sigma_min=sigma_min, sigma_max=sigma_max, rho=rho)
mus = reverse_sde_gdp_mu(sigmas, sensitivity=1.0 / beta).numpy()

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two log-scale panels. Left: GDP parameter of each step against the step number; it rises steadily from below 0.01 at the first step to several hundred at the last. Right: the GDP parameter accumulated so far against the noise level, rising as the noise falls; the last few steps make up almost all of it."}}
figure, (left, right) = plt.subplots(1, 2, figsize=figures.DOUBLE)
left.semilogy(np.arange(1, len(mus) + 1), mus)
left.set(xlabel="step", ylabel=r"GDP parameter $\mu$ of the step", title="Each step on the full batch")
total = np.sqrt(np.cumsum(mus**2))
right.loglog(sigmas[:-1].numpy(), total)
right.invert_xaxis()
right.set(xlabel="noise level $t$ at the start of the step", ylabel=r"$\mu$ of all steps so far", title="Accumulated")
for fraction, style in zip((0.55, 0.65, 0.70), figures.LINE_STYLES[1:], strict=False):
    step = num_block_steps(fraction, num_steps)
    right.axvline(
        float(sigmas[step - 1]), color=figures.PALETTE[4], linestyle=style, linewidth=1, label=f"{fraction:.0%}"
    )
right.legend(title="hand-off")
plt.show()

# %% [markdown]
# The dashed lines mark the hand-offs of the hybrid sampler. Nearly everything to the right of them would be spent on fine detail,
# which is why the paper leaves those steps to a public denoiser.

# %% tags=["hide-input"]
rows = [0, *(num_block_steps(f, num_steps) - 1 for f in (0.32, 0.46, 0.55, 0.65, 0.70)), num_steps - 2]
report.table(
    pd.DataFrame(
        {
            "step": [row + 1 for row in rows],
            "noise level from": sigmas[rows].numpy(),
            "to": sigmas[[row + 1 for row in rows]].numpy(),
            "mu of the step": mus[rows],
            "mu so far": total[rows],
        }
    ),
    "GDP parameter of selected steps, full batch, one output, add or remove one record (an exact guarantee of a Gaussian "
    "mechanism with sensitivity 1/beta, which the paper takes as given)",
)
report.privacy_statement(
    gdp_mu=block_gdp_mu(sigmas, num_steps - 1, beta=beta),
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    sampling="none, every record at every step",
    count=1,
    accountant="exact Gaussian composition",
    kind="certified upper bound",
)

# %% [markdown]
# ## Claims
#
# Percentages of Table 4 name step `round(p N)` of the 50-level grid, and hand-offs of the hybrid runs the last level at
# which the private denoiser is evaluated on the 39-level grid.

# %% tags=["hide-input"]
table4 = edm_sigmas(50, sigma_min=sigma_min, sigma_max=sigma_max, rho=rho)
hybrid = edm_sigmas(hybrid_num_steps, sigma_min=sigma_min, sigma_max=sigma_max, rho=rho)
values = {}
for name, first, last in (("high", 9, 14), ("mid", 15, 20), ("low", 21, 26), ("min", 29, 34)):
    values[f"fig05.window_{name}.first"] = float(hybrid[first])
    values[f"fig05.window_{name}.last"] = float(hybrid[last])
for percent in (0, 32, 46, 55, 65, 70):
    level = float(table4[round(percent * 50 / 100)])
    values[f"fig05.table4_{percent}.t"] = level
    values[f"fig05.table4_{percent}.log_snr"] = -math.log(4 * level**2)
for percent in (55, 65, 70):
    values[f"fig05.handoff_{percent}.t"] = float(hybrid[num_block_steps(percent / 100, hybrid_num_steps) - 1])
values["fig05.trajectory.grows"] = bool((np.diff(mus[: num_block_steps(0.70, num_steps)]) > 0).all())
report.claims("fig05_per_step_mu", values, tier=tier)

# %% tags=["hide-input"]
report.footer("fig05_per_step_mu", globals())
