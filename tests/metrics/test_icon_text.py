"""The stand-in for CLIP: its tokenizer, its files, and that the shipped weights do what their card says."""

import json

import pytest
import torch

from privlib.data.icons import load_captioned
from privlib.data.images import to_unit
from privlib.data.locate import DataError
from privlib.metrics.icon_text import (
    CONFIG,
    FOLDER,
    NAME,
    ShortTokenizer,
    build_icon_text,
    load_icon_text,
    read_card,
    save_icon_text,
)
from privlib.metrics.retrieval import caption_retrieval


@pytest.fixture(scope="module")
def fresh():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        clip = build_icon_text()
    clip.model.eval()
    return clip


def test_the_tokenizer_keeps_frequent_words_whole_and_spells_the_rest():
    tokenizer = ShortTokenizer(4096, context_length=24)
    tokens = tokenizer(["game icon of sword, white on dark blue", "zyzzyva ü 7"])
    assert tokens.shape == (2, 24) and int(tokens.max()) < tokenizer.vocab_size == 4096
    for row, text in zip(tokens, ("game icon of sword , white on dark blue", "zyzzyva ü 7"), strict=True):
        ids = row[row > 0].tolist()
        assert ids[0] == 4094 and ids[-1] == 4095 and row.argmax() == len(ids) - 1
        assert tokenizer.decode(ids[1:-1]).strip() == text
    assert (tokens[0] > 0).sum() < 14


def test_the_tokenizer_is_the_one_of_clip_where_all_merges_are_kept():
    from open_clip.tokenizer import SimpleTokenizer

    texts = ["google emoji of face with tears of joy", "a photo of a ship."]
    full = ShortTokenizer(49408, context_length=24)
    assert torch.equal(full(texts), SimpleTokenizer(context_length=24)(texts))


def test_images_are_prepared_as_declared(fresh):
    pixels = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    prepared = fresh.image_tower.prepare(to_unit(pixels))
    assert prepared.shape == (2, 3, 64, 64)
    assert float(prepared.max()) <= (1 - 0.65) / 0.3 + 1e-5
    embeddings = fresh(to_unit(pixels))
    assert embeddings.shape == (2, CONFIG["embed_dim"]) and bool(torch.isfinite(embeddings).all())


def test_what_was_saved_is_loaded(fresh, tmp_path):
    path = save_icon_text(fresh, {"what": "a test"}, name="t", folder=tmp_path)
    loaded = load_icon_text(name="t", folder=tmp_path)
    assert not loaded.model.training and read_card(name="t", folder=tmp_path)["what"] == "a test"
    images = torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(2)) * 2 - 1
    torch.testing.assert_close(loaded(images), fresh(images), rtol=0.02, atol=0.02)
    assert {file.name for file in tmp_path.iterdir()} == {"t.json", "t.safetensors"}
    assert path.stat().st_size < 5e6


def test_loading_leaves_the_random_state_alone(fresh, tmp_path):
    save_icon_text(fresh, {}, name="t", folder=tmp_path)
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    load_icon_text(name="t", folder=tmp_path)
    assert torch.equal(torch.rand(4), expected)


def test_damaged_or_missing_files_are_refused(fresh, tmp_path):
    with pytest.raises(DataError, match="make train-clip"):
        load_icon_text(name="t", folder=tmp_path)
    path = save_icon_text(fresh, {}, name="t", folder=tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(DataError, match="its card says"):
        load_icon_text(name="t", folder=tmp_path)
    path.unlink()
    with pytest.raises(DataError, match="is missing, though its card is there"):
        load_icon_text(name="t", folder=tmp_path)


def test_weights_of_another_network_are_refused(tmp_path):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        other = build_icon_text({**CONFIG, "embed_dim": 64})
    save_icon_text(other, {}, name="t", folder=tmp_path)
    with pytest.raises(DataError, match="does not fit the network"):
        load_icon_text(name="t", folder=tmp_path)


def test_weights_that_half_precision_cannot_hold_are_refused(tmp_path):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        clip = build_icon_text()
    with torch.no_grad():
        clip.model.text_projection[0, 0] = 1e6
    with pytest.raises(ValueError, match="text_projection of t is not finite"):
        save_icon_text(clip, {}, name="t", folder=tmp_path)


def test_the_shipped_model_carries_its_own_name():
    clip, card = load_icon_text(), read_card()
    assert clip.stand_in_for == card["stand_in_for"] == "CLIP ViT-B/32" and clip.name == card["name"]
    assert "clip" not in clip.name.lower() and clip.image_tower.stand_in_for == clip.stand_in_for
    assert (FOLDER / f"{NAME}.safetensors").stat().st_size < 5e6
    assert json.loads(json.dumps(CONFIG)) == card["network"]


def test_the_shipped_model_retrieves_as_its_card_says():
    clip, card = load_icon_text(), read_card()
    found = caption_retrieval(clip, load_captioned("public_held_out"))
    stated = card["retrieval"]["held out"]["any style"]
    assert found.num_images == stated["num_images"] and found.candidates == stated["candidates"] == 100
    # The card was written before the weights were rounded to half precision.
    assert found.top1 == pytest.approx(stated["top1"], abs=0.02)
    assert found.top5 == pytest.approx(stated["top5"], abs=0.02)
    assert found.top1 > 5 / 100, "far above a guess"
