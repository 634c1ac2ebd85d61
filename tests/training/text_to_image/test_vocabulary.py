"""The tokenizer is a CLIP tokenizer, the same for the same captions, and gives back what it is given."""

import json

import pytest
from transformers import CLIPTokenizer

from privlib.training.text_to_image.vocabulary import END, START, learn_merges, write_tokenizer


def test_merges_are_those_of_byte_pair_encoding_by_hand():
    # l o w</w> twice and l o w e r</w> once: (l, o) 3 times, then (lo, w</w>) twice, and nothing else twice.
    assert learn_merges(["low low", "lower"], 600) == [("l", "o"), ("lo", "w</w>")]
    assert learn_merges(["low low", "lower"], 515) == [("l", "o")]


def test_ties_are_settled_by_the_alphabet_and_not_by_order():
    captions = ["ab cd ab cd", "ef ef"]
    assert learn_merges(captions, 600) == [("a", "b</w>"), ("c", "d</w>"), ("e", "f</w>")]
    assert learn_merges(captions[::-1], 600) == learn_merges(captions, 600)


def test_repeated_letters_are_joined_from_the_left():
    assert learn_merges(["aaaa aaaa"], 600)[0] == ("a", "a")


def test_a_vocabulary_has_room_for_the_bytes():
    with pytest.raises(ValueError, match="at least 514"):
        learn_merges(["cat"], 513)


def test_files_are_those_of_clip(tokenizer, tokenizer_folder, recipe):
    numbers = json.loads((tokenizer_folder / "vocab.json").read_text())
    lines = (tokenizer_folder / "merges.txt").read_text().splitlines()
    assert lines[0] == "#version: 0.2" and all(len(line.split()) == 2 for line in lines[1:])
    assert sorted(numbers.values()) == list(range(len(numbers))) and len(numbers) <= recipe.vocabulary_size
    assert len(numbers) == 512 + len(lines) - 1 + 2
    assert isinstance(tokenizer, CLIPTokenizer)
    assert (numbers[START], numbers[END]) == (len(numbers) - 2, len(numbers) - 1)
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (len(numbers) - 2, len(numbers) - 1)
    assert tokenizer.model_max_length == recipe.max_tokens


def test_text_comes_back_lower_case(tokenizer):
    for text in ("Icon of a CAT in the style of carbon", "zebra", "é 7 ?"):
        numbers = tokenizer(text).input_ids
        assert numbers[0] == tokenizer.bos_token_id and numbers[-1] == tokenizer.eos_token_id
        assert tokenizer.decode(numbers, skip_special_tokens=True) == text.lower()


def test_words_of_the_captions_are_one_piece(tmp_path):
    written = write_tokenizer(learn_merges(["cat owl"] * 9, 600), tmp_path, max_tokens=6)
    assert written.tokenize("owl cat") == ["owl</w>", "cat</w>"]
    padded = written("cat", padding="max_length", max_length=6).input_ids
    assert padded[3:] == [written.eos_token_id] * 3
