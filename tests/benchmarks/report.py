"""The measurements as JSON and as Markdown."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.benchmarks.attempts import GIB, MIB, Limits
from tests.benchmarks.cases import target_width
from tests.benchmarks.search import Found, Kind
from tests.benchmarks.suite import Comparison, Sweep

SPEED_UP, SWEEP_SECONDS = 20.0, 20.0


@dataclass
class Report:
    """What has been measured so far."""

    machine: dict[str, str]
    limits: Limits
    growth_limits: Limits
    quick: bool
    comparisons: list[Comparison] = field(default_factory=list)
    sweep: Sweep | None = None
    by_count: list[Comparison] = field(default_factory=list)
    by_epsilon: list[Comparison] = field(default_factory=list)

    def verdicts(self) -> list[tuple[str, str, bool]]:
        """Aim, what was measured, and whether the one meets the other."""
        rows = []
        for name in ("dp_accounting", "prv_accountant"):
            pairs = [(c.ratio(o), c.case.label) for c in self.comparisons for o in c.others if o.accountant == name]
            known = [(ratio, label) for ratio, label in pairs if ratio is not None]
            if known:
                least, label = min(known)
                told = f"{least:,.0f} times at least ({label}), in {len(known)} of {len(pairs)} configurations measured"
                rows.append((f"{SPEED_UP:g} times faster than {name}", told, least >= SPEED_UP))
            elif pairs:
                rows.append((f"{SPEED_UP:g} times faster than {name}", "it has no interval within the limits", True))
        if self.comparisons:
            narrow = all(c.ours.kind is Kind.EQUAL for c in self.comparisons)
            rows.append(("our intervals at most as wide as asked for", "all" if narrow else "not all", narrow))
        if self.sweep is not None and not self.sweep.outcome.failure:
            count, seconds, worst = len(self.sweep.cases), self.sweep.outcome.seconds, self.sweep.worst_width
            rows.append((f"{count} mechanisms in {SWEEP_SECONDS:g} s", f"{seconds:.1f} s", seconds <= SWEEP_SECONDS))
            rows.append((f"the widest of {count} as asked for", f"{worst:.2g} of the width asked for", worst <= 1.0))
        return rows

    def contradictions(self) -> list[str]:
        """Failures of our accountant, and intervals that do not meet: these are defects whatever the speed."""
        rows = [*self.comparisons, *self.by_count, *self.by_epsilon]
        found = [f"{c.case.label}: privlib failed, {c.ours.failure}" for c in rows if c.ours.failure]
        found += [f"{c.case.label}: privlib and {name} disagree" for c in rows for name in c.disagreements()]
        if self.sweep is not None and self.sweep.outcome.failure:
            found.append(f"sweep: privlib failed, {self.sweep.outcome.failure}")
        return found


def write(report: Report, folder: Path) -> None:
    """``report.json`` and ``report.md`` in ``folder``."""
    compared = [*report.comparisons, *report.by_count, *report.by_epsilon]
    conclusions = {
        "ratios": {c.case.label: {other.accountant: c.ratio(other) for other in c.others} for c in compared},
        "verdicts": report.verdicts(),
        "contradictions": report.contradictions(),
    }
    data = _plain({**asdict(report), **conclusions})
    write_texts(
        folder,
        {"report.json": json.dumps(data, indent=1, allow_nan=False) + "\n", "report.md": markdown(report)},
    )


def write_texts(folder: Path, texts: dict[str, str]) -> None:
    """Each text under its name in ``folder``, which is made if need be; a file is replaced as a whole."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        draft = folder / f"{name}.part"
        draft.write_text(text, encoding="utf-8")
        draft.replace(folder / name)


def _plain(value: object) -> object:
    """JSON has no infinities."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def markdown(report: Report) -> str:
    limits = report.limits
    parts = [
        "# Benchmark of the certified accountant",
        "Each accountant runs in a fresh process. Seconds are wall time of computing, without imports, after one small "
        "unrelated mechanism; for the five blocks ours is the median of three processes. For the others the search for "
        "a discretization is not counted, only the attempt whose interval is shown. Memory is the peak of resident "
        "memory beyond what the imports took, and in brackets that of the whole process. "
        f"Limits: {limits.seconds:g} s and {limits.memory / GIB:g} GiB a configuration "
        f"({report.growth_limits.seconds:g} s in the growth tables, where an accountant that misses the width is not "
        "asked again).",
    ]
    if report.quick:
        parts.append("**A quick run**: fewer cases and smaller limits, so the verdicts below say little.")
    verdicts = [[aim, told, "yes" if met else "**no**"] for aim, told, met in report.verdicts()]
    parts.append(table(["aim", "measured", "met"], verdicts))
    parts += [f"**Defect**: {text}." for text in report.contradictions()]
    if report.comparisons:
        parts += ["## The five blocks", _comparison_table(report.comparisons)]
    if report.sweep is not None:
        parts += ["## Both sweeps", _sweep_text(report.sweep)]
    if report.by_count:
        parts += ["## Growth with the number of outputs", _comparison_table(report.by_count)]
    if report.by_epsilon:
        parts += ["## Growth with epsilon", _comparison_table(report.by_epsilon)]
    parts += ["## Machine", table(["what", "value"], [list(row) for row in report.machine.items()])]
    return "\n\n".join(parts) + "\n"


def _comparison_table(rows: list[Comparison]) -> str:
    head = ["mechanism", "accountant", "interval", "width", "asked for", "case", "seconds", "MiB", "times ours"]
    body = []
    for row in rows:
        for found in (row.ours, *row.others):
            mine = found is row.ours
            ratio = None if mine else row.ratio(found)
            body.append(
                [row.case.label, found.accountant, *_interval(found), f"{row.width:.3g}", _which(found)]
                + ([f"{found.seconds:.3g}", _memory(found)] if found.outcomes else ["", ""])
                + ["1" if mine else "" if ratio is None else f"{ratio:,.0f}"]
            )
    return table(head, body)


def _interval(found: Found) -> list[str]:
    if found.lower is None or found.upper is None:
        return ["none", ""]
    return [f"[{found.lower:.6f}, {found.upper:.6f}]", f"{found.width:.2g}"]


def _which(found: Found) -> str:
    explain = found.failure is not None and found.kind is not Kind.EQUAL
    return f"{found.kind}: {found.failure}" if explain else str(found.kind)


def _memory(found: Found) -> str:
    return f"{found.memory_added / MIB:,.0f} ({found.memory / MIB:,.0f})"


def _sweep_text(sweep: Sweep) -> str:
    outcome = sweep.outcome
    if outcome.failure:
        return f"{len(sweep.cases)} mechanisms: {outcome.failure}"
    pairs = sorted(zip(outcome.results, sweep.cases, strict=True), key=lambda pair: -pair[0].seconds)
    processor = math.fsum(result.cpu_seconds for result in outcome.results)
    total = (
        f"{len(pairs)} distinct mechanisms in one process: {outcome.seconds:.1f} s of computing ({processor:.1f} s of "
        f"processor time; {outcome.process_seconds:.1f} s with start and imports), "
        f"{outcome.memory_added / MIB:,.0f} MiB beyond imports ({outcome.memory / MIB:,.0f} MiB in all). "
        f"Widest: {sweep.worst_width:.2g} of the width asked for. The ten slowest:"
    )
    rows = [
        [case.label, f"[{r.lower:.6f}, {r.upper:.6f}]", f"{r.upper - r.lower:.2g}"]
        + [f"{target_width(r.upper):.3g}", f"{r.seconds:.3f}"]
        for r, case in pairs[:10]
    ]
    return total + "\n\n" + table(["mechanism", "interval", "width", "asked for", "seconds"], rows)


def table(head: list[str], body: list[list[str]]) -> str:
    """A Markdown table."""
    rows = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
