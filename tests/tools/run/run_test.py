"""`tools/kettle run`, end to end on the fake kernel: what it refuses, passes on, tells and returns, and that it always
cleans up behind itself."""

import base64
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from host_command import (KETTLE, LIMIT, PROGRAM, compile_c, environment, kettle, make_build, processes_with, until_it_runs,
                          wait_until)
from hosttools.run.session import DUMP_TIME, PANIC_LIMIT

FLOOD = 1_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def build(folder):
    return make_build(folder)


@pytest.fixture(scope="module")
def program(folder):
    return compile_c(folder / "program", PROGRAM, "-static")


def fake(build, does, *options, program="inside", **how):
    """Runs the fake kernel, which DOES one thing."""
    return kettle(build, "run", "--cpus", "1", "--append-raw", f"fake={does}", *options, "--", program, **how)


def flood(count: int) -> bytes:
    return bytes((i * 7 + i // 256) & 255 for i in range(count))


def test_a_build_that_is_missing_is_told(program, tmp_path):
    done = kettle(tmp_path, "run", "--", program)
    assert done.status == 2 and "run make" in done.stderr


def test_an_emulator_that_is_missing_is_told(build, tmp_path):
    (tmp_path / "bin").mkdir()
    for name in ("dirname", "readlink", "cmp", "cat"):
        (tmp_path / "bin" / name).symlink_to(f"/bin/{name}")
    done = kettle(build, "run", "--", "inside", PATH=str(tmp_path / "bin"))
    assert done.status == 2 and "qemu-system-x86_64 is not installed" in done.stderr


def test_what_the_kernel_says_of_its_options_is_a_warning(build, program):
    done = kettle(build, "run", "--append-raw", "fake=warn", "--", program)
    assert (done.status, done.stdout, done.stderr) == (7, b"", "kettle: warning: fake: warm= is not known\n")
    told = kettle(build, "run", "--json", "--append-raw", "fake=warn", "--", program)
    assert told.stderr == done.stderr and json.loads(told.stdout)["warnings"] == ["fake: warm= is not known"]


@pytest.mark.parametrize("code", [0, 7])
def test_the_death_of_a_kernel_is_a_failure_unless_a_program_asked_for_it(build, code):
    done = fake(build, f"death:{code}")
    assert done.status == 125
    assert "kettle: a kernel died, and no program had asked for it: kernel 1: it does not run\n" in done.stderr
    done = fake(build, f"asked-death:{code}")
    assert (done.status, done.stderr) == (code, "kettle: warning: a kernel died: kernel 1, as a program asked: it was ended\n")


def test_the_death_of_kernel_0_is_one_sentence_and_a_status_of_the_tool(build):
    done = fake(build, "without-first")
    assert (done.status, done.stdout) == (125, b"accepted\n")
    sentence, *report = done.stderr.splitlines()
    assert sentence.startswith("kettle: kernel 0 died (it spins), and the machine with it: only kernel 0 has")
    assert report == ["kernel 0 has died: it spins", "kernel 1 cpu 1 idles"]


@pytest.mark.parametrize("code", [0, 7, 255])
def test_the_status_is_the_programs(build, program, code):
    done = fake(build, f"exit:{code}", program=program)
    assert (done.status, done.stdout, done.stderr) == (code, b"", "")


@pytest.mark.parametrize("number", [9, 11])
def test_a_signal_is_128_and_its_number(build, number):
    assert fake(build, f"signal:{number}").status == 128 + number


def test_output_is_complete_and_byte_for_byte(build):
    done = fake(build, f"flood:{FLOOD}")
    assert done.status == 0
    assert done.stdout == flood(FLOOD)


def test_output_waits_for_a_slow_reader(build):
    command = [str(KETTLE), "run", "--cpus", "1", "--append-raw", "fake=flood:500000", "--", "inside"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment(build)) as process:
        time.sleep(3)
        assert process.stdout.read() == flood(500000)
        assert process.wait() == 0


def test_a_reader_that_goes_away_ends_the_run(build):
    command = f"'{KETTLE}' run --cpus 1 --append-raw fake=flood:9000000 -- inside | head -c 10 >/dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, env=environment(build),
                          timeout=120, check=True)
    assert done.stdout == b"141\n" and done.stderr == b""


def test_input_passes_byte_for_byte_and_its_end_is_told(build):
    text = bytes(range(256)) * 40
    done = fake(build, "echo", "--timeout", "120", stdin=text)
    assert done.status == 0 and done.stdout == text


def test_input_from_a_file(build, tmp_path):
    (tmp_path / "input").write_bytes(b"from a file\n")
    with open(tmp_path / "input", "rb") as file:
        done = subprocess.run([str(KETTLE), "run", "--cpus", "1", "--append-raw", "fake=echo", "--timeout", "120", "--", "inside"],
                              stdin=file, capture_output=True, env=environment(build), check=False)
    assert done.returncode == 0 and done.stdout == b"from a file\n"


def test_no_input_ends_at_once(build):
    done = fake(build, "echo", "--timeout", "120", stdin=None)
    assert (done.status, done.stdout) == (0, b"")


def test_the_end_of_input_does_not_end_the_machine(build):
    assert fake(build, "hang", "--timeout", "3", stdin=b"").status == 124


def test_closed_standard_streams_do_no_harm(build):
    done = subprocess.run(["sh", "-c", f"exec '{KETTLE}' run --cpus 1 --append-raw fake=exit:3 -- inside <&- >&- 2>&-"],
                          env=environment(build), timeout=120, check=False)
    assert done.returncode == 3


def test_a_panic_is_125_and_its_text_on_standard_error(build):
    done = fake(build, "panic", "--timeout", "120")
    assert (done.status, done.stdout) == (125, b"")
    assert done.stderr == "kettle: fake: the invariant that nothing breaks\n"


def test_a_reset_is_125_and_told(build):
    done = fake(build, "reset")
    assert done.status == 125
    assert "stopped by itself" in done.stderr and "[k0 c0 0.000000] boot: fake" in done.stderr


def test_a_reset_while_input_ends_does_not_hang(build):
    """QEMU waits for ever when the two meet, which they do in most of such runs."""
    for _ in range(5):
        done = fake(build, "reset", stdin=None)
        assert done.status == 125


def test_an_emulator_that_refuses_is_125_and_quoted(build):
    (build / "bad").mkdir(exist_ok=True)
    (build / "bad" / "kettle.elf").write_bytes(b"no kernel")
    (build / "bad" / "initramfs.cpio").write_bytes((build / "initramfs.cpio").read_bytes())
    done = fake(build / "bad", "exit:0")
    assert done.status == 125 and "qemu: linux kernel too old" in done.stderr


def test_a_timeout_is_124_with_the_wait_dump(build):
    seconds, done = until_it_runs(lambda limit: fake(build, "hang", "--timeout", str(limit)), lambda done: "fake cpu 0" in done.stderr)
    assert done.status == 124
    assert done.stderr == f"kettle: no end within {seconds} s\nfake cpu 0 runs\nfake nobody waits\n"
    assert done.seconds >= seconds + DUMP_TIME


def test_a_timeout_holds_when_nobody_reads_the_output(build):
    def unread(limit):
        command = [str(KETTLE), "run", "--cpus", "1", "--append-raw", "fake=flood:9000000", "--timeout", str(limit), "--", "inside"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(build),
                              stdin=subprocess.DEVNULL) as process:
            assert process.wait(limit + LIMIT) == 124
            return process.stdout.read()

    _, passed = until_it_runs(unread, lambda passed: passed)
    assert len(passed) >= 1 << 15 and passed == flood(len(passed))


def test_a_timeout_before_the_program_starts_is_124(build):
    assert fake(build, "silent", "--timeout", "2").status == 124


def test_a_machine_that_stays_on_after_the_end_is_ended(build):
    assert fake(build, "linger").status == 0


def test_the_command_line_of_the_kernel(build):
    done = kettle(build, "run", "--cpus", "4", "--kernels", "0-1,2-3", "--seed", "9", "--append-raw", "fake=options x=1",
                  "--append", "boot=manual ring=8", "--", "inside")
    assert done.stdout == b"kernels=0-1,2-3 seed=9 boot=manual ring=8 fake=options x=1"


@pytest.mark.parametrize("schedule, options", [
    ("seed=1", b"inject=seed:1"),
    ("seed=3", b"inject=seed:3 ring=4"),
    ("seed=3,ring=16,rate=50", b"inject=seed:3,rate:50 ring=16"),
    ("seed=4,type=MIGRATE,peer=2,delay=900", b"inject=seed:4,type:MIGRATE,peer:2,delay:900"),
    ("death=0@MIGRATE", b"inject=delay:0,kernel:0,type:MIGRATE,dies:1"),
    ("death=3@FILE_WRITE:17", b"inject=delay:0,kernel:3,type:FILE_WRITE,dies:17"),
])
def test_a_schedule_becomes_options_of_the_kernel(build, schedule, options):
    done = kettle(build, "run", "--cpus", "4", "--inject", schedule, "--append-raw", "fake=options", "--", "inside")
    assert done.stdout == b"kernels=core " + options + b" fake=options"


def archive_line(data: bytes) -> bytes:
    total = 0
    for byte in data:
        total = (total * 31 + byte) & 0xFFFFFFFF
    return b"%d %d\n" % (len(data), total)


@pytest.mark.parametrize("boot", ["kernel", "iso"])
def test_the_guest_gets_the_image_and_what_the_run_adds(build, boot):
    from hosttools.image.image import make_job

    image = (build / "initramfs.cpio").read_bytes()
    job = make_job("inside", ["x", ""], ["A=b"], [], build / "initramfs.cpio")
    done = kettle(build, "run", "--cpus", "1", "--boot", boot, "--append-raw", "fake=archive", "--env", "A=b", "--", "inside",
                  "x", "")
    assert done.stdout == archive_line(image + job.archive())


def test_the_log_goes_to_its_file_and_nowhere_else(build, tmp_path):
    done = fake(build, "exit:0", "--log", tmp_path / "log")
    assert (done.stdout, done.stderr) == (b"", "")
    assert (tmp_path / "log").read_text() == ("[k0 c0 0.000000] boot: fake\n@plan kernels 1\n"
                                              "@plan kernel 0 cpus 0 node 0 memory 1 MiB\n@user\n@exit code 0\n")


def test_verbose_shows_the_log_on_standard_error(build):
    done = fake(build, "exit:0", "-v")
    assert done.stdout == b"" and "@plan kernels 1\n" in done.stderr


def test_json_tells_the_run(build, tmp_path):
    done = fake(build, "signal:11", "--json", "--log", tmp_path / "log")
    told = json.loads(done.stdout)
    assert done.status == told["status"] == 139
    assert (told["kind"], told["signal"], told["stdout"]) == ("signal", 11, "")
    assert told["plan"]["kernels"] == [{"kernel": 0, "cpus": [0], "node": 0, "memory_mib": 1}]
    assert 0 < told["boot_seconds"] <= told["seconds"]
    assert told["command"].startswith("qemu-system-x86_64 -machine q35 ")
    assert [event["kind"] for event in told["events"]] == ["plan", "plan", "user", "exit"]
    assert told["log"] == str(tmp_path / "log")


def test_json_gives_output_that_is_no_text_in_base64(build):
    told = json.loads(fake(build, "flood:1000", "--json").stdout)
    assert told["stdout_encoding"] == "base64" and base64.b64decode(told["stdout"]) == flood(1000)
    told = json.loads(fake(build, "line", "--json", stdin="h\u00e9\n".encode()).stdout)
    assert (told["stdout_encoding"], told["stdout"]) == ("utf-8", "h\u00e9\n")


def test_json_tells_a_panic_too(build):
    done = fake(build, "panic", "--json")
    told = json.loads(done.stdout)
    assert (done.status, told["kind"], told["problem"]) == (125, "machine", "fake: the invariant that nothing breaks")
    assert told["seconds"] - told["events"][-1]["time"] < PANIC_LIMIT, "the machine ends by the end of the panic's text"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_stopped_tool_leaves_no_emulator_behind(build, tmp_path, number):
    word = f"fake=hang stopped-by-{number.value}"
    command = [str(KETTLE), "run", "--cpus", "1", "--append-raw", word, "-v", "--", "inside"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment(build, TMPDIR=str(tmp_path))) as process:
        assert wait_until(lambda: any(line.startswith("qemu") for line in processes_with(word)))
        assert b"@user\n" in iter(process.stderr.readline, b"")
        process.send_signal(number)
        status = process.wait(LIMIT)
    assert status == (-number if number == signal.SIGKILL else 128 + number)
    assert wait_until(lambda: not processes_with(word))


def test_no_files_stay_behind(build, tmp_path):
    for does in ("exit:0", "panic", "reset"):
        fake(build, does, TMPDIR=str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_it_works_from_any_folder_and_through_a_link(build, tmp_path):
    (tmp_path / "k").symlink_to(KETTLE)
    done = subprocess.run(["./k", "run", "--cpus", "1", "--append-raw", "fake=exit:5", "--", "inside"], cwd=tmp_path,
                          stdin=subprocess.DEVNULL, env=environment(build), check=False)
    assert done.returncode == 5


def test_arguments_behind_the_program_are_its_own(build):
    from hosttools.cli import parse

    options = parse(["run", "--cpus", "2", "--", "a", "--cpus", "3", "--", "-v"])
    assert (options.program, options.arguments, options.cpus, options.verbose) == ("a", ["--cpus", "3", "--", "-v"], 2, False)


def test_bochs_boots_the_same_image(build):
    done = fake(build, f"flood:{20000}", "--emulator", "bochs", "--timeout", "300")
    assert done.status == 0 and done.stdout == flood(20000), done.stderr


def test_bochs_passes_input_and_failures(build):
    done = fake(build, "line", "--emulator", "bochs", "--timeout", "300", stdin=b"typed\nmore")
    assert done.status == 0 and done.stdout == b"typed\n", done.stderr
    done = fake(build, "panic", "--emulator", "bochs", "--timeout", "300")
    assert done.status == 125 and done.stderr == "kettle: fake: the invariant that nothing breaks\n"


def test_setup_is_silent_when_nothing_is_missing():
    done = subprocess.run([str(KETTLE.with_name("setup"))], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_host_command_is_clean_python():
    done = subprocess.run([sys.executable, "-m", "pyflakes", str(KETTLE.with_name("hosttools"))], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout
