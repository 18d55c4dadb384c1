"""Tilted against what a user would pick, on the same folds, from the same start, with one BLAS thread.

    python benchmarks/bench.py [--output FOLDER] [--repeats 7] [--quick]

writes results.json into FOLDER (this one by default) and prints the ratios. Runs of two libraries alternate,
and medians are compared. Log evidences are printed with the seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402  # after the number of threads is set
import peers  # noqa: E402

from papers import data  # noqa: E402
from papers.core import runs  # noqa: E402
from papers.data import split  # noqa: E402
from tilted.inference.engine import infer  # noqa: E402
from tilted.inference.ep import EP  # noqa: E402
from tilted.kernels import SquaredExponential  # noqa: E402
from tilted.likelihoods.probit import Probit  # noqa: E402
from tilted.posteriors.dense import Dense  # noqa: E402
from tilted.projections import table as lookup  # noqa: E402

CASES = {"Wine1": "wine12", "IonoS": "ionosphere", "Cancer": "cancer", "Pima": "pima"}
SIZES = (117, 200, 316, 659, 1000, 2000, 4000)
PEERS = {"scikit-learn": "sklearn", "GPy": "GPy"}
EQUAL = 1e-6  # nats: evidences that differ by less are equal
LONG = 1.0  # seconds above which a run is repeated three times only


def main(argv=None) -> None:
    """Measure, write, print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--output", default=str(Path(__file__).parent), help="folder of what is written")
    parser.add_argument("--repeats", type=int, default=7, help="of short runs; 3 of long ones")
    parser.add_argument("--quick", action="store_true", help="no fits of the peers, no sizes above 700")
    options = parser.parse_args(argv)
    record = {
        "date": date.today().isoformat(),
        "environment": runs.environment(),
        "peers": {name: version(name) for name, module in PEERS.items() if find_spec(module)},
        "dgemm_gflops": dgemm_rate(),
    }
    record["cases"] = [row for case in CASES for row in measure_case(case, options)]
    sizes = SIZES[:4] if options.quick else SIZES
    record["scaling"] = [measure_size(n, record["dgemm_gflops"]) for n in sizes]
    folder = Path(options.output)
    (folder / "results.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print("\n".join(report(record)))


def dgemm_rate(n: int = 2000) -> float:
    """Return the Gflop/s of a matrix product of size ``n``, median of five."""
    A = np.random.default_rng(0).standard_normal((n, n))
    B = A @ A
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        np.matmul(A, A, out=B)
        seconds.append(time.perf_counter() - began)
    return 2e-9 * n**3 / float(np.median(seconds))


def measure_case(case: str, options) -> list[dict]:
    """Return the rows of one data set: every library's inference and fit."""
    try:
        dataset = data.load(CASES[case], "as-released")
    except data.DataError as error:
        print(f"{case} is left out: {error}")
        return []
    part = split(dataset, "legacy-shuffle", 0, 0)
    X, y = part.X_train, part.y_train
    ours = [peers.Ours("ep"), peers.Ours("qp", lookup.build(points=50)), peers.Ours("vb")]
    others = peers.installed()
    rows = []
    for what in ("infer", "fit"):
        chosen = [p for p in ours + others if getattr(p, what)]
        if what == "fit" and options.quick:
            chosen = ours
        if what == "fit" and len(y) > 400:  # hours of GPy
            chosen = [p for p in chosen if not p.name.startswith("GPy")]
        rows += _alternating(case, what, chosen, X, y, options.repeats)
    return rows


def _alternating(case, what, chosen, X, y, repeats) -> list[dict]:
    """Return the seconds and the result of each library's run."""
    runs = {p.name: partial(getattr(p, what), X, y) for p in chosen}
    return [
        {
            "case": case,
            "n": len(y),
            "what": what,
            "library": name,
            "seconds": timed.seconds,
            "runs": timed.runs,
            "peak_doubles_per_n2": timed.peak / 8 / len(y) ** 2,
            **asdict(timed.found),
        }
        for name, timed in in_turns(runs, repeats).items()
    ]


@dataclass(frozen=True)
class Timed:
    """Median seconds of so many runs, the peak of the first in bytes, and what the last one returned."""

    seconds: float
    runs: int
    peak: int
    found: object


def in_turns(runs: dict[str, Callable], repeats: int) -> dict[str, Timed]:
    """Call each of ``runs`` in turns, ``repeats`` times (those that take long: three), after a first time."""
    seconds, found, peak = {name: [] for name in runs}, {}, {}
    for turn in range(repeats + 1):  # the first warms up, and tells memory
        for name, run in runs.items():
            if len(seconds[name]) >= 3 and np.median(seconds[name]) > LONG:
                continue
            if turn == 0:
                tracemalloc.start()
            began = time.perf_counter()
            found[name] = run()
            taken = time.perf_counter() - began
            if turn == 0:
                peak[name] = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
            else:
                seconds[name].append(taken)
    return {
        name: Timed(float(np.median(times)), len(times), peak[name], found[name])
        for name, times in seconds.items()
    }


class Counting(Dense):
    """A posterior that counts the flops of its factorisations, in units of N^3."""

    flops = 0.0

    def condition(self, sites):
        """2/3 for factor and inverse; nothing at flat sites."""
        Counting.flops += 2 / 3 if np.any(sites.tau) else 0.0
        return super().condition(sites)

    def correlations(self, state, costly=False):
        """1/3, in single precision worth half of it."""
        found = super().correlations(state, costly)
        Counting.flops += 1 / 6 if found is not None else 0.0
        return found


def measure_size(n: int, rate: float) -> dict:
    """Time one inference on n simulated points, also in units of the time of its flops at ``rate``."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 4))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    kernel = SquaredExponential(4.0, 1.5)

    def run():
        Counting.flops = 0.0
        return infer(Counting.build(kernel.matrix(X)), Probit(), y, EP)

    timed = in_turns({"EP": run}, 7)["EP"]
    return {
        "n": n,
        "seconds": timed.seconds,
        "sweeps": timed.found.status.sweeps,
        "converged": timed.found.status.converged,
        "flops_per_n3": Counting.flops,
        "limit_ratio": timed.seconds / (Counting.flops * n**3 / (1e9 * rate)),
        "peak_doubles_per_n2": timed.peak / 8 / n**2,
    }


def report(record: dict) -> list[str]:
    """Return the measurements as lines for the terminal."""
    cpu, rate = record["environment"].rpartition(", ")[2], record["dgemm_gflops"]
    lines = [f"{cpu}, one thread, dgemm {rate:.0f} Gflop/s, {record['date']}", ""]
    heading = f"{'':8}{'N':>5} {'':6}{'library':22}{'ms':>9}{'times ours':>12}{'evidence':>12}"
    lines.append(f"{heading}  evaluations, sweeps")
    for row in record["cases"]:
        same = (r for r in record["cases"] if (r["case"], r["what"]) == (row["case"], row["what"]))
        ours = next(r for r in same if r["library"] == _counterpart(row["library"]))
        counts = ", ".join("-" if row[k] is None else str(row[k]) for k in ("evaluations", "sweeps"))
        note = " (not converged)" if row["converged"] is False else ""
        lines.append(
            f"{row['case']:8}{row['n']:5} {row['what']:6}{row['library']:22}{1e3 * row['seconds']:9.1f}"
            f"{_ratio(row, ours):>12}{row['log_evidence']:12.4f}  {counts}{note}"
        )
    lines += ["", f"{'N':>6}{'seconds':>9}{'sweeps':>8}{'limit ratio':>13}{'peak memory / N^2 doubles':>27}"]
    for row in record["scaling"]:
        lines.append(
            f"{row['n']:6}{row['seconds']:9.3f}{row['sweeps']:8}{row['limit_ratio']:13.2f}"
            f"{row['peak_doubles_per_n2']:27.2f}{'' if row['converged'] else ' (not converged)'}"
        )
    return lines


def _ratio(row: dict, ours: dict) -> str:
    """Return seconds over ours, in brackets where ours has not converged or reached the same evidence."""
    ratio = f"{row['seconds'] / ours['seconds']:.1f}"
    other_model = row["library"] == peers.SklearnLaplace.name or row["library"].startswith("tilted")
    behind = not other_model and ours["log_evidence"] < row["log_evidence"] - EQUAL
    return f"({ratio})" if behind or ours["converged"] is False else ratio


def _counterpart(library: str) -> str:
    """Return the name of our method that a library is compared with."""
    return "tilted VB" if library == "GPy VB" else "tilted EP"


if __name__ == "__main__":
    main()
