"""Finding a reader's data, and what is said where they are not; checksums of what is bundled."""

import hashlib

import pytest

from privlib.data.locate import ASSETS, VARIABLE, DataError, Description, check_sums, find_folder

WANTED = Description("Zoo", ("zoo", "zoo-2"), ("cats", "train/cat*"), "cats/ with pictures.", "Ask the keeper.")


def test_the_set_itself_or_a_folder_that_holds_it(tmp_path):
    root = tmp_path / "zoo-2"
    (root / "train" / "cat1").mkdir(parents=True)
    assert find_folder(WANTED, root) == find_folder(WANTED, tmp_path) == find_folder(WANTED, str(tmp_path)) == root


def test_the_argument_goes_before_the_variable(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name / "zoo" / "cats").mkdir(parents=True)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "one"))
    assert find_folder(WANTED, None) == find_folder(WANTED, "") == tmp_path / "one" / "zoo"
    assert find_folder(WANTED, tmp_path / "two") == tmp_path / "two" / "zoo"


def test_home_is_understood(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "zoo" / "cats").mkdir(parents=True)
    assert find_folder(WANTED, "~/zoo") == tmp_path / "zoo"


def test_without_a_folder_both_ways_to_name_one_are_told():
    with pytest.raises(DataError, match=f"Zoo .*folder=.*{VARIABLE}.* zoo/.*cats/ with pictures.*Ask the keeper"):
        find_folder(WANTED, None)


def test_absent_data_tell_where_they_were_looked_for_and_what_is_packed(tmp_path):
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo" / "zoo.tar.gz").touch()
    (tmp_path / "other.zip").touch()
    with pytest.raises(DataError) as caught:
        find_folder(WANTED, tmp_path)
    message = str(caught.value)
    for part in ("zoo", "zoo-2", "zoo/zoo.tar.gz", "other.zip"):
        assert str(tmp_path / part) in message
    assert "not unpacked" in message and WANTED.layouts in message and WANTED.source in message


def test_no_archive_no_word_of_archives(tmp_path):
    with pytest.raises(DataError, match="not found") as caught:
        find_folder(WANTED, tmp_path / "nowhere")
    assert "unpacked" not in str(caught.value)


@pytest.mark.parametrize("sums", sorted(ASSETS.rglob("SHA256SUMS")), ids=lambda path: path.parent.name)
def test_what_is_bundled_is_what_was_committed(sums):
    for line in sums.read_text(encoding="utf-8").splitlines():
        expected, name = line.split()
        assert hashlib.sha256((sums.parent / name).read_bytes()).hexdigest() == expected
    check_sums(sums.parent)


@pytest.mark.parametrize("harm", ["changed", "missing", "no list"])
def test_damage_to_bundled_files_is_named(tmp_path, harm):
    file, sums = tmp_path / "a.bin", tmp_path / "SHA256SUMS"
    file.write_bytes(b"abc")
    sums.write_text("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a.bin\n")  # FIPS 180, "abc"
    if harm == "changed":
        file.write_bytes(b"abd")
    else:
        (file if harm == "missing" else sums).unlink()
    with pytest.raises(DataError, match="SHA256SUMS is missing" if harm == "no list" else r"a\.bin .*git checkout"):
        check_sums(tmp_path)
