"""A notebook becomes a page whole or not at all, and every failure says in one message what to do about it."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from privlib.pipeline import run as pipeline_run
from privlib.report import RESULTS_MIME
from privlib.report.bundles import Bundle, write_bundle
from tests.pipeline.conftest import ALT_TEXT, image_cell, results_cell


@pytest.fixture
def run(tmp_path, profile, capfd):
    """Call the program; returns exit status, what it said, and the two targets."""

    def call(notebook, *arguments, output=None):
        output = output or tmp_path / "out" / "page.ipynb"
        results = tmp_path / "out" / "results.json"
        options = [notebook, output, "--results", results, "--profile", profile, *arguments]
        status = pipeline_run.main([str(option) for option in options])
        return status, capfd.readouterr().err, output, results

    return call


def nothing_written(*targets):
    folders = {target.parent for target in targets if target.parent.is_dir()}
    return not [path for folder in folders for path in folder.iterdir()]


def test_a_good_run_promotes_notebook_and_results(write_notebook, run):
    echo = new_code_cell("print(tier, count, delta, betas)")
    notebook = write_notebook(echo, image_cell(mystnb=ALT_TEXT), results_cell(**{"tab01.a": 1.5}))
    before = notebook.read_bytes()
    status, said, output, results = run(notebook, "-p", "delta", "1e-6", "-p", "betas", "[4, 8]", "--threads", "1")
    assert (status, said) == (0, "")
    executed = nbformat.read(output, as_version=4)
    streams = [o.text for cell in executed.cells for o in cell.get("outputs", []) if o.output_type == "stream"]
    assert streams == ["smoke 2 1e-06 [4.0, 8.0]\n"]
    assert executed.metadata.papermill.peak_memory_bytes > 10 * 2**20
    assert executed.metadata.papermill.duration > 0
    assert json.loads(results.read_text())["values"] == {"tab01.a": 1.5}
    assert sorted(path.name for path in output.parent.iterdir()) == ["page.ipynb", "results.json"]
    assert notebook.read_bytes() == before


def kept_by(tmp_path, monkeypatch):
    """A bundle where ``run`` looks for what a notebook keeps, and a cell that writes it anew."""
    path = tmp_path / "kept.json"
    monkeypatch.setattr(pipeline_run, "kept_path", lambda asset, tier: path)
    made = {"date": "d", "revision": "r", "device": "cpu", "parameters": {}, "inputs": {}, "code": {}}
    write_bundle(Bundle("tab01", "embedded", made, {"main": [{"x": 1}]}), path)
    return path, new_code_cell(f"import os\nos.utime({str(path)!r})")


def test_a_bundle_that_a_run_keeps_gets_the_claims_of_that_run(write_notebook, run, tmp_path, monkeypatch):
    path, keeps = kept_by(tmp_path, monkeypatch)
    assert run(write_notebook(keeps, results_cell(**{"tab01.a": 1.5})))[0] == 0
    claims = json.loads(path.read_text())["tables"]["claims"]
    assert claims == [{"claim": "tab01.a", "value": 1.5, "status": "match"}]


def test_a_bundle_of_an_earlier_run_is_left_alone(write_notebook, run, tmp_path, monkeypatch):
    path, _ = kept_by(tmp_path, monkeypatch)
    before = path.read_bytes()
    assert run(write_notebook(results_cell(**{"tab01.a": 1.5})))[0] == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["-p", "detla", "1e-6"], ["unknown parameter detla"]),
        (["-p", "count", "3.5"], ["parameter count must be of type int, got '3.5'"]),
        (["-p", "count", "True"], ["must be of type int"]),
        (["-p", "delta", "small", "-p", "q", "1"], ["parameter delta must be of type float", "unknown parameter q"]),
        (["-p", "betas", "1.0"], ["parameter betas must be of type list"]),
        (["-p", "betas", "[1.0, 'x']"], ["parameter betas must be of type list"]),
    ],
)
def test_parameters_that_do_not_fit_are_refused_with_the_accepted_ones(write_notebook, run, arguments, messages):
    status, said, *targets = run(write_notebook(), *arguments)
    assert status == 2 and nothing_written(*targets)
    for message in [*messages, "count (int, default 3): outputs released, at least 1", "delta (float, default 1e-05)"]:
        assert message in said


def test_a_cell_that_raises_is_named_in_brief(write_notebook, run):
    notebook = write_notebook(new_code_cell("\ncheck = 1\nraise ValueError('delta must lie in (0, 1), got 2')"))
    status, said, *targets = run(notebook)
    assert status == 1 and nothing_written(*targets)
    assert "raised ValueError: delta must lie in (0, 1), got 2\n  the cell begins: check = 1" in said
    assert "Traceback" not in said and said.count("\n") == 2


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([image_cell(), results_cell()], "cell 4 shows an image without alt text"),
        ([image_cell(mystnb={"image": {"alt": " "}}), results_cell()], "without alt text"),
        ([], "need exactly one call of report.claims(...), found 0"),
        ([results_cell(), results_cell()], "found 2"),
        ([results_cell(asset="tab02")], "called for 'tab02', not for this notebook"),
        (
            [new_code_cell("raise KeyError('x')", metadata={"tags": ["raises-exception"]}), results_cell()],
            "raised KeyError",
        ),
    ],
)
def test_a_page_that_is_not_fit_is_refused(write_notebook, run, cells, message):
    status, said, *targets = run(write_notebook(*cells))
    assert status == 1 and nothing_written(*targets)
    assert message in said


def test_a_missing_kernel_is_one_message(write_notebook, run):
    status, said, *targets = run(write_notebook(results_cell(), kernel="no-such-kernel"))
    assert status == 1 and nothing_written(*targets)
    assert "kernel 'no-such-kernel' is not installed" in said and said.count("\n") == 1


def test_a_kernel_that_dies_is_one_message(write_notebook, run):
    status, said, *targets = run(write_notebook(new_code_cell("import os\nos._exit(1)")))
    assert status == 1 and nothing_written(*targets)
    assert "the kernel died" in said and "Traceback" not in said


def test_a_missing_or_broken_notebook_is_one_message(tmp_path, run):
    status, said, *_ = run(tmp_path / "none.ipynb")
    assert status == 1 and "none.ipynb: cannot be read" in said
    (tmp_path / "bad.ipynb").write_text("{", encoding="utf-8")
    status, said, *_ = run(tmp_path / "bad.ipynb")
    assert status == 1 and "bad.ipynb: cannot be read" in said


def test_a_folder_that_cannot_be_written_is_found_out_before_the_run(write_notebook, run, tmp_path, monkeypatch):
    # A path below a regular file: no user can write there, root included.
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setattr(pipeline_run, "execute", lambda *_: pytest.fail("the notebook ran"))
    status, said, *_ = run(write_notebook(results_cell()), output=tmp_path / "file" / "page.ipynb")
    assert status == 1 and "cannot write" in said and "file/page.ipynb" in said and said.count("\n") == 1


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_former_page_alone(write_notebook, run, tmp_path, monkeypatch, step):
    output = tmp_path / "out" / "page.ipynb"
    output.parent.mkdir()
    output.write_text("former", encoding="utf-8")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    executed = nbformat.v4.new_notebook(cells=[results_cell()], metadata={"papermill": {}})
    executed.cells[0].outputs = [
        nbformat.v4.new_output("display_data", {RESULTS_MIME: {"asset": "tab01", "tier": "embedded"}}),
    ]
    monkeypatch.setattr(pipeline_run, "execute", lambda *_: executed)
    monkeypatch.setattr(os, step, full)
    status, said, *_ = run(write_notebook())
    assert status == 1 and f"cannot write {output}: No space left on device" in said
    assert output.read_text() == "former"
    assert [path.name for path in output.parent.iterdir()] == ["page.ipynb"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_interruption_leaves_nothing_behind(write_notebook, profile, tmp_path, number, status):
    started = tmp_path / "started"
    notebook = write_notebook(
        new_code_cell(
            f"import os, pathlib, time\npathlib.Path({str(started)!r}).write_text(str(os.getpid()))\ntime.sleep(60)"
        )
    )
    output = tmp_path / "out" / "page.ipynb"
    command = [notebook, output, "--results", tmp_path / "out" / "results.json", "--profile", profile]
    process = subprocess.Popen(
        [sys.executable, "-m", "privlib.pipeline.run", *map(str, command)], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not (started.exists() and started.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == status
    assert f"stopped by {number.name}, nothing written" in said and "Traceback" not in said
    assert nothing_written(output)
    with pytest.raises(ProcessLookupError):  # the kernel is gone too
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            os.kill(int(started.read_text()), 0)
            time.sleep(0.05)


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit):
        pipeline_run.main(["--help"])
    assert "--profile" in capsys.readouterr().out
