# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 2: the method, drawn by a run of it
#
# DPAgg-TI {cite:p}`peetathawatchai2024dpagg` changes no weight of the text-to-image model. The only thing that is learned, and the only thing that is published, is one vector in the place
# of a word. Every part of the picture below comes from a run: private pictures, their vectors, the noise and the pictures that the released vector makes.

# %% tags=["parameters"]
pipeline_name = "bundled"  # text-to-image model: bundled, a folder in diffusers' layout, or a hub name
private_data = "icons/pictograms"  # private pictures, a name that privlib.data.load accepts; folder for those in data_folder
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
num_shown = 5  # private pictures that the drawing follows, 2 to 6
templates = ["{} icon of a symbol", "{} icon of a person", "{} icon of a tool", "{} icon of a building"]  # prompts that the vectors are learned with
initial_word = "style"  # public word that every vector starts from, one token of the vocabulary
norm_factor = 4.0  # public norm R of every vector and of what is released, in norms of that word, above 0
steps = 120  # of Adam for each vector, at least 1
learning_rate = 0.05  # of Adam, above 0
batch_size = 48  # pictures that are optimized side by side, at least 1
noisiest = 0.2  # share of the noise levels that are learned from, the noisiest, above 0 and at most 1
epsilon = 5.0  # target, above 0
delta = 1e-3  # between 0 and 1
names = ["dragon", "house", "key"]  # things that are drawn in the style at the end
name_prompt = "{} icon of a NAME"  # prompt of each of them, with {} for the new word
run_folder = ""  # folder that keeps learned vectors, so that several notebooks learn them once; empty to keep none
seed = 0  # of everything random, a whole number from 0
device = "auto"  # where everything runs, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage

from privlib import figures, report
from privlib.accounting.aggregation import calibrated, guarantee
from privlib.aggregation import Bound, NoisyAggregate, Sampling
from privlib.data.images import to_bytes
from privlib.denoisers.text_to_image import generate, load_named_pipeline, pipeline_sha256
from privlib.inversion.aggregate import bounded, release_aggregate
from privlib.inversion.kept import invert_once
from privlib.inversion.model import FrozenModel
from privlib.inversion.optimize import Settings
from privlib.inversion.own_images import load_private
from privlib.numerics import choose_device
from privlib.report.terminal import follow

figures.use_style()
pipeline = load_named_pipeline(pipeline_name).to(choose_device(device))
model = FrozenModel.from_pipeline(pipeline)
private = load_private(private_data, folder=data_folder, side=model.image_side)
settings = Settings(tuple(templates), initial_word, steps=steps, learning_rate=learning_rate, batch_size=batch_size, noisiest=noisiest, seed=seed)
learned = invert_once(
    model, private.unit(), settings, folder=Path(run_folder) if run_folder else None, progress=follow("inversion")
)
norm = norm_factor * float(model.word_vector(initial_word).norm())
everyone = NoisyAggregate(len(private), len(private), norm, 1.0, Sampling.ALL)
vectors = bounded(learned.vectors, Bound.SPHERE, norm)
released = release_aggregate(learned.vectors, calibrated(everyone, epsilon, delta), rng=np.random.default_rng(seed))
word = released.scaled_to(norm).vector
prompts = [name_prompt.replace("NAME", name) for name in names]
drawn = generate(pipeline, model.encode_prompts(prompts, word.expand(len(names), -1).float()), seeds=range(seed, seed + len(names)))

# %% tags=["hide-input"] mystnb={"image": {"alt": "A diagram from left to right. A column of private pictures, each with an arrow to a strip of its own: the vector that Textual Inversion learned for it with the frozen model. All strips meet in a circle with a sum sign, into which an arrow labelled Gaussian noise leads from below, a strip of noise. Out of it comes one strip, the released vector, past a dashed vertical line; left of it stands private, right of it published. It becomes a word in prompts, whose pictures stand at the right."}}
def picture(axes, image, place, size):
    """An image of the unit scale as ``size`` inches at ``place``."""
    side = image.shape[-1]
    box = OffsetImage(to_bytes(image).permute(1, 2, 0).numpy(), zoom=72 * size / side, interpolation="nearest")
    axes.add_artist(AnnotationBbox(box, place, frameon=False))


def strip(axes, vector, x, y, *, width=1.5, height=0.22):
    """The entries of a vector as a strip of colours."""
    limit = 2.5 * norm / len(vector) ** 0.5
    axes.imshow(
        np.asarray(vector)[None],
        extent=(x, x + width, y - height / 2, y + height / 2),
        cmap=figures.DIVERGING_MAP,
        vmin=-limit,
        vmax=limit,
        aspect="auto",
        interpolation="nearest",
    )


figure, axes = plt.subplots(figsize=(11.0, 4.6))
heights = np.linspace(3.9, 1.3, num_shown)
arrow = {"arrowprops": {"arrowstyle": "->", "color": "#5c5c5c"}}
for image, vector, y in zip(private.unit()[:num_shown], vectors, heights, strict=False):
    picture(axes, image, (0.5, y), 0.46)
    axes.annotate("", (1.55, y), (0.85, y), **arrow)
    strip(axes, vector, 1.6, y)
    axes.annotate("", (4.15, 2.62), (3.15, y), **arrow)
noise = released.vector - vectors.mean(0)
strip(axes, noise, 3.65, 0.75)
axes.annotate("", (4.5, 2.3), (4.5, 0.92), **arrow)
axes.text(4.5, 2.6, r"$\frac{1}{m}\sum$", ha="center", va="center", fontsize=16, bbox={"boxstyle": "circle", "facecolor": "white", "edgecolor": "#5c5c5c"})
axes.annotate("", (5.75, 2.6), (4.95, 2.6), **arrow)
strip(axes, word, 5.8, 2.6)
axes.axvline(5.3, 0.1, 0.95, color="#c44e00", linestyle="--", linewidth=1.4)
for image, name, y in zip(drawn, names, np.linspace(3.7, 1.5, len(names)), strict=True):
    axes.annotate("", (8.05, y), (7.4, 2.6), **arrow)
    axes.text(8.1, y, name_prompt.replace("NAME", name).format("S*"), va="center", fontsize=9)
    picture(axes, image, (10.35, y), 0.62)
axes.text(0.5, 4.45, "private pictures", ha="center")
axes.text(2.35, 4.45, "a vector for each,\nnorm R", ha="center", va="center")
axes.text(4.5, 0.42, "Gaussian noise", ha="center")
axes.text(5.22, 0.12, "private", ha="right", color="#c44e00")
axes.text(5.38, 0.12, "published", ha="left", color="#c44e00")
axes.text(6.55, 2.95, "the word S*", ha="center")
axes.text(10.35, 4.45, "pictures", ha="center")
axes.set(xlim=(0, 11), ylim=(0, 4.7))
axes.axis("off")
plt.show()

# %% tags=["hide-input"]
report.privacy_statement(**guarantee(released.mechanism, delta).statement())

# %% [markdown]
# 1. **Textual Inversion** {cite:p}`gal2023image` learns one vector for each private picture. The model is frozen and each picture has random numbers of its own, so that a vector depends on its own picture
#    and on nothing else that is private. All are learned side by side, in one batch.
# 2. **Bound.** Each vector is scaled to a public norm $R$, here a multiple of the norm of the word that all vectors start from. Adding or removing a picture then moves the sum by $R$ and no more.
# 3. **Subsampling**, left out of the drawing: $m$ of the $n$ vectors take part. {doc}`noise_budget` shows what that brings.
# 4. **Noise.** Gaussian noise is added to the mean, calibrated to the target exactly. What crosses the dashed line is $(\varepsilon, \delta)$-private; all that follows is post-processing.
# 5. **Use.** The released vector, brought back to norm $R$, takes the place of a word in any prompt, for any number of pictures.
#
# The colours of the strips are the entries of the vectors, all on one scale. The private pictures of this page come from a public set, which is why it may show them and the noise: in earnest, neither leaves the private side, and
# the seed of the noise is nobody's to know.

# %% tags=["hide-input"]
report.claims("fig02_method", {}, tier=tier)

# %% tags=["hide-input"]
inputs = {private.name: private.sha256, f"pipeline/{Path(pipeline_name).name}": pipeline_sha256(pipeline_name)}
report.footer("fig02_method", globals(), inputs=inputs)
