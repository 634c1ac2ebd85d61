"""Threads of our own: each alone, in order, and nothing left behind."""

import threading

import pytest
import torch

from privlib.denoisers.threads import on_threads


@pytest.fixture(autouse=True)
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_answers_come_in_order_from_threads_on_which_torch_uses_one():
    together = threading.Barrier(3, timeout=30)

    def task(index):
        together.wait()
        return index, torch.get_num_threads(), threading.get_ident()

    answers = on_threads(task, 3)
    assert [index for index, _, _ in answers] == [0, 1, 2]
    assert [threads for _, threads, _ in answers] == [1, 1, 1]
    assert len({ident for _, _, ident in answers}) == 3
    assert torch.get_num_threads() == 3


def test_a_single_task_keeps_all_threads():
    assert on_threads(lambda index: (index, torch.get_num_threads(), threading.get_ident()), 1) == [
        (0, 3, threading.get_ident())
    ]


def test_a_failure_comes_through_and_the_number_of_threads_comes_back():
    with pytest.raises(ZeroDivisionError):
        on_threads(lambda index: 1 // index, 2)
    assert torch.get_num_threads() == 3
