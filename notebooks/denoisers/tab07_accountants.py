# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Table 7: four accountants, four block sizes
#
# The paper compares its accountants on the CIFAR-10 sampler as the private block grows: an Edgeworth estimate, a privacy loss
# distribution rounded both ways on a grid, and Rényi accounting. All four columns are recomputed here, the grid columns with
# the same library (Google's dp_accounting) and the same grid. A last column gives the interval that this book proves.

# %% tags=["parameters"]
percents = [55, 62, 65, 67]  # share of the 39-level grid that is private, percent, each in 1..100
batch_size = 25  # expected records in a block, from 1 to num_records
num_records = 50000  # private records n
count = 50000  # outputs, a whole number of at least 1
delta = 1e-5  # between 1e-12 and 1
beta = 1.0  # public normalization of the clipped denoiser, above 0
num_steps = 39  # levels of the EDM grid
pld_step = 1e-5  # grid step of the PLD columns, nats; 0 leaves them out (they take a minute)
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
from dataclasses import replace

import pandas as pd

from privlib import report
from privlib.accounting import pld
from privlib.accounting.certified import epsilon_interval
from privlib.accounting.edgeworth import edgeworth_epsilon_estimate
from privlib.accounting.moments import with_replacement_probability
from privlib.accounting.rdp import rdp_epsilon
from privlib.mechanisms import output_wise_block
from privlib.schedules import edm_sigmas
from privlib.types import Adjacency

sigmas = edm_sigmas(num_steps)
drawn_with_replacement = with_replacement_probability(batch_size, num_records)
rows, values = [], {}
for percent in percents:
    block = output_wise_block(
        sigmas, percent / 100, batch_size=batch_size, num_records=num_records, count=count, beta=beta
    )
    row = {
        "mu": block.gdp_mu,
        "edgeworth": edgeworth_epsilon_estimate(replace(block, sampling_probability=drawn_with_replacement), delta),
        "pld_lower": pld.epsilon_lower(block, delta, step=pld_step) if pld_step else None,
        "pld_upper": pld.epsilon_upper(block, delta, step=pld_step) if pld_step else None,
        "rdp": rdp_epsilon(block, delta, orders="integer"),
    }
    values |= {f"tab07.{percent}.{column}": value for column, value in row.items()}
    rows.append({"block": f"{percent} %"} | row | {"certified": epsilon_interval(block, delta)})

# %% tags=["hide-input"]
report.table(
    pd.DataFrame(rows).rename(
        columns={
            "mu": "GDP mu of the block",
            "edgeworth": "Edgeworth estimate",
            "pld_lower": "PLD lower bound",
            "pld_upper": "PLD upper bound",
            "rdp": "Rényi upper bound",
            "certified": "certified by this book",
        }
    ),
    f"Epsilon at delta = {delta:g} of {count:,} outputs by five accountants; B = {batch_size} of n = {num_records:,}, "
    "add or remove one record",
    digits=5,
)
report.privacy_statement(
    epsilon=rows[-1]["certified"],
    delta=delta,
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    sampling=f"Poisson blocks, q = {batch_size}/{num_records:,}, one for each output",
    count=count,
    accountant="certified contour inversion",
    kind="certified interval",
)

# %% [markdown]
# Three things to see. The PLD interval is a quarter wide in every row: its lower end rounds every loss down to the grid, half a
# step for each of the 50,000 outputs. The Edgeworth estimate is excellent while $\varepsilon$ is small and falls below the certified
# *lower* end where it is large, so it must not be published as a guarantee. And whole-order Rényi accounting pays nearly double in
# the last row.
#
# The Edgeworth column comes out to the printed digit when the block is taken to be drawn *with* replacement,
# $q = 1 - (1 - 1/n)^B$. The PLD and Rényi columns need $q = B/n$ (see {doc}`/book/stated_and_inferred`).
#
# ## Claims

# %% tags=["hide-input"]
report.claims("tab07_accountants", values, tier=tier)

# %% tags=["hide-input"]
report.footer("tab07_accountants", globals())
