"""Retrieval of captions: a model that knows all, one that knows nothing, and one that knows the label only."""

from types import SimpleNamespace

import pytest
import torch

from privlib.data.images import ImageSet
from privlib.metrics.retrieval import caption_retrieval, pair_retrieval, rank_captions

COUNT = 200


def images(captions=True) -> ImageSet:
    """One pixel level for each image, named by it, in two labels."""
    pixels = torch.arange(COUNT, dtype=torch.uint8).reshape(-1, 1, 1, 1).expand(COUNT, 3, 2, 2).contiguous()
    names = tuple(f"level {level}" for level in range(COUNT)) if captions else ()
    return ImageSet("levels", pixels, torch.arange(COUNT) % 2, ("even", "odd"), names)


class Known:
    """A model whose embeddings come from two functions of the level."""

    def __init__(self, image, text) -> None:
        self.image, self.text = image, text
        self.model = SimpleNamespace(encode_text=lambda tokens: self.text(tokens[:, 0]), parameters=self.parameters)

    def parameters(self):
        yield torch.zeros(1)

    def tokenizer(self, texts):
        return torch.tensor([[int(text.rpartition(" ")[2])] for text in texts])

    def __call__(self, batch):
        return self.image(((batch[:, 0, 0, 0] + 1) * 127.5).round().long())


def one_hot(levels):
    return torch.nn.functional.one_hot(levels, COUNT).float()


def parity(levels):
    return torch.nn.functional.one_hot(levels % 2, 2).float()


def noise(levels):
    return torch.randn(COUNT, 16, generator=torch.Generator().manual_seed(1))[levels]


def other_noise(levels):
    return torch.randn(COUNT, 16, generator=torch.Generator().manual_seed(2))[levels]


@pytest.mark.parametrize("same_label", (False, True))
def test_a_perfect_model_is_always_right(same_label):
    found = caption_retrieval(Known(one_hot, one_hot), images(), candidates=20, same_label=same_label)
    assert (found.top1, found.top5, found.candidates, found.num_images) == (1.0, 1.0, 20, COUNT)


def test_an_ignorant_model_guesses():
    found = [caption_retrieval(Known(noise, other_noise), images(), candidates=10, seed=seed) for seed in range(20)]
    assert sum(f.top1 for f in found) / 20 == pytest.approx(0.1, abs=0.05)
    assert sum(f.top5 for f in found) / 20 == pytest.approx(0.5, abs=0.12)


def test_ties_count_against_the_model():
    """One that knows the label only ties with every caption of that label."""
    found = caption_retrieval(Known(parity, parity), images(), candidates=30)
    assert found.top1 < 0.02
    assert caption_retrieval(Known(parity, parity), images(), candidates=30, same_label=True).top5 == 0.0


def test_captions_that_read_the_same_are_no_rivals():
    repeated = images().subset([0, 0, 1, 1, *range(2, 12)])
    found = caption_retrieval(Known(one_hot, one_hot), repeated, candidates=10)
    assert found.top1 == 1.0 and found.num_images == 14


def test_the_draw_is_seeded():
    results = [caption_retrieval(Known(noise, other_noise), images(), candidates=10, seed=s) for s in (0, 0)]
    assert results[0] == results[1]


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="must have captions"):
        caption_retrieval(Known(one_hot, one_hot), images(captions=False))
    with pytest.raises(ValueError, match="candidates must not exceed"):
        caption_retrieval(Known(one_hot, one_hot), images(), candidates=300)
    with pytest.raises(ValueError, match="candidates"):
        caption_retrieval(Known(one_hot, one_hot), images(), candidates=4)


def test_ranked_captions_name_the_best():
    ranked = rank_captions(Known(one_hot, one_hot), images(), candidates=10)
    assert [r.image for r in ranked] == list(range(COUNT)) and all(r.best == r.own and r.rank == 0 for r in ranked)
    for r in rank_captions(Known(noise, other_noise), images(), candidates=10):
        assert (r.best == r.own) == (r.rank == 0) and r.own == f"level {r.image}"


def test_pairs_are_found_by_the_angle_alone():
    first = torch.randn(30, 8, generator=torch.Generator().manual_seed(0))
    lengths = torch.linspace(0.1, 10.0, 30)[:, None]
    assert pair_retrieval(first, first * lengths) == 1.0
    assert pair_retrieval(first, first.roll(1, 0)) == 0.0
    half = torch.where(torch.arange(30)[:, None] < 15, first, first.roll(1, 0))
    assert pair_retrieval(first, half) == pytest.approx(0.5, abs=0.05)
    with pytest.raises(ValueError, match="first and second must both have shape"):
        pair_retrieval(first, first[:5])
