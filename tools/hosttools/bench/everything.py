"""`kettle bench all`: every benchmark, each in a folder of its own, and one page over them: all.md and all.html.

The page has a part for each benchmark: who won, the targets, and plots as SVG and PNG. With --quick it makes the runs that GLANCE
names, of those that the benchmark's own --quick has: under fifteen minutes on two idle CPUs. The time left is an estimate: what is
left takes as long as what is done, by the seconds of WEIGHTS and GLANCE_WEIGHTS.
"""

import argparse
import fnmatch
import html
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, Mapping, Sequence

from hosttools.bench.execute import Pace, execute, prepared
from hosttools.bench.raw import RAW, begin, left, read
from hosttools.bench.report import write_results
from hosttools.results import verdict
from hosttools.results.plots import Plot
from hosttools.results.runs import Report, Run

PAGE = "all"
# The runs of `bench all --quick`, by patterns of names.
GLANCE = {
    "abi": ("work-*", "time-*", "team-*", "omp*"),
    "messages": ("counts", "sets-2", "sets-4", "work-1-*", "work-2-*", "time-1-*", "time-2-*"),
    "numa": ("list-64-*", "map-*"),
    "policies": ("*-sequential",),
    "silence": ("*",),
    "tasks": ("work-*", "time-*", "kernels-2-*", "import-2"),
    "thesis": ("slots-1-2-*", "slots-4-2-*"),
    "vm": ("work-*", "time-*", "kernels-2-*", "retrieve-*-2", "lock-*-2"),
    "workloads": ("work-S-*", "time-S-2-*", "time-S-4-1-*"),
}
# Seconds of a run, as a rule and in the mean, on two CPUs that others used as well; only their proportions matter. Then those of --quick.
WEIGHTS = {"abi": 3.0, "messages": 9.0, "numa": 30.0, "policies": 40.0, "silence": 8.0, "tasks": 9.0, "thesis": 30.0, "vm": 5.0, "workloads": 30.0}
GLANCE_WEIGHTS = {"abi": 7.0, "messages": 16.0, "numa": 10.0, "policies": 6.0, "silence": 3.0, "tasks": 5.0, "thesis": 12.0, "vm": 7.0, "workloads": 22.0}

Json = dict[str, Any]


def plans(benchmarks: Mapping[str, ModuleType], options: argparse.Namespace) -> dict[str, list[Run]]:
    """The runs of each benchmark."""
    found = {}
    for name, module in benchmarks.items():
        runs = list(module.plan(options))
        if options.quick:
            runs = [run for run in runs if any(fnmatch.fnmatch(run.name, pattern) for pattern in GLANCE[name])]
        found[name] = runs
    return found


def run(benchmarks: Mapping[str, ModuleType], options: argparse.Namespace, folder: Path) -> list[str]:
    """Makes all runs that OPTIONS ask for, and writes everything into FOLDER. Returns the runs that failed."""
    results: dict[str, Json] = {}
    if options.report:
        results = {name: read(folder / name / RAW, [name]) for name in benchmarks if (folder / name / RAW).is_file()}
    else:
        missing = {}
        for name, runs in plans(benchmarks, options).items():
            (folder / name).mkdir(exist_ok=True)
            results[name], missing[name] = begin(name, options), runs
            if options.resume and (folder / name / RAW).is_file():
                missing[name] = left(runs, results[name], read(folder / name / RAW, [name]))
        missing = {name: prepared(benchmarks[name], runs) for name, runs in missing.items()}
        weights = GLANCE_WEIGHTS if options.quick else WEIGHTS
        pace = Pace(sum(len(runs) * weights[name] for name, runs in missing.items()), sum(map(len, missing.values())))
        for name, runs in missing.items():
            each = weights[name] * len(runs) / sum(run.weight for run in runs) if runs else 1.0
            execute(runs, results[name], folder / name / RAW, address=options.scheduler, pace=pace, weight=each, label=name)
    parts = [_suite(name, benchmarks[name], data, folder / name) for name, data in results.items()]
    write_pages(parts, folder)
    return [f"{name}/{run['name']}" for name, data in results.items() for run in data["runs"] if run["problem"]]


def _suite(name: str, module: ModuleType, data: Json, folder: Path) -> Json:
    """Writes the results of one benchmark; returns what the page says of it."""
    report: Report = module.report(data)
    found = list(verdict.sentences(data))
    rows = {unit: list(ratios.values()) for unit, _, ratios in found}
    told = report.sentence or " ".join(sentence for _, sentence, _ in found) or report.targets.strip().splitlines()[0]
    plots = [*report.plots, *([verdict.ratio_plot(f"{name}-ratios", f"{module.TITLE}: operations by their ratio", rows)] if rows else [])]
    plots = [replace(plot, png=True) for plot in plots]
    write_results(module.TITLE, replace(report, plots=plots, sentence=told), data, folder)
    failed = sum(bool(run["problem"]) for run in data["runs"])
    return {"name": name, "title": module.TITLE, "sentence": told, "ratios": rows, "runs": len(data["runs"]), "failed": failed,
            "seconds": sum(run["seconds"] or 0 for run in data["runs"]),
            "cpu_seconds": sum(run.get("cpu_seconds") or 0 for run in data["runs"]), "plots": [plot for plot in plots if plot.has_data()]}


def write_pages(parts: Sequence[Json], folder: Path) -> None:
    """Writes FOLDER/all.md and FOLDER/all.html, and prints who won where, and over all."""
    won = _won(parts)
    head = (f"{won} " if won else "") + "Each benchmark's own page has its targets, tables, commands and raw data. Below 1, Kettle wins."
    (folder / f"{PAGE}.md").write_text("\n".join([f"# Kettle beside Linux\n\n{head}\n", *map(_markdown, parts)]))
    (folder / f"{PAGE}.html").write_text(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Kettle beside Linux</title>\n"
        "<style>body{max-width:60em;margin:2em auto;font-family:sans-serif}img{max-width:100%}</style></head><body>\n"
        f"<h1>Kettle beside Linux</h1>\n<p>{html.escape(head)}</p>\n" + "".join(map(_html, parts)) + "</body></html>\n")
    for part in parts:
        print(f"{part['title']}: {part['sentence']}")
    print(f"wrote {folder / PAGE}.md and {PAGE}.html")
    pictures = [folder / part["name"] / f"{plot.name}.png" for part in parts for plot in part["plots"]]
    if pictures:
        print(f"Plots: {pictures[0]} and {len(pictures) - 1} more, all in {folder / PAGE}.html")
    if won:
        print(won)


def _won(parts: Sequence[Json]) -> str:
    """Who won over all benchmarks whose rows both systems have."""
    found = {unit: [part["ratios"][unit] for part in parts if unit in part["ratios"]] for unit in (verdict.COUNTED, verdict.TIMED)}
    texts = (verdict.sentence(f"{sum(map(len, every))} operations of {len(every)} benchmark{'s' if len(every) != 1 else ''}", unit,
                              [ratio for some in every for ratio in some], "rows") for unit, every in found.items())
    return " ".join(text for text in texts if text)


def _made(part: Json) -> str:
    failed = f", {part['failed']} of which failed" if part["failed"] else ""
    return f"{part['runs']} runs{failed}, {part['seconds']:.0f} s, of CPU time {part['cpu_seconds']:.0f} s."


def _files(plot: Plot, part: Json) -> tuple[str, str]:
    return f"{part['name']}/{plot.name}.svg", f"{part['name']}/{plot.name}.png"


def _markdown(part: Json) -> str:
    pictures = [f"![{plot.title}]({svg})\n\n[PNG]({png})\n" for plot in part["plots"] for svg, png in [_files(plot, part)]]
    return "\n".join([f"## {part['title']}\n", f"{part['sentence']}\n", f"{_made(part)} [More]({part['name']}/{part['name']}.md)\n",
                      *pictures])


def _html(part: Json) -> str:
    pictures = "".join(f"<p><img src=\"{html.escape(svg)}\" alt=\"{html.escape(plot.title)}\"><br><a href=\"{html.escape(png)}\">PNG</a></p>\n"
                       for plot in part["plots"] for svg, png in [_files(plot, part)])
    return (f"<h2>{html.escape(part['title'])}</h2>\n<p><b>{html.escape(part['sentence'])}</b></p>\n"
            f"<p>{html.escape(_made(part))} <a href=\"{part['name']}/{part['name']}.md\">More</a></p>\n{pictures}")
