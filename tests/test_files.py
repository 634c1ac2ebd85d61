"""A file is the old one or the new one, and nothing is left beside it."""

import pytest

from privlib.files import replace_file, replace_text


def test_a_write_that_breaks_leaves_the_old_file_and_no_trace(tmp_path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def broken(part) -> None:
        part.write_text("ne")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace_file(path, broken)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    before = path.stat().st_ino
    replace_file(path, lambda part: part.write_text("new"))
    assert path.stat().st_ino != before, "the new file must take the name of the old one, not be written into it"
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


def test_a_folder_is_made_and_text_is_utf8(tmp_path) -> None:
    replace_text(tmp_path / "new" / "file", "é")
    assert (tmp_path / "new" / "file").read_bytes() == "é".encode()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file"]
