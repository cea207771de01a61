#!/usr/bin/env python3
"""Time the same work on a cluster of one worker and on a cluster of two.

Each cluster is one that Spark starts by itself: a master, and workers with one core, whose
executors are processes of their own (``local-cluster``). It needs the rows of ``bench.py setup``.
Writes docs/benchmarks-cluster.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import geometric_mean, median

from engine import Engine
from report import LABELS, table
from worker import SHARED_SETTINGS, make_engine, start_spark

HERE = Path(__file__).resolve().parent
WORK = HERE / "work"
DOCUMENT = HERE.parent / "docs" / "benchmarks-cluster.md"
READS = ("q6", "q1", "full")
WRITES = ("delete_half", "update_tenth", "update_all", "merge_million")
STEPS = {"acidsql": ("load", *READS, *WRITES, "compact"), "plain-orc": ("load", *READS)}
EXECUTOR_MB = 3072
GOAL = 1.6
EXPLANATION = """\
How much faster are two workers than one? Each worker has one core, and an executor in a process of
its own. The figures are medians of runs on clusters that were started in turn. The machine has two
cores in all, which driver and executors share: what the driver computes while both executors work
is taken from one of them. So the last column has the ratio of Spark's own ORC tables for what they
can do. Java compiles what it runs often, and each of two executors runs half as much. So several
runs warm up, of which none counts."""

Seconds = dict[str, dict[str, list[float]]]
"""The seconds of each engine's steps."""


def calls_of(step: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What to call on the engine before a step is timed, and the step itself with its argument."""
    match step:
        case "load":
            return ("prepare",), ("load",)
        case "compact":
            return ("fresh", "delete"), ("compact",)
        case _:
            return ("fresh",), ("read" if step in READS else "write", step)


def seconds_of(workers: int, runs: int, options: Namespace) -> Seconds:
    """The seconds of each step on a new cluster, without the warm-ups of each."""
    SHARED_SETTINGS["spark.master"] = f"local-cluster[{workers},1,{EXECUTOR_MB}]"
    SHARED_SETTINGS["spark.executor.memory"] = f"{EXECUTOR_MB}m"
    spark = start_spark(options)
    found: Seconds = {}
    for name, steps in STEPS.items():
        engine = make_engine(name, spark, options)
        for step in steps:
            seconds = [timed(engine, step) for _ in range(options.warm_ups + runs)]
            found.setdefault(name, {})[step] = seconds[options.warm_ups :]
    return found


def timed(engine: Engine, step: str) -> float:
    before, (name, *arguments) = calls_of(step)
    for call in before:
        getattr(engine, call)()
    start = time.perf_counter()
    getattr(engine, name)(*arguments)
    return time.perf_counter() - start


def in_process(workers: int, options: Namespace) -> Seconds:
    """`seconds_of` in a process of its own: a JVM can have one cluster only."""
    command = [sys.executable, __file__, "--workers", str(workers), "--runs", str(options.runs)]
    command += ["--scale", str(options.scale), "--memory", options.memory]
    command += ["--warm-ups", str(options.warm_ups)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: Seconds = json.loads(done.stdout.splitlines()[-1])
    return found


def report(one: Seconds, two: Seconds, options: Namespace) -> str:
    def ratio(engine: str, step: str) -> float:
        return median(one[engine][step]) / median(two[engine][step])

    plain = {step: f"{ratio('plain-orc', step):.2f}" for step in STEPS["plain-orc"]}
    ratios = {step: ratio("acidsql", step) for step in STEPS["acidsql"]}
    rows = [
        [
            LABELS[step],
            f"{median(one['acidsql'][step]):.2f}",
            f"{median(two['acidsql'][step]):.2f}",
            f"{found:.2f}",
            "yes" if found >= GOAL else "**no**",
            plain.get(step, "–"),
        ]
        for step, found in ratios.items()
    ]
    head = ["statement", "one worker, s", "two workers, s", "one / two", f"≥ {GOAL}", "plain ORC"]
    lines = [
        "# One worker and two",
        "",
        "Written by `benchmarks/cluster.py`; do not edit.",
        "",
        EXPLANATION,
        "",
        *table(head, rows),
        f"The geometric mean of the ratios of acidsql is {geometric_mean(ratios.values()):.2f}.",
        "",
        f"Measured on {datetime.now(UTC):%-d %B %Y} with Spark {version('pyspark')} and TPC-H scale"
        f" {options.scale:g}. Runs of each: {len(one['acidsql']['load'])}, after"
        f" {options.warm_ups} that warm up. Plain ORC comes last, in the same executors.",
    ]
    return "\n".join(lines) + "\n"


def options_of(arguments: list[str]) -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs that count (3)")
    parser.add_argument("--warm-ups", type=int, default=2, help="runs before those (2)")
    parser.add_argument("--rounds", type=int, default=2, help="clusters of each size (2)")
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H scale factor (1)")
    parser.add_argument("--memory", default="4g", help="heap of the driver (4g)")
    parser.add_argument("--workers", type=int, help="time one cluster, and print the seconds")
    parser.add_argument("--output", type=Path, default=DOCUMENT, help="the report's file")
    options = parser.parse_args(arguments)
    options.family, options.work = "hive", WORK / "cluster"
    options.data = WORK / "data" / f"scale-{options.scale:g}"
    return options


def main(arguments: list[str]) -> None:
    options = options_of(arguments)
    if options.workers is not None:
        print(json.dumps(seconds_of(options.workers, options.runs, options)))
        return
    (options.work / "tmp").mkdir(parents=True, exist_ok=True)
    found: dict[int, Seconds] = {1: {}, 2: {}}
    for _ in range(options.rounds):
        for workers, all_seconds in found.items():
            for engine, steps in in_process(workers, options).items():
                for step, seconds in steps.items():
                    all_seconds.setdefault(engine, {}).setdefault(step, []).extend(seconds)
    options.output.write_text(report(found[1], found[2], options))


if __name__ == "__main__":
    main(sys.argv[1:])
