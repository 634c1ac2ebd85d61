# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 5: pictograms, over how many take part and how private
#
# The paper adapts Stable Diffusion to the 47 pictograms of an Olympic Games and draws a dragon in their style, over the number $m$ of pictograms that take part in the mean and over $\varepsilon$. Here the model is the small
# one that this book trains ({doc}`../../book/data`), and the private style is 47 sport glyphs in gold on navy, a style that the model has never seen. The pictures are not the paper's; what can be compared is how they change over the grid.

# %% tags=["parameters"]
pipeline_name = "bundled"  # text-to-image model: bundled, a folder in diffusers' layout, or a hub name
private_data = "icons/pictograms"  # private pictures, a name that privlib.data.load accepts; folder for those in data_folder
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
templates = ["{} icon of a symbol", "{} icon of a person", "{} icon of a tool", "{} icon of a building"]  # prompts that the vectors are learned with
initial_word = "style"  # public word that every vector starts from, one token of the vocabulary
norm_factor = 4.0  # public norm R of every vector and of what is released, in norms of that word, above 0
steps = 120  # of Adam for each vector, at least 1
learning_rate = 0.05  # of Adam, above 0
batch_size = 48  # pictures that are optimized side by side, at least 1
noisiest = 0.2  # share of the noise levels that are learned from, the noisiest, above 0 and at most 1
prompts = ["{} icon of a dragon", "{} icon of a house", "{} icon of a key", "{} icon of a fish"]  # what each cell of the grid shows, at least 1, with {} for the new word
scored_names = ["house", "key", "cat", "tree", "bell", "hat", "fish", "star", "car", "heart", "book", "bird"]  # what the scores are taken over, at least 3
name_prompt = "{} icon of a NAME"  # prompt of each of them, with {} for the new word
sample_sizes = [4, 12, 24, 47]  # numbers m of pictures that take part, rising, 1 to the number of pictures
epsilons = [5.0, 1.0, 0.5, 0.1]  # targets, falling, each above 0; beside them the grid shows no noise
delta = 1e-3  # delta of the targets, between 0 and 1
network = "icon_text"  # whose features scores are taken in: icon_text, efficientnet; clip, dinov2, inception (these need weights)
run_folder = ""  # folder that keeps learned vectors, so that several notebooks learn them once; empty to keep none
seed = 0  # of everything random, a whole number from 0
device = "auto"  # where everything runs, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import math
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import torch
from torchvision.utils import make_grid

from privlib import figures, report
from privlib.accounting.aggregation import guarantee
from privlib.adaptation import release_grid
from privlib.aggregation import NoisyAggregate, Sampling
from privlib.data.images import to_bytes
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
if sample_sizes != sorted(sample_sizes) or epsilons != sorted(epsilons, reverse=True):
    raise ValueError(f"sample_sizes must rise and epsilons fall, got {sample_sizes} and {epsilons}")
where = choose_device(device)
pipeline = load_named_pipeline(pipeline_name).to(where)
model = FrozenModel.from_pipeline(pipeline)
private = load_private(private_data, folder=data_folder, side=model.image_side)
settings = Settings(tuple(templates), initial_word, steps=steps, learning_rate=learning_rate, batch_size=batch_size, noisiest=noisiest, seed=seed)
learned = invert_once(
    model, private.unit(), settings, folder=Path(run_folder) if run_folder else None, progress=follow("inversion")
)
norm = norm_factor * float(model.word_vector(initial_word).norm())
everyone = NoisyAggregate(len(private), len(private), norm, 1.0, Sampling.POISSON)
seeds = list(range(seed, seed + len(scored_names)))
cells = release_grid(
    learned.vectors, everyone, sample_sizes=sample_sizes, epsilons=[math.inf, *epsilons], delta=delta, seeds=seeds
)


def draw(prompts, words, image_seeds):
    """A picture for each prompt with a word of its own."""
    return generate(pipeline, model.encode_prompts(prompts, words.float()), seeds=image_seeds)


# %% [markdown]
# ## The grid
#
# Every cell shows the same prompts; the first noise of each prompt is the same in all cells, so that only the word differs. Down a column more vectors are averaged; to the right the noise gets longer. At the left no noise, at the right the most: where between does the style fade?

# %% tags=["hide-input"] mystnb={"image": {"alt": "A grid of cells, each with a picture of each prompt, one row for each number of pictograms that take part, one column for no noise and for each epsilon, falling to the right."}}
columns = ["no noise", *(f"\u03b5 = {epsilon:g}" for epsilon in epsilons)]
drawn = draw(
    prompts * len(cells),
    torch.stack([cell.words[0] for cell in cells]).repeat_interleave(len(prompts), 0),
    [seed + place for _ in cells for place in range(len(prompts))],
)
shown = [
    make_grid(to_bytes(images), nrow=math.ceil(len(prompts) ** 0.5), padding=1, pad_value=255).permute(1, 2, 0)
    for images in drawn.unflatten(0, (len(cells), -1))
]
grid = torch.stack(shown).unflatten(0, (len(sample_sizes), -1))
figures.image_grid(grid.numpy(), rows=[f"m = {m}" for m in sample_sizes], columns=columns, cell=1.5)
plt.show()

# %% [markdown]
# ## The same, as a number
#
# How near are the pictures to the private style? For each cell there are as many releases as prompts, and each picture is compared with the mean of the private pictures in the features of a network. The band is what the model draws with the public word in place of the new one: no adaptation at all.

# %% tags=["hide-input"]
style = Style.of(load_features(network, device=where), private.unit())
scored_prompts = [name_prompt.replace("NAME", name) for name in scored_names]
plain_word = model.word_vector(initial_word).expand(len(seeds), -1)
scores = PairedScores(
    {"public": style.cosine(draw(scored_prompts, plain_word, seeds))}
    | {(c.mechanism.sample_size, c.epsilon): style.cosine(draw(scored_prompts, c.words, seeds)) for c in cells}
)
public = scores.mean("public")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Cosine with the private style against epsilon, one line for each number of pictograms that take part, with error bars; a band shows the public word without adaptation."}}
_, axes = plt.subplots(figsize=figures.SINGLE)
places = list(range(len(columns)))
for shift, m in enumerate(sample_sizes):
    values = [scores.mean((m, epsilon)) for epsilon in (math.inf, *epsilons)]
    at = [place + 0.08 * (shift - (len(sample_sizes) - 1) / 2) for place in places]
    ends = [[v.value - v.lower for v in values], [v.upper - v.value for v in values]]
    axes.errorbar(at, [v.value for v in values], yerr=ends, marker="o", markersize=4, capsize=2, label=f"m = {m}")
axes.axhspan(public.lower, public.upper, color="#dddddd", zorder=0, label="public word, no adaptation")
axes.set_xticks(places, columns)
axes.set(ylabel="cosine with the private style")
axes.legend(fontsize=9)
plt.show()

# %% tags=["hide-input"]
report.table(
    pd.DataFrame(
        {"m": cell.mechanism.sample_size, "epsilon": "no noise" if math.isinf(cell.epsilon) else f"{cell.epsilon:g}"}
        | {
            "noise multiplier": cell.mechanism.noise_multiplier,
            "deviation of the noise in the mean / R": cell.mechanism.noise_std / norm,
            "cosine with the private style": str(scores.mean((cell.mechanism.sample_size, cell.epsilon))),
        }
        for cell in cells
    ),
    f"Every cell: {len(seeds)} releases with a prompt each, 95 % intervals of the mean; features of {style.extractor.name}; the public word without adaptation has {public}. Each cell alone: one release, certified, pictures added or removed, delta = {delta:g}; m of {len(private)} by Poisson sampling, all where m is {len(private)}",
    digits=3,
)
everybody = [cell for cell in cells if cell.mechanism.sample_size == sample_sizes[-1]]
for cell in everybody[1:]:
    report.privacy_statement(**guarantee(cell.mechanism, delta).statement())

# %% [markdown]
# The guarantee of a cell covers one release of that cell alone. The releases of a row share the direction of their noise, so that only its length changes along the row: together they would hide nothing. The pictures of this page are public, and no one is exposed.

# %% tags=["hide-input"]
report.claims("fig05_pictogram_grid", {"fig05.epsilon.fades": scores.falls([(cell.mechanism.sample_size, cell.epsilon) for cell in everybody])}, tier=tier)

# %% tags=["hide-input"]
inputs = {private.name: private.sha256, f"pipeline/{Path(pipeline_name).name}": pipeline_sha256(pipeline_name)}
report.footer("fig05_pictogram_grid", globals(), inputs=inputs)
