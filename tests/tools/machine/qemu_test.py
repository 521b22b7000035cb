"""hosttools.machine.qemu and hosttools.machine.linux: the command line that a machine becomes."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from host_command import LIMIT
from hosttools.machine import linux, streams
from hosttools.machine.qemu import PROGRAM, Boot, Pace, QemuMachine, topology_arguments
from hosttools.machine.topology import make_topology


def pairs(arguments: list[str]) -> list[tuple[str, str]]:
    return list(zip(arguments[::2], arguments[1::2]))


def test_a_machine_of_nodes():
    arguments = pairs(topology_arguments(make_topology(4, 2, "8M,16M", "10,30/20,10")))
    assert ("-smp", "cpus=4,sockets=2,cores=2,threads=1") in arguments
    assert ("-m", f"{24 << 20}B") in arguments
    assert ("-object", f"memory-backend-ram,id=node1,size={16 << 20}") in arguments
    assert [value for name, value in arguments if name == "-numa"] == [
        "node,nodeid=0,memdev=node0,cpus=0-1", "node,nodeid=1,memdev=node1,cpus=2-3",
        "dist,src=0,dst=0,val=10", "dist,src=0,dst=1,val=30", "dist,src=1,dst=0,val=20", "dist,src=1,dst=1,val=10"]


def test_memory_may_be_there_before_the_machine_starts(tmp_path):
    topology = make_topology(2, 2, None, None)
    usual, early = (QemuMachine(tmp_path, topology, Pace(prealloc=prealloc), Boot(Path("k"))).command for prealloc in (False, True))
    assert not any("prealloc" in word for word in usual)
    assert [word for word in early if word not in usual] == [f"{word},prealloc=on" for word in usual if word.startswith("memory-backend-ram")]


def test_no_socket_spans_nodes():
    assert pairs(topology_arguments(make_topology(3, 2, None, None)))[0] == ("-smp", "cpus=3,sockets=3,cores=1,threads=1")


def test_a_node_without_cpus_has_none():
    values = [value for name, value in pairs(topology_arguments(make_topology(1, 2, None, None))) if name == "-numa"]
    assert values == ["node,nodeid=0,memdev=node0,cpus=0-0", "node,nodeid=1,memdev=node1"]


@pytest.mark.parametrize("cpus, nodes, mem, dist", [
    (1, 1, "24M", None), (2, 8, None, "21"), (7, 3, "333M", None), (64, 8, None, "254"), (255, 1, None, None),
    (3, 2, "20484K,20484K", None)])
def test_qemu_takes_every_machine(cpus, nodes, mem, dist):
    """QEMU sets it up and then is told to quit."""
    command = [PROGRAM, "-machine", "q35", *topology_arguments(make_topology(cpus, nodes, mem, dist)), *Pace().arguments(),
               "-display", "none", "-nodefaults", "-S", "-monitor", "stdio"]
    done = subprocess.run(command, input="info numa\nquit\n", capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{nodes} nodes" in done.stdout


def test_the_pace():
    assert Pace().arguments() == ["-accel", "tcg,thread=multi"]
    assert Pace("single", 6, turn=500).arguments()[-1] == "filter-buffer,id=each,netdev=turns,interval=500"
    assert Pace("single", 3, 5).arguments() == ["-accel", "tcg,thread=single", "-icount", "shift=3,sleep=off",
                                                "-seed", "5", "-rtc", "base=2024-01-01T00:00:00,clock=vm"]


def test_every_machine_has_the_same_channels(tmp_path):
    topology = make_topology(1, 1, None, None)
    command = " ".join(QemuMachine(tmp_path, topology, Pace(), Boot(Path("k"), Path("i"), "a b")).command)
    for part in ("-machine q35", "-cpu max,-erms,-fsrm", "-display none -nodefaults -no-reboot", "-serial chardev:com1",
                 "isa-debugcon,iobase=0xe9", "isa-debug-exit,iobase=0xf4,iosize=0x04", "-kernel k -append a b -initrd i"):
        assert part in command


def test_linux_gets_input_no_faster_than_it_reads(tmp_path):
    """A Linux terminal drops what its reader does not fetch in time."""
    async def send() -> list[bytes]:
        machine = linux.LinuxMachine(tmp_path, make_topology(1, 1, None, None), Pace(), Boot(Path("k"), Path("i")))
        line, machine.terminal_in = os.pipe()
        control, machine._control_line = os.pipe()
        sending = asyncio.create_task(machine.send_input(bytes(7000)))
        seen = []
        for _ in range(3):
            while min(streams.pending(line), streams.pending(control)) == 0:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)  # in which more could come
            seen.append((len(os.read(line, 10000)), os.read(control, 100)))
            assert not sending.done()
            machine.input_was_read(1)  # of an earlier piece
            machine.input_was_read(int(seen[-1][1]))
        await sending
        machine.close()
        os.close(line)
        os.close(control)
        return seen

    assert asyncio.run(send()) == [(3072, b"3072\n"), (3072, b"6144\n"), (856, b"7000\n")]


def test_linux_options_end_with_the_users():
    assert linux.command_line(False, ["quiet", "x=1"]).endswith("rdinit=/init quiet x=1")
    assert "nokaslr" not in linux.command_line(False, [])
    assert "nokaslr" in linux.command_line(True, [])
