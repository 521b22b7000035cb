"""hosttools.run.events: what the lines of the log channel mean, however they arrive."""

import pytest

from hosttools.run.events import LINE_MAX, EventLog, Exit, Lines, parse_exit


def read(*lines: str) -> EventLog:
    log = EventLog(lambda event: None)
    for number, line in enumerate(lines):
        log.take(line, float(number))
    return log


def test_a_run_is_told_by_its_events():
    log = read("[k0 c0 0.1] boot: hello", "@plan kernels 2", "@plan kernel 0 cpus 0", "@user", "@exit code 7")
    assert log.plan == ["kernels 2", "kernel 0 cpus 0"]
    assert log.user_time == 3.0
    assert log.exit == Exit(code=7)
    assert [event.kind for event in log.events] == ["plan", "plan", "user", "exit"]
    assert not log.panicked


def test_each_event_is_announced_after_it_was_taken_in():
    seen = []
    log = EventLog(lambda event: seen.append((event.kind, log.exit)))
    log.take("@exit signal 11", 1.0)
    assert seen == [("exit", Exit(signal=11))]


def test_the_first_user_and_exit_events_count():
    log = read("@user", "@user", "@exit code 1", "@exit code 2")
    assert (log.user_time, log.exit) == (0.0, Exit(code=1))


def test_panic_text_is_what_lies_between_its_marks():
    log = read("before", "@panic", "panic: mm: frame freed twice", "  at somewhere", "@panic-end", "after")
    assert log.panicked
    assert log.panic == ["panic: mm: frame freed twice", "  at somewhere"]


def test_a_panic_that_never_ends_keeps_its_text():
    log = read("@panic", "panic: one")
    assert log.panicked and log.panic == ["panic: one"]


@pytest.mark.parametrize("lines, why", [
    (["@panic kernel 0 has died: it spins", "[k0 c0 0.1] kernel: was in", "@wait kernel 1 cpu 1 idles", "@panic-end"], "it spins"),
    (["@panic kernel 0 has died, as a program asked: it was ended"], "it was ended"),
    (["@panic", "panic on kernel 0 cpu 3: tasks: odd", "    1 panic+0x1", "@panic-end"], "tasks: odd"),
    (["@panic", "panic on kernel 1 cpu 3: tasks: odd", "@panic-end"], None),
    (["@died kernel 1: it spins", "kernel 0 has died: not in a panic"], None)])
def test_the_death_of_kernel_0_is_told_from_other_ends_of_the_machine(lines, why):
    assert read(*lines).end_of_first() == why


def test_what_is_said_of_options_is_kept_in_order():
    assert read("@option msg: poll= is odd", "noise", "@option mm: lock= too").warnings == [
        "msg: poll= is odd", "mm: lock= too"]


@pytest.mark.parametrize("lines, unasked", [
    (["@died kernel 1, as a program asked: it was ended"], []),
    (["@died panic on kernel 1 cpu 1: asked", "@died kernel 1, as a program asked: it has stopped itself"], []),
    (["@died kernel 1: one of its CPUs does not run"], ["kernel 1: one of its CPUs does not run"]),
    (["@died panic on kernel 2 cpu 3: why", "@died kernel 2: it has stopped itself"], ["panic on kernel 2 cpu 3: why"]),
    (["@died panic on kernel 2 cpu 3: why"], ["panic on kernel 2 cpu 3: why"]),  # the machine has ended before the fence
    (["@died kernel 1, as a program asked: ended", "@died panic on kernel 1 cpu 1: later"], ["panic on kernel 1 cpu 1: later"]),
    (["@died in some other words"], ["in some other words"])])
def test_a_death_that_no_program_asked_for_is_told_from_the_others(lines, unasked):
    log = read(*lines)
    assert log.unasked_deaths() == unasked
    assert log.warnings == [line.replace("@died", "a kernel died:") for line in lines]


def test_the_wait_dump_is_kept_in_order():
    assert read("@wait cpu 0 runs", "noise", "@wait cpu 1 idles").waits == ["cpu 0 runs", "cpu 1 idles"]


@pytest.mark.parametrize("line", ["x @user", " @user", "@users", "@userx", "@", "@@user", "@Exit code 1", "user"])
def test_other_lines_are_no_events(line):
    assert read(line).events == []


@pytest.mark.parametrize("text, end", [
    ("code 0", Exit(code=0)), ("code 255", Exit(code=255)), ("code 256", Exit(code=0)), ("signal 9", Exit(signal=9)),
    ("code", None), ("code -1", None), ("code x", None), ("signal 9 x", None), ("", None), ("code 99999999999", None)])
def test_ends(text, end):
    assert parse_exit(text) == end


def test_lines_are_found_however_the_bytes_come():
    whole = b"one\r\ntwo\n\nthr\xc3\xa9e\nrest"
    for size in range(1, len(whole) + 1):
        found = []
        lines = Lines(found.append)
        for first in range(0, len(whole), size):
            lines.feed(whole[first:first + size])
        assert found == ["one", "two", "", "thr\u00e9e"]
        lines.finish()
        assert found[-1] == "rest"
        lines.finish()
        assert len(found) == 5


def test_bytes_that_are_no_text_do_no_harm():
    found = []
    Lines(found.append).feed(b"\xff\xfe\n")
    assert found == ["\ufffd\ufffd"]


def test_an_endless_line_is_cut():
    found = []
    lines = Lines(found.append)
    for _ in range(100):
        lines.feed(b"x" * 10000)
    lines.feed(b"\nnext\n")
    assert [len(line) for line in found] == [LINE_MAX, 4]
