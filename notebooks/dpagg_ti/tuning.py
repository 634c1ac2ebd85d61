# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How both methods were tuned
#
# A comparison is worth what its weaker side was allowed. Here DPAgg-TI and DP-SGD are tuned in the same way, on **public** pictures that play the private set: {doc}`../../book/data` calls them the rehearsal, as many glyphs as there are private pictograms, in another style. Tuning on the private pictures
# themselves would cost privacy that nobody counts. The grids are small, to show the differences that decide; the line in the footer runs larger ones.

# %% tags=["parameters"]
pipeline_name = "bundled"  # text-to-image model: bundled, a folder in diffusers' layout, or a hub name
public_data = "icons/rehearsal"  # public pictures that play the private set, a name that privlib.data.load accepts; folder for those in data_folder
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
templates = ["{} icon of a symbol", "{} icon of a person", "{} icon of a tool", "{} icon of a building"]  # prompts that the vectors are learned with
initial_word = "style"  # public word that every vector starts from, one token of the vocabulary
grid = [[120, 0.05, 1.0], [120, 0.05, 4.0], [60, 0.05, 4.0]]  # of DPAgg-TI, each steps, learning rate of Adam, and R in norms of the initial word
sgd_grid = [[10, 0.2, 4.0, 0.6], [60, 0.05, 4.0, 0.2]]  # of DP-SGD, each steps, learning rate, R as above, and clip of each gradient
plain_grid = [[120, 0.05, 4.0]]  # of one embedding without privacy, as for DPAgg-TI
batch_size = 48  # pictures that are optimized side by side, at least 1
noisiest = 0.2  # share of the noise levels that are learned from, the noisiest, above 0 and at most 1
names = ["house", "key", "cat", "tree", "bell", "hat", "fish", "star", "car", "heart", "book", "bird"]  # what is drawn for the score, at least 3
name_prompt = "{} icon of a NAME"  # prompt of each of them, with {} for the new word
epsilon = 1.0  # target of the methods with privacy, above 0
delta = 1e-3  # delta of the target, between 0 and 1
num_releases = 2  # releases of each setting, at least 1
network = "icon_text"  # whose features scores are taken in: icon_text, efficientnet; clip, dinov2, inception (these need weights)
run_folder = ""  # folder that keeps learned vectors, so that several notebooks learn them once; empty to keep none
seed = 0  # of everything random, a whole number from 0
device = "auto"  # where everything runs, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch

from privlib import figures, report
from privlib.accounting.aggregation import guarantee
from privlib.accounting.dpsgd import calibrated_dpsgd, guarantee_dpsgd
from privlib.adaptation import release_grid, shared_words
from privlib.aggregation import NoisyAggregate
from privlib.baselines.dpsgd import start_gradient_norms
from privlib.denoisers.text_to_image import generate, load_named_pipeline, pipeline_sha256
from privlib.inversion.kept import invert_once
from privlib.inversion.model import FrozenModel
from privlib.inversion.optimize import Settings
from privlib.inversion.own_images import load_private
from privlib.metrics.named import load_features
from privlib.metrics.scores import PairedScores
from privlib.metrics.style import Style
from privlib.numerics import choose_device
from privlib.report.terminal import follow

figures.use_style()
where = choose_device(device)
kept = Path(run_folder) if run_folder else None
pipeline = load_named_pipeline(pipeline_name).to(where)
model = FrozenModel.from_pipeline(pipeline)
images = load_private(public_data, folder=data_folder, side=model.image_side)
count = len(images)
base = Settings(tuple(templates), initial_word, batch_size=batch_size, noisiest=noisiest, seed=seed)
word_norm = float(model.word_vector(initial_word).norm())
seeds = list(range(seed, seed + num_releases))
style = Style.of(load_features(network, device=where), images.unit())
prompts = [name_prompt.replace("NAME", name) for name in names]


def score(words):
    """Cosine with the style over prompts: mean over releases, and each release."""
    rows = [
        style.cosine(generate(pipeline, model.encode_prompts(prompts, word.float().expand(len(prompts), -1)), seeds=range(len(prompts))))
        for word in words
    ]
    return PairedScores({"": torch.cat(rows)}).mean(""), ", ".join(f"{float(row.mean()):.3f}" for row in rows)


# %% tags=["hide-input"]
aggregated = []
for number, rate, factor in grid:
    learned = invert_once(
        model,
        images.unit(),
        replace(base, steps=number, learning_rate=rate),
        folder=kept,
        progress=follow(f"DPAgg-TI, {number} steps at {rate:g}"),
    )
    everyone = NoisyAggregate(count, count, factor * word_norm, 1.0)
    plain, noisy = release_grid(learned.vectors, everyone, sample_sizes=[count], epsilons=[math.inf, epsilon], delta=delta, seeds=seeds)
    aggregated.append(
        {"steps": number, "learning rate": rate, "R": factor, "with noise": score(noisy.words), "without noise": score(plain.words[:1])}
    )

# %% tags=["hide-input"]
median = float(start_gradient_norms(model, images.unit(), base).median())
trained, alone, runs = [], [], []
for number, rate, factor, clip in sgd_grid:
    run = calibrated_dpsgd(1.0, number, epsilon, delta)
    settings = replace(base, steps=number, learning_rate=rate)
    words = shared_words(
        model,
        images.unit(),
        settings,
        clip_norm=clip,
        mechanism=run,
        norm=factor * word_norm,
        seeds=seeds,
        folder=kept,
        progress=follow(f"DP-SGD, {number} steps at {rate:g}"),
    )
    runs.append(run)
    trained.append({"steps": number, "learning rate": rate, "R": factor, "clip": clip, "with noise": score(words)})
for number, rate, factor in plain_grid:
    words = shared_words(
        model,
        images.unit(),
        replace(base, steps=number, learning_rate=rate),
        clip_norm=math.inf,
        mechanism=None,
        norm=factor * word_norm,
        seeds=[seed],
        folder=kept,
        progress=follow(f"no privacy, {number} steps at {rate:g}"),
    )
    alone.append({"steps": number, "learning rate": rate, "R": factor, "without noise": score(words)})
untouched = score([model.word_vector(initial_word)])

# %% [markdown]
# ## The scores
#
# Higher is nearer to the style. The word that all vectors start from, without any adaptation, is the level to beat.

# %% tags=["hide-input"]
def shown(rows):
    """Scores as text, the best one marked."""
    key = "with noise" if "with noise" in rows[0] else "without noise"
    best = max(rows, key=lambda row: row[key][0].value)
    return pd.DataFrame(
        {name: str(value[0]) if "noise" in name else value for name, value in row.items()}
        | {f"each release {key}": row[key][1], "best": "\u2713" if row is best else ""}
        for row in rows
    )


level = f"without adaptation {untouched[0]}; {num_releases} releases with {len(prompts)} prompts each, 95 % intervals of the mean, features of {style.extractor.name}"
report.table(shown(aggregated), f"DPAgg-TI at epsilon = {epsilon:g}, delta = {delta:g}, all {count} pictures; {level}", digits=3)
report.table(shown(trained), f"DP-SGD at epsilon = {epsilon:g}, delta = {delta:g}, all {count} pictures at every step; median gradient at the start {median:.2f}; {level}", digits=3)
report.table(shown(alone), f"One embedding without privacy; {level}", digits=3)
report.privacy_statement(**guarantee(noisy.mechanism, delta).statement())
for run in runs:
    report.privacy_statement(**guarantee_dpsgd(run, delta).statement())

# %% [markdown]
# The other pages of this chapter use the settings that are marked as best. Few releases tell large differences and no small ones. DP-SGD takes all pictures at every step; random batches were not tried.

# %% tags=["hide-input"]
report.claims("tuning", {}, tier=tier)

# %% tags=["hide-input"]
inputs = {images.name: images.sha256, f"pipeline/{Path(pipeline_name).name}": pipeline_sha256(pipeline_name)}
report.footer("tuning", globals(), inputs=inputs)
