"""Runs ``worker`` under limits and keeps what came of it."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.benchmarks.cases import Case

ROOT = Path(__file__).resolve().parents[2]
MIB, GIB = 2**20, 2**30
#: Seconds that a process may take for its imports and the warm-up.
_START_ALLOWANCE = 60.0
_BEGIN = time.perf_counter()


@dataclass(frozen=True)
class Limits:
    """What one attempt may take.

    Attributes:
        seconds: of computing, imports excluded.
        memory: bytes of address space beyond the imports.
        coarsest: how much coarser than the predicted goal a search starts.
    """

    seconds: float = 100.0
    memory: int = 8 * GIB
    coarsest: float = 128.0


@dataclass(frozen=True)
class Result:
    lower: float | None
    upper: float | None
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Outcome:
    """One process: its results, or why there are none."""

    accountant: str
    settings: dict
    results: list[Result] = field(default_factory=list)
    memory: int = 0
    memory_added: int = 0
    space_added: int = 0
    process_seconds: float = 0.0
    failure: str | None = None

    @property
    def seconds(self) -> float:
        return math.fsum(result.seconds for result in self.results)


def say(text: str) -> None:
    """One line of progress."""
    print(f"[{time.perf_counter() - _BEGIN:7.1f} s] {text}", flush=True)


def attempt(accountant: str, cases: Sequence[Case], settings: dict, limits: Limits) -> Outcome:
    """Account for ``cases`` one after the other in a fresh process."""
    request = {
        "accountant": accountant,
        "cases": [asdict(case) for case in cases],
        "settings": settings,
        "memory": limits.memory,
    }
    start = time.perf_counter()
    try:
        process = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.worker"],
            input=json.dumps(request),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=limits.seconds + _START_ALLOWANCE,
        )
    except subprocess.TimeoutExpired:
        reply = {"failure": f"longer than {limits.seconds:g} s"}
    else:
        reply = _reply(process)
    results = [Result(**result) for result in reply.pop("results", [])]
    outcome = Outcome(accountant, settings, results, process_seconds=time.perf_counter() - start, **reply)
    if outcome.failure is None and outcome.seconds > limits.seconds:
        outcome = Outcome(accountant, settings, failure=f"longer than {limits.seconds:g} s")
    name = cases[0].label if len(cases) == 1 else f"{len(cases)} mechanisms"
    say(f"{accountant}, {name}{_settings_text(settings)}: {_outcome_text(outcome)}")
    return outcome


def _reply(process: subprocess.CompletedProcess) -> dict:
    if process.returncode < 0:
        return {"failure": f"killed by {signal.Signals(-process.returncode).name}, probably for memory"}
    try:
        return json.loads(process.stdout)
    except json.JSONDecodeError:
        tail = process.stderr.strip().splitlines()[-1:] or ["no output"]
        return {"failure": f"exit status {process.returncode}: {tail[0]}"}


def _settings_text(settings: dict) -> str:
    return f", step {settings['step']:.3g}" if "step" in settings else ""


def _outcome_text(outcome: Outcome) -> str:
    if outcome.failure:
        return outcome.failure
    text = f"{outcome.seconds:.2f} s, {outcome.memory_added / MIB:,.0f} MiB beyond imports"
    if len(outcome.results) == 1:
        ends = (("at least", outcome.results[0].lower), ("at most", outcome.results[0].upper))
        text += "".join(f", {word} {end:.6g}" for word, end in ends if end is not None)
    return text
