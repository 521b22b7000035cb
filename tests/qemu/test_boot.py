"""Machines of every shape boot, by every path; the plan is what was asked for; it happens every time."""

import re

import pytest

from conftest import kettle, long_run

SHAPES = {
    "1-cpu": "--cpus 1",
    "odd-memory": "--cpus 3 --nodes 2 --mem 333M",
    "little-memory": "--cpus 1 --mem 24M",
    "above-4-GiB": "--cpus 2 --nodes 2 --mem 5G",
    "nodes-without-cpus": "--cpus 2 --nodes 8 --mem 512M",
    "nodes-without-cpus-smp": "--cpus 3 --nodes 5 --mem 700M --kernels node",
    "64-cpus-8-nodes": "--cpus 64 --nodes 8",
    "64-cpus-8-nodes-smp": "--cpus 64 --nodes 8 --kernels node",
    "64-cpus-1-kernel": "--cpus 64 --kernels 1",
    "3-kernels": "--cpus 8 --nodes 2 --kernels 3",
    "list": "--cpus 8 --kernels 0-1,2-3,5",
    "distances": "--cpus 4 --nodes 2 --dist 10,30/30,10",
    "iso": "--cpus 4 --nodes 2 --boot iso",
    "icount": "--cpus 4 --tcg single --icount 3 --seed 7",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_machine_boots_and_runs(run, shape):
    done = run(*SHAPES[shape].split(), "--", "hello")
    assert done.status == 0 and done.stdout == b"hello, world\n", done.explain()


def test_plan_is_what_was_asked_for(run_json):
    plan = run_json("--cpus", "8", "--nodes", "4", "--kernels", "0-1,2-3,4-6", "--", "hello")["plan"]
    assert [(kernel["kernel"], kernel["cpus"], kernel["node"]) for kernel in plan["kernels"]] == [
        (0, [0, 1], 0), (1, [2, 3], 1), (2, [4, 5, 6], 2)]
    assert sum(kernel["memory_mib"] for kernel in plan["kernels"]) > 900


@pytest.mark.parametrize("machine", ["--cpus 1", "--cpus 8", "--cpus 4 --kernels 1 --append ring=1024", "--cpus 2 --boot iso"])
def test_the_least_memory_that_is_said_is_enough_and_not_far_from_it(run, machine):
    done = run(*machine.split(), "--mem", "8M", "--", "hello")
    said = re.search(r"the minimum is (\d+)M$", done.stderr.strip())
    assert done.status == 2 and said, done.explain()
    done = run(*machine.split(), "--mem", f"{said[1]}M", "--", "hello")
    assert done.status == 0 and done.stdout == b"hello, world\n", done.explain()


def test_plan_can_be_read_inside(run):
    done = run("--cpus", "4", "--nodes", "2", "--", "kettle-ctl", "plan")
    assert done.status == 0 and done.stdout.count(b"\n") >= 5, done.explain()


@pytest.mark.parametrize("arguments", ["--cpus 1", "--cpus 2", "--cpus 8 --nodes 4", "--cpus 8 --nodes 4 --kernels node",
                                       "--cpus 16 --nodes 4", "--cpus 64 --nodes 8"])
def test_tour_visits_every_kernel(run, arguments):
    done = run(*arguments.split(), "--", "tour")
    assert done.status == 0, done.explain()
    kernels = int(re.search(rb"(\d+) kernels", done.stdout).group(1))
    stops = 2 * kernels - 1
    assert b"Memory was intact at each of %d stop%s." % (stops, b"" if stops == 1 else b"s") in done.stdout, done.explain()


def test_kernels_are_started_on_command_in_any_order(run):
    done = run("--cpus", "6", "--append", "boot=manual", "--", "kettle-ctl", "start", "4,1-2", "--", "tour")
    assert done.status == 0 and b"each of 7 stops" in done.stdout, done.explain()
    order = re.findall(r"\[k(\d) c\d [\d.]+\] kernel: runs on", done.log)
    assert order[0] == "0" and sorted(order) == ["0", "1", "2", "4"], done.log


def test_bochs_boots_the_same_image(run):
    done = run("--emulator", "bochs", "--cpus", "2", "--", "tour")
    assert done.status == 0 and b"each of 3 stops" in done.stdout, done.explain()


def test_boots_time_after_time():
    """Fifty in `make test-long`; the first failure shows everything."""
    for count in range(50 if long_run() else 6):
        done = kettle("--cpus", "8", "--nodes", "4", "--", "hello")
        assert done.status == 0 and done.stdout == b"hello, world\n", f"boot {count}: {done.explain()}"


def test_instance_is_small(run):
    """Image, tables and rings of one instance of 64 take less than 8 MiB."""
    done = run("--cpus", "64", "--nodes", "8", "--", "kettle-ctl", "kernels")
    sizes = re.findall(rb"image\s+(\d+)\s+KiB\s+tables\s+and\s+rings\s+(\d+)\s+KiB", done.stdout)
    assert len(sizes) == 64, done.explain()
    assert all(int(image) + int(tables) < 8192 for image, tables in sizes)
