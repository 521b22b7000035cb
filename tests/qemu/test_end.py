"""The death of kernel 0 ends the machine, whatever it dies of: with one report and a status of its own, and with all that
programs had written to shared folders and to the terminal."""

import re
import subprocess
import time

import pytest

from boots import MACHINES
from conftest import KETTLE, TIMEOUT

RECORD = 8  # bytes, as in test-end
SENTENCE = "kettle: kernel 0 died ("
BY_ITSELF = "it has stopped itself, or was ended"
SILENT = "it runs, and does not take interrupts"
ASKED = "kernel: a program asks for this"
DEATHS = [  # all ways on the machines of two, four and eight kernels, and where kernels have several CPUs
    ("2-kernels", "panic", ASKED), ("2-kernels", "spin", SILENT), ("2-kernels", "now", BY_ITSELF),
    ("4-kernels", "panic", ASKED), ("4-kernels", "halt", SILENT), ("8-kernels", "spin", SILENT),
    ("8-kernels", "now", BY_ITSELF), ("2-nodes-smp", "halt", SILENT), ("2-nodes-smp", "panic", ASKED)]
# A write of another kernel reaches kernel 0 while it has others under way at the host; many have been acknowledged by then.
INJECTED = [("2-kernels", "FILE_WRITE:1000"), ("8-kernels", "FILE_WRITE:3001")]


class End:
    """A machine whose kernel 0 dies. Nobody reads its terminal before the log says so: what it has accepted is in it then."""

    def __init__(self, folder, *arguments):
        self.share = folder / "shared"
        self.share.mkdir()
        log = folder / "log"
        command = [str(KETTLE), "run", "--timeout", str(TIMEOUT), "--log", str(log), "--append", "death=1000", "--share",
                   f"{self.share}:/mnt", *arguments]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            while run.poll() is None and not (log.exists() and b"@panic" in log.read_bytes()):
                time.sleep(0.02)
            out, errors = run.communicate(timeout=TIMEOUT + 60)
        self.status, self.text, self.errors = run.returncode, out.decode(), errors.decode(errors="replace")
        self.log = log.read_text(errors="replace") if log.exists() else ""

    def explain(self) -> str:
        """Everything there is to see."""
        return f"status {self.status}\n--- output\n{self.text[-2000:]}\n--- errors\n{self.errors}\n--- log\n{self.log}"

    def check_report(self, why):
        """One sentence says which kernel, and why; the program's status is not the machine's."""
        assert self.status == 125, self.explain()
        assert self.errors.count(SENTENCE) == 1 and self.errors.startswith(f"{SENTENCE}{why})"), self.explain()
        assert "not ok" not in self.text, self.explain()
        assert self.log.count("@panic-end") == 1, self.explain()

    def check_told(self, kernels, processes):
        """Every kernel but 0 has said what its threads wait for, and all processes are named."""
        for kernel in range(1, kernels):
            assert re.search(rf"^@wait kernel {kernel} cpu", self.log, re.M), self.explain()
        assert "has not halted" not in self.log, self.explain()
        assert len(re.findall(r"process \d+ \(test-end\) is lost", self.log)) == processes, self.explain()

    def check_records(self):
        """The files have all records that were acknowledged, as the last lines about it say, and nothing else."""
        said = {}
        for kernel, number in re.findall(r"^acknowledged (\d+) (\d+)\r?\n", self.text, re.M):  # the last one may be cut
            said[int(kernel)] = int(number)
        assert said, self.explain()
        for kernel, number in said.items():
            data = (self.share / f"kernel-{kernel}").read_bytes()
            count = len(data) // RECORD
            assert count >= number >= 20, (kernel, count, number, self.explain())
            assert data == b"".join(b"%07d\n" % n for n in range(1, count + 1)), self.explain()
        assert (self.share / "mapped").read_bytes() == b"kept"

    def check_terminal(self):
        """All that the terminal had accepted has come, once."""
        accepted = int((self.share / "accepted").read_text())
        assert "from the last kernel\n" in self.text, self.explain()
        lines = "".join(f"{n:07}\n" for n in range(accepted // RECORD + 1))[:accepted]
        filled = self.text[self.text.rindex("acknowledged"):].partition("\n")[2]
        assert filled == lines, (accepted, len(filled), self.explain())


@pytest.mark.parametrize("machine, how, why", DEATHS)
def test_what_was_acknowledged_outlives_kernel_0(tmp_path, machine, how, why):
    arguments = MACHINES[machine]
    end = End(tmp_path, *arguments, "--", "test-end", "/mnt", how)
    end.check_report(why)
    end.check_records()
    end.check_terminal()
    kernels = {"2-kernels": 2, "4-kernels": 4, "8-kernels": 8, "2-nodes-smp": 2}[machine]
    if how in ("spin", "halt"):  # the first process, and a writer for each kernel
        end.check_told(kernels, 1 + kernels)
    elif how == "now":
        end.check_told(kernels, 0)  # the CPUs of kernel 0 had halted before, and all are at home there


@pytest.mark.parametrize("machine, state", INJECTED)
def test_what_was_acknowledged_outlives_kernel_0_at_a_message(tmp_path, machine, state):
    """The host names the message at which kernel 0 dies: no program takes part."""
    end = End(tmp_path, *MACHINES[machine], "--inject", f"death=0@{state}", "--", "test-end", "/mnt", "wait")
    end.check_report(BY_ITSELF)
    end.check_records()


def test_the_next_kernel_takes_the_place_of_a_deputy_that_hangs(tmp_path):
    """Kernel 1 hangs, and before kernel 0 has noticed it, kernel 0 does: kernel 2 ends the machine. By instructions, of which
    there are few between the two, so that no load of the host has kernel 0 notice it."""
    end = End(tmp_path, *MACHINES["4-kernels"], "--icount", "0", "--", "test-end", "/mnt", "both")
    end.check_report(SILENT)
    end.check_records()
    end.check_terminal()
    assert re.search(r"^@wait kernel 2 cpu 2 .* end_without_first", end.log, re.M), end.explain()
    assert re.search(r"^@wait kernel 1 cpu 1 .* in die", end.log, re.M), end.explain()


def test_a_machine_of_one_kernel_ends_by_its_panic_alone(tmp_path):
    end = End(tmp_path, *MACHINES["1-kernel"], "--", "test-end", "/mnt", "panic")
    end.check_report(ASKED)
    end.check_records()
    end.check_terminal()
    (tmp_path / "silent").mkdir()
    end = End(tmp_path / "silent", *MACHINES["1-kernel"], "--", "kettle-ctl", "kill", "0", "spin")
    assert end.status == 1 and "Resource busy" in end.text, end.explain()


def test_survivors_notice_in_a_bounded_time(tmp_path):
    """By instructions: kernel 0 is suspected after T, here 1000 ms, and dead when it has answered for another T, and three looks,
    without a beat. Kernel 1 says then for how long it has been silent since it was suspected; the others do so when kernel 0 has
    written what its terminal has, which waits for whoever reads it here."""
    end = End(tmp_path, *MACHINES["4-kernels"], "--icount", "2", "--seed", "1", "--", "test-end", "/mnt", "halt")
    end.check_report(SILENT)
    end.check_records()
    silent = re.findall(r"^@wait kernel 1 suspects kernel 0: no beat for (\d+) ms", end.log, re.M)
    assert len(silent) == 1 and int(silent[0]) <= 1000 + 3 * 125 + 125, end.explain()
