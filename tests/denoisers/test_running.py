"""The running mean against a softmax over everything at once."""

import pytest
import torch

from privlib.denoisers.running import RunningMean


def draw(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("order", ["given", "rising", "falling"])
def test_pieces_give_what_the_whole_gives(scale, order):
    logits, values = scale * draw(3, 40), draw(40, 5, seed=1)
    if order != "given":
        logits = logits.sort(dim=1, descending=order == "falling").values
    running = RunningMean(3, 5, torch.device("cpu"))
    for start in range(0, 40, 7):
        running.add(logits[:, start : start + 7], values[start : start + 7])
    torch.testing.assert_close(running.mean(), logits.softmax(dim=1) @ values)
    torch.testing.assert_close(running.log_total, logits.logsumexp(dim=1))


def test_many_small_weights_beside_a_large_one_are_not_lost():
    """200,000 weights of 2^-25 in float32, each too small to change a float32 sum of 1, hold 0.6 % of the weight."""
    running = RunningMean(1, 1, torch.device("cpu"))
    running.add(torch.zeros(1, 1, dtype=torch.float64), torch.zeros(1, 1))
    small = torch.full((1, 100), -25.0, dtype=torch.float64) * 0.6931471805599453
    for _ in range(2000):
        running.add(small, torch.ones(100, 1))
    share = 200_000 * 2.0**-25
    assert running.mean().item() == pytest.approx(share / (1.0 + share), rel=1e-6)


def test_nothing_yet():
    assert RunningMean(2, 3, torch.device("cpu")).log_total.tolist() == [-torch.inf, -torch.inf]


@pytest.mark.parametrize("shift", [0.0, 1e3, -1e3])
def test_merged_means_are_the_mean_of_all_pieces(shift):
    logits, values = draw(3, 12), draw(12, 2, seed=1)
    logits[:, 5:] += shift
    first, second = (RunningMean(3, 2, torch.device("cpu")) for _ in range(2))
    first.add(logits[:, :5], values[:5])
    second.add(logits[:, 5:], values[5:])
    first.merge(second)
    torch.testing.assert_close(first.mean(), logits.softmax(dim=1) @ values)
    torch.testing.assert_close(first.log_total, logits.logsumexp(dim=1))
