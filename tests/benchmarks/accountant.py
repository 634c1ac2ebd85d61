"""Measure the certified accountant beside two others and write ``_build/bench/report.md`` and ``report.json``."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks import report, suite
from tests.benchmarks.attempts import ROOT, Limits, say
from tests.benchmarks.cases import PERCENTS, block_case, count_cases, epsilon_cases, sweep_cases
from tests.benchmarks.machine import describe


def run(folder: Path, *, quick: bool) -> int:
    """Exit status: 1 where our accountant fails or two accountants contradict each other."""
    limits, growth_limits = (Limits(seconds=8.0), Limits(seconds=4.0)) if quick else (Limits(), Limits(seconds=20.0))
    results = report.Report(describe(), limits, growth_limits, quick)

    for percent in (62,) if quick else PERCENTS:
        results.comparisons.append(suite.compare(block_case(percent), limits))
        report.write(results, folder)
    cases = sweep_cases()
    results.sweep = suite.sweep(cases[::9] if quick else cases, Limits(seconds=600.0))
    report.write(results, folder)
    results.by_count = suite.grow(count_cases()[1:5:3] if quick else count_cases(), growth_limits)
    report.write(results, folder)
    results.by_epsilon = suite.grow(epsilon_cases()[::4] if quick else epsilon_cases(), growth_limits)
    report.write(results, folder)

    for aim, told, met in results.verdicts():
        say(f"{aim}: {told}: {'met' if met else 'NOT met'}")
    for text in results.contradictions():
        say(f"DEFECT: {text}")
    say(f"wrote {folder.relative_to(ROOT)}/report.md and report.json")
    return 1 if results.contradictions() else 0
