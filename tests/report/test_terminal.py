"""A bar for those who watch, and silence elsewhere."""

import io
import os
import pty
import sys

from privlib.report.terminal import follow


def test_a_terminal_sees_the_bar(monkeypatch) -> None:
    watched, end = pty.openpty()
    os.set_blocking(watched, False)
    with os.fdopen(end, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        progress = follow("inversion", delay=0.0)
        progress(1, 4)
        progress(4, 4)
        shown = os.read(watched, 10_000).decode()
    os.close(watched)
    assert "inversion" in shown and "4/4" in shown


def test_no_terminal_sees_nothing(monkeypatch, tmp_path) -> None:
    with (tmp_path / "log").open("w") as log:
        for stream in (io.StringIO(), None, log):
            monkeypatch.setattr(sys, "stderr", stream)
            follow("inversion")(1, 1)
    assert (tmp_path / "log").read_text() == ""
