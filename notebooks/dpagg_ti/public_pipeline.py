# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The text-to-image model that comes with the book
#
# The paper adapts Stable Diffusion {cite:p}`rombach2022high`, which cannot be had offline and not be run on two cores. The book brings a small model of the same build, trained by a recipe in the repository (`make train-text-to-image`): a CLIP text encoder, an autoencoder,
# and a U-Net that attends to the text, in the files and classes of a `StableDiffusionPipeline` of `diffusers`. What works on it works on the large one, by the same calls.
#
# It draws icons of 32 by 32 pixels: of several sets of coloured pictures, and of sets of glyphs in an ink and on a ground that the prompt names ({doc}`../../book/data`). Before anything private is built on it, this page asks whether it does what a prompt says.

# %% tags=["parameters"]
words = ["cat", "house", "key", "fish", "tree", "heart", "car", "crown"]  # things that the grid shows, at least 1
styles = ["noto", "firefox", "emojione", "game", "carbon, white on blue", "game, black on yellow", "carbon, red on cream"]  # styles that the grid shows, at least 1
guidances = [1.0, 4.0]  # scales of classifier-free guidance to compare, each at least 1; 1 is none
num_prompts = 60  # prompts of each question that are drawn for the table, 20 to 100
num_steps = 25  # of the sampler, at least 1
seed = 0  # of the noise of the grid, a whole number from 0
device = "auto"  # where the networks run, such as cpu or cuda; auto takes a GPU if there is one
tier = "embedded"  # scale of the run, set by the profile

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import pandas as pd

from privlib import figures, report
from privlib.data.images import to_bytes
from privlib.denoisers.text_to_image import (
    BUNDLED,
    generate,
    load_named_pipeline,
    pipeline_sha256,
    read_text_to_image_card,
)
from privlib.numerics import choose_device
from privlib.training.text_to_image.captions import load_pictures_and_glyphs, split_novel
from privlib.training.text_to_image.evaluate import Question, measure, questions

figures.use_style()
pipeline = load_named_pipeline(BUNDLED).to(choose_device(device))
card = read_text_to_image_card()
parts = {"text encoder": pipeline.text_encoder, "autoencoder": pipeline.vae, "U-Net": pipeline.unet}
report.table(
    pd.DataFrame(
        {
            "part": list(parts),
            "class": [type(part).__name__ for part in parts.values()],
            "parameters": [sum(weight.numel() for weight in part.parameters()) for part in parts.values()],
        }
    ),
    f"Trained on {card['pictures']:,} public pictures; the U-Net and the text encoder saw {card['recipe']['diffusion']['total_images']:,} of their views. "
    f"Autoencoder: {card['autoencoder_psnr_db']} dB on pictures that it was not trained on",
)

# %% [markdown]
# ## What it draws
#
# One prompt for each picture, one first noise down a column, none chosen, with classifier-free guidance {cite:p}`ho2022classifier`.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Grid of drawn icons, one column for each thing, one row for each style. Rows of coloured styles show coloured pictures on white, rows of glyph styles show one ink on one ground, in the colours that the prompt names."}}
template = "icon of a {} in the style of {}"
drawn = generate(
    pipeline,
    [template.format(word, style) for style in styles for word in words],
    seeds=[seed + place for _ in styles for place in range(len(words))],
    num_steps=num_steps,
)
grid = to_bytes(drawn).permute(0, 2, 3, 1).reshape(len(styles), len(words), *drawn.shape[2:], 3)
figures.image_grid(grid.numpy(), rows=styles, columns=words, title=template.format("...", "..."))
plt.show()

# %% [markdown]
# ## Does it follow the prompt?
#
# A picture is drawn for each prompt, and among the true pictures of several prompts the one nearest to it in pixels is looked for: is it the one of its own prompt? Four questions: pictures and glyphs that were trained on; glyphs in two colours that
# were never trained on together; and things that were trained on in other styles, but not in this one. Pixels know nothing of meaning, so that a good drawing in another pose counts as a miss.

# %% tags=["hide-input"]
names = {
    "pictures": "pictures that were trained on",
    "glyphs": "glyphs that were trained on, black on white",
    "novel_colours": "glyphs in a new pair of colours",
    "novel_styles": "things in a new style",
}
asked = {
    name: Question(question.prompts[:num_prompts], question.references[:num_prompts])
    for name, question in questions(*split_novel(load_pictures_and_glyphs())).items()
}
rows = []
for guidance in guidances:
    accuracy, _ = measure(pipeline, asked, guidance=guidance, num_steps=num_steps)
    rows += [
        {"guidance": guidance, "question": names[name], "prompts": len(asked[name].prompts)}
        | {f"right among {among}": f"{share:.0%}" for among, share in shares.items()}
        for name, shares in accuracy.items()
    ]
report.table(
    pd.DataFrame(rows).fillna("\u2013"), "How often the nearest true picture is the one of the prompt; by chance one in as many"
)
report.table(
    pd.DataFrame(
        {"question": names[name]} | {f"right among {among}": f"{share:.0%}" for among, share in shares.items()}
        for name, shares in card["retrieval_accuracy"].items()
    ).fillna("\u2013"),
    f"The same as the model card has it, measured when the weights were made: {card['retrieval_note']}",
)

# %% [markdown]
# It knows the things and styles of its captions and nothing else, and no photographs. Its private styles, the pictograms in gold on navy and the artwork, were never shown to it ({doc}`fig03_private_sets`).

# %% tags=["hide-input"]
report.claims("public_pipeline", {}, tier=tier)

# %% tags=["hide-input"]
report.footer("public_pipeline", globals(), inputs={"pipeline/bundled": pipeline_sha256(BUNDLED)})
