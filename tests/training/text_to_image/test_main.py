"""The whole recipe from pictures to a shipped pipeline, on a tiny model; looking at it on the way."""

import functools

import pytest
from PIL import Image

from privlib.denoisers.text_to_image import load_text_to_image, read_text_to_image_card, save_text_to_image
from privlib.training.text_to_image import __main__ as program
from privlib.training.text_to_image import evaluate


@pytest.fixture
def folder(recipe, pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(program, "RECIPE", recipe)
    monkeypatch.setattr(program, "load_pictures_and_glyphs", lambda: pictures)
    monkeypatch.setattr(program, "split_novel", lambda everything: (everything, everything))
    monkeypatch.setattr(evaluate, "AMONG", (2, 4))
    monkeypatch.setattr(program, "measure", functools.partial(evaluate.measure, num_steps=2))
    for part in ("VOCABULARY", "AUTOENCODER", "DIFFUSION"):
        monkeypatch.setattr(program, part, tmp_path / part.lower())
    shipped = tmp_path / "shipped"
    monkeypatch.setattr(program, "save_text_to_image", functools.partial(save_text_to_image, folder=shipped))
    return shipped


def arguments(monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["text_to_image", *words])


def test_a_recipe_ends_in_a_pipeline_with_a_card(folder, recipe, monkeypatch, capsys):
    arguments(monkeypatch, "--preview", str(folder.parent / "early.png"))
    assert program.main() == 1
    assert "no checkpoint" in capsys.readouterr().err
    arguments(monkeypatch)
    assert program.main() == 0
    card = read_text_to_image_card(folder=folder)
    assert set(card["retrieval_accuracy"]) == {"pictures", "glyphs", "novel_styles", "novel_colours"}
    assert card["recipe"]["vocabulary_size"] == recipe.vocabulary_size and 0 < card["autoencoder_psnr_db"] < 60
    assert load_text_to_image(folder=folder).unet.config.cross_attention_dim == recipe.text_width
    with Image.open(folder.parent / "diffusion" / "sheet.png") as sheet:
        assert sheet.size[0] == 2 * (20 * 34 + 2) and sheet.size[1] == 2 * (8 * 34 + 2)
    arguments(monkeypatch, "--preview", str(folder.parent / "late.png"))
    assert program.main() == 0
    assert "32 images; retrieval accuracy" in capsys.readouterr().err
    assert (folder.parent / "late.png").is_file()


def test_ctrl_c_is_no_error_message(folder, monkeypatch, capsys):
    def stop(device):
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "run", stop)
    arguments(monkeypatch)
    assert program.main() == 130
    assert "goes on from the last checkpoint" in capsys.readouterr().err
