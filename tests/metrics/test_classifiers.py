"""The linear probe: its optimum, a closed-form posterior, the bundled emoji; and the score of a classifier."""

from __future__ import annotations

import math

import pytest
import torch

from privlib.data.emoji import load_emoji
from privlib.data.images import ImageSet
from privlib.metrics.classifiers import fit_linear_probe, score_probabilities
from privlib.metrics.features import NetworkFeatures, efficientnet_lite0

FLAT = NetworkFeatures("pixels", torch.nn.Flatten(), 2, (0.5,) * 3, (0.5,) * 3)


def tiny_set(labels: list[int], class_names: tuple[str, ...], seed: int = 0) -> ImageSet:
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randint(0, 256, (len(labels), 3, 2, 2), generator=generator).to(torch.uint8)
    return ImageSet("tiny", pixels, torch.tensor(labels), class_names)


def test_probe_sits_at_the_optimum() -> None:
    data = tiny_set([i % 3 for i in range(60)], ("a", "b", "c"))
    probe = fit_linear_probe(FLAT, data, components=12, penalty=0.02)
    # With every component kept, the penalty on whitened weights is trace(W^T S W) for the covariance S of the features.
    features = data.unit(torch.float64).flatten(1)
    weights, bias = probe.weights.clone().requires_grad_(), probe.bias.clone().requires_grad_()
    loss = torch.nn.functional.cross_entropy(features @ weights + bias, data.labels)
    loss = loss + 0.01 * torch.trace(weights.T @ torch.cov(features.T) @ weights)
    loss.backward()
    assert float(weights.grad.abs().max()) < 1e-5 and float(bias.grad.abs().max()) < 1e-5
    assert float(loss.detach()) < math.log(3) - 0.02
    torch.testing.assert_close(probe(data.unit()), (features @ weights + bias).softmax(1).detach(), rtol=0, atol=1e-6)


def test_probe_finds_the_posterior_of_two_gaussians() -> None:
    # Classes N(0, S) and N(m, S) with equal weights: log odds (x - m/2)^T S^-1 m.
    generator = torch.Generator().manual_seed(0)
    root = torch.tensor([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 2.0]]).double()
    mean = torch.tensor([1.0, 0.5, -1.0]).double()
    count = 20_000
    labels = torch.arange(count) % 2
    noise = torch.randn(count, 3, generator=generator, dtype=torch.float64)
    features = noise @ root.T + labels[:, None] * mean
    data = ImageSet("two", torch.zeros(count, 3, 1, 1, dtype=torch.uint8), labels, ("zero", "one"))
    probe = fit_linear_probe(FLAT, data, features=features, components=3, penalty=1e-6)
    exact = torch.sigmoid((features - mean / 2) @ torch.linalg.solve(root @ root.T, mean))
    assert float((probe.probabilities(features)[:, 1] - exact).abs().mean()) < 0.01


def test_rows_sum_to_one_and_a_class_without_images_is_unlikely() -> None:
    data = tiny_set([i % 2 for i in range(40)], ("a", "b", "never"))
    probabilities = fit_linear_probe(FLAT, data, components=5)(tiny_set([0] * 7, ("x",), seed=1).unit())
    assert probabilities.shape == (7, 3) and probabilities.dtype == torch.float64
    torch.testing.assert_close(probabilities.sum(1), torch.ones(7).double())
    assert float(probabilities[:, 2].max()) < 1e-3


def test_probe_on_emoji_recognises_concepts_it_has_not_seen() -> None:
    extractor = efficientnet_lite0(side=64)
    train, test = load_emoji("public").draw(250, seed=0), load_emoji("public_held_out").draw(100, seed=0)
    features = extractor(train.unit())
    probe = fit_linear_probe(extractor, train, features=features, components=60)
    score = score_probabilities(probe(test.unit()), test.labels, class_names=test.class_names)
    majority = float(torch.bincount(test.labels).max()) / len(test)
    assert score.accuracy > majority + 0.1
    assert score.log_loss < math.log(len(test.class_names)) - 0.3
    assert probe.class_names == train.class_names and probe.stand_in_for == "zero-shot CLIP"
    assert extractor.name in probe.name and "emoji/public" in probe.name and "CLIP" not in probe.name


def test_refused_fits() -> None:
    data = tiny_set([0, 1] * 10, ("a", "b"))
    with pytest.raises(ValueError, match="two classes, got 'b' only"):
        fit_linear_probe(FLAT, tiny_set([1] * 20, ("a", "b")), components=2)
    with pytest.raises(ValueError, match="those of the 20 images"):
        fit_linear_probe(FLAT, data, features=torch.rand(19, 4), components=2)
    with pytest.raises(ValueError, match="components must be at most 12"):
        fit_linear_probe(FLAT, data, components=13)
    with pytest.raises(ValueError, match="penalty"):
        fit_linear_probe(FLAT, data, components=2, penalty=0.0)


def test_score_by_hand() -> None:
    probabilities = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [1.0, 0.0, 0.0]])
    score = score_probabilities(probabilities, torch.tensor([0, 1, 1, 0]), class_names=("a", "b", "c"))
    assert score.accuracy == 0.75 and score.num_images == 4
    assert score.recall == {"a": 1.0, "b": 0.5}
    assert score.log_loss == pytest.approx(-(math.log(0.5) + math.log(0.8) + math.log(0.2)) / 4, rel=1e-6)
    certain = score_probabilities(torch.tensor([[1.0, 0.0]]), torch.tensor([1]), class_names=("a", "b"))
    assert 700 < certain.log_loss < math.inf


def test_refused_scores() -> None:
    with pytest.raises(ValueError, match="probabilities must have shape \\(2, 3\\)"):
        score_probabilities(torch.ones(2, 2), torch.tensor([0, 1]), class_names=("a", "b", "c"))
    with pytest.raises(ValueError, match="labels must lie in 0..1"):
        score_probabilities(torch.ones(2, 2), torch.tensor([0, 2]), class_names=("a", "b"))
