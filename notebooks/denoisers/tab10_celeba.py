# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Table 10: CelebA-64 by hand-off
#
# One block size and three public re-noising steps on CelebA-64, for five hand-offs. The image quality column needs the published
# denoisers; {doc}`sweep_quality` shows what can be compared at the scale of this book.

# %% tags=["parameters"]
percents = [55, 62, 65, 67, 70]  # share of the 39-level grid that is private, percent, each in 1..100
batch_size = 100  # expected records in a block, from 1 to num_records
num_records = 162770  # private records n
count = 50000  # outputs, a whole number of at least 1
delta = 1e-6  # between 1e-12 and 1
beta = 1.0  # public normalization of the clipped denoiser, above 0
num_steps = 39  # levels of the EDM grid
pld_step = 1e-5  # grid step of the paper's lower column, nats; 0 leaves it out (it takes a minute)
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
from dataclasses import replace

import pandas as pd

from privlib import report
from privlib.accounting import pld
from privlib.accounting.certified import epsilon_interval
from privlib.accounting.edgeworth import edgeworth_epsilon_estimate
from privlib.accounting.moments import with_replacement_probability
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
    certified = epsilon_interval(block, delta)
    row = {
        "edgeworth": edgeworth_epsilon_estimate(replace(block, sampling_probability=drawn_with_replacement), delta),
        "pld_lower": pld.epsilon_lower(block, delta, step=pld_step) if pld_step else None,
        "pld_upper": certified.upper,
    }
    values |= {f"tab10.{percent}.{column}": value for column, value in row.items()}
    rows.append(
        {
            "hand-off": f"{percent} %",
            "Edgeworth estimate": row["edgeworth"],
            "PLD lower bound": row["pld_lower"],
            "certified interval": certified,
        }
    )

# %% tags=["hide-input"]
report.table(
    pd.DataFrame(rows),
    f"Epsilon at delta = {delta:g} by hand-off: B = {batch_size} of n = {num_records:,}, {count:,} outputs, add or remove one record",
    digits=6,
)
report.privacy_statement(
    epsilon=rows[-1]["certified interval"],
    delta=delta,
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    sampling=f"Poisson blocks, q = {batch_size}/{num_records:,}, one for each output",
    count=count,
    accountant="certified contour inversion",
    kind="certified interval",
)

# %% [markdown]
# ## Claims

# %% tags=["hide-input"]
report.claims("tab10_celeba", values, tier=tier)

# %% tags=["hide-input"]
report.footer("tab10_celeba", globals())
