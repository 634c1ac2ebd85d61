"""A lock without a Snakemake behind it is removed; one with a Snakemake behind it is not."""

import subprocess
import sys
import time

from privlib.pipeline.unlock import remove_stale_lock


def test_only_a_stale_lock_is_removed(tmp_path):
    assert not remove_stale_lock(tmp_path)
    lock = tmp_path / ".snakemake" / "locks" / "0.input.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    (tmp_path / "snakemake").write_text("import time\nprint('up', flush=True)\ntime.sleep(60)\n", encoding="utf-8")
    running = subprocess.Popen([sys.executable, "snakemake"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout.readline() == "up\n"
        assert not remove_stale_lock(tmp_path) and lock.exists()
    finally:
        running.kill()
        running.communicate()
    deadline = time.monotonic() + 5
    while not remove_stale_lock(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not lock.exists()
