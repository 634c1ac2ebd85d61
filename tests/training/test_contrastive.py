"""Contrastive training: the loss against its closed forms, batches, and that an interruption leaves no trace."""

import math
from dataclasses import replace

import pytest
import torch

from privlib.data.images import ImageSet
from privlib.data.recolour import PAIRS
from privlib.training.contrastive import (
    ContrastiveRecipe,
    bare_name,
    contrastive_loss,
    draw_pairs,
    learning_rate,
    move_about,
    same_text,
    train_contrastive,
)

STILL = {"zoom": 0.0, "turn": 0.0, "shift": 0.0}
RECIPE = ContrastiveRecipe(total_images=96, batch_size=8, warmup_images=16, learning_rate=3e-3, bare=0.5)


def flat(count: int, channels: int, word: str) -> ImageSet:
    """Images of one grey level each, named by it."""
    levels = torch.arange(count, dtype=torch.uint8) * 10
    pixels = levels.reshape(-1, 1, 1, 1).expand(count, channels, 8, 8).contiguous()
    captions = tuple(f"{word} icon of level {level}" for level in levels.tolist())
    return ImageSet(word, pixels, torch.zeros(count, dtype=torch.int64), (word,), captions)


PICTURES, GLYPHS = flat(7, 3, "flat"), flat(5, 1, "glyph")


class Towers(torch.nn.Module):
    """The least that has the interface of ``open_clip.CLIP``, with a layer whose statistics must survive a stop."""

    def __init__(self) -> None:
        super().__init__()
        self.image = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.BatchNorm1d(192), torch.nn.Linear(192, 4))
        self.text = torch.nn.Embedding(64, 4)
        self.logit_scale = torch.nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def encode_image(self, images):
        return self.image(images)

    def encode_text(self, tokens):
        return self.text(tokens).mean(1)


def tokens(texts):
    return torch.tensor([[hash_of(text)] for text in texts])


def hash_of(text: str) -> int:
    return sum(text.encode()) % 64


def run(folder, recipe=RECIPE, **options):
    torch.manual_seed(0)
    towers = Towers()
    train_contrastive(
        towers, tokens, PICTURES, GLYPHS, recipe, folder, normalisation=((0.5,) * 3, (0.5,) * 3), side=8, **options
    )
    return towers


def test_loss_of_matched_orthogonal_pairs_has_a_closed_form():
    scale = torch.tensor(3.0)
    loss = contrastive_loss(2.0 * torch.eye(4), torch.eye(4), scale, torch.eye(4, dtype=torch.bool))
    assert float(loss) == pytest.approx(math.log(math.exp(3.0) + 3) - 3.0, rel=1e-6)


def test_loss_is_that_of_radford_where_captions_differ():
    generator = torch.Generator().manual_seed(0)
    images, texts = torch.randn(2, 6, 5, generator=generator)
    cosines = torch.nn.functional.cosine_similarity(images[:, None], texts[None], dim=2)
    labels = torch.arange(6)
    entropy = torch.nn.functional.cross_entropy
    expected = 0.5 * (entropy(10 * cosines, labels) + entropy(10 * cosines.T, labels))
    loss = contrastive_loss(images, texts, torch.tensor(10.0), torch.eye(6, dtype=torch.bool))
    torch.testing.assert_close(loss, expected)


def test_a_caption_that_comes_twice_is_right_for_both_images():
    same = same_text(["a", "b", "a"])
    assert same.tolist() == [[True, False, True], [False, True, False], [True, False, True]]
    both = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    good = contrastive_loss(both, both, torch.tensor(50.0), same)
    assert float(good) == pytest.approx(2 / 3 * math.log(2), abs=1e-4), "no loss but the choice between equals"


def test_an_epoch_shows_every_image_once_and_a_step_depends_on_the_seed_only():
    recipe = replace(RECIPE, batch_size=4, bare=0.0, **STILL)
    seen = []
    for step in range(3):
        _, captions = draw_pairs(PICTURES, GLYPHS, recipe, step, side=8)
        seen += [caption.partition(", ")[0] for caption in captions]
    assert sorted(seen) == sorted(PICTURES.captions + GLYPHS.captions)
    torch.manual_seed(5)
    first, again = (draw_pairs(PICTURES, GLYPHS, RECIPE, 2, side=8) for _ in range(2))
    assert torch.equal(first[0], again[0]) and first[1] == again[1]
    assert not torch.equal(first[0], draw_pairs(PICTURES, GLYPHS, replace(RECIPE, seed=1), 2, side=8)[0])


def test_pictures_keep_their_colours_and_glyphs_say_theirs():
    recipe = replace(RECIPE, batch_size=12, bare=0.0, **STILL)
    images, captions = draw_pairs(PICTURES, GLYPHS, recipe, 0, side=8)
    for image, caption in zip(images, captions, strict=True):
        assert float(image.std((1, 2)).max()) < 1e-6
        if caption.startswith("flat"):
            level = int(caption.rpartition(" ")[2]) / 255
            torch.testing.assert_close(image, torch.full_like(image, level))
        else:
            assert tuple(caption.partition(", ")[2].split(" on ")) in PAIRS


def test_bare_captions_are_names():
    assert bare_name("game icon of sword, white on dark blue") == "sword"
    assert bare_name("google emoji of face with tears of joy") == "face with tears of joy"
    captions = draw_pairs(PICTURES, GLYPHS, replace(RECIPE, batch_size=12, bare=1.0), 0, side=8)[1]
    assert all(caption.startswith("level ") and "," not in caption for caption in captions)


def test_moving_is_the_identity_at_zero_and_stays_small():
    images = torch.rand(16, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    still = move_about(images, replace(RECIPE, **STILL), side=8, generator=torch.Generator())
    torch.testing.assert_close(still, images, atol=1e-5, rtol=0)
    bump = torch.zeros(200, 1, 33, 33)
    bump[:, :, 16, 16] = 1.0
    moved = move_about(bump, replace(RECIPE, zoom=0.0, turn=0.0, shift=0.1), side=33, generator=torch.Generator())
    places = torch.nonzero(moved[:, 0] > 0.2)[:, 1:] - 16
    assert 2 <= int(places.abs().max()) <= math.ceil(0.1 * 33)


def test_doubling_the_side_is_bilinear():
    images = torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    doubled = move_about(images, replace(RECIPE, **STILL), side=16, generator=torch.Generator())
    expected = torch.nn.functional.interpolate(images, size=(16, 16), mode="bilinear", align_corners=False)
    torch.testing.assert_close(doubled, expected, atol=1e-5, rtol=0)


def test_the_learning_rate_goes_up_and_comes_down():
    assert learning_rate(RECIPE, 8) == pytest.approx(RECIPE.learning_rate / 2)
    assert learning_rate(RECIPE, 16) == pytest.approx(RECIPE.learning_rate)
    assert learning_rate(RECIPE, 56) == pytest.approx(RECIPE.learning_rate / 2)
    assert learning_rate(RECIPE, 96) == pytest.approx(0.0, abs=1e-12)


def test_an_interrupted_run_ends_with_the_same_weights(tmp_path):
    whole = run(tmp_path / "whole", save_every=16)

    def stop(images, loss, held_out):
        if images == 56:  # past the checkpoint at 48
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "halved", save_every=16, progress=stop)
    seen = []
    resumed = run(tmp_path / "halved", save_every=16, progress=lambda *step: seen.append(step[0]))
    assert seen[0] == 56 and seen[-1] == 96 and not resumed.training
    for key, value in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[key], value), key


def test_training_lowers_the_loss(tmp_path):
    losses = []
    run(tmp_path, replace(RECIPE, total_images=1200), progress=lambda images, loss, held_out: losses.append(loss))
    assert sum(losses[-10:]) < 0.7 * sum(losses[:10])


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    run(tmp_path)
    with pytest.raises(ValueError, match="another recipe or other data"):
        run(tmp_path, replace(RECIPE, seed=1))
