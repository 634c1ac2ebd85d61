# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The networks that stand in for CLIP, DINO and Inception
#
# The papers measure images with networks whose weights are downloaded: CLIP {cite:p}`radford2021learning`, DINO {cite:p}`oquab2024dinov2` and the Inception network of FID. The book has to run without a download,
# so two small networks take their place. Wherever a number comes from one of them the page says so, under the network's own name. {doc}`/book/metrics` lists every instrument; this page says what the two networks are and what they can tell apart.

# %% tags=["parameters"]
feature_side = 96  # input side of efficientnet, a multiple of 32
candidates = 100  # captions that an image is ranked among, at least 5
num_shown = 18  # held-out images to show with the caption that was found, a multiple of 6
seed = 0  # seed of the choice of captions and of the images shown, a whole number from 0
device = "auto"  # where the networks run, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import textwrap

import matplotlib.pyplot as plt
import pandas as pd
import torch

from privlib import figures, report
from privlib.data import load
from privlib.data.icons import load_captioned
from privlib.metrics.features import efficientnet_lite0
from privlib.metrics.icon_text import load_icon_text, read_card
from privlib.metrics.retrieval import pair_retrieval, rank_captions
from privlib.numerics import choose_device

figures.use_style()
where = choose_device(device)
efficientnet, icon_text = efficientnet_lite0(side=feature_side, device=where), load_icon_text(device=where)
card = read_card()
report.table(
    pd.DataFrame(
        {
            "name on these pages": ["efficientnet", "icon_text"],
            "network": [efficientnet.name, icon_text.name],
            "stands in for": [efficientnet.stand_in_for, icon_text.stand_in_for],
            "trained on": ["ImageNet photographs with labels, by others", f"captioned icons and emoji, {card['images_seen']:,} seen, here"],
        }
    ),
    "The stand-ins",
)

# %% [markdown]
# `icon_text` has the parts of CLIP, through the `open_clip` library: a residual network for images, a transformer for texts, one space for both, and the loss that makes an image choose its caption among those of a batch.
# It is far smaller than CLIP ViT-B/32 and saw a few thousand icons instead of hundreds of millions of photographs: the public captioned set ({doc}`/book/data`), never a private image.
# `make train-clip` trains it again.
#
# ## Does it know what an image shows?
#
# Each image of a concept that the training did not see chooses among captions: its own, and others of held-out concepts. *Same style* takes the others from the same style, so that knowing a style is of no help;
# *names only* takes style and colours out of the captions too, so that nothing but the shape is left. The same is done for images of the training set. A guess is right as often as the last columns say.

# %% tags=["hide-input"]
report.table(
    pd.DataFrame(
        [
            {
                "images": images,
                "captions to choose from": kind,
                "scored": found["num_images"],
                "first is right": found["top1"],
                "right within five": found["top5"],
                "guess, first": 1 / found["candidates"],
                "guess, within five": 5 / found["candidates"],
            }
            for images, kinds in card["retrieval"].items()
            for kind, found in kinds.items()
        ]
    ),
    "Retrieval of captions by icon_text, from its model card",
    digits=3,
)

# %% [markdown]
# What it found, for held-out images that were drawn at random: below each image the caption that came first, and its own caption where that is another.

# %% mystnb={"image": {"alt": "Grid of small icons and emoji, with a caption below each. Some captions are right; where one is wrong, the right one is given in brackets."}} tags=["hide-input"]
held_out = load_captioned("public_held_out")
ranked = rank_captions(icon_text, held_out, candidates=candidates, seed=seed)
order = torch.randperm(len(ranked), generator=torch.Generator().manual_seed(seed))[:num_shown].tolist()
figure, grid = plt.subplots(num_shown // 6, 6, figsize=(12.0, 0.8 + 1.9 * (num_shown // 6)), squeeze=False)
for axes, place in zip(grid.flat, order, strict=True):
    axes.imshow(held_out.pixels[ranked[place].image].permute(1, 2, 0).numpy())
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    axes.spines[:].set_visible(False)
    words = ranked[place].best + ("" if ranked[place].rank == 0 else f" [{ranked[place].own}]")
    axes.set_xlabel(textwrap.fill(words, 26), fontsize=8)
plt.show()

# %% [markdown]
# ## Do their distances follow what is shown?
#
# Both serve as a distance between images. Two vendors draw the same held-out concepts; for each drawing of the one, is the nearest drawing of the other, by the cosine, that of the same concept? Pixels are the bar to beat.

# %% tags=["hide-input"]
emoji = load("emoji/public_held_out")
names = dict.fromkeys(caption.partition(" emoji of ")[2] for caption in emoji.captions)
both = [[emoji.captions.index(f"{vendor} emoji of {name}") for name in names] for vendor in ("google", "twitter")]
first, second = (emoji.subset(indices).unit() for indices in both)
found = {
    "pixels": pair_retrieval(first.flatten(1), second.flatten(1)),
    "efficientnet": pair_retrieval(efficientnet(first), efficientnet(second)),
    "icon_text": pair_retrieval(icon_text(first), icon_text(second)),
}
report.table(
    pd.DataFrame({"features": list(found), "nearest is the same concept": list(found.values()), "a guess": 1 / len(names)}),
    f"The same concept across vendors, {len(names)} held-out concepts",
    digits=3,
)

# %% [markdown]
# `icon_text` was trained to bring drawings of one concept together, on other concepts by the same two vendors; what it reaches here says little of other images. Of photographs it knows nothing: on the `cifar10` tier its distances are those of a network that is far from
# home, and are shown for their order only.

# %% tags=["hide-input"]
report.claims("stand_ins", {}, tier=tier)

# %% tags=["hide-input"]
inputs = {held_out.name: held_out.sha256, emoji.name: emoji.sha256, "weights/icon_text": card["sha256"]}
report.footer("stand_ins", globals(), inputs=inputs)
