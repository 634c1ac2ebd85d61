"""Execute one notebook and promote it only when it is whole.

    python -m privlib.pipeline.run NOTEBOOK OUTPUT --results FILE --profile FILE [-p NAME VALUE]... [--threads N]

Exit status: 0 done; 1 the run failed (a cell raised, no kernel, disk full, ...); 2 the parameters are not accepted;
130 or 143 interrupted. Whatever happens, OUTPUT and FILE are either complete and from the same run, or untouched.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import nbformat
import papermill
from jupyter_client.kernelspec import NoSuchKernel
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError

from privlib.pipeline.checks import PageError, checked_results
from privlib.pipeline.parameters import checked_parameters
from privlib.pipeline.profiles import ProfileError, load_profile
from privlib.report.bundles import add_claims, kept_path
from privlib.report.parameters import ParameterError, notebook_parameters

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class RunError(RuntimeError):
    """A notebook could not be executed; the message says why in one line."""


class Interrupted(BaseException):
    """The process was told to stop; not an Exception, so that nothing on the way takes it for a failed cell."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_status = 128 + number


def execute(notebook: Path, parameters: Mapping[str, object]) -> nbformat.NotebookNode:
    """Run ``notebook`` with ``parameters`` in a fresh kernel; no file is written.

    Cost: that of the notebook. The peak memory of the kernel is added to ``metadata.papermill``, in bytes.

    Raises:
        RunError: no such kernel, the kernel died, or a cell raised.
    """
    try:
        executed = papermill.execute_notebook(
            notebook,
            None,
            dict(parameters),
            progress_bar=sys.stderr.isatty(),
            # The kernel's remarks on its own transport would drown what the notebook has to say.
            extra_arguments=["--log-level=CRITICAL"],
        )
    except PapermillExecutionError as error:
        first = next((line for line in error.source.splitlines() if line.strip()), "")
        raise RunError(
            f"{notebook}: cell [{error.exec_count}] raised {error.ename}: {error.evalue}\n  the cell begins: {first}"
        ) from None
    except NoSuchKernel as error:
        raise RunError(
            f"{notebook}: kernel {error.name!r} is not installed here; the book's notebooks use python3, "
            "which 'python -m ipykernel install --sys-prefix' installs"
        ) from None
    except DeadKernelError:
        raise RunError(f"{notebook}: the kernel died (out of memory?)") from None
    executed.metadata.papermill["peak_memory_bytes"] = _children_peak_memory()
    return executed


def run(notebook: Path, output: Path, results: Path, parameters: Mapping[str, object]) -> None:
    """Execute ``notebook`` and write ``output`` and ``results`` (JSON), both or neither.

    Raises:
        RunError, PageError: see ``execute`` and ``checked_results``.

    A target that cannot be written is a RunError too, found out before the notebook runs where possible.
    """
    with _partial(output) as partial_output, _partial(results) as partial_results:
        before = time.time_ns()
        executed = execute(notebook, parameters)
        found = checked_results(executed, notebook.stem)
        kept = kept_path(notebook.stem, found["tier"])
        # One from an earlier run has the claims of that run.
        if kept.is_file() and kept.stat().st_mtime_ns >= before:
            add_claims(kept, found)
        executed.metadata.papermill.update(input_path=notebook.as_posix(), output_path=output.as_posix())
        with _writing_to(output):
            _write(partial_output, nbformat.writes(executed))
            _write(partial_results, json.dumps(found, indent=1, sort_keys=True) + "\n")
            os.replace(partial_results, results)
            os.replace(partial_output, output)


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        profile = load_profile(options.profile)
        accepted = notebook_parameters(options.notebook)
        given = dict(profile.settings(options.notebook.stem).parameters)
        if "tier" in accepted:
            given["tier"] = profile.tier
        given.update(options.parameters)
        checked = checked_parameters(options.notebook, accepted, given)
        # A page that repeats its own defaults in an injected cell would only puzzle its reader.
        parameters = {name: value for name, value in checked.items() if value != accepted[name].default}
    except (ParameterError, ProfileError) as error:
        return _fail(error, status=2)
    except (OSError, nbformat.reader.NotJSONError) as error:
        return _fail(f"{options.notebook}: cannot be read: {error}")
    if options.threads:
        os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(options.threads)))
    try:
        with _signals_raise():
            run(options.notebook, options.output, options.results, parameters)
    except (RunError, PageError) as error:
        return _fail(error)
    except OSError as error:
        return _fail(f"{options.notebook}: cannot be run: {error}")
    except Interrupted as error:
        return _fail(f"{options.notebook}: stopped by {error}, nothing written", status=error.exit_status)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="privlib.pipeline.run", description="Execute one notebook of the book.")
    parser.add_argument("notebook", type=Path, metavar="NOTEBOOK", help="notebook to execute (.ipynb)")
    parser.add_argument("output", type=Path, metavar="OUTPUT", help="where the executed notebook goes")
    parser.add_argument("--results", type=Path, required=True, metavar="FILE", help="where the recorded values go")
    parser.add_argument("--profile", type=Path, required=True, metavar="FILE", help="profile that sets parameters")
    parser.add_argument(
        "-p",
        dest="parameters",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="set a parameter, over the profile; may be repeated",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads of numerical libraries (default: theirs)")
    return parser


@contextlib.contextmanager
def _partial(target: Path) -> Iterator[Path]:
    """An empty file beside ``target`` that is gone afterwards, whatever happened, unless it was renamed."""
    partial = target.with_name(f".{target.name}.partial")
    with _writing_to(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.touch()
    try:
        yield partial
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def _writing_to(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(f"cannot write {target}: {error.strerror or error} ({error.filename or target})") from None


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _signals_raise() -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise Interrupted(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _children_peak_memory() -> int | None:
    if sys.platform == "win32":
        return None
    import resource  # not on Windows

    unit = 1 if sys.platform == "darwin" else 1024  # macOS reports bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit


def _fail(message: object, *, status: int = 1) -> int:
    sys.stderr.write(f"error: {message}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
