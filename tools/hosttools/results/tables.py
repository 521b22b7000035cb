"""Tables that the reports of several benchmarks have: where the instructions go, and what is not there."""

from typing import Any

from hosttools.measure.count import IDLE_PREFIX
from hosttools.results.runs import measured
from hosttools.results.stats import figure, table

PROFILE_ROWS = 8

Json = dict[str, Any]


def absent(data: Json) -> dict[str, str]:
    """The rows that Kettle has in no run, with what is missing."""
    lacking: dict[str, str] = {}
    present = set()
    for run in data["runs"]:
        for case in run["output"] if not run["name"].endswith("-linux") else ():
            if case["absent"]:
                lacking.setdefault(case["case"], case["absent"])
            else:
                present.add(case["case"])
    return {case: what for case, what in lacking.items() if case not in present}


def absent_cell(what: str) -> str:
    """What stands in place of a figure when WHAT is lacking."""
    return f"absent: {what}" if what else "-"


def profile_table(data: Json, linux: bool = False) -> str:
    """Which functions of Kettle executed the instructions of a row, from the runs profile-CASE; of Linux, from profile-CASE-linux."""
    rows = []
    for run in data["runs"]:
        wanted = run["name"].startswith("profile-") and run["name"].endswith("-linux") == linux
        item = next(measured(data, run["name"]), None) if wanted else None
        if item is None or not item.case["count"] or not run.get("profile"):
            continue
        functions = [row for row in run["profile"] if not row["function"].startswith(IDLE_PREFIX)]
        rows.append([f"`{item.case['case']}`", figure(sum(row["instructions"] for row in functions) / item.case["count"]),
                     ", ".join(f"{row['function']} {row['instructions'] / item.case['count']:,.0f}"
                               for row in functions[:PROFILE_ROWS])])
    title, where = ("Linux's instructions", "four CPUs") if linux else ("the kernels' instructions", "four kernels")
    what = "" if linux else ", without the looking for work"
    return (f"## Where {title} go\n\nOf one operation, on {where} of two nodes{what}: the {PROFILE_ROWS} functions that execute the "
            "most.\n\n" + table(["", "kernel", "functions"], rows)) if rows else ""


def absent_table(data: Json) -> str:
    """What Kettle lacks for the rows that it does not have."""
    by_call: dict[str, list[str]] = {}
    for case, what in absent(data).items():
        by_call.setdefault(what, []).append(case)
    if not by_call:
        return ""
    lines = [f"- {what}: {', '.join(f'`{case}`' for case in cases)}" for what, cases in sorted(by_call.items())]
    return "## Rows that are absent on Kettle\n\nBy what answered ENOSYS:\n\n" + "\n".join(lines) + "\n"
