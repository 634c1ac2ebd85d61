# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Table 12: Rényi accounting at a stricter delta
#
# Rényi differential privacy is a proved upper bound as well, and the quickest to compute. The paper's Table 12 lists it for three
# hand-offs at two values of $\delta$. The printed numbers come out when only whole orders are searched. This page shows what real
# orders gain, and how far either stays from the exact value.

# %% tags=["parameters"]
percents = [55, 62, 65]  # share of the 39-level grid that is private, percent, each in 1..100
batch_size = 25  # expected records in a block, from 1 to num_records
num_records = 50000  # private records n
count = 50000  # outputs, a whole number of at least 1
deltas = [1e-5, 4e-10]  # values of delta, each between 0 and 1
beta = 1.0  # public normalization of the clipped denoiser, above 0
num_steps = 39  # levels of the EDM grid
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import pandas as pd

from privlib import report
from privlib.accounting.certified import epsilon_interval
from privlib.accounting.rdp import best_renyi_bound
from privlib.mechanisms import output_wise_block
from privlib.schedules import edm_sigmas
from privlib.types import Adjacency

sigmas = edm_sigmas(num_steps)
rows, values = [], {}
for percent in percents:
    block = output_wise_block(
        sigmas, percent / 100, batch_size=batch_size, num_records=num_records, count=count, beta=beta
    )
    for delta, column in zip(deltas, ("rdp", "rdp_strict"), strict=False):
        whole, real = best_renyi_bound(block, delta, orders="integer"), best_renyi_bound(block, delta)
        values[f"tab12.{percent}.{column}"] = whole.epsilon
        rows.append(
            {
                "hand-off": f"{percent} %",
                "delta": f"{delta:g}",
                "whole orders": whole.epsilon,
                "order": whole.order,
                "real orders": real.epsilon,
                "best order": real.order,
                "certified": epsilon_interval(block, delta),
            }
        )
report.table(
    pd.DataFrame(rows),
    f"Rényi upper bounds of epsilon and the certified interval: B = {batch_size} of n = {num_records:,} by Poisson sampling, "
    f"{count:,} outputs, add or remove one record",
    digits=5,
)
report.privacy_statement(
    epsilon=rows[-1]["whole orders"],
    delta=deltas[-1],
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    sampling=f"Poisson blocks, q = {batch_size}/{num_records:,}, one for each output",
    count=count,
    accountant="Rényi, whole orders",
    kind="certified upper bound",
)

# %% [markdown]
# Real orders help a little where the best order is small. What remains is the price of Rényi accounting itself: it keeps one moment
# of the privacy loss and forgets the rest of its distribution.
#
# ## Claims

# %% tags=["hide-input"]
values["tab12.caption.strict_delta"] = abs(1 / 50_000**2 - 4e-10) < 1e-24
report.claims("tab12_rdp", values, tier=tier)

# %% tags=["hide-input"]
report.footer("tab12_rdp", globals())
