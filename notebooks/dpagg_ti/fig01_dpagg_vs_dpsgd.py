# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 1: a noisy mean of embeddings, or one embedding trained with noise
#
# Both methods publish one vector with the same guarantee. **DPAgg-TI** learns a vector for each private picture without noise and adds noise once, to their mean. **DP-SGD** {cite:p}`abadi2016deep` learns one vector for all pictures and adds
# noise to every gradient. The paper draws one prompt with both at $\varepsilon = 1$, beside what can be had without privacy, and finds DPAgg-TI far ahead.
#
# Here both run on the bundled pictograms with the same model, the same accountant, the same $\delta$ and the same neighbours. The settings of both were chosen on *public* pictures ({doc}`tuning`).

# %% tags=["parameters"]
pipeline_name = "bundled"  # text-to-image model: bundled, a folder in diffusers' layout, or a hub name
private_data = "icons/pictograms"  # private pictures, a name that privlib.data.load accepts; folder for those in data_folder
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
templates = ["{} icon of a symbol", "{} icon of a person", "{} icon of a tool", "{} icon of a building"]  # prompts that the vectors are learned with
initial_word = "style"  # public word that every vector starts from, one token of the vocabulary
norm_factor = 4.0  # public norm R of every vector and of what is released, in norms of that word, above 0
sgd_norm_factor = 4.0  # the same for what DP-SGD releases
steps = 120  # of Adam for each vector of DPAgg-TI, at least 1
learning_rate = 0.05  # of Adam for DPAgg-TI, above 0
sgd_steps = 60  # of DP-SGD, at least 1
sgd_learning_rate = 0.05  # of Adam for DP-SGD, above 0
clip_norm = 0.2  # clip of each gradient of DP-SGD, above 0
plain_steps = 120  # of the one embedding without privacy, at least 1
plain_learning_rate = 0.05  # of Adam for it, above 0
batch_size = 48  # pictures that are optimized side by side, at least 1
noisiest = 0.2  # share of the noise levels that are learned from, the noisiest, above 0 and at most 1
prompt = "{} icon of a tower"  # what the figure shows, with {} for the new word
num_shown = 8  # pictures of each method in the figure, 2 to the number of scored_names
scored_names = ["house", "key", "cat", "tree", "bell", "hat", "fish", "star"]  # what the scores are taken over, at least 3
name_prompt = "{} icon of a NAME"  # prompt of each of them, with {} for the new word
epsilon = 1.0  # target of both methods, above 0
delta = 1e-3  # delta of the target, between 0 and 1
network = "icon_text"  # whose features scores are taken in: icon_text, efficientnet; clip, dinov2, inception (these need weights)
run_folder = ""  # folder that keeps learned vectors, so that several notebooks learn them once; empty to keep none
seed = 0  # of everything random, a whole number from 0
device = "auto"  # where everything runs, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import math
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import torch

from privlib import figures, report
from privlib.accounting.aggregation import guarantee
from privlib.accounting.dpsgd import calibrated_dpsgd, guarantee_dpsgd
from privlib.adaptation import release_grid, shared_words
from privlib.aggregation import NoisyAggregate
from privlib.data.images import to_bytes
from privlib.denoisers.text_to_image import generate, load_named_pipeline, pipeline_sha256
from privlib.inversion.kept import invert_once
from privlib.inversion.model import FrozenModel
from privlib.inversion.optimize import Settings
from privlib.inversion.own_images import load_private
from privlib.metrics.named import load_features
from privlib.metrics.scores import PairedScores
from privlib.metrics.style import Style
from privlib.metrics.trends import all_negative
from privlib.numerics import choose_device
from privlib.report.terminal import follow

figures.use_style()
where = choose_device(device)
kept = Path(run_folder) if run_folder else None
pipeline = load_named_pipeline(pipeline_name).to(where)
model = FrozenModel.from_pipeline(pipeline)
private = load_private(private_data, folder=data_folder, side=model.image_side)
count = len(private)
settings = Settings(tuple(templates), initial_word, steps=steps, learning_rate=learning_rate, batch_size=batch_size, noisiest=noisiest, seed=seed)
learned = invert_once(
    model, private.unit(), settings, folder=kept, progress=follow("inversion")
)
word_norm = float(model.word_vector(initial_word).norm())
norm, sgd_norm = norm_factor * word_norm, sgd_norm_factor * word_norm
seeds = list(range(seed, seed + len(scored_names)))

# %% tags=["hide-input"]
everyone = NoisyAggregate(count, count, norm, 1.0)
centroid, aggregated = release_grid(
    learned.vectors, everyone, sample_sizes=[count], epsilons=[math.inf, epsilon], delta=delta, seeds=seeds
)
noisy_run = calibrated_dpsgd(1.0, sgd_steps, epsilon, delta)
noisy_settings = replace(settings, steps=sgd_steps, learning_rate=sgd_learning_rate)
trained = shared_words(
    model, private.unit(), noisy_settings, clip_norm=clip_norm, mechanism=noisy_run, norm=sgd_norm, seeds=seeds, folder=kept, progress=follow("DP-SGD")
)
plain_settings = replace(settings, steps=plain_steps, learning_rate=plain_learning_rate)
plain = shared_words(
    model, private.unit(), plain_settings, clip_norm=math.inf, mechanism=None, norm=norm, seeds=[seed], folder=kept, progress=follow("no privacy")
)
words = {
    "no adaptation": model.word_vector(initial_word).double().cpu().expand(len(seeds), -1),
    "one embedding, no privacy": plain.expand(len(seeds), -1),
    "mean of embeddings, no noise": centroid.words,
    f"DPAgg-TI, \u03b5 = {epsilon:g}": aggregated.words,
    f"DP-SGD, \u03b5 = {epsilon:g}": trained,
}
PUBLIC, PLAIN, _, AGGREGATED, TRAINED = words

# %% [markdown]
# ## The pictures
#
# In a column the first noise of the picture is the same. In the rows with privacy every picture is by another release, so that the figure shows how releases differ too.

# %% tags=["hide-input"] mystnb={"image": {"alt": "A grid of pictures, five rows: without adaptation, with one embedding learned without privacy, with the mean of embeddings without noise, with DPAgg-TI, with DP-SGD; in each row pictures of one prompt by different first noise."}}
drawn = {
    name: generate(pipeline, model.encode_prompts([prompt] * num_shown, word[:num_shown].float()), seeds=seeds[:num_shown])
    for name, word in words.items()
}
grid = torch.stack([to_bytes(images).permute(0, 2, 3, 1) for images in drawn.values()])
figures.image_grid(grid.numpy(), rows=list(drawn), columns=[""] * num_shown, title=prompt.format("S*"), cell=0.9)
plt.show()

# %% [markdown]
# ## As a number
#
# The cosine between a picture and the mean of the private pictures, in the features of a network, over prompts that differ and releases that differ. {doc}`kid_analysis` has distances between distributions.

# %% tags=["hide-input"]
style = Style.of(load_features(network, device=where), private.unit())
prompts = [name_prompt.replace("NAME", name) for name in scored_names]
scores = PairedScores(
    {
        name: style.cosine(generate(pipeline, model.encode_prompts(prompts, word.float()), seeds=seeds))
        for name, word in words.items()
    }
)
report.table(
    pd.DataFrame(
        {
            "method": list(words),
            "cosine with the private style": [str(scores.mean(name)) for name in words],
            "cosine of the vector with the noiseless mean": [
                float(torch.cosine_similarity(word.double(), centroid.words, dim=1).mean()) for word in words.values()
            ],
        }
    ),
    f"{len(seeds)} prompts, in the rows with privacy each with a release of its own; 95 % intervals of the mean, features of {style.extractor.name}; n = {count}, delta = {delta:g}",
    digits=3,
)
report.privacy_statement(**guarantee(aggregated.mechanism, delta).statement())
report.privacy_statement(**guarantee_dpsgd(noisy_run, delta).statement())

# %% tags=["hide-input"]
report.claims(
    "fig01_dpagg_vs_dpsgd",
    {
        "fig01.dpagg.beats_dpsgd": all_negative([scores.difference(TRAINED, AGGREGATED)]),
        "fig01.dpagg.near_plain": all_negative(
            [scores.difference(PUBLIC, PLAIN), scores.contrast({PUBLIC: 0.5, PLAIN: 0.5, AGGREGATED: -1.0})]
        ),
        "fig01.dpsgd.fails": all_negative([scores.contrast({TRAINED: 1.0, PUBLIC: -0.5, PLAIN: -0.5})]),
    },
    tier=tier,
)

# %% tags=["hide-input"]
inputs = {private.name: private.sha256, f"pipeline/{Path(pipeline_name).name}": pipeline_sha256(pipeline_name)}
report.footer("fig01_dpagg_vs_dpsgd", globals(), inputs=inputs)
