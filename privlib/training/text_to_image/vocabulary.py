"""A CLIP tokenizer of a few thousand pieces, learned from captions, in the files of CLIP's own tokenizer."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import CLIPTokenizer

START, END = "<|startoftext|>", "<|endoftext|>"

#: Marks the last piece of a word.
SUFFIX = "</w>"


def learn_merges(captions: Iterable[str], size: int) -> list[tuple[str, str]]:
    """Byte-pair merges, most frequent first, for a vocabulary of ``size`` pieces with CLIP's bytes and marks.

    Fewer where no further pair occurs twice. Among pairs equally frequent the first in the alphabet is merged, so that
    the same captions give the same merges in any order (the trainer of ``tokenizers`` leaves ties to a hash).

    Raises:
        ValueError: ``size`` that leaves no room beside 2 x 256 bytes and two marks.
    """
    room = size - 2 * 256 - 2
    if room < 0:
        raise ValueError(f"size must be at least 514 (256 bytes, the same at the end of a word, two marks), got {size}")
    counts = _count_words(captions)
    words = [[*word[:-1], word[-1] + SUFFIX] for word in counts]
    weights = list(counts.values())
    frequency: Counter[tuple[str, str]] = Counter()
    holders: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for index, (pieces, weight) in enumerate(zip(words, weights, strict=True)):
        for pair in pairwise(pieces):
            frequency[pair] += weight
            holders[pair].add(index)
    merges: list[tuple[str, str]] = []
    while len(merges) < room and frequency:
        best = min(frequency, key=lambda pair: (-frequency[pair], pair))
        if frequency[best] < 2:
            break
        merges.append(best)
        for index in sorted(holders.pop(best)):
            for pair in pairwise(words[index]):
                frequency[pair] -= weights[index]
            words[index] = _merge(words[index], best)
            for pair in pairwise(words[index]):
                frequency[pair] += weights[index]
                holders[pair].add(index)
        frequency = +frequency
    return merges


def _count_words(captions: Iterable[str]) -> Counter[str]:
    """How often each word occurs, its bytes written as CLIP's tokenizer writes them."""
    from transformers import CLIPTokenizer

    backend = CLIPTokenizer(vocab={START: 0, END: 1}, merges=[]).backend_tokenizer
    return Counter(
        word
        for text in captions
        for word, _ in backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))
    )


def _merge(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    """``pieces`` with every occurrence of ``pair`` joined, from the left."""
    joined: list[str] = []
    for piece in pieces:
        if joined and (joined[-1], piece) == pair:
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def write_tokenizer(merges: list[tuple[str, str]], folder: Path, *, max_tokens: int) -> CLIPTokenizer:
    """Write ``vocab.json``, ``merges.txt`` and ``tokenizer_config.json`` as CLIP's own tokenizer has them; load it.

    Pieces are numbered as in CLIP: bytes, bytes at the end of a word, merges in order, start, end.
    """
    from tokenizers import pre_tokenizers
    from transformers import CLIPTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*letters, *(letter + SUFFIX for letter in letters), *(a + b for a, b in merges), START, END]
    numbers = {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}
    (folder / "vocab.json").write_text(json.dumps(numbers, ensure_ascii=False) + "\n", encoding="utf-8")
    lines = ["#version: 0.2", *(f"{a} {b}" for a, b in merges)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = {
        "tokenizer_class": "CLIPTokenizer",
        "bos_token": START,
        "eos_token": END,
        "unk_token": END,
        "pad_token": END,
        "model_max_length": max_tokens,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    return CLIPTokenizer.from_pretrained(folder)
