"""The bundled pipeline: it is the recipe's, it does what prompts say, and it can be adapted."""

import math

import pytest
import torch

from privlib.aggregation import Bound
from privlib.data.icons import load_icons
from privlib.data.recolour import PALETTE
from privlib.denoisers.text_to_image import FOLDER, generate, load_text_to_image, read_text_to_image_card
from privlib.inversion.aggregate import centroid_geometry
from privlib.inversion.model import FrozenModel
from privlib.inversion.optimize import Settings, invert
from privlib.training.text_to_image.captions import load_pictures_and_glyphs, split_novel
from privlib.training.text_to_image.evaluate import Question, measure, questions
from privlib.training.text_to_image.recipe import RECIPE


@pytest.fixture(scope="module")
def pipeline():
    return load_text_to_image()


def test_it_is_small_and_made_by_the_recipe_from_the_public_pictures(pipeline):
    card = read_text_to_image_card()
    known, _ = split_novel(load_pictures_and_glyphs())
    assert card["data_sha256"] == known.sha256() and card["pictures"] == len(known)
    assert card["recipe"] == {
        name: list(value) if isinstance(value, tuple) else value for name, value in RECIPE.to_dict().items()
    }
    assert sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file()) < 20e6
    assert pipeline.text_encoder.config.hidden_size == RECIPE.text_width


def test_grounds_are_those_of_the_prompt(pipeline):
    """The ground is most of a glyph's picture: its median pixel is nearest to the colour that the prompt names last."""
    names, grounds = list(PALETTE), ["red", "cream", "dark blue", "teal"]
    prompts = [f"icon of a key in the style of carbon, white on {ground}" for ground in grounds]
    drawn = generate(pipeline, prompts, seeds=[0] * len(prompts), num_steps=10)
    median = drawn.add(1.0).mul(127.5).flatten(2).median(2).values
    nearest = torch.cdist(median, torch.tensor(list(PALETTE.values())).float()).argmin(1)
    assert [names[place] for place in nearest.tolist()] == grounds


@pytest.mark.slow
def test_prompts_are_followed_above_chance(pipeline):
    """Each question alone: as many right among 20 as chance gives in less than one run of a thousand."""
    asked = {
        name: Question(question.prompts[:80], question.references[:80])
        for name, question in questions(*split_novel(load_pictures_and_glyphs())).items()
    }
    accuracy, _ = measure(pipeline, asked)
    for name, question in asked.items():
        count = len(question.prompts) // 20 * 20
        mean, deviation = 1 / 20, math.sqrt(0.05 * 0.95 / count)
        assert accuracy[name]["20"] > mean + 3.1 * deviation, (name, accuracy[name])


@pytest.mark.slow
def test_vectors_of_private_pictures_point_the_same_way(pipeline):
    """What a noisy mean lives from: pictures of one style move the public word in much the same direction."""
    model = FrozenModel.from_pipeline(pipeline)
    images = load_icons("pictograms").draw(12, seed=0).unit()
    settings = Settings(("icon in the style of {}",), "style", steps=30, learning_rate=0.05, batch_size=12)
    learned = invert(model, images, settings)
    assert learned.losses[:, -10:].mean() < learned.losses[:, :10].mean()
    moves = learned.vectors.double() - learned.initial.double()
    # Twelve random directions have a mean of norm 0.29.
    assert centroid_geometry(moves, Bound.SPHERE, 1.0)["centroid_norm"] > 0.6
