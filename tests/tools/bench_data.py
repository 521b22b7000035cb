"""What the tests of benchmarks share: results as `kettle bench` keeps them, and their programs on the host's own kernel."""

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
