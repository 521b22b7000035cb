"""What `kettle run --json` prints. docs/run.schema.json has its form; a change that readers notice raises SCHEMA."""

import base64
import os
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hosttools.image import image
from hosttools.machine import host, linux
from hosttools.machine.topology import Topology
from hosttools.run.session import Outcome

if TYPE_CHECKING:
    from hosttools.run.run import Plan

SCHEMA = 1

_KERNEL = re.compile(r"kernel (\d+) cpus (\S+) node (\d+) memory (\d+) MiB", re.ASCII)

Json = dict[str, Any]


def report(plan: "Plan", outcome: Outcome, output: bytes, command: str) -> Json:
    """The object about a run of PLAN that ended with OUTCOME and wrote OUTPUT. Output that is not UTF-8 is given in base64,
    as `stdout_encoding` says."""
    try:
        text, encoding = output.decode(), "utf-8"
    except UnicodeDecodeError:
        text, encoding = base64.b64encode(output).decode(), "base64"
    log = plan.options.log
    return {"schema": SCHEMA, "commit": host.commit(), "sha256": _digests(plan), "host": host.describe(),
            "accel": plan.pace.accel if plan.options.emulator == "qemu" else "bochs",
            "status": outcome.status, "kind": outcome.kind, "signal": outcome.signal, "stdout": text,
            "stdout_encoding": encoding, "problem": outcome.problem, "warnings": outcome.warnings,
            "plan": machine_plan(plan.topology, outcome.plan), "boot_seconds": outcome.boot_seconds,
            "seconds": outcome.seconds, "command": command, "events": [asdict(event) for event in outcome.events],
            "log": None if log is None else os.path.abspath(log)}


def _digests(plan: "Plan") -> Json:
    """What was booted: the kernel, the image that all runs share, and the program."""
    kernel = plan.kernel or linux.kernel(lambda text: None)
    program = image.program_data(plan.job, plan.base_image)
    return {"kernel": host.sha256(kernel.read_bytes()),
            "image": None if plan.base_image is None else host.sha256(plan.base_image.read_bytes()),
            "program": None if program is None else host.sha256(program)}


def machine_plan(topology: Topology, lines: list[str]) -> Json:
    """The machine as data: its CPUs, nodes (memory in bytes) and distances as they were asked for, and the kernels as LINES of
    the kernel's own plan have them: none when it did not come to that, or is Linux."""
    kernels = [{"kernel": int(match[1]), "cpus": _cpus(match[2]), "node": int(match[3]), "memory_mib": int(match[4])}
               for line in lines if (match := _KERNEL.fullmatch(line))]
    owner = {cpu: kernel["kernel"] for kernel in kernels for cpu in kernel["cpus"]}
    nodes = [{"node": node, "cpus": list(topology.node_cpus(node)), "memory": size}
             for node, size in enumerate(topology.memory)]
    cpus = [{"cpu": cpu, "node": node["node"], "kernel": owner.get(cpu)} for node in nodes for cpu in node["cpus"]]
    return {"kernels": kernels, "cpus": cpus, "nodes": nodes, "distances": topology.slit()}


def _cpus(text: str) -> list[int]:
    """The CPUs of a list such as 0-1,4."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found
