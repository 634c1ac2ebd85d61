"""EfficientNet-Lite0 against timm's network, the preprocessing against Pillow's, and what is refused."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from privlib.data.emoji import load_emoji
from privlib.data.images import to_unit
from privlib.data.locate import DataError
from privlib.metrics.features import NetworkFeatures, efficientnet_lite0, read_weights


@pytest.fixture(scope="module")
def lite0() -> NetworkFeatures:
    return efficientnet_lite0(side=64)


def flat(side: int, *, interpolation: str = "bilinear", network: Callable | None = None) -> NetworkFeatures:
    return NetworkFeatures(
        "flat", network or torch.nn.Flatten(), side, (0.5, 0.4, 0.3), (0.2, 0.3, 0.4), interpolation, chunk=3
    )


def random_bytes(count: int, side: int) -> torch.Tensor:
    return torch.randint(0, 256, (count, 3, side, side), generator=torch.Generator().manual_seed(0)).to(torch.uint8)


def test_features_are_finite_repeatable_and_independent_of_the_batch(lite0: NetworkFeatures) -> None:
    images = load_emoji("public").draw(18, seed=0).unit()  # more than one chunk
    features = lite0(images)
    assert features.shape == (18, 1280) and features.dtype == torch.float32
    assert bool(torch.isfinite(features).all()) and float(features.std(0).max()) > 0.1
    assert torch.equal(features, lite0(images))
    torch.testing.assert_close(lite0(images[16:17]), features[16:17], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(lite0(images[:2].double()), features[:2], rtol=1e-4, atol=1e-4)
    assert not features.requires_grad


def test_against_the_network_of_timm(lite0: NetworkFeatures) -> None:
    import timm

    network = timm.create_model("tf_efficientnet_lite0", pretrained=False, num_classes=0).eval()
    ours = [(k, v) for k, v in lite0.network.network.state_dict().items() if not k.startswith("_fc")]
    theirs = network.state_dict()
    assert len(ours) == len(theirs)  # the same layers in the same order under other names
    network.load_state_dict({name: value for name, (_, value) in zip(theirs, ours, strict=True)})
    pixels = load_emoji("public").draw(4, seed=1).pixels
    enlarged = torch.nn.functional.interpolate(pixels.float(), size=(64, 64), mode="bilinear", align_corners=False)
    with torch.no_grad():
        expected = network((enlarged - 127.0) / 128.0)
    torch.testing.assert_close(lite0(to_unit(pixels)), expected, rtol=1e-3, atol=1e-4)


def test_features_know_a_concept_from_another_vendor_better_than_pixels_do(lite0: NetworkFeatures) -> None:
    data = load_emoji("public")
    concepts = [caption.partition(" emoji of ") for caption in data.captions]
    where = {(vendor, name): i for i, (vendor, _, name) in enumerate(concepts)}
    shared = sorted(name for vendor, name in where if vendor == "google" and ("twitter", name) in where)[::20]
    images = {v: data.subset([where[v, name] for name in shared]).unit() for v in ("google", "twitter")}

    def retrieved(encode: Callable[[torch.Tensor], torch.Tensor]) -> float:
        first, second = (encode(images[v]) - encode(images[v]).mean(0) for v in ("google", "twitter"))
        cosine = torch.nn.functional.normalize(first, dim=1) @ torch.nn.functional.normalize(second, dim=1).T
        return float((cosine.argmax(1) == torch.arange(len(shared))).double().mean())

    assert len(shared) > 60
    assert retrieved(lite0) > retrieved(lambda x: x.flatten(1)) + 0.1


def test_a_stand_in_says_so(lite0: NetworkFeatures) -> None:
    assert lite0.name == "EfficientNet-Lite0 (ImageNet), 64 px"
    assert "Inception" in lite0.stand_in_for and "Inception" not in lite0.name


def test_normalisation_and_clamping() -> None:
    images = torch.tensor([-1.0, 1.0, 0.0, -1.7, 3.0]).reshape(5, 1, 1, 1).expand(5, 3, 4, 4)
    prepared = flat(8).prepare(images)
    assert prepared.shape == (5, 3, 8, 8) and prepared.dtype == torch.float32
    levels = torch.tensor([0.0, 1.0, 0.5, 0.0, 1.0])
    for channel, (mean, std) in enumerate(((0.5, 0.2), (0.4, 0.3), (0.3, 0.4))):
        torch.testing.assert_close(prepared[:, channel, 3, 5], (levels - mean) / std)
    torch.testing.assert_close(flat(8)(images), prepared.flatten(1))
    overshoot = 3.0 * torch.rand(2, 3, 4, 4) - 1.5  # clamped before it is mixed with its neighbours, as files are
    assert torch.equal(flat(8).prepare(overshoot), flat(8).prepare(overshoot.clamp(-1.0, 1.0)))


@pytest.mark.parametrize(("interpolation", "filter_"), [("bilinear", Image.BILINEAR), ("bicubic", Image.BICUBIC)])
@pytest.mark.parametrize("side", [13, 40])
def test_resizing_is_that_of_pillow(interpolation: str, filter_: int, side: int) -> None:
    pixels = random_bytes(1, 20) // 2 + 64  # no clipping between Pillow's two passes
    image = Image.fromarray(pixels[0].permute(1, 2, 0).numpy())
    expected = torch.from_numpy(np.array(image.resize((side, side), filter_))).permute(2, 0, 1) / 255.0
    extractor = flat(side, interpolation=interpolation)
    std, mean = (torch.tensor(v).reshape(3, 1, 1) for v in (extractor.std, extractor.mean))
    ours = extractor.prepare(to_unit(pixels))[0] * std + mean
    assert float((ours - expected).abs().max()) < 1.5 / 255  # Pillow rounds to bytes in each pass


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (random_bytes(2, 8), "floating point"),
        (torch.zeros(2, 1, 8, 8), "shape"),
        (torch.zeros(3, 8, 8), "shape"),
        (torch.zeros(0, 3, 8, 8), "shape"),
        (torch.full((1, 3, 8, 8), float("nan")), "finite"),
        (random_bytes(2, 8).float(), "near \\[-1, 1\\]"),
    ],
)
def test_refused_images(images: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flat(8)(images)


@pytest.mark.parametrize("side", [0, 16, 100, 96.0])
def test_refused_sides(side: object) -> None:
    with pytest.raises(ValueError, match="side"):
        efficientnet_lite0(side=side)


def test_weights_are_checked_and_never_run(tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    torch.save({"weight": torch.arange(3.0)}, path)
    good = hashlib.sha256(path.read_bytes()).hexdigest()
    assert torch.equal(read_weights(path, sha256=good)["weight"], torch.arange(3.0))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match=f"expected {good}"):
        read_weights(path, sha256=good)
    with pytest.raises(DataError, match="missing"):
        read_weights(tmp_path / "absent.pth", sha256=good)

    class Code:
        def __reduce__(self) -> tuple:
            return (Path(tmp_path / "ran").touch, ())

    torch.save({"weight": Code()}, path)
    with pytest.raises(pickle.UnpicklingError):
        read_weights(path, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    assert not (tmp_path / "ran").exists()
