"""The pages that `kettle bench` writes."""

from pathlib import Path
from typing import Any, Sequence

from hosttools.bench.raw import RAW
from hosttools.results import plots
from hosttools.results.csv_file import write_csv, write_tidy
from hosttools.results.runs import Report
from hosttools.results.samples import write_samples

TABLE = "raw.csv"
SAMPLES = "samples.jsonl"
TIDY = "tidy.csv"

Json = dict[str, Any]


def write_results(title: str, report: Report, data: Json, folder: Path) -> list[Path]:
    """Writes the report, its plots, and the samples as tables into FOLDER; returns the plots' files, PNG where there is one."""
    write_report(title, report, data, folder)
    write_csv(data, folder / TABLE)
    write_samples(data, folder / SAMPLES)
    write_tidy(report.tidy, folder / TIDY)
    return [path for plot in report.plots if (path := folder / f"{plot.name}.{'png' if plot.png else 'svg'}").is_file()]


def write_report(title: str, report: Report, data: Json, folder: Path) -> None:
    """Writes the report's plots, and FOLDER/BENCHMARK.md with its text, the plots and all command lines."""
    pictures = [f"![{plot.title}]({path.name})\n" for plot in report.plots
                if (path := plots.draw(plot, folder)) is not None]
    parts = [f"# {title}\n", _conditions(data), report.targets, *pictures, *report.tables, _failures(data["runs"]),
             _commands(data["runs"]), _commits(data)]
    (folder / f"{data['benchmark']}.md").write_text("\n".join(part for part in parts if part))


def _conditions(data: Json) -> str:
    quick = " Made with `--quick`." if data["quick"] else ""
    loads = [run["load"] for run in data["runs"] if run.get("load") is not None]
    load = f" Its load before the runs was {min(loads)} to {max(loads)}." if loads else ""
    return (f"Measured on {data['date']} with QEMU {data['qemu']} (TCG, no KVM, `-cpu {data['cpu']}` on every side) on "
            f"a machine with {data['host_cpus']} CPUs.{load} Times on an emulator say nothing by themselves: compare ratios, "
            f"and instructions. All samples are in {RAW}.{quick}\n")


def _failures(runs: Sequence[Json]) -> str:
    lines = [f"- {run['name']}: {run['problem'].splitlines()[0]}" for run in runs if run["problem"]]
    return "## Runs that failed\n\n" + "\n".join(lines) + "\n" if lines else ""


def _commits(data: Json) -> str:
    """Which runs are of which commit, if there are several."""
    found: dict[str, list[str]] = {}
    for run in data["runs"]:
        found.setdefault(run.get("commit") or data.get("commit", ""), []).append(run["name"])
    lines = [f"- {commit[:12]}: {', '.join(names)}" for commit, names in found.items()]
    return "## Commits\n\n" + "\n".join(lines) + "\n" if len(found) > 1 else ""


def _commands(runs: Sequence[Json]) -> str:
    rows = "\n".join(f"    {run['command']}" for run in runs)
    return f"## Commands\n\nIn this order:\n\n{rows}\n"
