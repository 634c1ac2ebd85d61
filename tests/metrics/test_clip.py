"""CLIP through open_clip, on a tiny model with random weights in a file: loading, preprocessing, zero-shot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from PIL import Image

from privlib.data.images import to_unit
from privlib.data.locate import DataError
from privlib.metrics.clip import Clip, load_clip, zero_shot

CONFIG = {
    "embed_dim": 8,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "patch_size": 8, "head_width": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 1, "layers": 1},
}
NAMES = ("ship", "dog", "cat")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import open_clip

    folder = tmp_path_factory.mktemp("clip")
    (folder / "tiny-clip.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    open_clip.add_model_config(folder / "tiny-clip.json")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = open_clip.create_model("tiny-clip")
    torch.save(model.state_dict(), folder / "tiny.pt")
    return folder / "tiny.pt"


@pytest.fixture(scope="module")
def clip(weights: Path) -> Clip:
    return load_clip("tiny-clip", str(weights))


def pixels(count: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 256, (count, 3, 24, 24), generator=generator).to(torch.uint8)


def test_embeddings_are_those_of_open_clip_with_its_own_preprocessing(clip: Clip, weights: Path) -> None:
    import open_clip

    model, _, preprocess = open_clip.create_model_and_transforms("tiny-clip", pretrained=str(weights))
    images = pixels(3)
    batch = torch.stack([preprocess(Image.fromarray(image.permute(1, 2, 0).numpy())) for image in images])
    with torch.no_grad():
        expected = model.eval().encode_image(batch)
    embeddings = clip(to_unit(images))
    assert embeddings.shape == (3, 8) and embeddings.dtype == torch.float32
    torch.testing.assert_close(embeddings, expected, rtol=0.02, atol=0.02)  # Pillow rounds to bytes
    assert float((expected[0] - expected[1]).abs().max()) > 0.1


def test_zero_shot_by_hand(clip: Clip) -> None:
    classifier = zero_shot(clip, NAMES, template="an icon of a {}")
    images = to_unit(pixels(20))
    probabilities = classifier(images)
    with torch.no_grad():
        texts = clip.model.encode_text(clip.tokenizer([f"an icon of a {name}" for name in NAMES])).double()
        scale = float(clip.model.logit_scale.exp())
    cosines = torch.nn.functional.cosine_similarity(clip(images).double()[:, None], texts[None], dim=2)
    torch.testing.assert_close(probabilities, (scale * cosines).softmax(1), rtol=1e-4, atol=1e-6)
    assert probabilities.shape == (20, 3) and classifier.class_names == NAMES
    assert float(probabilities.std(1).min()) > 0.01


def test_names(clip: Clip) -> None:
    assert clip.name == "CLIP tiny-clip (tiny.pt)"  # no folder of this machine
    assert clip.stand_in_for == "" and zero_shot(clip, NAMES).stand_in_for == ""
    stand_in = Clip("captions-CLIP", clip.model, clip.tokenizer, stand_in_for="CLIP ViT-B/32")
    classifier = zero_shot(stand_in, NAMES)
    assert classifier.name.startswith("zero-shot captions-CLIP") and "ViT" not in classifier.name
    assert classifier.stand_in_for == "zero-shot CLIP ViT-B/32" and stand_in.image_tower.stand_in_for == "CLIP ViT-B/32"


@pytest.mark.parametrize(
    ("names", "template", "message"),
    [
        (("ship",), "a {}", "at least two"),
        (("ship", "ship"), "a {}", "at least two different"),
        (NAMES, "a photo", "template"),
        (NAMES, "{} {}", "template"),
    ],
)
def test_refused_zero_shot(clip: Clip, names: tuple[str, ...], template: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        zero_shot(clip, names, template=template)


def test_refused_weights(weights: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="list_models"):
        load_clip("ViT-B-1000")
    with pytest.raises(DataError, match="absent.pt.*tiny-clip cannot be had"):
        load_clip("tiny-clip", str(tmp_path / "absent.pt"))
    state = torch.load(weights, weights_only=True)
    state["visual.class_embedding"] = torch.zeros(5)
    torch.save(state, tmp_path / "other.pt")
    with pytest.raises(DataError, match="class_embedding"):
        load_clip("tiny-clip", str(tmp_path / "other.pt"))


def test_a_model_that_takes_no_square_is_refused(clip: Clip, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(clip.model.visual.preprocess_cfg, "size", (32, 16))
    with pytest.raises(ValueError, match="square"):
        Clip("wide", clip.model, clip.tokenizer)(torch.zeros(1, 3, 32, 16))
