"""The way of a message, read from the machine code of the kernel: no locked instruction, and one fence, the sender's.

A locked instruction is one with a LOCK prefix, or an XCHG with memory, which locks without it. Instances with several CPUs take
locks out of line, in the functions whose names end in _several: these are not on the way in an instance with one CPU.
"""

import re
import subprocess
from pathlib import Path

import pytest

KERNEL = Path(__file__).resolve().parents[3] / "build" / "kettle.elf"
SEND = ["msg_notify", "msg_ask", "msg_call", "msg_reply"]
RECEIVE = ["idle_poll_look", "msg_poll", "msg_poll_ring", "msg_take_reply"]
# what the way does not lead into: other CPUs, sleeping and waking, a full ring, long messages, messages that are not as expected
ASIDE = re.compile(r"_several$|^(panic.*|spin_lock_twice|apic_send|completion_.*|idle_poll_answer|notify_slowly|reply_slowly|"
                   r"msg_queue|msg_unblock|idle_poll_room|notify_of_room|follow_signals|msg_clock_behind|handle_other|msg_receive_unusual|"
                   r"drain_special|inject_.*|add_block_locked|kernel_refused|msg_wait)(\.|$)")
LOCKED = re.compile(r"\block\b|\bxchg\s.*\(|\bcmpxchg|\bxadd")
FENCE = re.compile(r"\bmfence\b")
CALL = re.compile(r"\b(call|jmp)\s+([0-9a-f]+) <([^>]+)>")


@pytest.fixture(scope="module")
def functions() -> dict[str, list[str]]:
    """The instructions of each function of the kernel, by name; of several with one name each but the first as NAME@ADDRESS."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(KERNEL)], capture_output=True, text=True,
                          check=True).stdout
    found: dict[str, list[str]] = {}
    names: dict[int, str] = {}
    name = ""
    for line in text.splitlines():
        start = re.match(r"([0-9a-f]+) <([^>]+)>:", line)
        if start:
            address, name = int(start[1], 16), start[2]
            if name in found:
                name = f"{name}@{start[1]}"
            names[address] = name
            found[name] = []
        elif "\t" in line:
            found[name].append(line.split("\t", 1)[1].split("#")[0].strip())
    return {name: [CALL.sub(lambda call: f"{call[1]} <{names.get(int(call[2], 16), call[3])}>", text) for text in code]
            for name, code in found.items()}


def reached(functions: dict[str, list[str]], roots: list[str]) -> set[str]:
    """The functions of the way: ROOTS and what they call, but for what is aside."""
    found: set[str] = set()
    rest = list(roots)
    while rest:
        name = rest.pop()
        if name in found or ASIDE.search(name.partition("@")[0]):
            continue
        found.add(name)
        for text in functions[name]:
            called = re.search(r"\b(?:call|jmp) <([^>+]+)>", text)
            if called:
                rest.append(called[1])
    return found


def matching(functions: dict[str, list[str]], names: set[str], pattern: re.Pattern) -> list[str]:
    """Where PATTERN occurs in these functions."""
    return [f"{name}: {text}" for name in sorted(names) for text in functions[name] if pattern.search(text)]


@pytest.mark.parametrize("roots", [SEND, RECEIVE], ids=["sending", "receiving"])
def test_no_locked_instruction_on_the_way(functions, roots):
    way = reached(functions, roots)
    assert way >= set(roots)
    assert matching(functions, way, LOCKED) == []


def test_functions_of_one_name_are_told_apart(functions):
    """msg_ask calls a function of its own file, whatever others are called as that is."""
    assert any("@" in name for name in functions)
    assert not reached(functions, ["msg_ask"]) & {"sched_yield", "sched_wait"}


def test_locks_of_several_cpus_are_found(functions):
    """The search finds a locked instruction where there has to be one."""
    assert matching(functions, {"spin_try_several"}, LOCKED)


def test_a_notice_takes_one_fence(functions):
    assert len(matching(functions, {"msg_notify"}, FENCE)) == 1


def test_taking_messages_takes_no_fence(functions):
    assert matching(functions, {"idle_poll_look", "msg_poll", "msg_poll_ring"}, FENCE) == []
