"""Work shared out once among threads, in place of every operation being shared out on its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

T = TypeVar("T")


def on_threads(task: Callable[[int], T], count: int) -> list[T]:
    """``[task(0), ..., task(count - 1)]``, each on a thread of its own on which torch uses no further ones.

    Many small operations, each on two threads, wait for the slower of the two each time: a pass over the data took up
    to a quarter longer that way on two idle cores, and four times as long where another process kept one of them busy.
    Gradients, autocast and inference mode of the caller do not reach the threads.
    """
    if count == 1:
        return [task(0)]
    threads = torch.get_num_threads()

    def alone(index: int) -> T:
        torch.set_num_threads(1)
        return task(index)

    try:
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(alone, range(count)))
    finally:
        torch.set_num_threads(threads)  # the number that threads to come start with is common to all
