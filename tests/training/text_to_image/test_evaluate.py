"""Questions ask for different things, and their answers are the pictures behind the words."""

import torch

from privlib.data.recolour import PAIRS
from privlib.training.text_to_image import evaluate
from privlib.training.text_to_image.captions import colour_pairs, load_pictures_and_glyphs, split_novel
from privlib.training.text_to_image.evaluate import measure, questions


def test_questions_of_the_bundled_pictures():
    known, novel = split_novel(load_pictures_and_glyphs())
    asked = questions(known, novel)
    assert list(asked) == ["pictures", "glyphs", "novel_styles", "novel_colours"]
    for question in asked.values():
        assert len(question.prompts) == len(question.references) == len(set(question.prompts)) == 100
    corners = asked["glyphs"].references[:, :, 0, 0]
    assert float((corners > 0.9).float().mean()) > 0.9, "black on white, but for a glyph that reaches the corner"
    pairs = [", " + " on ".join(PAIRS[index]) for index in colour_pairs(novel=True)]
    assert all(prompt.endswith(tuple(pairs)) for prompt in asked["novel_colours"].prompts)
    trained = set(zip(known.styles, known.names, strict=True))
    for prompt in asked["novel_styles"].prompts:
        name, style = prompt.removeprefix("icon of ").split(" in the style of ")
        assert (style, name) not in trained and any(other == name for _, other in trained)


def test_an_untrained_model_is_measured(pipeline, pictures, monkeypatch):
    monkeypatch.setattr(evaluate, "AMONG", (2, 100))
    accuracy, images = measure(pipeline, questions(pictures, pictures), num_steps=2)
    assert set(accuracy) == set(images) == {"pictures", "glyphs", "novel_styles", "novel_colours"}
    assert list(accuracy["glyphs"]) == ["2", "4"] and all(0 <= value <= 1 for value in accuracy["glyphs"].values())
    assert images["pictures"].shape == (4, 3, 32, 32)
    assert bool(torch.isfinite(images["pictures"]).all())
