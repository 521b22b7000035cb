"""`kettle run --json`: what it prints for every kind of end is of the form that docs/run.schema.json has."""

import hashlib
import json
import re

import jsonschema
import pytest

from hosttools.machine.topology import make_topology
from hosttools.paths import ROOT
from hosttools.run import report as run_report
from host_command import PROGRAM, compile_c, kettle, make_build

SCHEMA = json.loads((ROOT / "docs" / "run.schema.json").read_text())


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return make_build(tmp_path_factory.mktemp("json"))


def told(build, *arguments):
    """The object that a run prints, which has the form of the schema."""
    done = kettle(build, "run", "--json", *arguments)
    found = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    assert found["status"] == done.status
    return found


def test_the_schema_is_one_and_has_the_tools_version():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["schema"]["const"] == run_report.SCHEMA


@pytest.mark.parametrize("does, kind, options", [
    ("exit:7", "exit", ()), ("signal:11", "signal", ()), ("panic", "machine", ()), ("reset", "machine", ()),
    ("flood:1000", "exit", ()), ("warn", "exit", ()), ("hang", "timeout", ("--timeout", "2")), ("exit:0", "exit", ("--boot", "iso")),
    ("exit:0", "exit", ("--events", "--log", "/dev/null"))])
def test_every_end_has_the_form(build, does, kind, options):
    assert told(build, "--cpus", "1", "--append-raw", f"fake={does}", *options, "--", "inside")["kind"] == kind


@pytest.mark.parametrize("key, value", [("schema", 0), ("kind", "ended"), ("status", "0"), ("plan", ["1 kernels"]), ("more", 1), ("host", None)])
def test_another_form_is_refused(build, key, value):
    found = told(build, "--cpus", "1", "--append-raw", "fake=exit:0", "--", "inside")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**found, key: value}, SCHEMA)


def test_it_names_what_was_run(build, tmp_path):
    """The program of the image, and one of the host."""
    found = told(build, "--cpus", "1", "--append-raw", "fake=exit:0", "--", "inside")
    assert found["sha256"] == {
        "kernel": hashlib.sha256((build / "kettle.elf").read_bytes()).hexdigest(),
        "image": hashlib.sha256((build / "initramfs.cpio").read_bytes()).hexdigest(),
        "program": hashlib.sha256(b"not looked at").hexdigest()}
    program = compile_c(tmp_path / "program", PROGRAM, "-static")
    assert told(build, "--append-raw", "fake=exit:0", "--", program)["sha256"]["program"] == hashlib.sha256(
        program.read_bytes()).hexdigest()
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?|unknown", found["commit"])
    assert re.match(r"\d+\.\d+", found["host"]["qemu"]) and found["host"]["cpus"] >= 1 and found["accel"] == "tcg"


def test_the_plan_is_data():
    plan = run_report.machine_plan(make_topology(4, 2, "8M,16M", "10,30/20,10"), [
        "2 kernels, 4 cpus, 2 nodes, 20 MiB", "kernel 0 cpus 0,2-3 node 0 memory 12 MiB", "kernel 1 cpus 1 node 0 memory 8 MiB"])
    assert plan == {
        "kernels": [{"kernel": 0, "cpus": [0, 2, 3], "node": 0, "memory_mib": 12}, {"kernel": 1, "cpus": [1], "node": 0, "memory_mib": 8}],
        "cpus": [{"cpu": 0, "node": 0, "kernel": 0}, {"cpu": 1, "node": 0, "kernel": 1}, {"cpu": 2, "node": 1, "kernel": 0},
                 {"cpu": 3, "node": 1, "kernel": 0}],
        "nodes": [{"node": 0, "cpus": [0, 1], "memory": 8 << 20}, {"node": 1, "cpus": [2, 3], "memory": 16 << 20}],
        "distances": [[10, 30], [20, 10]]}
    assert run_report.machine_plan(make_topology(1, 2, None, None), [])["distances"] == [[10, 20], [20, 10]]
