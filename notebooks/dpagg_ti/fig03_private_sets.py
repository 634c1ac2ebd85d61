# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 3: the private sets
#
# The paper adapts to 158 pictures of one artist and to the 47 pictograms of the Paris 2024 Olympic Games. The former are not public and the latter are not free, so this book has two sets of its own, of the same sizes, both under free licences ({doc}`../../book/data`):
#
# * **pictograms**: 47 glyphs of sports and games in gold on navy. Their drawings are by one house; no other glyph of that house is among the public icons, and of their pairs of colours yellow on dark blue comes nearest.
# * **artwork**: 158 emoji of one house, shaded as if modelled in clay. No other picture of that hand is public here.
#
# Private is what an adapted model may not give away: how these very pictures look. *What* they show is no secret, and public icons show many of the same things, drawn otherwise.

# %% tags=["parameters"]
private_sets = ["icons/pictograms", "icons/artwork"]  # sets of private pictures, names that privlib.data.load accepts
data_folder = ""  # where data that is not bundled lies; empty for the environment variable PRIVLIB_DATA
num_columns = 12  # pictures in a row of the figure, 2 to 20
num_rows = 4  # rows of each set, at least 1
public_data = "icons/public"  # public pictures beside which the sets are looked at, another such name
network = "icon_text"  # whose features distances are taken in: icon_text, efficientnet; clip, dinov2, inception (these need weights)
seed = 0  # of the choice of pictures, a whole number from 0
device = "auto"  # where everything runs, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import pandas as pd

from privlib import figures, report
from privlib.data import load
from privlib.data.images import to_bytes
from privlib.metrics.named import load_features
from privlib.metrics.nearest import nearest, nearest_other
from privlib.metrics.style import unit_rows
from privlib.numerics import choose_device

figures.use_style()
sets = {name: load(name, folder=data_folder) for name in private_sets}
public = load(public_data, folder=data_folder)
extractor = load_features(network, device=choose_device(device))

# %% tags=["hide-input"] mystnb={"image": {"alt": "Grids of private pictures, one grid for each set: with the bundled sets first glyphs of sports and games in gold on navy, then shaded emoji of faces, people, animals and things on white."}}
for name, images in sets.items():
    chosen = images.draw(min(len(images), num_rows * num_columns), seed=seed)
    rows = len(chosen) // num_columns
    grid = to_bytes(chosen.unit()[: rows * num_columns]).permute(0, 2, 3, 1)
    grid = grid.reshape(rows, num_columns, *grid.shape[1:])
    figures.image_grid(grid.numpy(), rows=[""] * rows, columns=[""] * num_columns, title=f"{name}, n = {len(images)}")
    plt.show()

# %% [markdown]
# ## How much of a style they are
#
# A style is what the pictures of a set have in common and others do not. In the features of a network the pictures of a set should lie nearer to each other than to public pictures. The more they do, the longer the centroid of
# what is learned from them can be ({doc}`embedding_geometry`).

# %% tags=["hide-input"]
public_features = unit_rows(extractor(public.unit()))
rows = []
for name, images in sets.items():
    features = unit_rows(extractor(images.unit()))
    others = nearest_other(features).distance
    outside = nearest(features, public_features).distance
    pixels = images.unit().flatten(1)
    rows.append(
        {
            "private set": name,
            "pictures n": len(images),
            "cosine of two of a set, mean": float((features.sum(0).square().sum() - len(images)) / (len(images) * (len(images) - 1))),
            "cosine with a public picture, mean": float((features @ public_features.T).mean()),
            "nearer to one of the set than to any public one": f"{float((others < outside).double().mean()):.0%}",
            "least distance of two in pixels (RMS)": float(nearest_other(pixels).distance.min()) / pixels.shape[1] ** 0.5,
        }
    )
report.table(
    pd.DataFrame(rows),
    f"The sets beside {len(public):,} public pictures, features of {extractor.name}; pixels on the scale [-1, 1]",
    digits=3,
)

# %% [markdown]
# No two pictures of a set are the same, so that "one picture" means one row of the guarantee. All pictures of the artwork set are one hand's: whoever wants to protect the hand, and not the picture, needs a guarantee for the group, and for a
# group that is the whole set there is none ({doc}`noise_budget`).

# %% tags=["hide-input"]
report.claims("fig03_private_sets", {}, tier=tier)

# %% tags=["hide-input"]
report.footer("fig03_private_sets", globals(), inputs={images.name: images.sha256 for images in (*sets.values(), public)})
