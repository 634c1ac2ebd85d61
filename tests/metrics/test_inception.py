"""The Inception network of FID with random weights in the published format, and the Inception score."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torchvision.models import Inception3

from privlib.data.locate import DataError
from privlib.metrics import inception
from privlib.metrics.inception import Inception, inception_score, load_inception


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published file has the keys of torchvision's network with 1,008 classes and no auxiliary head."""
    generator = torch.Generator().manual_seed(0)
    tensors = Inception3(num_classes=1008, aux_logits=False, init_weights=False).state_dict()
    for key, value in tensors.items():
        if key.endswith("conv.weight"):
            value.normal_(0.0, (2.0 / value[0].numel()) ** 0.5, generator=generator)
        elif key.endswith("running_var"):
            value.uniform_(0.5, 2.0, generator=generator)
        elif value.is_floating_point():
            value.normal_(1.0 if key.endswith("bn.weight") else 0.0, 0.1, generator=generator)
    path = tmp_path_factory.mktemp("inception") / "random.pth"
    torch.save(tensors, path)
    return path


@pytest.fixture(scope="module")
def extractor(weights: Path) -> Inception:
    return load_inception(weights=weights)


@pytest.fixture(scope="module")
def plain(weights: Path) -> Inception3:
    """torchvision's network with the same weights."""
    network = Inception3(num_classes=1008, aux_logits=False, init_weights=False)
    network.load_state_dict(torch.load(weights, weights_only=True))
    return network.eval()


@pytest.fixture(scope="module")
def images() -> torch.Tensor:
    return torch.rand(2, 3, 32, 24, generator=torch.Generator().manual_seed(1)) * 2.2 - 1.1


def test_features(extractor: Inception, images: torch.Tensor) -> None:
    features = extractor(images)
    assert features.shape == (2, 2048) and features.dtype == torch.float32 and not features.requires_grad
    assert float((features[0] - features[1]).abs().max()) > 1e-3
    torch.testing.assert_close(extractor(images[1:]), features[1:], rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="must lie near"):
        extractor(127.5 * images)


def test_probabilities_have_no_bias(extractor: Inception, weights: Path, images: torch.Tensor) -> None:
    features = extractor(images)
    logits = features.double() @ torch.load(weights, weights_only=True)["fc.weight"].double().T
    torch.testing.assert_close(extractor.probabilities(features), logits.exp() / logits.exp().sum(1, keepdim=True))


def mean_of_neighbours(x: torch.Tensor) -> torch.Tensor:
    """Over the up to nine pixels around each that lie in the image."""
    padded = torch.nn.functional.pad(x, (1, 1, 1, 1), value=float("nan"))
    return padded.unfold(2, 3, 1).unfold(3, 3, 1).flatten(4).nanmean(4)


def largest_neighbour(x: torch.Tensor) -> torch.Tensor:
    padded = torch.nn.functional.pad(x, (1, 1, 1, 1), value=-float("inf"))
    return padded.unfold(2, 3, 1).unfold(3, 3, 1).flatten(4).amax(4)


@pytest.mark.parametrize(
    ("block", "channels", "side", "pool"),
    [
        ("Mixed_5b", 192, 9, mean_of_neighbours),
        ("Mixed_5d", 288, 9, mean_of_neighbours),
        ("Mixed_6b", 768, 9, mean_of_neighbours),
        ("Mixed_6e", 768, 9, mean_of_neighbours),
        ("Mixed_7b", 1280, 8, mean_of_neighbours),
        ("Mixed_7c", 2048, 8, largest_neighbour),
    ],
)
def test_blocks_pool_as_the_published_network_does(
    extractor: Inception, plain: Inception3, block: str, channels: int, side: int, pool: Callable
) -> None:
    ours = getattr(extractor.network, block)
    x = torch.rand(1, channels, side, side, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        result, reference = ours(x), getattr(plain, block)(x)
        branch = ours.branch_pool(pool(x))
    others = result.shape[1] - branch.shape[1]
    torch.testing.assert_close(result[:, others:], branch, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(result[:, :others], reference[:, :others])
    assert float((result - reference).abs().max()) > 1e-2  # torchvision's own pooling is another one


def test_blocks_that_have_only_one_form_are_torchvisions(extractor: Inception, plain: Inception3) -> None:
    changed = {
        name
        for name, module in extractor.network.named_children()
        if type(module) is not type(getattr(plain, name)) and name != "fc"
    }
    assert changed == {f"Mixed_{name}" for name in ("5b", "5c", "5d", "6b", "6c", "6d", "6e", "7b", "7c")}


@pytest.mark.parametrize(("height", "width"), [(32, 24), (299, 299), (320, 512)])
def test_resizing_is_that_of_tensorflow_1(extractor: Inception, height: int, width: int) -> None:
    images = torch.rand(1, 3, height, width, generator=torch.Generator().manual_seed(3)) * 2.0 - 1.0
    pixels = ((images + 1.0) * 127.5).round()
    prepared = extractor.prepare(images) * 128.0 + 128.0
    for i, j in [(0, 0), (298, 298), (1, 297), (150, 13), (289, 290)]:
        row, column = i * height / 299, j * width / 299
        top, left = math.floor(row), math.floor(column)
        bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
        down, along = row - top, column - left
        corners = (1 - down) * (1 - along) * pixels[..., top, left] + (1 - down) * along * pixels[..., top, right]
        corners += down * (1 - along) * pixels[..., bottom, left] + down * along * pixels[..., bottom, right]
        torch.testing.assert_close(prepared[..., i, j], corners, rtol=1e-5, atol=1e-3)


def test_input_is_bytes(extractor: Inception) -> None:
    for value, byte in ((-1.5, 0), (-1.0, 0), (0.003, 128), (1.0, 255), (1.5, 255)):
        prepared = extractor.prepare(torch.full((1, 3, 5, 5), value))
        torch.testing.assert_close(prepared, torch.full((1, 3, 299, 299), (byte - 128) / 128), rtol=1e-5, atol=1e-5)


def test_only_the_published_file_carries_the_name(
    extractor: Inception, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (extractor.name, extractor.stand_in_for) == ("Inception-type network random.pth", "Inception-v3")
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    monkeypatch.setattr(inception, "FID_INCEPTION", dataclasses.replace(inception.FID_INCEPTION, sha256=digest))
    published = load_inception(weights=weights)
    assert (published.name, published.stand_in_for) == ("Inception-v3 of FID (2015-12-05)", "")


def test_weights_that_are_absent_or_of_another_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.save({"fc.weight": torch.zeros(1000, 2048)}, tmp_path / "other.pth")
    with pytest.raises(DataError, match=r"(?s)other.pth does not hold the Inception network of FID.*Mixed_7c"):
        load_inception(weights=tmp_path / "other.pth")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    absent = dataclasses.replace(inception.FID_INCEPTION, url=(tmp_path / "absent.pth").as_uri())
    monkeypatch.setattr(inception, "FID_INCEPTION", absent)
    with pytest.raises(DataError, match="the Inception weights of FID do not come with the library"):
        load_inception()


def random_probabilities(count: int, classes: int) -> torch.Tensor:
    logits = 2.0 * torch.randn(count, classes, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    return logits.softmax(1)


def test_closed_forms_of_the_score() -> None:
    sure = torch.eye(8).double().repeat(5, 1)
    assert inception_score(sure, parts=5).mean == pytest.approx(8.0, rel=1e-12)
    assert inception_score(sure, parts=5).deviation == pytest.approx(0.0, abs=1e-12)
    assert inception_score(torch.full((40, 8), 1 / 8)).mean == pytest.approx(1.0, rel=1e-6)
    one = inception_score(torch.eye(8)[[0, 0, 1, 2]], parts=2)
    assert one.mean == pytest.approx(1.5) and one.deviation == pytest.approx(0.5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Metric `InceptionScore` will save all")
@pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning")  # of one part
def test_score_against_torchmetrics() -> None:
    from torchmetrics.image.inception import InceptionScore

    probabilities = random_probabilities(101, 6)
    metric = InceptionScore(feature=torch.nn.Identity(), splits=1).set_dtype(torch.float64)
    metric.update(probabilities.log())
    mean, _ = metric.compute()
    assert inception_score(probabilities, parts=1).mean == pytest.approx(float(mean), rel=1e-12)


@pytest.mark.parametrize(
    ("probabilities", "parts", "message"),
    [
        (torch.rand(40, 3), 10, "sum to 1"),
        (torch.tensor([[1.5, -0.5]] * 4), 1, "not be negative"),
        (torch.full((19, 2), 0.5), 10, "at least 20 for 10 parts"),
        (torch.full((19, 2), 0.5), 0, "parts"),
        (torch.full((2,), 0.5), 1, "shape"),
    ],
)
def test_refused_scores(probabilities: torch.Tensor, parts: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        inception_score(probabilities, parts=parts)
