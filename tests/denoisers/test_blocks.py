"""Blocks hold what they are given and refuse what is no block."""

import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from privlib.denoisers.blocks import Blocks


@given(st.lists(st.sets(st.integers(0, 99), max_size=6).map(list), min_size=1, max_size=5))
def test_lists_come_back(lists):
    blocks = Blocks.from_lists(lists)
    assert len(blocks) == len(lists) and blocks.index.dtype == torch.int64
    assert blocks.sizes.tolist() == [len(block) for block in lists]
    assert [row[mask].tolist() for row, mask in zip(blocks.index, blocks.mask, strict=True)] == lists
    assert blocks.index.shape[1] == max(len(block) for block in lists)
    assert bool((blocks.index[~blocks.mask] == -1).all())


def test_an_empty_block_is_a_row_of_padding():
    assert Blocks.from_lists([[], [4, 0]]).index.tolist() == [[-1, -1], [4, 0]]
    assert Blocks.from_lists([[], []]).sizes.tolist() == [0, 0]


def test_blocks_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Blocks.from_lists([[0]]).index = torch.zeros(1, 1, dtype=torch.int64)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (torch.zeros(2, 3, dtype=torch.int32), "index must be an int64 tensor"),
        (torch.zeros(3, dtype=torch.int64), "shape"),
        (torch.zeros(0, 3, dtype=torch.int64), "batch at least 1"),
        ([[0, 1]], "index must be an int64 tensor"),
        (torch.tensor([[0, -2]]), "got -2"),
        (torch.tensor([[0, 1], [-1, 1]]), "row 1 has a record after padding"),
        (torch.tensor([[3, 5, 3, -1], [0, 1, 2, -1]]), "row 0 has a record twice"),
    ],
)
def test_what_is_no_block(index, message):
    with pytest.raises(ValueError, match=message):
        Blocks(index)


def test_lists_hold_whole_numbers_and_there_is_at_least_one():
    with pytest.raises(TypeError):
        Blocks.from_lists([[0, 1.5]])
    with pytest.raises(ValueError, match="batch at least 1"):
        Blocks.from_lists([])


def test_records_must_exist():
    blocks = Blocks.from_lists([[0, 7], []])
    blocks.check_against(8)
    with pytest.raises(ValueError, match=r"0\.\.6, got 7"):
        blocks.check_against(7)
    Blocks.from_lists([[]]).check_against(1)
