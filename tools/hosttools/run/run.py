"""`kettle run` and `kettle shell`: from checked options to a machine, and from its outcome to what the user sees."""

import argparse
import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Iterator

from hosttools.errors import UsageError
from hosttools.image import elf, image, linux_symbols, share, shell
from hosttools.machine import bochs, boot_options, linux, memory_need, preempt, qemu
from hosttools.machine.machine import Machine
from hosttools.machine.terminal import owns_terminal
from hosttools.machine.topology import MIB, Topology, divide_kernels, make_topology
from hosttools.measure import count, numa_model
from hosttools.paths import ROOT, build_dir, built
from hosttools.progress import Progress
from hosttools.run import report as run_report, space_events
from hosttools.run.session import FileSink, MemorySink, Session

KERNEL = "kettle.elf"
BASE_IMAGE = "initramfs.cpio"
ICOUNT_MAX = 10
TURN_MIN, TURN_MAX = 10, 100000  # us: QEMU ends a turn after 100 ms in any case
BOCHS_MEMORY_MAX = 2048 * MIB


@dataclass(frozen=True)
class Plan:
    """A run whose options are checked: all that can be refused has been."""

    options: argparse.Namespace
    topology: Topology
    kernels: list[list[int]]  # CPUs of each kernel
    pace: qemu.Pace
    job: image.Job
    kernel: Path | None  # None for Linux, whose kernel may have to be fetched
    base_image: Path | None
    shares: tuple[share.Share, ...]
    plugin: Path | None  # that counts, if anything is to be counted
    model: numa_model.Model | None
    trace: tuple[str, ...]  # the plugin's arguments for it
    preemption: preempt.Preemption | None

    def kernel_options(self) -> str:
        """Kettle's command line."""
        options = self.options
        seed = "" if options.seed is None else f"seed={options.seed}"
        told = space_events.OPTION if options.events else ""
        return " ".join(filter(None, (f"kernels={options.kernels}", seed, inject_options(options.inject), told,
                                      share.kernel_option(self.shares), *options.append, *options.append_raw)))


def inject_options(rule: dict[str, str] | None) -> str:
    """The kernel options for --inject. Every third seed also makes the rings as small as they can be."""
    if rule is None:
        return ""
    words = dict(rule)
    ring = words.pop("ring", "4" if int(words.get("seed", 1)) % 3 == 0 else None)
    options = "inject=" + ",".join(f"{key}:{value}" for key, value in words.items())
    return options if ring is None else f"{options} ring={ring}"


def check(options: argparse.Namespace) -> Plan:
    """Checks all of OPTIONS against each other and the files they name. Raises UsageError."""
    topology = make_topology(options.cpus, options.nodes, options.mem, options.dist)
    kernels = divide_kernels(options.kernels, topology)
    pace = _check_pace(options)
    if options.dry_run and options.json:
        raise UsageError("--dry-run prints the command line alone: leave out --json")
    if options.emulator == "bochs":
        _check_bochs(options, topology)
    if options.os == "kettle":
        _check_boot_options(options)
    else:
        if options.inject is not None:
            raise UsageError("--inject is for Kettle: Linux sends no messages")
        if options.icount is not None and options.cpus > 1:
            raise UsageError("--os linux with --icount needs --cpus 1: Linux starts its CPUs with loops that never pause")
        if options.boot is not None:
            raise UsageError("--boot is for Kettle; Linux is always loaded directly")
        if options.shares:
            raise UsageError("--share is for Kettle: Debian's cloud kernel comes without 9P")
        if options.events:
            raise UsageError("--events is for Kettle: Linux does not tell them")
    base = build_dir() / BASE_IMAGE
    base_image = base if base.is_file() else None
    environment = list(options.env)
    if owns_terminal(0) and not any(item.startswith("TERM=") for item in environment):
        environment.append(f"TERM={os.environ.get('TERM', 'dumb')}")
    if options.program is None:
        job = shell.make_job(environment, options.files, base_image)
    else:
        job = image.make_job(options.program, options.arguments, environment, options.files, base_image)
    shares = share.parse_all(options.shares)
    for name, file in (("--log", options.log), ("--profile", options.profile)):
        if file is not None and not os.path.isdir(os.path.dirname(file) or "."):
            raise UsageError(f"{name} {file}: no such folder")
    model = None if options.numa_model is None else numa_model.parse(options.numa_model, topology)
    trace = _check_trace(options)
    plugin = _check_counting(options)
    preemption = None if options.preempt is None else preempt.parse(options.preempt)
    if preemption is not None:
        built(preempt.PLUGIN)
    kernel = None
    if options.os == "kettle":
        kernel, base_image = built(KERNEL), built(BASE_IMAGE)
    emulator = "bochs" if options.emulator == "bochs" else qemu.PROGRAM
    if shutil.which(emulator) is None:
        raise UsageError(f"{emulator} is not installed: run {ROOT / 'tools' / 'setup'}")
    return Plan(options, topology, kernels, pace, job, kernel, base_image, shares, plugin, model, trace, preemption)


def _check_boot_options(options: argparse.Namespace) -> None:
    for words in options.append:
        boot_options.check(words, f"--append '{words}'")
    boot_options.check(inject_options(options.inject), "--inject")


def _check_accel(options: argparse.Namespace) -> str:
    """The accelerator: kvm, or tcg."""
    bound = [name for name, given in (("--icount", options.icount is not None), ("--tcg", options.tcg is not None),
                                      ("--count", options.count), ("--profile", options.profile is not None),
                                      ("--numa-model", options.numa_model is not None),
                                      ("--preempt", options.preempt is not None)) if given]
    if options.accel == "kvm":
        if bound:
            raise UsageError(f"--accel kvm leaves out {' and '.join(bound)}: only TCG, which translates the guest's "
                             "instructions, can count them, choose its threads or end its turns")
        if options.emulator != "qemu":
            raise UsageError("--accel kvm is QEMU's: leave it out with --emulator bochs")
        if not qemu.kvm_works():
            raise UsageError(f"--accel kvm: QEMU cannot run a machine with {qemu.KVM} of this host")
        return "kvm"
    usable = options.accel == "auto" and not bound and options.emulator == "qemu" and qemu.kvm_works()
    return "kvm" if usable else "tcg"


def _check_pace(options: argparse.Namespace) -> qemu.Pace:
    if options.icount is not None:
        if options.icount > ICOUNT_MAX:
            raise UsageError(f"--icount must be 0 to {ICOUNT_MAX}, not {options.icount}")
        if options.tcg == "multi":
            raise UsageError("--icount needs --tcg single")
    if options.turn is not None:
        if options.icount is None:
            raise UsageError("--turn needs --icount: without it, CPUs take turns by the host's clock")
        if not TURN_MIN <= options.turn <= TURN_MAX:
            raise UsageError(f"--turn must be {TURN_MIN} to {TURN_MAX} microseconds, not {options.turn}")
    if options.seed is not None and options.seed >= 1 << 32:
        raise UsageError("--seed must fit into 32 bits")
    if options.numa_model is not None and options.tcg == "multi":
        raise UsageError("--numa-model needs --tcg single: modelled caches take all accesses in one order")
    if options.preempt is not None and options.tcg == "multi":
        raise UsageError("--preempt needs --tcg single: CPUs with threads of their own have no turns")
    one = options.icount is not None or options.numa_model is not None or options.preempt is not None
    threads = options.tcg or ("single" if one else "multi")
    return qemu.Pace(threads, options.icount, options.seed, _check_accel(options), options.prealloc, options.turn)


def _check_counting(options: argparse.Namespace) -> Path | None:
    """The plugin of --count, --profile and --numa-model, or None."""
    if not options.count and options.profile is None and options.numa_model is None:
        return None
    if options.numa_model is not None and options.emulator != "qemu":
        raise UsageError("--numa-model is QEMU's: leave it out with --emulator bochs")
    if options.emulator != "qemu":
        raise UsageError("--count and --profile are QEMU's: leave them out with --emulator bochs")
    return built(count.PLUGIN)


def _check_trace(options: argparse.Namespace) -> tuple[str, ...]:
    """The plugin's arguments for --trace FILE[,every=N][,of=all|misses|memory]."""
    if options.trace is None:
        return ()
    if options.numa_model is None:
        raise UsageError("--trace needs --numa-model, which tells misses and memory")
    file, *words = options.trace.split(",")
    if not os.path.isdir(os.path.dirname(file) or "."):
        raise UsageError(f"--trace {file}: no such folder")
    arguments = [f"trace={os.path.abspath(file)}"]
    for word in words:
        if re.fullmatch(r"every=[1-9]\d{0,8}|of=(all|misses|memory)", word, re.ASCII) is None:
            raise UsageError(f"--trace: '{word}' is neither every=N nor of=all, of=misses or of=memory")
        arguments.append(f"trace-{word}")
    return tuple(arguments)


def _check_bochs(options: argparse.Namespace, topology: Topology) -> None:
    if options.os != "kettle":
        raise UsageError("--emulator bochs runs Kettle only")
    if options.shares:
        raise UsageError("--emulator bochs has no shared folders: leave out --share")
    if topology.nodes > 1 or topology.distances is not None:
        raise UsageError("--emulator bochs has no NUMA tables: leave out --nodes and --dist")
    if options.tcg is not None or options.icount is not None:
        raise UsageError("--tcg and --icount are QEMU's: leave them out with --emulator bochs")
    if options.preempt is not None:
        raise UsageError("--preempt is QEMU's: leave it out with --emulator bochs")
    if options.prealloc:
        raise UsageError("--prealloc is QEMU's: leave it out with --emulator bochs")
    if options.boot == "kernel":
        raise UsageError("--emulator bochs boots from an ISO image only")
    if topology.memory[0] % MIB or topology.memory[0] > BOCHS_MEMORY_MAX:
        raise UsageError(f"--emulator bochs takes whole MiB of memory, at most {BOCHS_MEMORY_MAX // MIB}")


def make_machine(plan: Plan, folder: Path, progress: Progress, extra: tuple[str, ...] = ()) -> Machine:
    """The machine of PLAN, with its image written into FOLDER; EXTRA options are for QEMU."""
    options = plan.options
    initramfs = folder / "initramfs.cpio"
    extra += share.qemu_arguments(plan.shares)
    if plan.plugin is not None:
        more = plan.trace
        if plan.model is not None:
            (folder / numa_model.FILE).write_text(plan.model.text(plan.topology))
            more += (f"model={folder / numa_model.FILE}",)
        extra += count.arguments(plan.plugin, folder, plan.kernel, options.profile is not None, more)
    if plan.preemption is not None:
        extra += plan.preemption.arguments(built(preempt.PLUGIN), folder)
    if options.os == "linux":
        kernel = linux.kernel(progress.say)
        _write_parts(initramfs, linux.init_archive(), plan)
        boot = qemu.Boot(kernel, initramfs,
                         linux.command_line(options.seed is not None or options.profile is not None,
                                            [*options.append, *options.append_raw]))
        return linux.LinuxMachine(folder, plan.topology, plan.pace, boot, extra)
    _write_parts(initramfs, b"", plan)
    assert plan.kernel is not None
    direct = options.emulator == "qemu" and options.boot != "iso"
    memory_need.check(plan.topology, len(plan.kernels), plan.kernel, initramfs.stat().st_size, plan.kernel_options(),
                      grub=not direct)
    if direct:
        boot = qemu.Boot(plan.kernel, initramfs, plan.kernel_options())
        return qemu.QemuMachine(folder, plan.topology, plan.pace, boot, extra)
    iso = folder / "kettle.iso"
    bochs.make_iso(ROOT / "tools" / "make-iso", plan.kernel, initramfs, plan.kernel_options(), iso)
    if options.emulator == "bochs":
        return bochs.BochsMachine(folder, plan.topology, iso)
    return qemu.QemuMachine(folder, plan.topology, plan.pace, qemu.Boot(iso=iso), extra)


def _write_parts(path: Path, first: bytes, plan: Plan) -> None:
    """Joins FIRST, the base image and this run's own archive."""
    with open(path, "wb") as file:
        file.write(first)
        if plan.base_image is not None:
            file.write(plan.base_image.read_bytes())
            file.write(bytes(-file.tell() % 4))
        file.write(plan.job.archive())


def _functions(plan: Plan, progress: Progress) -> list[elf.Function]:
    """The functions of the kernel that PLAN boots."""
    return elf.functions(plan.kernel) if plan.kernel is not None else linux_symbols.functions(linux.kernel(progress.say))


@contextlib.contextmanager
def log_files(options: argparse.Namespace) -> Iterator[list[BinaryIO]]:
    """Where the log goes: --log, and standard error with -v."""
    files: list[BinaryIO] = [sys.stderr.buffer] if options.verbose else []
    if options.log is None:
        yield files
        return
    try:
        file = open(options.log, "wb")
    except OSError as error:
        raise UsageError(f"--log {options.log}: {error.strerror}") from None
    with file:
        yield [*files, file]


async def main(options: argparse.Namespace, interactive: bool) -> int:
    """Runs what OPTIONS ask for; returns the exit status."""
    plan = check(options)
    sink = MemorySink() if options.json else FileSink(1)
    with (tempfile.TemporaryDirectory(prefix="kettle-") as folder, log_files(options) as logs,
          Progress(quiet=options.json or options.verbose) as progress):
        progress.say("preparing the machine")
        machine = make_machine(plan, Path(folder), progress)
        if options.dry_run:
            progress.stop()
            print(machine.command_line())
            return 0
        progress.say(f"booting (CPUs {options.cpus}, nodes {options.nodes})")
        session = Session(machine, sink, logs, timeout=options.timeout, interactive=interactive, cooked=options.program is None,
                          on_user=progress.stop, on_warning=progress.warn)
        outcome = await session.run()
        progress.stop()
        counted = count.read(Path(folder)) if plan.plugin is not None else None
        told = {} if plan.preemption is None else preempt.tell(plan.preemption, Path(folder), quiet=options.json)
    if outcome.problem:
        print(f"kettle: {outcome.problem}", file=sys.stderr)
    if plan.plugin is not None:
        profile = None if options.profile is None else count.Profile(options.profile, _functions(plan, progress))
        told |= count.tell(counted, profile, quiet=options.json)
        if plan.model is not None and told.get("numa_model") is not None:
            told["numa_model"] = {**numa_model.describe(plan.model), **told["numa_model"]}
    if options.events:
        told["space_events"] = space_events.collect(outcome.events)
        if not options.json:
            print(space_events.table(told["space_events"]), file=sys.stderr)
    if isinstance(sink, MemorySink):
        print(json.dumps({**run_report.report(plan, outcome, bytes(sink.data), machine.command_line()), **told}))
    return outcome.status
