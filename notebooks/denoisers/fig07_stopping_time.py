# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 7: stopping early
#
# Instead of moving the end of the grid (Figure 4), the paper's Figure 7 keeps the grid and stops the private part after a
# number of steps. What follows is free as long as it sees no private record. The panels show the exact privacy of one sample
# on the full batch for several stopping points.

# %% tags=["parameters"]
num_steps = 50  # levels of the EDM grid, a whole number of at least 2
fractions = [0.32, 0.46, 0.55, 0.65, 0.70, 0.80]  # share of the grid that is private, each above 0 and at most 1
beta = 1.0  # public normalization of the clipped denoiser (sensitivity 1/beta), above 0
delta = 1e-5  # delta at which the table states epsilon, between 0 and 1
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from privlib import figures, report
from privlib.accounting import gdp
from privlib.mechanisms import block_gdp_mu
from privlib.schedules import edm_sigmas, num_block_steps
from privlib.types import Adjacency

figures.use_style()
sigmas = edm_sigmas(num_steps)
steps = [num_block_steps(fraction, num_steps) for fraction in fractions]
mus = [block_gdp_mu(sigmas, k, beta=beta) for k in steps]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Left: delta against epsilon, log scale in delta, one curve for each stopping point; stopping at 32 percent keeps epsilon below one half, stopping at 80 percent leaves delta near one over the whole panel. Right: type II error against type I error; early stops lie on the diagonal of random guessing, late stops near the axes."}}
figure, (left, right) = plt.subplots(1, 2, figsize=figures.DOUBLE)
epsilons, alpha = np.linspace(0.0, 12.0, 241), np.linspace(0.0, 1.0, 201)
for fraction, k, mu, colour, style in zip(fractions, steps, mus, figures.PALETTE, figures.LINE_STYLES, strict=False):
    label = rf"{fraction:.0%}, $t$ = {float(sigmas[k - 1]):.2g} ($\mu$ = {mu:.2g})"
    left.semilogy(
        epsilons, [gdp.delta_for_epsilon(mu, e) for e in epsilons], color=colour, linestyle=style, label=label
    )
    right.plot(alpha, gdp.tradeoff(mu, alpha), color=colour, linestyle=style, label=label)
right.plot(alpha, 1 - alpha, color="#999999", linewidth=1, label="random guessing")
left.set(xlabel=r"$\varepsilon$", ylabel=r"$\delta$", ylim=(1e-10, 2), title=r"$(\varepsilon, \delta)$ of one sample")
right.set(xlabel="type I error", ylabel="smallest type II error", title="Best membership test")
right.legend(title="stopped at", loc="upper right", fontsize=9)
plt.show()

# %% tags=["hide-input"]
report.table(
    pd.DataFrame(
        {
            "stopped at": [f"{fraction:.0%}" for fraction in fractions],
            "steps": steps,
            "last private level": [float(sigmas[k - 1]) for k in steps],
            "gdp_mu": mus,
            "epsilon": [gdp.epsilon_for_delta(mu, delta) for mu in mus],
            "attack success at most": [0.5 * (1.0 + gdp.delta_for_epsilon(mu, 0.0)) for mu in mus],
        }
    ),
    f"Exact privacy of one full-batch sample by stopping point: epsilon at delta = {delta:g}, add or remove one record, and the "
    "success rate of the best membership test with even odds",
)
report.privacy_statement(
    epsilon=gdp.epsilon_interval(mus[-1], delta),
    delta=delta,
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    sampling=f"none, every record at each of the first {steps[-1]} steps",
    count=1,
    accountant="exact Gaussian formula",
    kind="certified interval",
)

# %% tags=["hide-input"]
report.claims("fig07_stopping_time", {}, tier=tier)

# %% tags=["hide-input"]
report.footer("fig07_stopping_time", globals())
