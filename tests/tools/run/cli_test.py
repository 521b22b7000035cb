"""hosttools.cli: what it prints without booting: lists, the version, completion scripts and the command line of a dry run."""

import re
import shlex
import shutil
import subprocess

import pytest

from hosttools import cli
from hosttools.errors import UsageError
from hosttools.machine import boot_options, qemu
from host_command import kettle, make_build, stub_emulators


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return make_build(tmp_path_factory.mktemp("cli"))


@pytest.fixture
def main(build, monkeypatch, capsys):
    """Runs the command in this process; returns what it printed."""
    monkeypatch.setenv("KETTLE_BUILD", str(build))

    def call(*arguments):
        assert cli.main(arguments) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return call


def test_the_lists(build):
    assert kettle(build, "list").stdout == kettle(build, "list", "programs").stdout == b"inside\n"
    lines = kettle(build, "list", "options").stdout.decode().splitlines()
    assert [line.split() for line in lines] == [[row.name, row.fallback, row.choices] for row in boot_options.rows().values()]


def test_a_reader_that_has_enough_of_a_list_is_no_failure(build):
    done = subprocess.run(["bash", "-c", f"'{cli.__file__[:-len('hosttools/cli.py')]}kettle' list options | head -c 1; echo ${{PIPESTATUS[0]}}"],
                          capture_output=True, text=True, check=True)
    assert done.stdout in ("a141\n", "a0\n") and done.stderr == ""


def test_the_version_is_the_commit(build):
    done = kettle(build, "--version")
    assert done.status == 0 and re.fullmatch(r"kettle ([0-9a-f]{40}(-dirty)?|unknown)\n", done.stdout.decode())


def complete(script: str, *words: str) -> list[str]:
    """What bash offers for the last of WORDS."""
    text = f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _shtab_kettle; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return subprocess.run(["bash", "-c", f"{script}\n{text}"], capture_output=True, text=True, check=True).stdout.split()


def test_bash_completes_commands_options_and_values(main):
    script = main("completion", "bash")
    assert complete(script, "kettle", "s") == ["shell", "sweep"]
    assert complete(script, "kettle", "run", "--kern") == ["--kernels"]
    assert complete(script, "kettle", "run", "--accel", "k") == ["kvm"]
    assert complete(script, "kettle", "bench", "m") == ["messages"]


def test_zsh_gets_a_completion_script(main, tmp_path):
    script = main("completion", "zsh")
    assert script.startswith("#compdef kettle\n") and "--kernels" in script
    if shutil.which("zsh"):
        (tmp_path / "_kettle").write_text(script)
        subprocess.run(["zsh", "-n", tmp_path / "_kettle"], check=True)


def test_a_dry_run_prints_the_command_line_and_starts_nothing(build, tmp_path):
    done = kettle(build, "run", "--dry-run", "--cpus", "2", "--append", "trace=on lock=lamport", "--", "inside", PATH=stub_emulators(tmp_path))
    assert done.status == 0 and done.stderr == "" and not (tmp_path / "started").exists()
    words = shlex.split(done.stdout.decode())
    assert words[0] == "qemu-system-x86_64" and words[words.index("-append") + 1] == "kernels=core trace=on lock=lamport"
    assert words[words.index("-kernel") + 1] == str(build / "kettle.elf") and "cpus=2,sockets=1,cores=2,threads=1" in words


@pytest.mark.parametrize("options, works, accel", [
    ("", True, "tcg,thread=multi"), ("--accel tcg", True, "tcg,thread=multi"), ("--accel kvm", True, "kvm"),
    ("--accel auto", True, "kvm"), ("--accel auto", False, "tcg,thread=multi"), ("--accel auto --icount 3", True, "tcg,thread=single"),
    ("--accel auto --tcg single", True, "tcg,thread=single"), ("--accel kvm --seed 1", True, "kvm")])
def test_the_accelerator(main, monkeypatch, options, works, accel):
    monkeypatch.setattr(qemu, "kvm_works", lambda: works)
    words = shlex.split(main("run", "--dry-run", "--cpus", "1", *options.split(), "--", "inside"))
    assert words[words.index("-accel") + 1] == accel and words.count("-accel") == 1
    assert ("-icount" in words) == ("--icount" in options)


def test_kvm_that_does_not_work_is_refused(build, monkeypatch):
    monkeypatch.setenv("KETTLE_BUILD", str(build))
    monkeypatch.setattr(qemu, "kvm_works", lambda: False)
    with pytest.raises(UsageError, match="cannot run a machine with /dev/kvm"):
        cli.run.check(cli.parse(["run", "--accel", "kvm", "inside"]))


@pytest.mark.parametrize("name, status, works", [("missing", 0, False), ("device", 134, False), ("device", 0, True)])
def test_kvm_works_when_qemu_can_use_the_device(monkeypatch, tmp_path, name, status, works):
    """With a QEMU that only ends with STATUS."""
    (tmp_path / "device").write_bytes(b"")
    stub = tmp_path / "qemu"
    stub.write_text(f"#!/bin/sh\ncat >/dev/null\nexit {status}\n")
    stub.chmod(0o755)
    monkeypatch.setattr(qemu, "KVM", str(tmp_path / name))
    monkeypatch.setattr(qemu, "PROGRAM", str(stub))
    assert qemu.kvm_works() == works
