"""tools/plugin/preempt and hosttools.machine.preempt: what the plugin refuses, what it is told, and what `kettle run` tells of it.
What it does to a machine is in tests/qemu/test_preempt.py; which options go with it, in bad_commands_test.py."""

import json
import os
import signal
import subprocess
from pathlib import Path

import jsonschema
import pytest

from host_command import KETTLE, LIMIT, compile_c, kettle, make_build, wait_until
from hosttools.machine import preempt, qemu

ROOT = KETTLE.parents[1]
SCHEMA = json.loads((ROOT / "docs" / "run.schema.json").read_text())
INSTALL = r"""
#include <dlfcn.h>
#include <stdlib.h>
#include "tools/plugin/qemu_api.h"

/* An emulator of plugin API version VERSION: tries to install the plugin. */
int main(int argc, char **argv)
{
    char out[] = "out=/dev/null", *arguments[] = {out};
    qemu_info_t info = {.target_name = "x86_64", .version = {atoi(argv[2]), atoi(argv[2])}, .system_emulation = argc == 3};
    int (*install)(qemu_plugin_id_t, const qemu_info_t *, int, char **) = dlsym(dlopen(argv[1], RTLD_LAZY), "qemu_plugin_install");
    return install(1, &info, 1, arguments) != 0;
}
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_tb_trans_cb_t callback) { }
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_exit_cb_t callback, void *data) { }
#ifdef KICKS
void qemu_cpu_kick(void *cpu) { }
void *qemu_get_cpu(int index) { return NULL; }
#endif
"""


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """A build folder with the fake kernel and the plugin, built by the project's own rule."""
    made = make_build(tmp_path_factory.mktemp("preempt"))
    subprocess.run(["make", "-s", "-C", str(ROOT), f"BUILD={made}", str(made / preempt.PLUGIN)], check=True)
    return made


@pytest.mark.parametrize("words, expected", [
    ("0", preempt.Preemption(0, 100, "block")), ("7,by=block", preempt.Preemption(7, 100, "block")),
    ("18446744073709551615,by=instruction,rate=1000000", preempt.Preemption(2 ** 64 - 1, 1000000, "instruction"))])
def test_words(words, expected):
    assert preempt.parse(words) == expected


def test_arguments_of_the_emulator():
    assert preempt.parse("7,rate=5").arguments(Path("a,b.so"), Path("/c")) == (
        "-plugin", "file=a,,b.so,out=/c/preempt.json,seed=7,rate=5")
    assert preempt.parse("7,by=instruction").arguments(Path("p.so"), Path("/c")) == (
        "-singlestep", "-plugin", "file=p.so,out=/c/preempt.json,seed=7,rate=100")


@pytest.mark.parametrize("arguments, word", [
    ("", "out=FILE is missing"), ("out=/missing/file", "cannot write /missing/file"), ("out=", "bad argument"),
    ("out=/dev/null,seed=-1", "bad argument 'seed=-1'"), ("out=/dev/null,seed=18446744073709551616", "bad argument"),
    ("out=/dev/null,rate=0", "bad argument 'rate=0'"), ("out=/dev/null,rate=1000001", "bad argument"),
    ("out=/dev/null,rate=5x", "bad argument 'rate=5x'"), ("out=/dev/null,what=1", "bad argument 'what=1'")])
def test_bad_arguments_are_refused(build, arguments, word):
    done = subprocess.run([qemu.PROGRAM, "-M", "none", "-display", "none", "-plugin",
                           ",".join(filter(None, (f"file={build / preempt.PLUGIN}", arguments)))],
                          capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode != 0 and "preempt.so: " in done.stderr and word in done.stderr


@pytest.mark.parametrize("flags, arguments, word", [
    (["-DKICKS"], ["1"], ""), ([], ["1"], "does not export qemu_cpu_kick"), (["-DKICKS"], ["2"], "plugin API version 1"),
    (["-DKICKS"], ["1", "user"], "system emulation only")])
def test_an_emulator_it_was_not_made_for_is_refused(build, tmp_path, flags, arguments, word):
    emulator = compile_c(tmp_path / "install", INSTALL, "-I", str(ROOT), "-rdynamic", *flags, compiler="gcc")
    done = subprocess.run([str(emulator), str(build / preempt.PLUGIN), *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode != 0, word in done.stderr, done.stderr.count("\n")) == (bool(word), True, bool(word)), done


def test_what_is_told_has_the_form(build):
    """The fake kernel is in the lower half: no turn ends in it."""
    done = kettle(build, "run", "--cpus", "1", "--append-raw", "fake=exit:3", "--preempt", "7,rate=5", "--json", "--", "inside")
    found = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    assert done.status == 3 and "thread=single" in found["command"]
    assert found["preempt"] == {"seed": 7, "rate": 5, "by": "block", "blocks": 0, "ended": 0, "passed_on": 0}


def test_without_it_nothing_is_told(build):
    done = kettle(build, "run", "--cpus", "1", "--append-raw", "fake=exit:0", "--json", "--", "inside")
    assert "preempt" not in json.loads(done.stdout) and "-plugin" not in json.loads(done.stdout)["command"]


def test_a_killed_emulator_leaves_no_report(build, tmp_path):
    command = [str(KETTLE), "run", "--cpus", "1", "--append-raw", "fake=hang", "-v", "--preempt", "7", "--json", "inside"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "KETTLE_BUILD": str(build), "TMPDIR": str(tmp_path)}) as process:
        assert b"@user\n" in iter(process.stderr.readline, b"")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        assert wait_until(lambda: children.read_text().split())
        for child in children.read_text().split():
            os.kill(int(child), signal.SIGKILL)
        out, errors = process.communicate(timeout=LIMIT)
    found = json.loads(out)
    jsonschema.validate(found, SCHEMA)
    assert found["preempt"] is None and b"kettle: --preempt: no report: " in errors
