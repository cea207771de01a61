"""Runs the steps: gives one command at a time to the workers and writes every sample as JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from contextlib import ExitStack, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import TextIO

import psutil
from sources import make_sources
from worker import FAMILIES
from workload import COMPACT, READS, READS_AFTER_DELETE, STEPS, WRITES

ENGINES = tuple(name for family in FAMILIES.values() for name in family)
PACKAGES = ("acidsql", "pyspark", "pyarrow", "sqlglot", "tpchgen-cli", "numpy", "pandas")
STOP_TIMEOUT_S = 30
WARM_UPS = {"read": 4}
"""Rounds before the samples; 1 unless said. Code that Java has not compiled yet is what the first
rounds of a query time."""
MIB = 1 << 20


class Worker:
    """A worker process and the pipes to it."""

    def __init__(self, family: str, engines: list[str], options: Namespace, data: Path) -> None:
        script = Path(__file__).with_name("worker.py")
        arguments = {
            "--family": family,
            "--engines": ",".join(engines),
            "--work": options.work,
            "--data": data,
            "--memory": options.memory,
            "--scale": options.scale,
        }
        self.family = family
        self.log = options.work / f"worker-{family}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, script, *(str(x) for pair in arguments.items() for x in pair)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def hear(self) -> dict[str, object]:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the worker of {self.family} died; its log is {self.log}")
        return json.loads(line)

    def ask(self, engine: str, operation: str, *arguments: str) -> dict[str, object]:
        command = {"engine": engine, "operation": operation, "arguments": arguments}
        print(json.dumps(command), file=self.process.stdin, flush=True)
        return self.hear()

    def processes(self) -> list[psutil.Process]:
        """The worker and everything below it: its JVM, and the JVM's Python processes."""
        main = psutil.Process(self.process.pid)
        return [main, *main.children(recursive=True)]

    def forget_peak(self) -> None:
        """Let `peak_mib` count from now on."""
        for process in self.processes():
            with suppress(OSError):
                Path(f"/proc/{process.pid}/clear_refs").write_text("5")

    def peak_mib(self) -> dict[str, int]:
        """The most memory that was resident, in MiB, of each kind of process; {} if unknown.

        Of the Python processes of tasks it is the sum of what each of them took at most.
        """
        peaks: dict[str, int] = {}
        for process in self.processes():
            try:
                kind = "driver" if process.pid == self.process.pid else process.name()
                status = Path(f"/proc/{process.pid}/status").read_text()
            except (OSError, psutil.Error):
                continue
            [peak] = re.findall(r"VmHWM:\s+(\d+) kB", status) or [0]
            kind = kind if kind in ("driver", "java") else "tasks"
            peaks[kind] = peaks.get(kind, 0) + int(peak) * 1024 // MIB
        return peaks

    def cpu_s(self) -> float:
        """CPU seconds used so far by the worker and everything below it."""
        total = 0.0
        for process in self.processes():
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue
            total += times.user + times.system
        return total


class Coordinator:
    """Takes samples. Engines take turns inside each run; the first of a run changes every time."""

    def __init__(
        self,
        engines: list[str],
        workers: dict[str, Worker],
        runs: int,
        warm_ups: int | None,
        raw: TextIO,
    ) -> None:
        self.engines = engines
        self.workers = workers  # by engine
        self.runs = runs
        self.warm_ups = warm_ups
        self.raw = raw

    def run(self, step: str) -> None:
        match step:
            case "load":
                self.rounds("load", "load", before=("prepare",))
            case _ if step in READS:
                self.fresh()
                self.rounds(step, "read", step)
                return
            case _ if step in WRITES:
                self.rounds(step, "write", step, before=("fresh",))
            case _ if step == COMPACT:
                self.rounds(step, COMPACT, before=("fresh", "delete"))
        if step == "load":
            self.fresh()
        for engine in self.engines:
            self.sample(f"check:{step}", 0, engine, "check")
        if step == "delete":
            for read in READS_AFTER_DELETE:
                self.rounds(f"delete:{read}", "read", read)

    def fresh(self) -> None:
        for engine in self.engines:
            self.untimed(engine, "fresh")

    def rounds(
        self, step: str, operation: str, *arguments: str, before: tuple[str, ...] = ()
    ) -> None:
        """``runs`` samples of each engine, numbered from 1; those before are the warm-up."""
        warm_ups = WARM_UPS.get(operation, 1) if self.warm_ups is None else self.warm_ups
        for run in range(1 - warm_ups, self.runs + 1):
            first = run % len(self.engines)
            for engine in self.engines[first:] + self.engines[:first]:
                for preparation in before:
                    self.untimed(engine, preparation)
                self.sample(step, run, engine, operation, *arguments)

    def untimed(self, engine: str, operation: str) -> None:
        reply = self.workers[engine].ask(engine, operation)
        if "error" in reply:
            self.write({"step": operation, "run": 0, "engine": engine} | reply)

    def sample(self, step: str, run: int, engine: str, operation: str, *arguments: str) -> None:
        worker = self.workers[engine]
        worker.forget_peak()
        own, busy = self.own_cpu_s(), busy_cpu_s()
        reply = worker.ask(engine, operation, *arguments)
        own, busy = self.own_cpu_s() - own, busy_cpu_s() - busy
        cpu = {"own_cpu_s": round(own, 2), "foreign_cpu_s": round(max(0, busy - own), 2)}
        memory = {"peak_mib": worker.peak_mib()}
        self.write({"step": step, "run": run, "engine": engine} | reply | cpu | memory)

    def own_cpu_s(self) -> float:
        return sum(worker.cpu_s() for worker in set(self.workers.values()))

    def write(self, record: dict[str, object]) -> None:
        print(json.dumps(record), file=self.raw, flush=True)
        if "error" in record:
            print(f"  ! {record['step']} {record['engine']}: {record['error']}", flush=True)


def busy_cpu_s() -> float:
    """CPU seconds used so far by everybody."""
    times = psutil.cpu_times()
    return sum(times) - times.idle - getattr(times, "iowait", 0.0)


def versions(work: Path, hello: dict[str, object]) -> dict[str, object]:
    """What ran: the pinned packages, the peers' jars, Spark and Java."""
    found = dict(hello)
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    for peer in ("delta-spark_", "iceberg-spark-runtime-"):
        for jar in (work / "jars").glob(peer + "*.jar"):
            found[peer.partition("-")[0]] = jar.stem.rpartition("-")[2]
    return found


def timed(action: Callable[[str], None], step: str) -> None:
    start = time.perf_counter()
    action(step)
    print(f"{step}: {time.perf_counter() - start:.0f} s", flush=True)


def run(options: Namespace) -> Path:
    """Run the chosen steps; the file of samples."""
    data = options.work / "data" / f"scale-{options.scale:g}"
    make_sources(options.scale, data)
    (options.work / "tmp").mkdir(exist_ok=True)
    (options.work / "raw").mkdir(exist_ok=True)
    raw = options.work / "raw" / time.strftime("%Y-%m-%dT%H-%M-%S.jsonl", time.gmtime())
    engines = [name for name in ENGINES if name in options.engines]

    with ExitStack() as stack:
        workers: dict[str, Worker] = {}
        hello: dict[str, object] = {}
        for family, members in FAMILIES.items():
            chosen = [name for name in members if name in engines]
            if chosen:
                worker = stack.enter_context(Worker(family, chosen, options, data))
                hello = worker.hear()
                workers |= dict.fromkeys(chosen, worker)
        log = stack.enter_context(raw.open("w"))
        coordinator = Coordinator(engines, workers, options.runs, options.warm_ups, log)
        coordinator.write(
            {
                "step": "settings",
                "scale": options.scale,
                "runs": options.runs,
                "warm_ups": options.warm_ups,
                "memory": options.memory,
                "date": time.strftime("%Y-%m-%d", time.gmtime()),
                "versions": versions(options.work, hello),
            }
        )
        for step in [step for step in STEPS if step in options.steps]:
            timed(coordinator.run, step)
    return raw
