#!/usr/bin/env python3
"""Time acidsql against plain ORC, Delta and Iceberg. See README.md beside this file.

Without a command: set up, run everything, write docs/benchmarks.md. Only Python, Java 17 and
Maven need to be there; all else goes into benchmarks/work.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from argparse import ArgumentParser, Namespace
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
WORK = HERE / "work"
PYTHON = WORK / "venv" / "bin" / "python"
DOCUMENT = PROJECT / "docs" / "benchmarks.md"


def set_up() -> None:
    """Make the environment of the benchmark and fetch the peers' jars, as far as missing."""
    if not PYTHON.exists():
        venv.create(WORK / "venv", with_pip=True)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", HERE / "requirements.txt", "-e", PROJECT], check=True)
    if not any(WORK.glob("jars/*.jar")):
        goal = [
            "dependency:copy-dependencies",
            f"-DoutputDirectory={WORK / 'jars'}",
            "-DincludeScope=runtime",
        ]
        subprocess.run(["mvn", "-q", "-B", "-f", HERE / "pom.xml", *goal], check=True)


def arguments() -> ArgumentParser:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "command", nargs="?", choices=["setup", "run", "report", "all"], default="all"
    )
    parser.add_argument("--scale", type=float, default=1, help="TPC-H scale factor (1)")
    parser.add_argument("--runs", type=int, default=3, help="samples after the warm-up (3)")
    parser.add_argument(
        "--warm-ups", type=int, help="rounds before the samples (4 for queries, 1 for others)"
    )
    parser.add_argument("--engines", help="some of them, by comma (all)")
    parser.add_argument("--steps", help="some of them, by comma (all)")
    parser.add_argument("--memory", default="6g", help="heap of each Spark (6g)")
    parser.add_argument("--raw", type=Path, nargs="*", help="samples to report (the newest file)")
    parser.add_argument("--output", type=Path, default=DOCUMENT, help="the report's file")
    return parser


def names(text: str | None, known: tuple[str, ...]) -> list[str]:
    chosen = text.split(",") if text else list(known)
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; choose from {', '.join(known)}")
    return chosen


def run_and_report(options: Namespace) -> int:
    """The exit status: 1 if engines failed or disagree."""
    from coordinator import ENGINES, run
    from report import report
    from workload import STEPS

    options.work = WORK
    options.engines = names(options.engines, ENGINES)
    options.steps = names(options.steps, STEPS)
    if options.command in ("run", "all"):
        raw = run(options)
        print(f"samples: {raw}")
        if options.command == "run":
            return 0
        options.raw = options.raw or [raw]
    return report(options.raw or sorted((WORK / "raw").glob("*.jsonl"))[-1:], options.output)


def main() -> int:
    options = arguments().parse_args()
    if options.command in ("setup", "all") and Path(sys.prefix) != WORK / "venv":
        set_up()
    if options.command == "setup":
        return 0
    if Path(sys.prefix) != WORK / "venv":
        os.execv(PYTHON, [str(PYTHON), str(HERE / "bench.py"), *sys.argv[1:]])
    return run_and_report(options)


if __name__ == "__main__":
    sys.exit(main())
