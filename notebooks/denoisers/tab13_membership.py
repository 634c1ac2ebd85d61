# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Table 13: membership attacks on neural denoisers
#
# The table sets two things side by side that do not bound each other. Its *theoretical* rows turn epsilon into a success rate for telling whether a record was used
# by the subsampled empirical sampler. Its *numerical* row is a measured attack {cite:p}`duan2023are` on a neural denoiser that was trained on
# all private images, without subsampling and without any guarantee. The theoretical rows have a page of their own, {doc}`tab13_attack_bound`, and
# the samplers of this library are attacked in {doc}`audit`. Here is the whole table, with the attack made on three situations:
#
# * a denoiser of **many members**, a random half of a set. The other half, of the same distribution, are the non-members.
# * one **over-fitted on purpose**: it goes on from the first with few of its members. The attack has to be seen to work, or its failures mean nothing.
# * a **control**: neither side was ever seen. Whatever an attack finds here is not membership.
#
# A member is a *picture*. Two vendors draw the same concept, so a non-member may have a twin among the members; that makes an attack harder.

# %% tags=["parameters"]
denoisers = [
    "emoji_overfitted",
    "emoji_members",
]  # what is attacked: names that load_denoiser accepts, or a hub name of a diffusers pipeline
overfitted = "emoji_overfitted"  # the one of them that is over-fitted on purpose; empty for none
weights_folder = ""  # folder of weights that are not shipped; empty for those of the library
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
published_data = ["cifar10/train", "cifar10/test"]  # what a hub's network was trained on, and was not; for hub names
num_members = 800  # members that are attacked, a random choice, at least 24
num_others = 800  # non-members that are attacked, a random choice, at least 60
stops = [1.0, 0.75, 0.5, 0.25, 0.1]  # shares of the chain of 1,000 steps, multiples of interval / 1000 in (0, 1]
shown_stop = 0.1  # the stop that figures and the second table show, one of stops; 0.1 is the choice of Duan et al.
interval = 50  # steps of the chain in one step of the walk, a divisor of 1000; Duan et al. take 10
draws = 1  # noise draws of the denoising error, at least 1
fpr_bounds = [0.1, 0.01]  # bounds of the false positive rate, each between 0 and 1
seeds = [0, 1, 2, 3, 4]  # one repetition each, at least 2 whole numbers from 0
confidence = 0.95  # of each interval, between 0 and 1; of the control's intervals all together
sampling_probabilities = [0.5, 0.01, 0.005]  # theory: chance that a record is in a block, each above 0 and at most 1
num_private_steps = [1, 10, 20, 30]  # theory: private steps before stopping at T, 3T/4, T/2 and T/4, increasing
tolerances = [1e-4, 1e-4, 1e-4, 0.05]  # theory: widths of the certified intervals of epsilon, one for each stop, nats
delta = 1e-5  # theory: between 0 and 1
num_levels = 39  # theory: levels of the EDM grid
beta = 1.0  # theory: public normalization (sensitivity 1/beta in the reported accounting), above 0
batch_size = 100  # images at once, at least 1
seed = 0  # seed of the choice of images and of the noise, a whole number from 0
device = "auto"  # where the denoisers run, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from privlib import figures, report
from privlib.accounting.stopped import stopped_path
from privlib.attacks.membership import DENOISING, PROXIMAL, T_ERROR, error_maps
from privlib.attacks.repeated import repeat_attack, repeat_control
from privlib.attacks.scoring import mean_over, roc_at
from privlib.attacks.targets import load_target
from privlib.mechanisms import reverse_sde_gdp_mu
from privlib.numerics import choose_device
from privlib.report import bundles
from privlib.schedules import edm_sigmas
from privlib.types import Interval, Trend

figures.use_style()
where = choose_device(device)
LEARNED = "learned from t-errors"
ATTACKS = {T_ERROR: T_ERROR, LEARNED: T_ERROR, PROXIMAL: PROXIMAL, DENOISING: DENOISING}
MEMBERS, CONTROL = "members and others", "control"
FOUND_OUT = 0.9  # an AUC that says that an attack works
CHAIN = {1.0: "T", 0.75: "3T/4", 0.5: "T/2", 0.25: "T/4"}
CLAIMS = {1.0: "T", 0.75: "T3_4", 0.5: "T1_2", 0.25: "T1_4"}
names = {stop: CHAIN.get(stop, f"{stop:g} T") for stop in stops}

targets, sizes, maps, inputs = {}, [], {}, {}
for weights in denoisers:
    target = load_target(weights, folder=weights_folder, data_folder=data_folder, published_data=tuple(published_data))
    sides = [
        side.draw(min(most, len(side)), seed=seed)
        for side, most in ((target.members, num_members), (target.others, num_others))
    ]
    network = target.denoiser.to(where)
    maps[weights] = [
        error_maps(
            network,
            side.unit(),
            stops=stops,
            interval=interval,
            draws=draws,
            seed=seed + place,
            batch_size=batch_size,
            device=where,
        )
        for place, side in enumerate(sides)
    ]
    inputs |= {side.name: side.sha256 for side in (target.members, target.others)} | {weights: target.checksum}
    sizes.append(
        {
            "denoiser": weights,
            "trained on": target.members.name,
            "members": len(target.members),
            "non-members": target.others.name,
            "members attacked": len(sides[0]),
            "non-members attacked": len(sides[1]),
        }
    )

report.table(pd.DataFrame(sizes), f"What is attacked at the {tier} scale; no picture is on both sides")

# %% tags=["hide-input"]
num_controls = len(denoisers) * len(ATTACKS) * len(stops) * len(seeds)
together = 1.0 - (1.0 - confidence) / num_controls
outcomes = {}
for weights in denoisers:
    members, others = maps[weights]
    for attack, statistic in ATTACKS.items():
        for place, stop in enumerate(stops):
            common = {"learned": attack == LEARNED, "seeds": seeds}
            pair = members[statistic][:, place], others[statistic][:, place]
            outcomes[weights, MEMBERS, attack, stop] = repeat_attack(
                *pair, bounds=fpr_bounds, confidence=confidence, **common
            )
            outcomes[weights, CONTROL, attack, stop] = repeat_control(pair[1], bounds=[], confidence=together, **common)


def typical(intervals):
    """Ends of a typical interval: the mean over the seeds of each end."""
    return [float(np.mean(ends)) for ends in zip(*((one.lower, one.upper) for one in intervals), strict=True)]


def row_of(found):
    """Success rate and AUC of one attack over the seeds."""
    success, area = mean_over([one.success.value for one in found]), mean_over([one.auc for one in found])
    low, high = typical([one.success.interval for one in found])
    return {
        "asr": success.value,
        "asr_error": success.standard_error,
        "asr_low": low,
        "asr_high": high,
        "auc": area.value,
        "auc_error": area.standard_error,
        "auc_low": min(one.auc_interval.lower for one in found),
        "auc_high": max(one.auc_interval.upper for one in found),
        "half_inside": sum(one.auc_interval.lower <= 0.5 <= one.auc_interval.upper for one in found),
    }


def rate_of(found):
    """True positives at one bound over the seeds."""
    low, high = typical([one.true_positives.interval for one in found])
    return {
        "tpr": float(np.mean([one.true_positives.value for one in found])),
        "tpr_low": low,
        "tpr_high": high,
        "fpr": float(np.mean([one.false_positives.value for one in found])),
    }


rows = [
    {"denoiser": weights, "case": case, "attack": attack, "stop": stop} | row_of(found)
    for (weights, case, attack, stop), found in outcomes.items()
]
bounded_rows = [
    {"denoiser": weights, "attack": attack, "stop": stop, "bound": bound}
    | rate_of([one.bounded[place] for one in found])
    for (weights, case, attack, stop), found in outcomes.items()
    if case == MEMBERS
    for place, bound in enumerate(fpr_bounds)
]

# %% [markdown]
# ## The table
#
# What "stop at $t$" means for each half is inferred. For the sampler: that many private steps of the EDM grid ({doc}`tab13_attack_bound`). For the attack: the step
# of the 1,000-step chain of {cite:t}`duan2023are` at which the error is taken. At $T$ and $3T/4$ the two have about the same noise; at $T/4$ the
# chain still has a noise level near one, where the sampler's grid has left it far behind. The row *best test* for each $q$ is the success of the best test there is
# against the very mechanism; a dash where no bracket of it could be proved. The printed $\pm$ is not explained; here it is the standard error over the seeds.

# %% tags=["hide-input"]
mus = reverse_sde_gdp_mu(edm_sigmas(num_levels), sensitivity=1.0 / beta).tolist()
theory_columns = list(CHAIN.values())[: len(num_private_steps)]
printed = {
    claim.id: claim.printed
    for asset in ("tab13_attack_bound", "tab13_membership")
    for claim in report.load_claims(asset)
}
theory_rows = []
for q in sampling_probabilities:
    found = [
        stopped_path(mus[:steps], q, delta=delta, tolerance=tolerance)
        for steps, tolerance in zip(num_private_steps, tolerances, strict=False)
    ]
    cells = {
        "as printed": [printed.get(f"tab13.q{q:g}.{CLAIMS[stop]}", "–") for stop in CHAIN][: len(found)],
        "from epsilon": [f"{one.from_epsilon:.4f}" for one in found],
        "best test": ["–" if one.best_test is None else f"{one.best_test.upper:.4f}" for one in found],
    }
    theory_rows += [
        {"row": f"theoretical, q = {q:g}, {kind}"} | dict(zip(theory_columns, values, strict=True))
        for kind, values in cells.items()
    ]


def measured(found, attack):
    """One line for each denoiser and case."""
    chosen = found[found.attack == attack]
    return [
        {"row": f"measured, {weights}, {case}"}
        | {names.get(row.stop, f"{row.stop:g} T"): f"{row.asr:.4f} ± {row.asr_error:.4f}" for row in part.itertuples()}
        for (weights, case), part in chosen.groupby(["denoiser", "case"], sort=False)
    ]


def whole_table(found, caption):
    printed_row = {"row": "measured, as printed"} | {
        name: printed[f"tab13.numerical.{CLAIMS[stop]}"] for stop, name in CHAIN.items()
    }
    frame = pd.DataFrame([*theory_rows, printed_row, *measured(found, T_ERROR)]).fillna("–")
    report.table(frame, caption)


caption = (
    f"Success rate at even odds. Theoretical: one output, a fresh Poisson block at each step, delta = {delta:g}, add or remove one record, sensitivity "
    f"{1.0 / beta:g} taken as given; from epsilon: upper end of the certified interval, delta dropped; best test: certified upper end. Measured: t-error, mean and standard error over {len(seeds)} seeds"
)
whole_table(pd.DataFrame(rows), f"{caption}, at the {tier} scale")

# %% [markdown]
# No measured row is bounded by a theoretical one: a trained network is another release than a sampler that never trained one. Where a network was shown each picture
# a few times, the attack is near a guess, and that says little: a better attack may exist.
#
# ## The attacks compared
#
# *t-error* {cite:p}`duan2023are`: walk up without noise, one step further and back, and measure how far off one lands. *Proximal error* {cite:p}`kong2024efficient`:
# the denoiser's own noise in place of random noise. *Denoising error* {cite:p}`matsumoto2023membership,carlini2023extracting`: the training loss. The *learned* attack is
# a logistic model on maps of the t-error, in place of the residual network of Duan et al., which needs more pictures. Formulas for denoisers $D(x, \sigma)$ are in
# `privlib.attacks.membership`.
#
# A quarter of the pictures is learned from (by the learned attack), a quarter chooses thresholds, half is scored. The true positive rate is stated where the false positive rate
# is *bounded*: the threshold is so high that another non-member lies above it at most that often. Choosing the nearest rate instead, or choosing
# on the scored pictures, flatters an attack.


# %% tags=["hide-input"]
def compared(found, stop):
    """Success rate and AUC of every attack at one stop."""
    return pd.DataFrame(
        {
            "denoiser": row.denoiser,
            "attack": row.attack,
            "success rate": row.asr,
            "its interval": Interval(row.asr_low, row.asr_high),
            "AUC": row.auc,
            "± over seeds": row.auc_error,
        }
        for row in found[(found.stop == stop) & (found.case == MEMBERS)].itertuples()
    )


def bounded(found, stop):
    """True positives of every attack at one stop where false positives are bounded."""
    return pd.DataFrame(
        {
            "denoiser": row.denoiser,
            "attack": row.attack,
            "FPR at most": row.bound,
            "TPR": row.tpr,
            "its interval": Interval(row.tpr_low, row.tpr_high),
            "FPR that was found": row.fpr,
        }
        for row in found[found.stop == stop].itertuples()
    )


means = f"Means over {len(seeds)} seeds; intervals of {confidence:.0%} for one repetition, means of their ends"
at_stop = f"of every attack at the stop {names[shown_stop]}, at the {tier} scale. {means}"
report.table(compared(pd.DataFrame(rows), shown_stop), f"Success rate and AUC {at_stop}", digits=3)
report.table(
    bounded(pd.DataFrame(bounded_rows), shown_stop),
    f"True positive rate where the false positive rate is bounded, {at_stop}",
    digits=3,
)

# %% tags=["hide-input"]
floor = max(1.0 / (2 * num_others), 1e-4)
rates = np.geomspace(floor, 1.0, 60)
shown = [(weights, MEMBERS) for weights in denoisers] + [(overfitted or denoisers[0], CONTROL)]
curve_rows, bar_rows = [], []
for weights, case in shown:
    for attack in ATTACKS:
        scored = outcomes[weights, case, attack, shown_stop][0].scored
        curve_rows += [
            {"denoiser": weights, "case": case, "attack": attack, "fpr": float(fpr), "tpr": float(tpr)}
            for fpr, tpr in zip(rates, roc_at(scored, rates), strict=True)
        ]
    scored = outcomes[weights, case, T_ERROR, shown_stop][0].scored
    errors = {"members": np.log10(-scored.members), "others": np.log10(-scored.others)}
    edges = np.histogram_bin_edges(np.concatenate(list(errors.values())), bins=24)
    for side, values in errors.items():
        counts, _ = np.histogram(values, bins=edges)
        bar_rows += [
            {"denoiser": weights, "case": case, "side": side, "left": float(left), "right": float(right)}
            | {"share": float(count / len(values))}
            for left, right, count in zip(edges, edges[1:], counts, strict=False)
        ]


# %% mystnb={"image": {"alt": "ROC curves on log-log axes, one panel for each situation, with one line for each attack and a dotted diagonal for guessing. For the over-fitted denoiser three lines lie far above the diagonal, down to the smallest false positive rates, and that of the proximal error below it; for the denoiser of many members and for the control they follow the diagonal."}} tags=["hide-input"]
def draw_curves(frame):
    """ROC curves, one panel for each denoiser and case."""
    groups = list(frame.groupby(["denoiser", "case"], sort=False))
    figure, panels = plt.subplots(1, len(groups), figsize=figures.TRIPLE, sharey=True, squeeze=False)
    for ((weights, case), part), axes in zip(groups, panels[0], strict=True):
        for (attack, line), colour, style in zip(
            part.groupby("attack", sort=False), figures.PALETTE, figures.LINE_STYLES, strict=False
        ):
            axes.step(
                line.fpr, line.tpr.clip(lower=line.fpr.min()), where="post", color=colour, linestyle=style, label=attack
            )
        axes.plot(
            [frame.fpr.min(), 1], [frame.fpr.min(), 1], color="#8c8c8c", linestyle=":", linewidth=1, label="guess"
        )
        axes.set(xscale="log", yscale="log", xlabel="false positive rate")
        axes.set_title(weights if case == MEMBERS else f"{weights}, {case}", fontsize=11)
    panels[0][0].set(ylabel="true positive rate")
    figure.legend(*panels[0][0].get_legend_handles_labels(), fontsize=9, loc="outside right center")
    plt.show()


draw_curves(pd.DataFrame(curve_rows))


# %% [markdown]
# One attack fails where the others find nearly everyone: at the stop that is shown the proximal error orders the over-fitted denoiser's pictures the wrong way round, though at another
# stop it is as good as the rest (see the checks below). It compares two predictions of the denoiser with each other and neither with the truth.

# %% mystnb={"image": {"alt": "Histograms of the logarithm of the t-error of members and of others, one panel for each situation. For the over-fitted denoiser the members lie to the left, at smaller errors; for the denoiser of many members and the control the two shapes cover each other."}} tags=["hide-input"]
def draw_bars(frame):
    """Histograms of errors, one panel for each denoiser and case."""
    groups = list(frame.groupby(["denoiser", "case"], sort=False))
    figure, panels = plt.subplots(1, len(groups), figsize=figures.TRIPLE, squeeze=False)
    for ((weights, case), part), axes in zip(groups, panels[0], strict=True):
        for (side, bars), colour, style in zip(
            part.groupby("side", sort=False), figures.PALETTE, ("-", "--"), strict=False
        ):
            edges = [*bars.left, bars.right.iloc[-1]]
            label = side if case == MEMBERS else {"members": "one half", "others": "other half"}[side]
            axes.stairs(bars.share, edges, color=colour, fill=True, alpha=0.25)
            axes.stairs(bars.share, edges, color=colour, linestyle=style, linewidth=1.8, label=label)
        axes.set(xlabel="log10 of the t-error")
        axes.set_title(weights if case == MEMBERS else f"{weights}, {case}", fontsize=11)
        axes.legend(fontsize=9)
    panels[0][0].set(ylabel="share of the scored pictures")
    plt.show()


draw_bars(pd.DataFrame(bar_rows))

# %% [markdown]
# ## Does the attack work, and does it find what is not there?
#
# Two checks that do not come from the paper. The over-fitted denoiser must be found out by one of the attacks at one of the stops. And in the control, every interval of the AUC, at every seed, stop and
# attack, must contain one half; these intervals hold all together at the confidence of the page, and the last column says how
# large a difference they would have missed.


# %% tags=["hide-input"]
def checks(found, repetitions, overfit):
    """The largest mean AUC over attacks and stops, and what was asked of it."""
    lines = []
    for (weights, case), part in found.groupby(["denoiser", "case"], sort=False):
        best = part.loc[part.auc.idxmax()]
        line = {
            "denoiser": weights,
            "case": case,
            "largest mean AUC": best.auc,
            "attack": best.attack,
            "stop": f"{best.stop:g} T",
        }
        if case == CONTROL:
            line["asked"] = "0.5 in every interval of the AUC"
            line["found"] = f"in {part.half_inside.sum()} of {len(part) * repetitions}"
            line["ends of the intervals"] = Interval(part.auc_low.min(), part.auc_high.max())
        else:
            asked = weights == overfit
            line["asked"] = f"at least {FOUND_OUT:g}" if asked else "nothing"
            inside = f"0.5 in {part.half_inside.sum()} of {len(part) * repetitions}"
            line["found"] = inside if not asked else "yes" if best.auc >= FOUND_OUT else "no"
            line["ends of the intervals"] = Interval(part.auc_low.min(), part.auc_high.max())
        lines.append(line)
    return pd.DataFrame(lines)


report.table(
    checks(pd.DataFrame(rows), len(seeds), overfitted),
    f"Checks at the {tier} scale; the {num_controls} intervals of the control hold together at {confidence:.0%}",
    digits=3,
)

# %% [markdown]
# ## On real CIFAR-10
#
# The same notebook under the `cifar10` profile ({doc}`/book/rerun`) attacks an over-fitted denoiser, one of a half of the training images, and the one of {doc}`tab04_directions` that was
# trained on all of them, with the test images as non-members, as in the paper. Its numbers travel as a bundle. Where the book has one, it is shown here. The weights of the first two stay where they
# are trained, since they may remember images that are not to be redistributed; `make train-public PROFILE=cifar10` makes them. Under the `paper` profile the target is the published
# DDPM of CIFAR-10, which this book has not run.

# %% tags=["hide-input"] mystnb={"image": {"alt": "The same ROC curves for denoisers of CIFAR-10 images."}}
real = None
if tier != "cifar10" and bundles.bundle_path("tab13_membership", "cifar10").is_file():
    bundle = bundles.read_bundle("tab13_membership", "cifar10")
    real = pd.DataFrame(bundle.tables["outcomes"])
    draw_curves(pd.DataFrame(bundle.tables["curves"]))

# %% tags=["hide-input"]
if real is not None:
    (made,) = bundle.tables["run"]
    report.table(pd.DataFrame(bundle.tables["targets"]), f"What is attacked, {bundle.origin}")
    whole_table(real, f"{caption}, {bundle.origin}")
    at_stop = f"of every attack at the stop {made['shown_stop']:g} T, {bundle.origin}"
    report.table(compared(real, made["shown_stop"]), f"Success rate and AUC {at_stop}", digits=3)
    real_bounded = bounded(pd.DataFrame(bundle.tables["bounded"]), made["shown_stop"])
    report.table(real_bounded, f"True positive rate where the false positive rate is bounded, {at_stop}", digits=3)
    report.table(checks(real, made["num_seeds"], made["overfitted"]), f"Checks, {bundle.origin}", digits=3)

# %% tags=["hide-input"]
if tier == "cifar10":
    tables = {"targets": sizes, "outcomes": rows, "bounded": bounded_rows, "curves": curve_rows, "bars": bar_rows}
    tables["run"] = [{"shown_stop": shown_stop, "num_seeds": len(seeds), "overfitted": overfitted}]
    bundles.keep("tab13_membership", globals(), tables=tables, inputs=inputs)

# %% [markdown]
# ## Claims
#
# The paper's measured row is compared under the `paper` profile only. Its direction, that the attack succeeds more often where the chain stops later, is tested on the denoiser of many
# members; a difference within the intervals of the success rates is not resolved.

# %% tags=["hide-input"]
many = next((weights for weights in denoisers if weights != overfitted), None)
table = pd.DataFrame(rows)
of_many = table[(table.denoiser == many) & (table.case == MEMBERS) & (table.attack == T_ERROR)].set_index("stop")
values = {}
if many is not None and set(CLAIMS) <= set(stops):
    early, late = of_many.loc[[1.0, 0.75]], of_many.loc[[0.5, 0.25]]
    if late.asr_low.min() > early.asr_high.max():
        values["tab13.attack.rises"] = Trend.HOLDS
    elif late.asr_high.min() < early.asr_low.max():
        values["tab13.attack.rises"] = Trend.FAILS
    else:
        values["tab13.attack.rises"] = Trend.UNRESOLVED
    if tier == "paper":
        values |= {f"tab13.numerical.{CLAIMS[stop]}": float(of_many.asr[stop]) for stop in CLAIMS}
report.claims("tab13_membership", values, tier=tier)

# %% tags=["hide-input"]
report.footer("tab13_membership", globals(), inputs=inputs)
