# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How the embeddings lie: centroid and noise
#
# This page has no counterpart in the paper. A noisy mean works where the vectors of the private pictures agree: then their centroid is long, and noise of a given length turns it by little. Before looking at any
# picture ({doc}`fig05_pictogram_grid`), here are the vectors themselves: their lengths, the angles between them, what they share beyond the public word from which they all start, and the noise beside them.

# %% tags=["parameters"]
pipeline_name = "bundled"  # text-to-image model: bundled, a folder in diffusers' layout, or a hub name
private_sets = ["icons/pictograms", "icons/artwork"]  # sets of private pictures, names that privlib.data.load accepts; folder for those in data_folder
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
templates = ["{} icon of a symbol", "{} icon of a person", "{} icon of a tool", "{} icon of a building"]  # prompts that the vectors are learned with
initial_word = "style"  # public word that every vector starts from, one token of the vocabulary
norm_factor = 4.0  # public norm R of every vector and of what is released, in norms of that word, above 0
steps = 120  # of Adam for each vector, at least 1
learning_rate = 0.05  # of Adam, above 0
batch_size = 48  # pictures that are optimized side by side, at least 1
noisiest = 0.2  # share of the noise levels that are learned from, the noisiest, above 0 and at most 1
epsilons = [0.1, 0.5, 1.0, 5.0]  # targets, each above 0
delta = 1e-3  # delta of the targets, between 0 and 1
run_folder = ""  # folder that keeps learned vectors, so that several notebooks learn them once; empty to keep none
seed = 0  # of everything random, a whole number from 0
device = "auto"  # where everything runs, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from privlib import figures, report
from privlib.accounting.noise_table import noise_table
from privlib.aggregation import Bound, NoisyAggregate
from privlib.denoisers.text_to_image import load_named_pipeline, pipeline_sha256
from privlib.inversion.aggregate import bounded, centroid_geometry
from privlib.inversion.kept import invert_once
from privlib.inversion.model import FrozenModel
from privlib.inversion.optimize import Settings
from privlib.inversion.own_images import load_private
from privlib.metrics.style import unit_rows
from privlib.numerics import choose_device
from privlib.report.terminal import follow

figures.use_style()
model = FrozenModel.from_pipeline(load_named_pipeline(pipeline_name).to(choose_device(device)))
sets = {name: load_private(name, folder=data_folder, side=model.image_side) for name in private_sets}
settings = Settings(tuple(templates), initial_word, steps=steps, learning_rate=learning_rate, batch_size=batch_size, noisiest=noisiest, seed=seed)
start = model.word_vector(initial_word).double().cpu()
norm = norm_factor * float(start.norm())
learned = {
    name: invert_once(
        model, images.unit(), settings, folder=Path(run_folder) if run_folder else None, progress=follow(f"inversion of {name}")
    )
    for name, images in sets.items()
}
vectors = {name: bounded(found.vectors, Bound.SPHERE, norm) for name, found in learned.items()}


def noise_to(name, centroid_norm, bound_norm):
    """Length of the noise over ``centroid_norm`` at each epsilon when all vectors of a set take part, bound ``bound_norm``."""
    count = len(vectors[name])
    table = noise_table(
        NoisyAggregate(count, count, bound_norm, 1.0),
        sample_sizes=[count],
        epsilons=epsilons,
        delta=delta,
        dimension=model.dimension,
        centroid_norm=centroid_norm,
    )
    return {f"epsilon = {row.epsilon:g}": row.ratio for row in table}


# %% [markdown]
# ## Lengths and angles
#
# The bound $R$ is public: a multiple of the norm of the word that every vector starts from. How far the vectors have moved, and whether they have moved the same way, decides what a mean of them can say.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels. Left: histograms of the norms of learned vectors, one for each private set, beside the norms of the words of the public vocabulary and a line at the bound R. Right: histograms of the cosines between pairs of vectors of a set, solid for the vectors and dotted for what remains of them when the public word is taken off."}}
figure, (left, right) = plt.subplots(1, 2, figsize=figures.DOUBLE)
public = model.vocabulary_norms().numpy()
edges = np.linspace(0.0, 1.1 * max(float(found.norms.max()) for found in learned.values()), 40)
left.hist(public, edges, density=True, color="#d0d0d0", label="public words")
for (name, found), colour in zip(learned.items(), figures.PALETTE, strict=False):
    left.hist(found.norms.numpy(), edges, density=True, histtype="step", linewidth=1.8, color=colour, label=name)
    apart = np.triu_indices(len(found.vectors), 1)
    for rows, style in ((found.vectors.double(), "-"), (found.vectors.double() - start, ":")):
        unit = unit_rows(rows)
        right.hist((unit @ unit.T).numpy()[apart], np.linspace(-0.5, 1.0, 60), density=True, histtype="step", linestyle=style, linewidth=1.8, color=colour, label=name + (", moves" if style == ":" else ""))
left.axvline(norm, color="#5c5c5c", linestyle=":", linewidth=1.2)
left.set(xlabel="norm", ylabel="density", title="lengths")
right.set(xlabel="cosine between two vectors of a set", title="angles")
left.legend(fontsize=9)
right.legend(fontsize=9)
plt.show()

# %% tags=["hide-input"]
rows = []
for name, found in learned.items():
    whole = centroid_geometry(found.vectors, Bound.SPHERE, norm)
    moves = found.vectors.double() - start
    reach = float(moves.norm(dim=1).median())
    moved = centroid_geometry(moves, Bound.BALL, reach)
    for kind, bound, found_here in (("vectors on the sphere R", norm, whole), ("moves in a ball of their median length", reach, moved)):
        rows.append(
            {
                "private set": name,
                "what is averaged": kind,
                "bound": bound,
                "norm of the centroid": found_here["centroid_norm"],
                "mean cosine with it": found_here["mean_cosine"],
            }
            | noise_to(name, found_here["centroid_norm"], bound)
        )
report.table(
    pd.DataFrame(rows),
    f"Centroids and, for each epsilon, the length of the noise over that of the centroid: m = n, delta = {delta:g}, one release, add or remove one picture, epsilon a certified upper bound of privlib.accounting.aggregation",
    digits=3,
)

# %% [markdown]
# ## What is private here
#
# The median length of the moves, which the second row of a set uses as its bound, is taken from the private vectors: that is for study, and a release would have to choose it in public.

# %% tags=["hide-input"]
report.claims("embedding_geometry", {}, tier=tier)

# %% tags=["hide-input"]
inputs = {images.name: images.sha256 for images in sets.values()}
inputs[f"pipeline/{Path(pipeline_name).name}"] = pipeline_sha256(pipeline_name)
report.footer("embedding_geometry", globals(), inputs=inputs)
