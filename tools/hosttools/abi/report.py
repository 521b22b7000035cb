"""What `kettle abi` has found, as text: a table by folder, what differs and why, and the page docs/results/abi.md."""

import re
from typing import Any, Sequence

REFERENCE = "linux"
SHOWN_WIDTH = 60  # of a line of output in a list
LINES_MAX = 12  # of one output, where both are printed

Json = dict[str, Any]


def judge(data: Json) -> None:
    """Adds to every program `verdicts`: by configuration, "same" or what differs from Linux, in a few words."""
    for entry in data["programs"]:
        reference = entry["results"][REFERENCE]
        entry["verdicts"] = {name: _verdict(reference, result) for name, result in entry["results"].items()}


def _verdict(reference: Json, result: Json) -> str:
    if result["how"] in ("hang", "stuck", "lost"):
        return {"hang": "hangs", "stuck": "hangs and cannot be killed", "lost": "not run: too many machines were lost"}[
            result["how"]]
    if result["how"] in ("panic", "silence"):
        words = [line for line in result["problem"].splitlines() if "panic" in line.lower() or "assert" in line] or \
            result["problem"].splitlines() or [f"status {result['value']}"]
        return ("the machine ended: " if result["how"] == "panic" else "the machine hung: ") + words[0].strip()[:120]
    if result["output"] != reference["output"]:
        for ours, theirs in zip(result["output"], reference["output"]):
            if ours != theirs:
                return f"`{_cut(ours)}`, not `{_cut(theirs)}`"
        longer = len(result["output"]) > len(reference["output"])
        line = (result if longer else reference)["output"][min(len(result["output"]), len(reference["output"]))]
        return f"{'also prints' if longer else 'ends before'} `{_cut(line)}`"
    if (result["how"], result["value"]) != (reference["how"], reference["value"]):
        return f"{result['how']} {result['value']}, not {reference['how']} {reference['value']}"
    return "same"


def _cut(line: str) -> str:
    line = line.replace("`", "'").replace("|", "/")
    # What was called stands at the beginning, what it gave at the end.
    return line if len(line) <= SHOWN_WIDTH else f"{line[:SHOWN_WIDTH // 2]}...{line[3 - SHOWN_WIDTH // 2:]}"


def _differing(data: Json) -> dict[str, str]:
    """Titles of the programs that differ somewhere, with the cause."""
    found: dict[str, str] = {}
    for entry in data["programs"]:
        for verdict in _groups(entry):
            found.setdefault(entry["title"], cause(verdict))
    return found


def unexpected(data: Json, known: set[str]) -> list[str]:
    """The programs that differ from Linux, or went wrong there, and are not KNOWN to."""
    return sorted(set(_differing(data)) - known)


def outdated(data: Json, known: set[str]) -> list[str]:
    """The programs that are KNOWN to differ and have run everywhere as they do on Linux."""
    return sorted({entry["title"] for entry in data["programs"]} & known - set(_differing(data)))


def read_known(text: str) -> set[str]:
    """The titles in a list that list_known has written."""
    return {line.split()[0] for line in text.splitlines() if line.strip() and not line.startswith("#")}


def list_known(data: Json) -> str:
    """The list of what differs: a title a line, then why."""
    return ("# Programs of tests/abi that do not yet give what Linux gives, with the kind of difference.\n"
            "# Written by tools/kettle abi --learn; docs/results/abi.md has the details.\n"
            + "".join(f"{title:36} {why}\n" for title, why in sorted(_differing(data).items())))


def _compared(data: Json) -> list[str]:
    return [name for name in data["commands"] if name != REFERENCE]


def counts(data: Json) -> list[list[str]]:
    """A row for each folder and library, and one for all: programs, and in each configuration those that are the same."""
    groups: dict[tuple[str, str], list[Json]] = {}
    for entry in data["programs"]:
        groups.setdefault((entry["title"].split("/")[0], entry["library"]), []).append(entry)
    rows = [[folder, library, *_count(data, entries)] for (folder, library), entries in groups.items()]
    return [*rows, ["all", "", *_count(data, data["programs"])]]


def _count(data: Json, entries: Sequence[Json]) -> list[str]:
    return [str(len(entries)), *(str(sum(entry["verdicts"][name] == "same" for entry in entries))
                                 for name in _compared(data))]


def summary(data: Json) -> str:
    """The table for a terminal."""
    rows = [["folder", "library", "programs", *_compared(data)], *counts(data)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) if column < 2 else cell.rjust(width)
                               for column, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows)


def _groups(entry: Json) -> dict[str, list[str]]:
    """What differs in a program: by verdict, the configurations that have it."""
    found: dict[str, list[str]] = {}
    for name, verdict in entry["verdicts"].items():
        if verdict != "same":
            found.setdefault(verdict, []).append(name)
    return found


def differences(data: Json, verbose: bool) -> str:
    """What differs, one line each, for a terminal."""
    lines = []
    for entry in data["programs"]:
        for verdict, names in _groups(entry).items():
            lines.append(f"{entry['library']:5} {entry['title']}: {', '.join(names)}: {verdict}")
            if verbose:
                for name in (REFERENCE, names[0]):
                    result = entry["results"][name]
                    lines += [f"    {name}: {result['how']} {result['value']}",
                              *(f"        {line}" for line in result["output"][:LINES_MAX])]
    return "".join(f"{line}\n" for line in lines)


def cause(verdict: str) -> str:
    """Under which heading a difference is listed."""
    ours = re.match(r"`([^`]*)`", verdict)
    name = re.findall(r"\bE[A-Z0-9]{3,}\b", ours[1]) if ours else []
    if "ENOSYS" in name:
        return "A call that is absent (ENOSYS)"
    if "EROFS" in name:
        return "No file can be written (EROFS)"
    if name:
        return f"An error that Linux does not give ({name[-1]})"
    if verdict.startswith(("hangs", "the machine", "not run")):
        return "Hangs and machines that ended"
    return "Other output or status"


def page(data: Json) -> str:
    """docs/results/abi.md."""
    names = _compared(data)
    parts = ["# Programs on Linux and on Kettle\n",
             "`tools/kettle abi --out docs/results` makes this page. Each program of tests/abi shows one behaviour; it is built "
             "static with musl and with glibc, and the same file runs on Linux and on Kettle on the same machine "
             f"(`{data['machine']}`). A program counts where output and status are those of Linux.\n",
             "| " + " | ".join(["folder", "library", "programs", *names]) + " |",
             "|---|---|" + "---:|" * (1 + len(names))]
    parts += ["| " + " | ".join(row) + " |" for row in counts(data)]
    by_cause: dict[str, list[str]] = {}
    for entry in data["programs"]:
        for verdict, where in _groups(entry).items():
            place = "all" if set(where) >= set(names) else ", ".join(where)
            by_cause.setdefault(cause(verdict), []).append(
                f"| {entry['title']} | {entry['library']} | {place} | {entry['shows']} | {verdict} |")
    parts.append("\n## What differs\n" if by_cause else "\nNothing differs.\n")
    for heading in sorted(by_cause):
        parts += [f"### {heading}\n", "| program | library | where | shows | Kettle |", "|---|---|---|---|---|",
                  *by_cause[heading], ""]
    parts += ["## Commands\n", *(f"    {command}" for command in data["commands"].values()), ""]
    return "\n".join(parts)
