"""tools/plugin and hosttools.measure.count: what the counting plugin refuses, what it counts of a guest without a kernel, that
it writes at every way a machine ends, and what tools/kettle makes of it."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from host_command import KETTLE, LIMIT, compile_c, kettle, make_build, wait_until
from hosttools.image import elf
from hosttools.machine import qemu
from hosttools.measure import count

ROOT = KETTLE.parents[1]
INSTALL = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/plugin/qemu_api.h"

/* An emulator of plugin API versions MIN to CUR for TARGET: tries to install the plugin. */
int main(int argc, char **argv)
{
    char out[] = "out=/dev/null", *arguments[] = {out};
    qemu_info_t info = {.target_name = argv[4], .version = {atoi(argv[2]), atoi(argv[3])}};
    void *plugin = dlopen(argv[1], RTLD_LAZY);
    int (*install)(qemu_plugin_id_t, const qemu_info_t *, int, char **) = dlsym(plugin, "qemu_plugin_install");
    printf("%d", *(int *)dlsym(plugin, "qemu_plugin_version"));
    info.system_emulation = argc == 5;
    info.system.max_vcpus = 1;
    return install(1, &info, 1, arguments) != 0;
}
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_tb_trans_cb_t callback) { }
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_exit_cb_t callback, void *data) { }
"""
GUEST = r"""
    .macro begin region
    .byte 0x0f, 0x1f, 0x84, 0x00, \region, 1, 0x54, 0x4b
    .endm
    .macro end region
    .byte 0x0f, 0x1f, 0x84, 0x00, \region, 2, 0x54, 0x4b
    .endm
    .balign 4
    .long 0x1badb002, 0, -0x1badb002
    .globl start
start:
    begin 1
    end 1

    begin 2
    mov $1000, %ecx
1:  dec %ecx
    jnz 1b
    end 2

    mov $10, %ecx               # entered again and again
2:  begin 3
    nop
    end 3
    loop 2b

    begin 4                     # overlapping: 4 has begin 5 and a nop, 5 has a nop, end 4 and a nop
    begin 5
    nop
    end 4
    nop
    end 5

    begin 6                     # begun twice, ended three times
    nop
    begin 6
    nop
    end 6
    end 6
    nop
    end 6

    begin 8                     # nearly markers: nothing begins or ends
    .byte 0x0f, 0x1f, 0x84, 0x00, 9, 3, 0x54, 0x4b
    .byte 0x0f, 0x1f, 0x84, 0x00, 8, 2, 0x54, 0x4a
    .byte 0x0f, 0x1f, 0x80, 8, 2, 0x54, 0x4b
    end 8

    begin 10                    # a device access in the middle of a block
    jmp 4f
4:  inc %ecx
    mov 0xfee00020, %eax
    inc %ecx
    jmp 5f
5:  end 10

    begin 11                    # a string instruction counts once an iteration, and once to find that none is left
    mov $100, %ecx
    mov $0x300000, %edi
    rep stosl
    end 11

    begin 255
    mov $0xe9, %dx
    mov $'!', %al
    out %al, %dx
    mov $0xf4, %dx
    LAST
3:  pause
    jmp 3b
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("plugin")


@pytest.fixture(scope="module")
def plugin(folder):
    """The plugin, built by the project's own rule."""
    target = folder / "plugin" / "count.so"
    subprocess.run(["make", "-s", "-C", str(ROOT), f"BUILD={folder}", str(target)], check=True)
    return target


@pytest.fixture(scope="module")
def guest(folder):
    """Makes a guest that ends with LAST."""

    def make(name, last):
        path = folder / name
        subprocess.run(["gcc", "-m32", "-x", "assembler", "-", "-nostdlib", "-static", "-o", str(path),
                        "-Wl,-Ttext=0x200000,--build-id=none,-e,start,-z,noexecstack"],
                       input=GUEST.replace("LAST", last).encode(), check=True)
        return path

    return make


def command(plugin, kernel, out, *more):
    return [qemu.PROGRAM, "-display", "none", "-nodefaults", "-kernel", str(kernel),
            "-plugin", f"file={plugin},out={out}", "-device", "isa-debug-exit,iobase=0xf4,iosize=0x04", *more]


@pytest.fixture(scope="module", params=[
    ("-icount", "0"), ("-accel", "tcg,thread=single"), ("-accel", "tcg,thread=multi")],
    ids=["icount", "single", "multi"])
def counted(request, plugin, guest, folder):
    """The regions of a guest that runs to its end, by number."""
    out = folder / "ended.json"
    done = subprocess.run(command(plugin, guest("ends", "out %al, %dx"), out, *request.param), timeout=LIMIT, check=False)
    assert done.returncode == 2 * ord("!") + 1
    return {region["region"]: region for region in json.loads(out.read_text())["counts"]}


def users(region) -> int:
    assert len(region["cpus"]) == 1 and region["cpus"][0]["kernel"] == region["cpus"][0]["idle"] == 0
    return region["cpus"][0]["user"]


@pytest.mark.parametrize("region, instructions", [
    (1, 0), (2, 2001), (3, 10), (4, 2), (5, 3), (8, 3), (10, 5), (11, 103)])
def test_a_region_has_exactly_the_instructions_between_its_markers(counted, region, instructions):
    assert users(counted[region]) == instructions
    assert (counted[region]["errors"], counted[region]["open"]) == (0, False)


def test_entries_are_counted(counted):
    assert {number: region["entries"] for number, region in counted.items()} == {
        1: 1, 2: 1, 3: 10, 4: 1, 5: 1, 6: 1, 8: 1, 10: 1, 11: 1, 255: 1}


BUSIEST = r"""
#include "tools/plugin/region.c"

/* Three phases of two CPUs; the idle loop is none of either's work. */
int main(void)
{
    static const int executed[3][2][COLUMN_COUNT] = {{{5, 0, 90}, {2, 2, 0}}, {{1, 1, 0}, {3, 4, 0}}, {{0, 0, 9}, {0, 0, 0}}};

    if (!region_setup(2, COLUMN_COUNT))
        return 1;
    for (int phase = 0; phase < 3; phase++) {
        region_begin(3);
        for (int i = 0; i < 2 * COLUMN_COUNT; i++)
            for (int k = 0; k < executed[phase][i / COLUMN_COUNT][i % COLUMN_COUNT]; k++)
                region_count(i / COLUMN_COUNT, i % COLUMN_COUNT);
        region_end(3);
        region_count(0, COLUMN_USER);
    }
    region_write(stdout);
}
"""


def test_the_critical_path_is_what_the_busiest_executed_each_time(folder):
    program = compile_c(folder / "busiest", BUSIEST, "-I", str(ROOT), "-pthread", compiler="gcc")
    told = subprocess.run([str(program)], capture_output=True, check=True).stdout
    assert json.loads(told)[0]["critical"] == 5 + 7 + 0


def test_of_one_cpu_the_critical_path_is_all(counted):
    assert {number: counted[number]["critical"] for number in (2, 3, 11)} == {2: 2001, 3: 10, 11: 103}


def test_markers_out_of_place_change_nothing_and_are_reported(counted):
    assert (users(counted[6]), counted[6]["errors"], counted[6]["open"]) == (3, 3, False)


def test_a_region_that_is_open_at_the_end_has_all_until_then(counted):
    assert (users(counted[255]), counted[255]["errors"], counted[255]["open"]) == (5, 0, True)


@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "quit", "guest"])
@pytest.mark.parametrize("threads", ["single", "multi"])
def test_counts_are_written_however_the_machine_ends(plugin, guest, tmp_path, how, threads):
    out = tmp_path / "counts.json"
    kernel = guest("ends", "out %al, %dx") if how == "guest" else guest("stays", "nop")
    reader, writer = os.pipe()
    with subprocess.Popen([*command(plugin, kernel, out), "-accel", f"tcg,thread={threads}", "-debugcon",
                           f"file:/dev/fd/{writer}", "-qmp", "stdio"], pass_fds=(writer,), stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as machine:
        os.close(writer)
        assert os.read(reader, 1) == b"!"
        os.close(reader)
        if how == "quit":
            machine.communicate(b'{"execute": "qmp_capabilities"}\n{"execute": "quit"}\n')
        elif how != "guest":
            machine.send_signal(signal.Signals[how])
        machine.wait(20)
    counts = json.loads(out.read_text())["counts"]
    assert [users(region) for region in counts if region["region"] == 2] == [2001]
    last = counts[-1]
    assert last["region"] == 255 and (users(last) == 5 if how == "guest" else users(last) >= 5)


@pytest.mark.parametrize("arguments, word", [
    ("", "out=FILE is missing"), ("out=/missing/file", "cannot write /missing/file"), ("out=", "bad argument"),
    ("out=/dev/null,what=1", "bad argument 'what=1'"), ("out=/dev/null,idle=5", "bad argument 'idle=5'"),
    ("out=/dev/null,idle=ffffffff80000002-ffffffff80000001", "bad argument"),
    ("out=/dev/null,idle=1-2", "bad argument"),
    ("out=/dev/null,idle=ffffffff80000000-fffffffff80000001x", "bad argument")])
def test_bad_arguments_are_refused(plugin, arguments, word):
    done = subprocess.run([qemu.PROGRAM, "-M", "none", "-display", "none", "-plugin",
                           ",".join(filter(None, (f"file={plugin}", arguments)))],
                          capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode != 0 and "count.so: " in done.stderr and word in done.stderr


@pytest.mark.parametrize("arguments, word", [
    ("0 1 x86_64", ""), ("1 3 x86_64", ""),
    ("2 3 x86_64", "plugin API version 1"), ("0 0 x86_64", "plugin API version 1"),
    ("0 1 aarch64", "not for aarch64"), ("0 1 x86_64 user", "system emulation only")])
def test_an_emulator_it_was_not_made_for_is_refused(plugin, folder, arguments, word):
    emulator = compile_c(folder / "install", INSTALL, "-I", str(ROOT), "-rdynamic", compiler="gcc")
    done = subprocess.run([str(emulator), str(plugin), *arguments.split()], capture_output=True, text=True, check=False)
    assert done.stdout == "1", "the API version that it asks for"
    assert (done.returncode != 0, word in done.stderr) == (bool(word), True), done
    assert done.stderr.count("\n") == bool(word)


@pytest.fixture(scope="module")
def build(folder, plugin):
    """A build folder with the fake kernel and the plugin."""
    made = make_build(folder)
    (made / "plugin").symlink_to(plugin.parent)
    return made


@pytest.mark.parametrize("options, word", [
    ("--count --emulator bochs", "--emulator bochs"), ("--profile x --emulator bochs", "--emulator bochs"),
    ("--profile /missing/file", "no such folder")])
def test_what_cannot_be_counted_is_refused(build, options, word):
    done = kettle(build, "run", "--cpus", "1", *options.split(), "--", "inside")
    assert (done.status, done.stderr.count("\n"), word in done.stderr) == (2, 1, True), done.stderr


def test_a_plugin_that_is_missing_is_told(tmp_path):
    done = kettle(make_build(tmp_path), "run", "--count", "--", "inside")
    assert done.status == 2 and "count.so is missing: run make first" in done.stderr


@pytest.mark.parametrize("does, status", [("exit:3", 3), ("panic", 125)])
def test_a_program_without_markers_is_told(build, does, status):
    done = kettle(build, "run", "--cpus", "1", "--append-raw", f"fake={does}", "--count", "--json", "--", "inside")
    assert done.status == status and json.loads(done.stdout)["counts"] == []
    assert "kettle: nothing was counted: the program passed no marker\n" in done.stderr


def test_without_count_nothing_of_it_is_told(build):
    done = kettle(build, "run", "--cpus", "1", "--append-raw", "fake=exit:0", "--json", "--", "inside")
    assert "counts" not in json.loads(done.stdout) and "-plugin" not in json.loads(done.stdout)["command"]


def test_a_killed_emulator_leaves_no_counts(build, tmp_path):
    command_line = [str(KETTLE), "run", "--cpus", "1", "--append-raw", "fake=hang", "-v", "--count", "--json", "inside"]
    with subprocess.Popen(command_line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "KETTLE_BUILD": str(build), "TMPDIR": str(tmp_path)}) as process:
        assert b"@user\n" in iter(process.stderr.readline, b"")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        assert wait_until(lambda: children.read_text().split())
        for child in children.read_text().split():
            os.kill(int(child), signal.SIGKILL)
        out, errors = process.communicate(timeout=LIMIT)
    assert json.loads(out)["counts"] is None and b"kettle: no counts: " in errors


def test_the_functions_of_an_executable(tmp_path):
    text = """
    __asm__(".text\\n label: nop\\n .type after, @function\\n after: nop\\n .size after, 1\\n");
    int data = 1;
    __attribute__((noinline)) static int idle_poll(int x) { return x * data; }
    void _start(void) { data = idle_poll(data); for (;;) { } }
    """
    path = compile_c(tmp_path / "program", text, "-O1", "-nostdlib", "-static", compiler="gcc")
    functions = {function.name: function for function in elf.functions(path)}
    assert {"idle_poll", "_start", "label", "after"} <= functions.keys() and "data" not in functions
    assert functions["label"].end == functions["after"].start == functions["after"].end - 1
    low = functions["idle_poll"].start
    listing = subprocess.run(["nm", "-S", str(path)], capture_output=True, text=True, check=True).stdout
    assert f"{low:016x} {functions['idle_poll'].end - low:016x} t idle_poll" in listing
    assert count.arguments(path, tmp_path, path, True) == (
        "-plugin", f"file={path},out={tmp_path}/counts.json,idle={low:x}-{functions['idle_poll'].end:x},profile=on")
    assert count.arguments(Path("a,b.so"), Path("/c"), None, False) == ("-plugin", "file=a,,b.so,out=/c/counts.json")
    assert count.by_function([(low, 2), (low + 1, 5), (functions["after"].start, 4), (0, 1)], elf.functions(path)) == [
        ("idle_poll", 7), ("after", 4), ("?", 1)]


def test_the_table():
    cpus = [{"cpu": 0, "user": 10, "kernel": 2000, "idle": 0}, {"cpu": 1, "user": 0, "kernel": 0, "idle": 0},
            {"cpu": 2, "user": 1, "kernel": 2, "idle": 30}]
    regions = [{"region": 7, "entries": 12, "errors": 0, "open": False, "cpus": cpus},
               {"region": 8, "entries": 1, "errors": 2, "open": True, "cpus": cpus[1:]}]
    assert count.table(regions) == """\
region  entries  cpu  user  kernel  idle
     7       12    0    10    2000     0
     7       12    2     1       2    30
     7       12  all    11    2002    30
     8        1    2     1       2    30"""
    assert count.problems(regions[:1]) == []
    assert [line.partition(": ")[::2] for line in count.problems(regions)] == [
        ("region 8", "2 markers out of place (a begin while it was open or an end while it was not)"),
        ("region 8", "never ended; counted to the machine's end")]
