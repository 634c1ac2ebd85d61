"""DINOv2 features on a small network of random weights in the released format, against one written out by hand."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from privlib.data.locate import DataError
from privlib.metrics import dino
from privlib.metrics.dino import load_dinov2, resized_positions

WIDTH, DEPTH, OLD = 128, 2, 37

Tensors = dict[str, torch.Tensor]


def random_weights() -> Tensors:
    """The keys and shapes of dinov2_vit*14_pretrain.pth, but narrow and shallow."""
    shapes = {
        "cls_token": (1, 1, WIDTH),
        "pos_embed": (1, 1 + OLD**2, WIDTH),
        "mask_token": (1, WIDTH),
        "patch_embed.proj.weight": (WIDTH, 3, 14, 14),
        "patch_embed.proj.bias": (WIDTH,),
        "norm.weight": (WIDTH,),
        "norm.bias": (WIDTH,),
    }
    for i in range(DEPTH):
        linear = {"attn.qkv": (3 * WIDTH, WIDTH), "attn.proj": (WIDTH, WIDTH)}
        linear |= {"mlp.fc1": (4 * WIDTH, WIDTH), "mlp.fc2": (WIDTH, 4 * WIDTH)}
        for name, shape in linear.items():
            shapes |= {f"blocks.{i}.{name}.weight": shape, f"blocks.{i}.{name}.bias": shape[:1]}
        for name in ("norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias", "ls1.gamma", "ls2.gamma"):
            shapes[f"blocks.{i}.{name}"] = (WIDTH,)
    generator = torch.Generator().manual_seed(0)
    return {key: 0.2 * torch.randn(shape, generator=generator) for key, shape in shapes.items()}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dino") / "tiny_pretrain.pth"
    torch.save(random_weights(), path)
    return path


@pytest.fixture(scope="module")
def images() -> torch.Tensor:
    return torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(1)) * 2.0 - 1.0


def cubic(distance: np.ndarray) -> np.ndarray:
    """Keys' kernel with a = -0.75, the bicubic of torch."""
    t, a = np.abs(distance), -0.75
    near = (a + 2) * t**3 - (a + 3) * t**2 + 1
    far = a * (t**3 - 5 * t**2 + 8 * t - 4)
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def interpolation(old: int, new: int) -> np.ndarray:
    """The matrix that resamples a row of ``old`` values at (i + 1/2) old / (new + 0.1) - 1/2, edges repeated."""
    matrix = np.zeros((new, old))
    for i in range(new):
        centre = (i + 0.5) * old / (new + 0.1) - 0.5
        for j in range(math.floor(centre) - 1, math.floor(centre) + 3):
            matrix[i, min(max(j, 0), old - 1)] += cubic(np.asarray(centre - j))
    return matrix


def by_hand(tensors: Tensors, pixels: torch.Tensor) -> torch.Tensor:
    """The class token of a pre-norm vision transformer with layer scale, in float64; ``pixels`` are prepared."""
    w = {key: value.double() for key, value in tensors.items()}

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        centred = x - x.mean(-1, keepdim=True)
        deviation = (centred.square().mean(-1, keepdim=True) + 1e-6).sqrt()
        return centred / deviation * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x: torch.Tensor, name: str) -> torch.Tensor:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    patches = functional.unfold(pixels.double(), 14, stride=14).transpose(1, 2)
    tokens = patches @ w["patch_embed.proj.weight"].flatten(1).T + w["patch_embed.proj.bias"]
    tokens = torch.cat([w["cls_token"].expand(len(tokens), -1, -1), tokens], dim=1)
    rows = torch.from_numpy(interpolation(OLD, 16))
    grid = w["pos_embed"][0, 1:].reshape(OLD, OLD, WIDTH)
    grid = torch.einsum("ai,bj,ijd->abd", rows, rows, grid).reshape(1, 256, WIDTH)
    x = tokens + torch.cat([w["pos_embed"][:, :1], grid], dim=1)
    for i in range(DEPTH):
        name = f"blocks.{i}"
        query, key, value = linear(norm(x, f"{name}.norm1"), f"{name}.attn.qkv").split(WIDTH, dim=-1)
        heads = []
        for part in (slice(0, 64), slice(64, 128)):
            attention = (query[..., part] @ key[..., part].transpose(1, 2) / 8.0).softmax(-1)
            heads.append(attention @ value[..., part])
        x = x + w[f"{name}.ls1.gamma"] * linear(torch.cat(heads, dim=-1), f"{name}.attn.proj")
        hidden = linear(norm(x, f"{name}.norm2"), f"{name}.mlp.fc1")
        hidden = hidden * 0.5 * (1.0 + torch.erf(hidden / math.sqrt(2.0)))
        x = x + w[f"{name}.ls2.gamma"] * linear(hidden, f"{name}.mlp.fc2")
    return norm(x, "norm")[:, 0]


def test_against_a_transformer_written_out(weights: Path, images: torch.Tensor) -> None:
    extractor = load_dinov2(weights=weights)
    pixels = extractor.prepare(images)
    assert pixels.shape == (3, 3, 224, 224)
    features = extractor(images)
    assert features.shape == (3, WIDTH) and features.dtype == torch.float32
    torch.testing.assert_close(features.double(), by_hand(random_weights(), pixels), rtol=1e-4, atol=1e-4)
    assert float(features.std(0).min()) > 0.0


def test_input_is_the_whole_image_normalised_as_imagenet(weights: Path) -> None:
    extractor = load_dinov2(weights=weights)
    grey = extractor.prepare(torch.zeros(1, 3, 32, 32))
    expected = [(0.5 - mean) / std for mean, std in zip((0.485, 0.456, 0.406), (0.229, 0.224, 0.225), strict=True)]
    torch.testing.assert_close(grey[0, :, 5, 7], torch.tensor(expected))
    assert extractor.interpolation == "bicubic" and extractor.side == 224


def test_positions_against_the_kernel_written_out() -> None:
    positions = torch.randn(1, 1 + OLD**2, 5, generator=torch.Generator().manual_seed(2))
    resized = resized_positions(positions, 16)
    rows = torch.from_numpy(interpolation(OLD, 16)).float()
    grid = torch.einsum("ai,bj,ijd->abd", rows, rows, positions[0, 1:].reshape(OLD, OLD, 5))
    torch.testing.assert_close(resized[0, 1:].reshape(16, 16, 5), grid, rtol=1e-4, atol=1e-5)
    assert torch.equal(resized[:, 0], positions[:, 0])
    assert torch.equal(resized_positions(positions, OLD), positions)
    with pytest.raises(ValueError, match="square of patches, got 7"):
        resized_positions(torch.zeros(1, 8, 5), 16)


def test_only_the_released_file_carries_the_name(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = load_dinov2(weights=weights)
    assert other.name == "DINOv2-type network tiny_pretrain.pth, 224 px"
    assert other.stand_in_for == "DINOv2 ViT-B/14"
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    monkeypatch.setattr(dino, "VITB14", dataclasses.replace(dino.VITB14, sha256=digest))
    released = load_dinov2(weights=weights)
    assert released.name == "DINOv2 ViT-B/14, 224 px" and released.stand_in_for == ""


def test_the_default_is_the_file_in_the_cache(
    weights: Path, images: torch.Tensor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    content = weights.read_bytes()
    file = dataclasses.replace(dino.VITB14, sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(dino, "VITB14", file)
    assert file.cached == tmp_path / "hub" / "checkpoints" / "dinov2_vitb14_pretrain.pth"
    file.cached.parent.mkdir(parents=True)
    file.cached.write_bytes(content)
    extractor = load_dinov2()
    assert extractor.name == "DINOv2 ViT-B/14, 224 px"
    torch.testing.assert_close(extractor(images), load_dinov2(weights=weights)(images))


def test_absent_weights_name_the_file_and_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    absent = dataclasses.replace(dino.VITB14, url=(tmp_path / "absent.pth").as_uri())
    monkeypatch.setattr(dino, "VITB14", absent)
    with pytest.raises(DataError, match=r"the DINOv2 weights dinov2_vitb14 do not come with .*absent.pth"):
        load_dinov2()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"register_tokens": torch.zeros(1, 4, WIDTH)}, "register_tokens"),
        ({"blocks.1.mlp.fc1.weight": torch.zeros(3, WIDTH)}, "fc1"),
        ({"pos_embed": torch.zeros(1, 8, WIDTH)}, "square"),
        ({"cls_token": torch.zeros(1, 1, 8)}, "does not hold a DINOv2 network"),
        ({"cls_token": None}, "cls_token"),
        ({"blocks.0.ls1.gamma": None}, "ls1"),
    ],
)
def test_other_networks_are_refused(tmp_path: Path, change: dict, message: str) -> None:
    tensors = {key: value for key, value in (random_weights() | change).items() if value is not None}
    torch.save(tensors, tmp_path / "other.pth")
    with pytest.raises(DataError, match=f"(?s)other.pth.*{message}"):
        load_dinov2(weights=tmp_path / "other.pth")
