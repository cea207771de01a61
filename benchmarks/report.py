"""Samples → docs/benchmarks.md: ratios, goals, seconds, and whether the engines agree."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

ACIDSQL, PLAIN, DELTA = "acidsql", "plain-orc", "delta"
ICEBERG, ICEBERG_3 = "iceberg-v2", "iceberg-v3"
PEERS = {PLAIN: "plain ORC", DELTA: "Delta", ICEBERG: "Iceberg v2", ICEBERG_3: "Iceberg v3"}
COSTS = Path(__file__).with_name("costs.md")
"""What was learned while the figures changed; written by hand."""

LABELS = {
    "load": "load",
    "q6": "q6",
    "q1": "q1",
    "full": "full scan",
    "point": "point query",
    "part": "the rows of one part",
    "delete": "DELETE of 1 %",
    "delete:q6": "q6 after the DELETE",
    "delete:q1": "q1 after the DELETE",
    "delete:full": "full scan after the DELETE",
    "delete_half": "DELETE of half",
    "update": "UPDATE of 1 %",
    "update_row": "UPDATE of one row",
    "update_tenth": "UPDATE of 10 %",
    "update_all": "UPDATE of all rows",
    "merge_two": "MERGE of two rows",
    "merge": "MERGE of 60,000 rows",
    "merge_delete": "MERGE of 60,000 rows with a DELETE",
    "merge_million": "MERGE of 1,000,000 rows",
    "compact": "compaction after the DELETE",
}
FOREIGN_SHARE = 0.1  # of a sample's seconds: above it the sample is disturbed


@dataclass(frozen=True)
class Goal:
    """acidsql needs at most ``limit`` times the seconds of ``peer`` (``under``: less than that)."""

    step: str
    peer: str
    limit: float
    under: bool = False

    def met(self, ratio: float) -> bool:
        return ratio < self.limit if self.under else ratio <= self.limit


GOALS = (
    Goal("load", PLAIN, 1.4),
    Goal("q6", PLAIN, 1.1),
    Goal("q1", PLAIN, 1.03),
    Goal("full", PLAIN, 1.03),
    Goal("point", PLAIN, 1.1),
    Goal("delete:q6", PLAIN, 1.15),
    Goal("delete:q1", PLAIN, 1.15),
    Goal("delete:full", PLAIN, 1.15),
    Goal("delete", ICEBERG_3, 0.9),
    Goal("delete_half", DELTA, 0.8),
    Goal("delete_half", ICEBERG, 0.8),
    Goal("delete_half", ICEBERG_3, 0.8),
    Goal("update", ICEBERG_3, 0.8),
    Goal("update_row", ICEBERG, 1, under=True),
    Goal("update_tenth", DELTA, 0.8),
    Goal("update_tenth", ICEBERG, 0.8),
    Goal("update_tenth", ICEBERG_3, 0.8),
    Goal("update_all", DELTA, 0.8),
    Goal("update_all", ICEBERG, 0.8),
    Goal("update_all", ICEBERG_3, 0.8),
    Goal("merge", ICEBERG, 0.5),
    Goal("merge_delete", ICEBERG, 0.4),
    Goal("merge_million", ICEBERG, 0.8),
    Goal("compact", DELTA, 1, under=True),
    Goal("compact", ICEBERG, 1, under=True),
)


@dataclass(frozen=True)
class Figure:
    """The median of an engine's samples of one step."""

    seconds: float
    samples: int
    disturbed: bool
    peak_mib: dict[str, int] = field(default_factory=dict)


@dataclass
class Results:
    """What the raw files say. A step comes whole from the last file that has it."""

    settings: list[dict] = field(default_factory=list)
    figures: dict[tuple[str, str], Figure] = field(default_factory=dict)
    answers: dict[str, dict[str, set[str]]] = field(default_factory=dict)  # step → engine → seen
    errors: list[str] = field(default_factory=list)

    def ratio(self, step: str, peer: str) -> float | None:
        """Seconds of acidsql over seconds of the peer."""
        ours, theirs = self.figures.get((step, ACIDSQL)), self.figures.get((step, peer))
        return ours.seconds / theirs.seconds if ours and theirs else None

    def disagreements(self) -> list[str]:
        """One line for each step in which not all answers are the same."""
        found = []
        for step, by_engine in self.answers.items():
            if len(set().union(*by_engine.values())) > 1:
                seen = [f"{name}: {' / '.join(sorted(a))}" for name, a in by_engine.items()]
                found.append(f"{step}: " + "; ".join(seen))
        return found


def read_results(files: Iterable[Path]) -> Results:
    results = Results()
    samples: dict[str, list[dict]] = {}
    for file in files:
        records = [json.loads(line) for line in file.read_text().splitlines()]
        results.settings += [r for r in records if r["step"] == "settings"]
        of_file: dict[str, list[dict]] = defaultdict(list)
        for record in records:
            of_file[record["step"]].append(record)
        samples |= of_file
    samples.pop("settings", None)

    for step, records in samples.items():
        timed: dict[str, list[dict]] = defaultdict(list)
        for record in records:
            engine = record["engine"]
            if "error" in record:
                results.errors.append(f"{step}, {engine}: {record['error'].splitlines()[0]}")
                continue
            if record["answer"] is not None:
                answers = results.answers.setdefault(step, {}).setdefault(engine, set())
                answers.add(json.dumps(record["answer"]))
            if record["run"] > 0:
                timed[engine].append(record)
        for engine, of_engine in timed.items():
            results.figures[step, engine] = figure(of_engine)
    results.errors = list(dict.fromkeys(results.errors))
    return results


def figure(samples: list[dict]) -> Figure:
    """Undisturbed samples alone count where there are two or more."""
    clean = [s for s in samples if s["foreign_cpu_s"] <= FOREIGN_SHARE * s["seconds"] + 0.02]
    used = clean if len(clean) >= min(2, len(samples)) else samples
    peaks: dict[str, int] = {}
    for sample in samples:
        for kind, peak in sample.get("peak_mib", {}).items():
            peaks[kind] = max(peak, peaks.get(kind, 0))
    seconds = median(s["seconds"] for s in used)
    return Figure(seconds, len(used), disturbed=used is not clean, peak_mib=peaks)


def table(head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "| --- |" + " ---: |" * (len(head) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def show_figure(found: Figure | None) -> str:
    if found is None:
        return "–"
    return f"{found.seconds:.2f}" + ("\\*" if found.disturbed else "")


def show_peak(found: Figure | None) -> str:
    """Megabytes of the JVM, of the driver's Python, and of the Python processes of tasks."""
    if found is None or not found.peak_mib:
        return "–"
    return " + ".join(str(found.peak_mib.get(kind, 0)) for kind in ("java", "driver", "tasks"))


def memory(results: Results, steps: list[str]) -> Iterator[str]:
    """The most memory that was resident during a statement."""
    yield "## Memory"
    yield ""
    yield (
        "The most that was resident during a statement, in MiB: of the JVM, whose heap is "
        f"{results.settings[-1]['memory']}, of the driver's Python, and of the Python processes of "
        "tasks. The JVM runs driver and tasks, and gives little of its heap back."
    )
    yield ""
    engines = {ACIDSQL: "acidsql"} | PEERS
    rows = ([LABELS[s], *(show_peak(results.figures.get((s, e))) for e in engines)] for s in steps)
    yield from table(["statement", *engines.values()], rows)


def show_ratio(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}"


def goal_rows(results: Results) -> Iterator[list[str]]:
    for goal in GOALS:
        ratio = results.ratio(goal.step, goal.peer)
        reached = "not measured" if ratio is None else "yes" if goal.met(ratio) else "**no**"
        limit = f"{'<' if goal.under else '≤'} {goal.limit:g} × {PEERS[goal.peer]}"
        yield [LABELS[goal.step], limit, show_ratio(ratio), reached]


def agreement(results: Results) -> Iterator[str]:
    trouble = [f"DISAGREE: {x}" for x in results.disagreements()]
    trouble += [f"FAILED: {x}" for x in results.errors]
    if trouble:
        yield "**Do not use these figures: engines failed or their answers differ.**"
        yield ""
        yield from (f"- {line}" for line in trouble)
    else:
        yield (
            "All engines gave the same answer to every query, and after every write the same "
            "count and the same three sums."
        )
    yield ""


def method(settings: list[dict]) -> Iterator[str]:
    last, runs = settings[-1], min(each["runs"] for each in settings)
    several = f" The steps come from {len(settings)} starts of the benchmark, each whole from one."
    parts = several if len(settings) > 1 else ""
    versions = ", ".join(f"{name} {number}" for name, number in last["versions"].items())
    warmed = "" if last.get("warm_ups", 1) == 0 else " after a warm-up"
    how = "one run" if runs == 1 else f"median of {runs} runs or more"
    yield (
        f"TPC-H lineitem at scale factor {last['scale']:g}; {how}{warmed}, {last['date']}. Spark "
        f"runs on two threads with {last['memory']} of heap, four shuffle partitions, adaptive "
        "execution, time zone UTC and zstd everywhere. Delta writes deletion vectors; Iceberg "
        "merges on read, in format version 2 (delete files) and 3 (deletion vectors); plain ORC "
        "rewrites the table at every change. Engines take turns inside every run, every write "
        f"starts from the table as loaded.{parts} A star marks a figure from samples that other "
        "programs disturbed. How each is measured: "
        "[benchmarks/README.md](../benchmarks/README.md). What deletes cost in tables of many "
        "buckets and writes: [benchmarks-deletes.md](benchmarks-deletes.md)."
    )
    yield ""
    yield f"Versions: {versions}."
    yield ""


def document(results: Results) -> Iterator[str]:
    steps = [step for step in LABELS if any(key[0] == step for key in results.figures)]
    scale = results.settings[-1]["scale"]
    by = "`make bench`" if scale == 1 else f"`benchmarks/bench.py --scale {scale:g}`"
    yield "# Benchmarks" if scale == 1 else f"# Benchmarks at scale factor {scale:g}"
    yield ""
    yield f"Written by {by}; do not edit. Compare figures inside one row only."
    yield ""
    yield from agreement(results)
    yield "## Goals"
    yield ""
    yield from table(["statement", "goal", "reached", "met"], goal_rows(results))
    yield "## Ratios"
    yield ""
    yield "Seconds of acidsql divided by seconds of the other: below 1, acidsql is faster."
    yield ""
    ratios = ([LABELS[s], *(show_ratio(results.ratio(s, p)) for p in PEERS)] for s in steps)
    yield from table(["statement", *(f"/ {label}" for label in PEERS.values())], ratios)
    yield "## Seconds"
    yield ""
    engines = {ACIDSQL: "acidsql"} | PEERS
    seconds = (
        [LABELS[s], *(show_figure(results.figures.get((s, e))) for e in engines)] for s in steps
    )
    yield from table(["statement", *engines.values()], seconds)
    known = {step for (step, _), found in results.figures.items() if found.peak_mib}
    if known:
        yield from memory(results, [step for step in steps if step in known])
    if scale == 1:
        yield COSTS.read_text()
    yield "## How it was measured"
    yield ""
    yield from method(results.settings)


def report(files: list[Path], output: Path) -> int:
    """Write the document; 1 if engines failed or disagree, else 0."""
    if not files:
        raise SystemExit("no samples: run first")
    results = read_results(files)
    if len({json.dumps([s["scale"], s["versions"]]) for s in results.settings}) > 1:
        raise SystemExit("the files of samples differ in scale or versions: report them apart")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(document(results)).rstrip() + "\n")
    print(f"report: {output}")
    trouble = results.disagreements() + results.errors
    for line in trouble:
        print(f"!! {line}")
    return 1 if trouble else 0
