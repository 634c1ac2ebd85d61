"""Class probabilities of images: the contract, a linear probe on public images, and how well a classifier does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from scipy.optimize import minimize
from torch.nn.functional import one_hot

from privlib.data.images import ImageSet
from privlib.metrics.features import FeatureExtractor
from privlib.metrics.principal import check_features, principal_components
from privlib.numerics import check_count, check_positive


class Classifier(Protocol):
    """``classifier(images) -> probabilities``: (batch, 3, height, width) on the unit scale to (batch, num_classes).

    Attributes:
        name: as a page shows it.
        stand_in_for: the classifier of the paper that this one takes the place of; empty when it is that one.
        class_names: of the columns; each row of probabilities sums to 1.
    """

    @property
    def name(self) -> str: ...

    @property
    def stand_in_for(self) -> str: ...

    @property
    def class_names(self) -> tuple[str, ...]: ...

    def __call__(self, images: torch.Tensor) -> torch.Tensor: ...


@dataclass(frozen=True)
class LinearProbe:
    """Multinomial logistic regression on the features of ``extractor``; see ``fit_linear_probe``."""

    name: str
    extractor: FeatureExtractor = field(repr=False)
    weights: torch.Tensor = field(repr=False)
    bias: torch.Tensor = field(repr=False)
    class_names: tuple[str, ...]
    stand_in_for: str

    def probabilities(self, features: torch.Tensor) -> torch.Tensor:
        """``softmax(features @ weights + bias)``, float64, shape (n, num_classes)."""
        logits = features.to(torch.float64) @ self.weights.to(features.device) + self.bias.to(features.device)
        return logits.softmax(1)

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        return self.probabilities(self.extractor(images))


def fit_linear_probe(
    extractor: FeatureExtractor,
    data: ImageSet,
    *,
    features: torch.Tensor | None = None,
    components: int = 200,
    penalty: float = 0.01,
) -> LinearProbe:
    r"""Fit class probabilities on labelled images, which should not be the private ones that are measured.

    With z the first principal components of the features, scaled to unit variance, the probe minimises

    .. math:: -\frac1n \sum_i \log \mathrm{softmax}(z_i W + b)_{y_i} + \frac{\lambda}{2} \|W\|^2,

    which is strictly convex in W, so the answer depends on the data alone. The offline stand-in for zero-shot CLIP:
    it has seen labels, and it knows no other classes than those of ``data``.

    Args:
        extractor: image features.
        data: images with labels.
        features: those of ``data``, shape (n, d), when they are at hand already.
        components: principal components kept; they condition the problem and make it quick.
        penalty: the factor lambda, positive.

    Raises:
        ValueError: features that do not belong to ``data``, more components than the features span, labels of one
            class only, a penalty that is not positive.
        ArithmeticError: the optimiser stopped before the gradient vanished.

    Cost: the features, then one to three seconds for 3,400 images of 9 classes on one core.
    """
    check_count(components, "components")
    check_positive("penalty", penalty)
    if int(data.labels.min()) == int(data.labels.max()):
        raise ValueError(f"data must show at least two classes, got {data.class_names[int(data.labels[0])]!r} only")
    inputs = check_features("features", extractor(data.unit()) if features is None else features).cpu()
    if len(inputs) != len(data):
        raise ValueError(f"features must be those of the {len(data)} images of {data.name}, got {len(inputs)} rows")
    basis = principal_components(inputs, components=components)
    scale = basis.directions / basis.variances.sqrt()
    design = torch.cat([(inputs - basis.mean) @ scale, torch.ones(len(inputs), 1, dtype=torch.float64)], dim=1)
    targets = one_hot(data.labels, len(data.class_names)).to(torch.float64)
    shape = (design.shape[1], targets.shape[1])

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = torch.from_numpy(flat).reshape(shape)
        log_probabilities = (design @ weights).log_softmax(1)
        loss = -(targets * log_probabilities).sum() / len(design) + 0.5 * penalty * weights[:-1].square().sum()
        gradient = design.T @ (log_probabilities.exp() - targets) / len(design)
        gradient[:-1] += penalty * weights[:-1]
        return float(loss), gradient.reshape(-1).numpy()

    options = {"maxiter": 2000, "gtol": 1e-7, "ftol": 0.0, "maxcor": 20}
    result = minimize(objective, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B", options=options)
    remaining = float(np.abs(result.jac).max())
    if not remaining < 1e-5:
        raise ArithmeticError(f"the linear probe did not converge: gradient {remaining:.1e} ({result.message})")
    solution = torch.from_numpy(result.x).reshape(shape)
    weights = scale @ solution[:-1]
    return LinearProbe(
        name=f"linear probe on {extractor.name}, fitted on {data.name}",
        extractor=extractor,
        weights=weights,
        bias=solution[-1] - basis.mean @ weights,
        class_names=data.class_names,
        stand_in_for="zero-shot CLIP",
    )


@dataclass(frozen=True)
class ClassifierScore:
    """How a classifier does on labelled images.

    Attributes:
        accuracy: fraction of images whose likeliest class is the right one.
        log_loss: mean of -ln(probability of the right class); ln(num_classes) is that of a uniform guess.
        recall: the accuracy within each class that has images.
        num_images: images that were scored.
    """

    accuracy: float
    log_loss: float
    recall: dict[str, float]
    num_images: int


def score_probabilities(
    probabilities: torch.Tensor, labels: torch.Tensor, *, class_names: tuple[str, ...]
) -> ClassifierScore:
    """Compare probabilities, shape (n, num_classes), with labels, int64, shape (n,).

    Raises:
        ValueError: shapes that do not fit together, a label without a class name, no image.
    """
    if probabilities.ndim != 2 or probabilities.shape != (len(labels), len(class_names)) or len(labels) == 0:
        raise ValueError(
            f"probabilities must have shape ({len(labels)}, {len(class_names)}) with at least one row, "
            f"got {tuple(probabilities.shape)}"
        )
    if int(labels.min()) < 0 or int(labels.max()) >= len(class_names):
        raise ValueError(f"labels must lie in 0..{len(class_names) - 1}, one for each class name")
    right = (probabilities.argmax(1) == labels).to(torch.float64)
    # A probability may underflow to 0 although no finite logit means it.
    chosen = probabilities.to(torch.float64).gather(1, labels[:, None]).clamp_min(torch.finfo(torch.float64).tiny)
    recall = {name: float(right[labels == i].mean()) for i, name in enumerate(class_names) if bool((labels == i).any())}
    return ClassifierScore(float(right.mean()), float(-chosen.log().mean()), recall, len(labels))
