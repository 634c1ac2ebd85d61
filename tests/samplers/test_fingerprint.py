"""Descriptions are equal for equal contents, differ for different ones, and refuse what they cannot see into."""

from __future__ import annotations

import copy
import functools
import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from privlib.samplers.fingerprint import describe
from privlib.samplers.hybrid import output_wise
from privlib.samplers.path import Plan, PublicTail, public_ancestral, public_heun
from privlib.samplers.steps import ANCESTRAL, EULER_MARUYAMA
from privlib.types import Adjacency
from tests.samplers.oracles import GaussianData, ProvedSums, Sums


@dataclass(frozen=True)
class Card:
    name: str
    size: int


class Slotted:
    __slots__ = ("size",)


class Scaled(torch.nn.Module):
    def __init__(self, card: Card) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.card = card


def module(name: str = "a", weight: float = 1.0, *, training: bool = False) -> Scaled:
    result = Scaled(Card(name, 3))
    torch.nn.init.constant_(result.linear.weight, weight)
    torch.nn.init.zeros_(result.linear.bias)
    return result.train(training)


def sampler(private=None, *, sigmas=(2.0, 1.0), step=EULER_MARUYAMA, tail=None, q: float = 0.5) -> functools.partial:
    return functools.partial(output_wise, private or ProvedSums(), Plan(sigmas, 1, step, tail), sampling_probability=q)


DIFFERENT = [
    None, True, 1, 2, 1.5, "1", Adjacency.REPLACE_ONE, Adjacency.ADD_OR_REMOVE_ONE, torch.float32, torch.device("cpu"),
    range(3), [1, 2], [1, [2]], {"a": 1}, {"b": 1}, np.float64(2.5),
    torch.zeros(2), torch.zeros(2, dtype=torch.float64), torch.zeros(1, 2), torch.ones(2), torch.zeros(0),
    torch.tensor([True]), torch.tensor([1], dtype=torch.uint8), np.zeros(2), np.zeros((0, 3)), np.ones(2),
    Card("a", 1), Card("a", 2), GaussianData(0.3), GaussianData(0.4), Sums(), ProvedSums(), ProvedSums(seed=1),
    module(), module("b"), module(weight=2.0), module(training=True), public_heun, public_ancestral,
    EULER_MARUYAMA, ANCESTRAL,
    sampler(), sampler(ProvedSums(scale=2.0)), sampler(sigmas=(2.0, 1.1)), sampler(step=ANCESTRAL), sampler(q=0.25),
    sampler(tail=PublicTail(GaussianData())), sampler(tail=PublicTail(GaussianData(), 1)),
    sampler(tail=PublicTail(GaussianData(), 0, public_ancestral)), sampler(tail=PublicTail(module())),
]  # fmt: skip


def test_different_things_have_different_descriptions() -> None:
    texts = [json.dumps(describe(value), sort_keys=True) for value in DIFFERENT]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("value", DIFFERENT, ids=lambda value: type(value).__name__)
def test_equal_things_have_equal_descriptions(value) -> None:
    assert describe(copy.deepcopy(value)) == describe(value)


def test_the_layout_of_a_tensor_does_not_matter_its_values_do() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert describe(x.T.contiguous().T) == describe(x)
    assert describe(x.T) != describe(x)
    assert describe(x.requires_grad_()) == describe(x.detach())


def test_what_was_computed_lazily_does_not_count() -> None:
    class Lazy:
        @functools.cached_property
        def total(self) -> float:
            return math.pi

    used, fresh = Lazy(), Lazy()
    assert used.total == math.pi and vars(used)
    assert describe(used) == describe(fresh)


def test_what_cannot_be_seen_into_is_refused_by_name() -> None:
    private = ProvedSums()
    private.anchor = lambda x, sigma: x
    with pytest.raises(ValueError, match=r"sampler.args\[0\].anchor must be a function of a module"):
        describe(sampler(private), "sampler")
    for opaque in (object(), torch, Sums, np.random.default_rng, np.random.default_rng(0), iter([]), {1, 2}, Slotted()):
        with pytest.raises(ValueError, match="setting cannot be described"):
            describe(opaque, "setting")
