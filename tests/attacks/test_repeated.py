"""Repetitions: parts that do not overlap, power where there is a difference, and none where there is not."""

import pytest
import torch

from privlib.attacks.repeated import _parts, repeat_attack, repeat_control

SETTINGS = {"seeds": [0, 1, 2], "bounds": [], "confidence": 0.95}


def maps(count, seed, scale=1.0):
    return scale * (torch.rand(count, 4, 4, generator=torch.Generator().manual_seed(seed)) + 0.1)


def test_an_image_is_learned_from_or_chooses_or_is_scored():
    parts = _parts(torch.arange(41).reshape(-1, 1, 1))
    assert [len(part) for part in parts] == [10, 10, 21]
    assert torch.equal(torch.cat(parts).flatten(), torch.arange(41))


@pytest.mark.parametrize("learned", [False, True])
def test_smaller_errors_of_members_are_found(learned):
    for outcome in repeat_attack(maps(120, 0, 0.7), maps(160, 1), learned=learned, **SETTINGS):
        assert outcome.auc > 0.9 and outcome.success.value > 0.8
        assert outcome.auc_interval.lower < outcome.auc < outcome.auc_interval.upper
        assert (outcome.success.members.trials, outcome.success.others.trials) == (60, 80)


@pytest.mark.parametrize("learned", [False, True])
def test_a_control_covers_one_half_as_often_as_it_says(learned):
    outcomes = repeat_control(maps(240, 2), learned=learned, seeds=range(60), bounds=[], confidence=0.9)
    covered = sum(outcome.auc_interval.lower <= 0.5 <= outcome.auc_interval.upper for outcome in outcomes)
    assert covered >= 47  # 54 are expected; 46 or fewer have a chance of 1 in 100


def test_larger_errors_of_members_are_no_success():
    assert all(outcome.auc < 0.1 for outcome in repeat_attack(maps(80, 0, 1.5), maps(80, 1), learned=False, **SETTINGS))


def test_a_seed_gives_the_same_parts_again_and_another_seed_others():
    def scores(seed):
        (outcome,) = repeat_attack(maps(40, 0), maps(40, 1), learned=False, **(SETTINGS | {"seeds": [seed]}))
        return outcome.scored.members.tolist()

    assert scores(3) == scores(3) != scores(4)


def test_too_few_images_are_refused():
    with pytest.raises(ValueError, match="at least 4 images, got 3"):
        repeat_attack(maps(3, 0), maps(40, 1), learned=False, **SETTINGS)
    with pytest.raises(ValueError, match="0.01 cannot be resolved"):
        repeat_attack(maps(40, 0), maps(40, 1), learned=False, **(SETTINGS | {"bounds": [0.01]}))
