"""What the tests of benchmarks share: results as `kettle bench` keeps them, and their programs on the host's own kernel."""

import argparse
import fnmatch
import re
import subprocess

from hosttools.paths import built


def run(name, *cases, counts=(), problem="", **more):
    """A run of CASES, whose regions are numbered here. COUNTS: (user, kernel, idle) of each case, on a first CPU; a
    second one executes one kernel instruction for each of ten operations more."""
    for region, item in enumerate(cases, 1):
        item["region"] = region
    return {"name": name, "command": f"tools/kettle run {name}", "status": 0, "output": list(cases), "problem": problem,
            "counts": [{"region": region, "entries": 1, "cpus": [
                {"cpu": 0, "user": user, "kernel": kernel, "idle": idle},
                {"cpu": 1, "user": 0, "kernel": 10, "idle": 0}]}
                for region, (user, kernel, idle) in enumerate(counts, 1)], **more}


def data(benchmark, *runs):
    """All that raw.json holds."""
    return {"benchmark": benchmark, "date": "2001-02-03", "quick": False, "qemu": "7.2.0", "cpu": "max",
            "host_cpus": 2, "runs": list(runs)}


def program(name, *arguments):
    """Runs the program userland/NAME on the host: its status, output and errors."""
    done = subprocess.run([built(f"userland/{name}"), *arguments], capture_output=True, text=True, timeout=60,
                          check=False)
    return done.returncode, done.stdout, done.stderr


class Suite:
    """What the tests of a benchmark whose program has named cases share. MODULE is its module of hosttools.suites, NAME
    its program in userland/, TARGETS how many it has; USER instructions of each case are a program's. FACTS gives what
    the program says of a case besides, by its name."""

    def __init__(self, module, name, targets, user=0, facts=lambda name: {}):
        self.module, self.name, self.targets, self.user, self.facts = module, name, targets, user, facts

    def case(self, name, ns=(), count=10, absent="", **more):
        """What the program says of a case."""
        return {"case": name, "operation": name.split(".")[0], "where": "home", "places": 4,
                "count": 0 if absent else count, "absent": absent, "ns": list(ns), **self.facts(name), **more}

    def data(self, *runs):
        """All that raw.json holds."""
        return data(self.module.__name__.rpartition(".")[2], *runs)

    def costs(self, name, **cases):
        """A run in which each case, named with underlines doubled for dots, costs so many instructions in the kernels."""
        cases = {key.replace("__", "."): cost for key, cost in cases.items()}
        return run(name, *map(self.case, cases), counts=[(self.user, 10 * cost - 10, 5) for cost in cases.values()])

    def verdicts(self, *runs):
        """(measured, verdict) of each target, in order."""
        rows = re.findall(r"\| at most \S+ \| (\S+) \| (.*) \|", self.module.report(self.data(*runs)).targets)
        assert len(rows) == self.targets
        return rows

    def planned(self, **more):
        """The runs, on four kernels of two nodes if MORE says nothing else."""
        return self.module.plan(argparse.Namespace(**{"cpus": 4, "nodes": 2, "kernels": "core", "quick": False, **more}))

    def listed(self):
        """(region, case) of each case of the program, in order."""
        status, text, errors = program(self.name, "--list")
        assert (status, errors) == (0, "")
        return [line.split()[:2] for line in text.splitlines()]

    def check_cases_of_the_plan(self, quick):
        """Every case that the plan asks for exists."""
        names = [name for _, name in self.listed()]
        for item in self.planned(quick=quick):
            if "--cases" in item.program:
                patterns = item.program[item.program.index("--cases") + 1].split(",")
                assert [pattern for pattern in patterns if not fnmatch.filter(names, pattern)] == []
