"""The channel on whole machines: every message arrives once, in order and whole, under any schedule; what the kernels say of it."""

import re

import pytest

from conftest import SEED, long_run

MESSAGES = 10_000_000 if long_run() else 24_000
MACHINES = {
    "8-kernels": "--cpus 8 --nodes 4",
    "per-node": "--cpus 8 --nodes 4 --kernels node",
    "2-kernels": "--cpus 2 --nodes 2",
}


def flood(run, *arguments, messages=MESSAGES):
    """All kernels send to all others; msgbench checks content, order and number."""
    done = run(*arguments, "--", "msgbench", "flood", "--messages", str(messages), "--seed", str(SEED), timeout=3600)
    assert done.status == 0, done.explain()
    sent, received = re.search(rb"(\d+) messages sent, (\d+) received", done.stdout).groups()
    assert sent == received and int(sent) >= messages, done.explain()
    return done


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("schedule", ["", "--inject seed={seed},ring=64", "--inject seed={seed},ring=4,rate=5"],
                         ids=["plain", "held-back", "held-back-small-rings"])
def test_flood_loses_nothing(run, machine, schedule):
    part = 1 if not schedule else 3 if "ring=64" in schedule else 20  # what is held back takes longer
    flood(run, *MACHINES[machine].split(), *schedule.format(seed=SEED).split(), messages=MESSAGES // part)


def test_rings_of_four_slots(run):
    flood(run, "--cpus", "8", "--nodes", "4", "--append", "ring=4", messages=MESSAGES // 30)


def test_slow_consumer(run):
    flood(run, "--cpus", "4", "--inject", f"seed={SEED},slow=20,delay=0", messages=2000)


def test_a_ring_option_without_sense_is_named(run):
    done = run("--cpus", "2", "--append-raw", "ring=5", "--", "hello")
    assert done.status == 0 and "invalid ring='5'; using 64 (4|8|" in done.log, done.explain()


@pytest.mark.parametrize("option", ["poll=maybe", "inject=seed:x", "inject=rate:101", "inject=type:NONE", "inject=peer:2", "trace=2"])
def test_an_option_without_sense_is_named_and_left_out(run, option):
    name, _, value = option.partition("=")
    done = run("--cpus", "2", "--append-raw", option, "--", "hello")
    assert done.status == 0 and f"invalid {name}='{value}'; using " in done.log, done.explain()


@pytest.mark.parametrize("polls", ["0", "1", "always"])
def test_kernels_that_never_or_always_look(run, polls):
    done = run("--cpus", "2", "--append", f"poll={polls}", "--", "tour")
    assert done.status == 0 and b"each of 3 stops" in done.stdout, done.explain()


def test_messages_are_shown_as_tables(run):
    done = run("--cpus", "3", "--", "kettle-ctl", "messages")
    assert done.status == 0, done.explain()
    assert done.stdout.count(b"us in the handler") == 3
    started = re.findall(rb"^  STARTED +(\d+) +(\d+) ", done.stdout, re.M)
    assert started[0] == (b"4", b"0") and started[1:] == [(b"0", b"2")] * 2, done.explain()


def test_a_trace_pairs_requests_and_answers(run):
    done = run("--cpus", "2", "--append", "trace=on", "--", "kettle-ctl", "trace")
    assert done.status == 0, done.explain()
    text = done.stdout.decode()
    rows = re.findall(r"kernel (\d) time (\d+) (sent|took) (\w+)((?: reply)?) peer (\d) request (\d+)", text)
    asked = [(row[1], row[6]) for row in rows if row[0] == "0" and row[2:5] == ("sent", "STARTED", "")]
    answered = [row[6] for row in rows if row[0] == "0" and row[2:5] == ("took", "STARTED", " reply")]
    taken = [(row[1], row[6]) for row in rows if row[0] == "1" and row[2:5] == ("took", "STARTED", "")]
    assert len(asked) == 2 and answered == [request for _, request in asked] and taken == asked, done.explain()
    for kernel in "01":
        sent = [int(row[1]) for row in rows if row[0] == kernel and row[2] == "sent"]
        assert sent == sorted(set(sent)), "a kernel's clock goes on with every message it sends"


def test_options_change_while_running(run):
    done = run("--cpus", "2", "--", "kettle-ctl", "set", "poll=3", "kernel=1")
    assert done.status == 0 and done.stdout == b"", done.explain()
    done = run("--cpus", "2", "--", "kettle-ctl", "set", "poll=3", "nonsense=1")
    assert done.status == 2 and "make no sense" in (done.stderr + done.stdout.decode()), done.explain()


def test_benchmark_cases_run(run):
    """Every case of the benchmark, a few operations each: to polled, running and sleeping kernels, of all sizes."""
    done = run("--cpus", "2", "--nodes", "2", "--", "msgbench", "--quick")
    assert done.status == 0, done.explain()
    for case in ("round_trip.65536.sleeping", "one_way.4096.running", "handler.48.polled", "multicast.32.2"):
        assert case.encode() in done.stdout, done.explain()


REPORTING = [("core", "first-touch", 50, 5)] + ([("node", "nemo", 200, 75)] if long_run() else [])


@pytest.mark.parametrize("kernels, policy, death, passes", REPORTING)
def test_a_kernel_to_which_many_report_goes_on_to_take_its_timer(run, kernels, policy, death, passes):
    """Sixteen CPUs share the emulator's clock, so a message takes milliseconds, and the others send the next one when one is answered. With two
    CPUs, a kernel waits for shootdowns as well, which come after the other CPU's timer."""
    done = run("--icount", "6", "--seed", "1", "--cpus", "16", "--nodes", "8", "--kernels", kernels, "--append",
               f"poll=0 numa={policy} numaperiod=10 death={death}", "--",
               "numabench", "--json", "--sequence", "cross", "--elements", "4096", "--passes", str(passes), "--repeat", "1")
    assert done.status == 0, done.explain()
    assert "died" not in done.log
