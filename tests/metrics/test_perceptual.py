"""LPIPS on a trunk of random weights in the cache of torch.hub, against the formula written out."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torchmetrics.functional.image
import torchvision

from privlib.data.locate import DataError
from privlib.metrics import perceptual
from privlib.metrics.perceptual import Lpips, load_lpips


@pytest.fixture(scope="module")
def trunk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[torch.nn.Module]:
    """A SqueezeNet of random weights, saved where torchvision looks for the published one."""
    torch.manual_seed(0)
    network = torchvision.models.squeezenet1_1(weights=None)
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCH_HOME", str(home))
        path = perceptual.TRUNKS["squeeze"].cached
        assert path == home / "hub" / "checkpoints" / "squeezenet1_1-b8a52dc0.pth"
        path.parent.mkdir(parents=True)
        torch.save(network.state_dict(), path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        patch.setitem(perceptual.TRUNKS, "squeeze", dataclasses.replace(perceptual.TRUNKS["squeeze"], sha256=digest))
        yield network.eval()


@pytest.fixture(scope="module")
def lpips(trunk: torch.nn.Module) -> Lpips:
    return load_lpips(trunk="squeeze")


@pytest.fixture(scope="module")
def pairs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    images = torch.rand(18, 3, 32, 40, generator=generator) * 2.0 - 1.0
    return images, (images + 0.4 * torch.randn(images.shape, generator=generator)).clamp(-1.0, 1.0)


def by_hand(trunk: torch.nn.Module, images: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    shift = torch.tensor([-0.030, -0.088, -0.188]).reshape(3, 1, 1)
    scale = torch.tensor([0.458, 0.448, 0.450]).reshape(3, 1, 1)
    folder = Path(torchmetrics.functional.image.__file__).parent / "lpips_models"
    heads = torch.load(folder / "squeeze.pth", map_location="cpu", weights_only=True)
    x, y = ((values - shift) / scale for values in (images, others))
    total, layer = torch.zeros(len(images)), 0
    for i, module in enumerate(trunk.features):
        x, y = module(x), module(y)
        if i in (1, 4, 7, 9, 10, 11, 12):
            difference = torch.nn.functional.normalize(x, dim=1) - torch.nn.functional.normalize(y, dim=1)
            weights = heads[f"lin{layer}.model.1.weight"].flatten()
            total += torch.einsum("c,nchw->nhw", weights, difference.square()).mean((1, 2))
            layer += 1
    assert layer == 7
    return total


def test_against_the_formula(lpips: Lpips, trunk: torch.nn.Module, pairs: tuple) -> None:
    distances = lpips(*pairs)
    assert distances.shape == (18,) and distances.dtype == torch.float64
    with torch.no_grad():
        expected = by_hand(trunk, *pairs)
    torch.testing.assert_close(distances, expected.double(), rtol=1e-3, atol=1e-6)
    assert float(expected.min()) > 1e-4


def test_a_distance(lpips: Lpips, pairs: tuple) -> None:
    images, others = pairs
    assert float(lpips(images, images).abs().max()) == 0.0
    torch.testing.assert_close(lpips(images, others), lpips(others, images))
    torch.testing.assert_close(lpips(images[:1], others[:1]), lpips(images, others)[:1], rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(lpips(1.5 * images, others), lpips((1.5 * images).clamp(-1.0, 1.0), others))


def test_the_heads_are_those_of_lpips(lpips: Lpips) -> None:
    folder = Path(torchmetrics.functional.image.__file__).parent / "lpips_models"
    # Checksums of weights/v0.1 in the package lpips 0.1.4.
    published = {
        "alex": "df73285e35b22355a2df87cdb6b70b343713b667eddbda73e1977e0c860835c0",
        "vgg": "a78928a0af1e5f0fcb1f3b9e8f8c3a2a5a3de244d830ad5c1feddc79b8432868",
        "squeeze": "4a5350f23600cb79923ce65bb07cbf57dca461329894153e05a1346bd531cf76",
    }
    for name, digest in published.items():
        assert hashlib.sha256((folder / f"{name}.pth").read_bytes()).hexdigest() == digest
    assert published.keys() == perceptual.TRUNKS.keys()
    assert lpips.name == "LPIPS 0.1 (squeeze)"


def test_torchvision_names_the_same_files() -> None:
    weights = {
        "alex": torchvision.models.AlexNet_Weights.DEFAULT,
        "vgg": torchvision.models.VGG16_Weights.DEFAULT,
        "squeeze": torchvision.models.SqueezeNet1_1_Weights.DEFAULT,
    }
    for name, file in perceptual.TRUNKS.items():
        assert file.url == weights[name].url
        assert file.file_name.endswith(f"-{file.sha256[:8]}.pth") or name == "squeeze"


def test_absent_or_other_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    absent = dataclasses.replace(perceptual.TRUNKS["alex"], url=(tmp_path / "absent.pth").as_uri())
    monkeypatch.setitem(perceptual.TRUNKS, "alex", absent)
    with pytest.raises(DataError, match=r"the AlexNet weights under LPIPS do not come with .* put it at .*absent.pth"):
        load_lpips()
    file = perceptual.TRUNKS["vgg"]
    file.cached.write_bytes(b"other")
    with pytest.raises(DataError, match="vgg16-397923af.pth is not the VGG-16 weights under LPIPS"):
        load_lpips(trunk="vgg")


@pytest.mark.parametrize(
    ("images", "others", "message"),
    [
        (torch.zeros(2, 3, 32, 32), torch.zeros(3, 3, 32, 32), "same shape"),
        (torch.zeros(2, 3, 31, 32), torch.zeros(2, 3, 31, 32), "at least 32 by 32"),
        (torch.zeros(2, 1, 32, 32), torch.zeros(2, 1, 32, 32), "shape"),
        (torch.zeros(2, 3, 32, 32), torch.full((2, 3, 32, 32), float("nan")), "finite"),
    ],
)
def test_refused_images(lpips: Lpips, images: torch.Tensor, others: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lpips(images, others)


def test_refused_trunk() -> None:
    with pytest.raises(ValueError, match="trunk must be one of alex, vgg, squeeze, got 'resnet'"):
        load_lpips(trunk="resnet")
