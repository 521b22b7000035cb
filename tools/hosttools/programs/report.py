"""What `kettle programs` has found, as text: a table, what fails, and the page docs/results/programs.md."""

import json
from pathlib import Path
from typing import Any, Sequence

REFERENCE = "linux"
COLUMNS = (REFERENCE, "1", "node", "core")
LINES_MAX = 12  # of the output of one check, where it is printed

Json = dict[str, Any]


def read(folder: str | None) -> Json:
    """What was saved in FOLDER, if anything was."""
    file = None if folder is None else Path(folder) / "programs.json"
    return json.loads(file.read_text()) if file is not None and file.exists() else {"programs": {}}


def save(data: Json, folder: Path) -> None:
    """Writes programs.json and programs.md into FOLDER."""
    data["programs"] = dict(sorted(data["programs"].items()))
    (folder / "programs.json").write_text(json.dumps(data, indent=1) + "\n")
    (folder / "programs.md").write_text(page(data))


def failing(entry: Json) -> dict[str, dict[str, str]]:
    """The checks that Linux passes (or was not asked for) and Kettle does not: by name, how, where."""
    found: dict[str, dict[str, str]] = {}
    for name, states in entry["checks"].items():
        if states.get(REFERENCE, "passed") != "passed":
            continue
        wrong = {where: state for where, state in states.items() if where != REFERENCE and state != "passed"}
        if wrong:
            found[name] = wrong
    return found


def unexpected(entry: Json) -> list[str]:
    """Those that the recipe does not name as known to differ."""
    return [name for name in failing(entry) if name not in entry["differs"]]


def passes(entry: Json) -> bool:
    """True when the first system that ran them passes a check: where all fail, the recipe is wrong."""
    where = next(iter(entry["machines"]))
    return any(states[where] == "passed" for states in entry["checks"].values())


def _count(entry: Json, where: str) -> str:
    states = [states[where] for states in entry["checks"].values() if where in states]
    if not states:
        return "-"
    skipped = states.count("skipped")
    return f"{states.count('passed')}" + (f" ({skipped} skipped)" if skipped else "")


def _rows(entries: Sequence[Json]) -> list[list[str]]:
    return [[entry["name"], entry["version"], str(len(entry["checks"])), *(_count(entry, where) for where in COLUMNS)]
            for entry in entries]


def summary(entries: Sequence[Json]) -> str:
    """The table for a terminal: checks, and those passed."""
    rows = [["program", "version", "checks", "Linux", "kernels=1", "node", "core"], *_rows(entries)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def differences(entries: Sequence[Json], verbose: bool) -> str:
    """What fails on Kettle alone, for a terminal."""
    lines = []
    for entry in entries:
        for name, wrong in failing(entry).items():
            known = entry["differs"].get(name)
            lines.append(f"{entry['name']} {name}: " + ", ".join(f"{where}: {state}" for where, state in wrong.items())
                         + (f" (known: {known})" if known else ""))
            if verbose:
                where = next(iter(wrong))
                lines += [f"    {line}" for line in entry["output"].get(name, {}).get(where, [])[-LINES_MAX:]]
        if not passes(entry):
            lines.append(f"{entry['name']}: no check passes at all: is its recipe right?")
        lines += [f"{entry['name']} {name}: passes now, though the recipe says that it differs" for name in outdated(entry)]
    return "".join(f"{line}\n" for line in lines)


def outdated(entry: Json) -> list[str]:
    """Checks that a recipe says to differ, and that were passed in every division."""
    return [name for name in entry["differs"] if name in entry["checks"] and name not in failing(entry)
            and len(entry["checks"][name]) == len(COLUMNS)]


def _beside(states: dict[str, str]) -> str:
    """How a check ends on Kettle, beside how it ends on Linux."""
    return ", ".join(f"{where}: {state}" for where, state in states.items() if state != states[REFERENCE]) or "the same"


def page(data: Json) -> str:
    """docs/results/programs.md."""
    entries = list(data["programs"].values())
    parts = ["# Real programs\n",
             "`tools/kettle programs --out docs/results` makes this page. The programs come from Debian's sources, are built "
             "static and otherwise unmodified, and run their own checks on Linux and on Kettle on the same machine; the "
             "recipes are in [tests/programs](../../tests/programs/README.md). A column says how many checks pass.\n",
             "| program | | version | checks | Linux | kernels=1 | node | core |", "|---|---|---|---:|---:|---:|---:|---:|"]
    parts += ["| " + " | ".join([row[0], entry["about"], *row[1:]]) + " |" for entry, row in zip(entries, _rows(entries))]
    wrong = [(entry, name, states) for entry in entries for name, states in failing(entry).items()]
    parts.append("\n## What Linux passes and Kettle does not\n" if wrong else "\nWhat Linux passes Kettle passes.\n")
    if wrong:
        parts += ["| program | check | where | why |", "|---|---|---|---|"]
        parts += [f"| {entry['name']} | {name} | " + ", ".join(f"{where}: {state}" for where, state in states.items())
                  + f" | {entry['differs'].get(name, 'not known')} |" for entry, name, states in wrong]
    linux = [(entry, name, states) for entry in entries for name, states in entry["checks"].items()
             if states.get(REFERENCE, "passed") not in ("passed", "skipped")]
    if linux:
        parts += ["\n## What Linux does not pass here either\n", "| program | check | Linux | Kettle | why |", "|---|---|---|---|---|"]
        parts += [f"| {entry['name']} | {name} | {states[REFERENCE]} | {_beside(states)} | "
                  f"{entry.get('fails', {}).get(name, 'not known')} |" for entry, name, states in linux]
    left = [(entry["name"], name, why) for entry in entries for name, why in entry["left"].items()]
    if left:
        parts += ["\n## What is left out\n", "| program | check | why |", "|---|---|---|"]
        parts += [f"| {program} | {name} | {why} |" for program, name, why in left]
    notes = [f"- {entry['name']}: {entry['notes']}" for entry in entries if entry["notes"]]
    if notes:
        parts += ["\n## Notes\n", *notes]
    parts += ["\n## How they are built and run\n"]
    for entry in entries:
        parts.append(f"- {entry['name']}: `{'; '.join(entry['build'])}`. Seconds: "
                     + ", ".join(f"{where} {seconds}" for where, seconds in entry["seconds"].items()) + ".")
    machines = sorted({f"`tools/kettle run {command}`" for entry in entries for command in entry["machines"].values()})
    return "\n".join([*parts, "\nMachines: " + ", ".join(machines) + ".", ""])
