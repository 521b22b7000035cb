"""No kernel keeps from answering for more than 100,000 instructions, whatever programs do. With --icount a nanosecond of the
guest is an instruction. All CPUs' instructions count, so what the kernels do at the same time, as an audit of the machine, is
measured on a machine with one CPU, and only what one does for another on a machine with two."""

import json

import pytest

LIMIT = 100_000
EXACT = ("--icount", "0", "--seed", "1")
TURNS = ("--turn", "100")  # where a whole turn of the other CPU may come in the midst of what a kernel does, and would count
FAR = ["exit_far", "munmap_far", "protect_far", "discard_far", "fork_far", "kill_far", "stacks_far", "stop_far"]  # the last one stops a kernel
NODES = ["draw_far", "group_far"]  # which look at all threads of a process; silencebench chooses numa= for them
AREAS = ["areas_protect", "areas_advise"]  # which looks for accesses go through
EVENTS = ["events_poll", "events_read", "events_sets", "poll_many", "set_wait", "set_close"]  # of files for which many wait
EVENTS_FAR = ["events_read_far", "poll_many_far", "set_close_far"]
MACHINES = {"1-kernel": (("--cpus", "1"), ["writev", "cut_file", "exit", "munmap", "fork", "setpipe", "closepipe", "areas_advise", "audit_machine", "audit_file",
                                               "processes", "children", "children_exit", "oom", "circles", "cut_sparse", "audit_processes", "audit_threads",
                                               "datagrams", "threads_exit", "threads_exec", "exec_many", "exec_long", "spawn_long", "threads_read", "audit_sparse",
                                               "audit_opens", *EVENTS], ()),
            "1-kernel-numa": (("--cpus", "1", "--append", "numa=nemo numaperiod=1"), AREAS, ("--cases", ",".join(AREAS))),
            "2-kernels": (("--cpus", "2", "--nodes", "2"), FAR, ("--cases", ",".join(FAR))),
            "2-kernels-numa": (("--cpus", "2", "--nodes", "2"), NODES, ("--cases", ",".join(NODES))),
            "2-kernels-events": (("--cpus", "2", "--nodes", "2"), EVENTS_FAR, ("--cases", ",".join(EVENTS_FAR))),
            "2-kernels-fence": (("--cpus", "2", "--nodes", "2"), ["fence_far"], ("--cases", "fence_far")),
            "2-kernels-threads": (("--cpus", "2", "--nodes", "2", *TURNS), ["threads_exit_far"], ("--cases", "threads_exit_far")),
            "2-kernels-processes": (("--cpus", "2", "--nodes", "2", *TURNS), ["stop_processes_far"], ("--cases", "stop_processes_far")),
            "2-kernels-opens": (("--cpus", "2", "--nodes", "2"), ["stop_opens_far"], ("--cases", "stop_opens_far")),
            "2-kernels-file": (("--cpus", "2", "--nodes", "2"), ["stop_file_far"], ("--cases", "stop_file_far")),
            "2-kernels-death": (("--cpus", "2", "--nodes", "2"), ["death_far"], ("--cases", "death_far"))}


@pytest.mark.parametrize("machine", MACHINES)
def test_no_kernel_is_silent_for_long(run, machine):
    options, expected, words = MACHINES[machine]
    done = run(*options, *EXACT, "--", "silencebench", "--limit", str(LIMIT), *words)
    cases = [json.loads(line) for line in done.stdout.decode().splitlines() if line.startswith("{")]
    assert done.status == 0, done.explain()
    assert set(expected) <= {case["case"] for case in cases}
    assert all(0 < case["silence"] <= LIMIT for case in cases)


def test_long_operations_end_and_lose_nothing(run):
    """On one CPU, where slices are the only turn that others get."""
    done = run("--cpus", "1", "--", "test-silence")
    assert done.status == 0, done.explain()
