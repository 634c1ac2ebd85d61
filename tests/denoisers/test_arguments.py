"""What a denoiser takes as x and sigma."""

import math

import pytest
import torch

from privlib.denoisers.arguments import check_noisy, check_sigma


@pytest.mark.parametrize(
    "x",
    [
        torch.zeros(2, 3, 4, dtype=torch.int64),
        torch.zeros(2, 4, 3),
        torch.zeros(3, 4),
        torch.zeros(0, 3, 4),
        torch.zeros(2, 12),
        torch.zeros(()),
        torch.full((2, 3, 4), math.nan),
        torch.full((2, 3, 4), math.inf),
        [[0.0]],
    ],
    ids=lambda x: f"{getattr(x, 'dtype', '')} {tuple(getattr(x, 'shape', ()))}",
)
def test_what_is_no_batch_of_noisy_records(x):
    check_noisy(torch.zeros(2, 3, 4), (3, 4))
    with pytest.raises(ValueError, match="^x must"):
        check_noisy(x, (3, 4))


def test_sigma_is_one_level_for_each_row():
    x = torch.zeros(3, 2)
    for sigma in (0.5, torch.tensor(0.5), torch.full((3,), 0.5)):
        level = check_sigma(sigma, x)
        assert level.dtype == torch.float64 and level.tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    "sigma", [0.0, -1.0, math.nan, math.inf, torch.ones(2), torch.ones(3, 1), torch.tensor([1.0, 0.0, 1.0])]
)
def test_what_is_no_noise_level(sigma):
    with pytest.raises(ValueError, match="^sigma must"):
        check_sigma(sigma, torch.zeros(3, 2))
