# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Adapt a model to your own pictures, privately
#
# This page is the method as a tool. Give it a folder of pictures that share a style:
#
# ```bash
# papermill notebooks/dpagg_ti/adapt.ipynb out.ipynb -p images ~/pictures -p epsilon 1 -p m 16
# ```
#
# It learns one vector for each picture, publishes one noisy mean of them, and writes to the folder `out` an embedding that any Stable Diffusion pipeline of diffusers loads with `load_textual_inversion`, the
# certificate of its $(\varepsilon, \delta)$, and a contact sheet. The embedding fits the text encoder that it was learned with and no other.
#
# **What is protected** is each picture, or each group of `group_size` pictures: whoever sees `out` can hardly tell whether it took part or contributed nothing. How many pictures there are, $n$, is taken as public, and so is every
# parameter: nothing that you choose by looking at the pictures is covered.
#
# **What may be given away** is the folder `out` of a run with noise, *once*: another run over the same pictures is a second release, and their losses add up. This notebook after its run, also where it failed, names your folders and files and stays with you. So
# does all that is learned on the way: it lies in `private_folder`, from which an interrupted run goes on, and which you should delete afterwards.

# %% tags=["parameters"]
images = ""  # folder that holds the private pictures and no folders; empty for a demonstration on the bundled pictograms
epsilon = 5.0  # guarantee, above 0; inf for no noise, no privacy and no certificate
delta = 1e-3  # slack of the guarantee, above 0 and below one in the number of pictures
m = 0  # pictures that take part, expected or exactly, 1 to their number; 0 for all of them
fixed_size = False  # True draws exactly m pictures (neighbours then replace a picture), False each with chance m / n
group_size = 1  # pictures of one person, who is protected as a whole; at least 1
placeholder = "<style>"  # the new word, a token that the model does not have yet
pipeline_name = "bundled"  # text-to-image model: bundled, a folder in diffusers' layout, or a hub name
templates = ["{} icon of a symbol", "{} icon of a person", "{} icon of a tool", "{} icon of a building"]  # prompts that the vectors are learned with
initial_word = "style"  # public word that every vector starts from, one token of the vocabulary
norm_factor = 4.0  # public norm R of every vector and of what is released, in norms of that word, above 0
steps = 120  # of Adam for each vector, at least 1
learning_rate = 0.05  # of Adam, above 0
batch_size = 48  # pictures that are optimized side by side, at least 1; bounded by memory
noisiest = 0.2  # share of the noise levels that are learned from, the noisiest, above 0 and at most 1
prompts = ["{} icon of a dragon", "{} icon of a house", "{} icon of a key"]  # of the contact sheet
num_images = 6  # pictures of each prompt on the contact sheet, at least 1
out = "_build/adapt"  # folder that the embedding, the certificate and the contact sheet are written to
private_folder = "_build/adapt_private"  # folder that keeps the private vectors for a run that is interrupted
seed = 0  # of learning and of the contact sheet, a whole number from 0; the noise has none
device = "auto"  # where everything runs, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
from privlib.report.given import refuse_unknown

refuse_unknown("adapt", globals())  # a misspelt name would leave a default in its place, and certify that

import math
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from privlib import figures, report
from privlib.accounting.aggregation import calibrated, guarantee
from privlib.aggregation import NoisyAggregate, Sampling
from privlib.certificates import export_release
from privlib.data.images import to_bytes
from privlib.denoisers.text_to_image import generate, load_named_pipeline, pipeline_sha256
from privlib.inversion.aggregate import release_aggregate
from privlib.inversion.export import EMBEDDING, export_unprotected, load_embedding
from privlib.inversion.kept import invert_once
from privlib.inversion.model import FrozenModel
from privlib.inversion.optimize import Settings
from privlib.inversion.own_images import load_private, validate_folder
from privlib.numerics import choose_device
from privlib.report.terminal import follow
from privlib.types import Adjacency

figures.use_style()
pipeline = load_named_pipeline(pipeline_name).to(choose_device(device))
model = FrozenModel.from_pipeline(pipeline)
private = validate_folder(images, sample_size=max(m, 1), side=model.image_side) if images else load_private("icons/pictograms", folder="", side=model.image_side)
count = len(private)
taking = m or count
if not 0.0 < delta < 1.0 / count:
    raise ValueError(f"delta must lie between 0 and one in the number of pictures, 1 / {count}, got {delta}: it would allow to publish a picture")
sampling = Sampling.FIXED_SIZE if fixed_size else Sampling.ALL if taking == count else Sampling.POISSON
adjacency = Adjacency.REPLACE_ONE if fixed_size else Adjacency.ADD_OR_REMOVE_ONE
norm = norm_factor * float(model.word_vector(initial_word).norm())
wanted = NoisyAggregate(count, taking, norm, 1.0, sampling, adjacency=adjacency, group_size=group_size)
mechanism = calibrated(wanted, epsilon, delta)  # before anything is learned, so that a target out of reach costs no time

# %% tags=["hide-input"]
settings = Settings(
    tuple(templates), initial_word, placeholder=placeholder, steps=steps, learning_rate=learning_rate, batch_size=batch_size, noisiest=noisiest, seed=seed
)
learned = invert_once(model, private.unit(), settings, folder=Path(private_folder), progress=follow("inversion"))
result = release_aggregate(learned.vectors, mechanism, rng=np.random.default_rng()).scaled_to(norm)
folder = Path(out)
if math.isinf(epsilon):
    export_unprotected(result, folder, placeholder=placeholder)
else:
    export_release(result, delta, folder, placeholder=placeholder)

# %% [markdown]
# ## Contact sheet
#
# Drawn from the file, by diffusers itself.

# %% tags=["hide-input"] mystnb={"image": {"alt": "A grid of generated pictures, one row for each prompt."}}
word = load_embedding(pipeline, folder / EMBEDDING)
asked = [prompt.format(word) for prompt in prompts for _ in range(num_images)]
drawn = generate(pipeline, asked, seeds=[seed + i for _ in prompts for i in range(num_images)])
grid = to_bytes(drawn).permute(0, 2, 3, 1).reshape(len(prompts), num_images, *drawn.shape[2:], 3)
sheet = figures.image_grid(grid.numpy(), rows=[prompt.format("S*") for prompt in prompts], columns=[""] * num_images)
sheet.savefig(folder / "contact_sheet.png", dpi=200)
plt.show()

# %% tags=["hide-input"]
if math.isinf(epsilon):
    report.table(pd.DataFrame({"protection": ["none: no noise was added, and there is no certificate"]}), "This embedding is not private")
else:
    report.privacy_statement(**guarantee(mechanism, delta).statement())

# %% tags=["hide-input"]
report.claims("adapt", {}, tier=tier)

# %% tags=["hide-input"]
inputs = {f"pipeline/{Path(pipeline_name).name}": pipeline_sha256(pipeline_name)}
if not images:
    inputs[private.name] = private.sha256  # a checksum of your own pictures would tell who holds the same ones
report.footer("adapt", globals(), inputs=inputs)
