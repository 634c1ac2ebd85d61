"""One accountant in a process of its own, under a memory limit: a JSON request on stdin, a JSON answer on stdout.

Imports are not timed, nor is one small unrelated mechanism that each accountant does first, so that thread pools and
lazy imports are in place. Nothing else is warm: a process never accounts the same mechanism twice, since privlib keeps
intermediate results.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

_STATUS = Path("/proc/self/status")
_WARM_UP = {"gdp_mu": 1.1, "sampling_probability": 0.01, "count": 50, "delta": 1e-5}

Bounds = tuple[float | None, float | None]


def certified(case: dict, _: dict) -> Bounds:
    from privlib.accounting.certified import subsampled_gaussian_epsilon

    interval = subsampled_gaussian_epsilon(case["gdp_mu"], case["sampling_probability"], case["count"], case["delta"])
    return interval.lower, interval.upper


def _dp_accounting(case: dict, step: float, upper: bool) -> float:
    from dp_accounting.pld import privacy_loss_distribution

    single = privacy_loss_distribution.from_gaussian_mechanism(
        standard_deviation=1.0 / case["gdp_mu"],
        pessimistic_estimate=upper,
        value_discretization_interval=step,
        sampling_prob=case["sampling_probability"],
        use_connect_dots=upper,
    )
    return float(single.self_compose(case["count"]).get_epsilon_for_delta(case["delta"]))


def dp_accounting_upper(case: dict, settings: dict) -> Bounds:
    """Connect-the-dots."""
    return None, _dp_accounting(case, settings["step"], upper=True)


def dp_accounting_lower(case: dict, settings: dict) -> Bounds:
    """Privacy buckets."""
    return max(0.0, _dp_accounting(case, settings["step"], upper=False)), None


def prv_accountant(case: dict, settings: dict) -> Bounds:
    """The interval of its own error bounds."""
    from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

    mechanism = PoissonSubsampledGaussianMechanism(
        noise_multiplier=1.0 / case["gdp_mu"], sampling_probability=case["sampling_probability"]
    )
    accountant = PRVAccountant(
        mechanism,
        eps_error=settings["step"],
        delta_error=settings["delta_share"] * case["delta"],
        max_self_compositions=case["count"],
    )
    lower, _, upper = accountant.compute_epsilon(case["delta"], [case["count"]])
    return max(0.0, lower), upper


ACCOUNTANTS: dict[str, Callable[[dict, dict], Bounds]] = {
    f.__name__: f for f in (certified, dp_accounting_upper, dp_accounting_lower, prv_accountant)
}


def process_bytes(field: str) -> int:
    """VmRSS and VmHWM (resident size now and at most), VmSize and VmPeak (address space) of this process."""
    if _STATUS.exists():
        return 1024 * int(re.search(rf"{field}:\s*(\d+)", _STATUS.read_text()).group(1))
    # Elsewhere only the largest resident size is at hand: in KiB on BSD, in bytes on macOS.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def forget_peak() -> None:
    """Start VmHWM anew (Linux); where that is not possible, the peak of the imports hides what is smaller."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def answer(request: dict) -> dict:
    """Bounds, seconds and CPU seconds of each case, and what the process took in memory beyond its imports."""
    run = ACCOUNTANTS[request["accountant"]]
    settings = request["settings"]
    run(_WARM_UP, {**settings, "step": 0.05})
    memory_before = process_bytes("VmHWM")
    forget_peak()
    resident, space = process_bytes("VmRSS"), process_bytes("VmSize")
    limit = space + request["memory"]
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    results = []
    for case in request["cases"]:
        start, cpu_start = time.perf_counter(), time.process_time()
        lower, upper = run(case, settings)
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
        results.append({"lower": lower, "upper": upper, "seconds": seconds, "cpu_seconds": cpu_seconds})
    return {
        "results": results,
        "memory": max(memory_before, process_bytes("VmHWM")),
        "memory_added": max(0, process_bytes("VmHWM") - resident),
        "space_added": max(0, process_bytes("VmPeak") - space),
    }


if __name__ == "__main__":
    try:
        reply = answer(json.load(sys.stdin))
    except MemoryError:
        reply = {"failure": "out of memory"}
    except Exception as error:  # reported as this accountant's result, whatever it is
        reply = {"failure": f"{type(error).__name__}: {error}"}
    json.dump(reply, sys.stdout)
