"""The command line of tools/kettle: what can be asked, and what is said when it cannot be."""

import argparse
import asyncio
import os
import re
import signal
import sys
from importlib import import_module
from typing import Any, NoReturn, Sequence

from hosttools.errors import STATUS_MACHINE, STATUS_SIGNAL, STATUS_USAGE, MachineError, UsageError, did_you_mean
from hosttools.image import image
from hosttools.machine import boot_options, host
from hosttools.measure import numa_model
from hosttools.paths import built
from hosttools.run import debug, run

EPILOG = """\
exit status: the program's; 128 + N when signal N ended it; 124 on --timeout; 125 when the machine itself failed (the
panic text is then on standard error); 2 when what was asked for cannot be. On a terminal Ctrl-A x leaves.
"""
RUN_EPILOG = """\
PROGRAM with a slash, or a name that exists here, is a file of the host; any other name is a program of the image, as
tour, console, ps, taskset, kettle-ctl, hello, msgbench, taskbench, vmbench, abibench, numabench (`kettle list` lists all).

"""
DEBUGGED = "tour"  # the image's program that `debug` runs when none is named
FILE = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}  # what shtab calls shtab.FILE
LISTS = {
    "programs": lambda: "\n".join(image.image_programs(built(run.BASE_IMAGE))),
    "options": boot_options.table,
}
SHELLS = ("bash", "zsh")
NUMA = {"accuracy": "compare what kernels see of accesses with the exact trace, and tell its cost",
        "optimum": "tell what the accesses of a trace cost, and would cost with the best placement",
        "placement": "tell what placing programs' memory by a trace of an earlier run gains"}
# Commands whose module is imported only for them: `kettle run` is called hundreds of times, and does not need it.
OTHERS = {"bench": ("hosttools.bench.bench", "run a benchmark and write its results"),
          "sweep": ("hosttools.bench.matrix", "run a benchmark under every combination of options that a file lists"),
          "numa": ("hosttools.bench", "what kernels see of accesses, and where memory should be, by an exact trace"),
          "events": ("hosttools.run.space_events", "draw what kernels counted of address spaces"),
          "abi": ("hosttools.abi.abi", "compare programs on Linux and on Kettle"),
          "programs": ("hosttools.programs.programs", "real programs' own checks on Linux and on Kettle")}


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line, and name what could have been meant."""

    def error(self, message: str) -> NoReturn:
        choice = re.fullmatch(r"(?:argument (\S+): )?invalid choice: '(.*)' \(choose from (.*)\)", message)
        if choice is not None:
            names = re.findall(r"'([^']*)'", choice[3])
            what = choice[1] if choice[1] and choice[1].startswith("-") else "command" if "run" in names else "name"
            message = f"{what} '{choice[2]}' is unknown{did_you_mean(choice[2], names)} (valid: {', '.join(names)})"
        raise UsageError(f"{message} (see {self.prog} --help)")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does; but each parser refuses what it does not know itself, for it knows what there is."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            names = sorted(name for name in self._option_string_actions if name.startswith("--"))
            option = unknown[0].partition("=")[0]
            if not option.startswith("-"):
                self.error(f"unexpected argument '{option}'")
            meant = did_you_mean(option, names)
            self.error(f"unknown option {option}{meant or ' (valid: ' + ', '.join(names) + ')'}")
        return found, unknown


class Version(argparse.Action):
    """Prints the commit of the tree."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        print(f"kettle {host.commit()}")
        parser.exit()


def natural(text: str) -> int:
    """A whole number, 0 or more, written in digits."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number")
    return int(text)


def seconds(text: str) -> float:
    """A time of more than nothing."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds above 0")
    return value


INJECT_NUMBERS = ("seed", "rate", "delay", "hold", "slow", "peer", "ring")


def injection(text: str) -> dict[str, str]:
    """The keys and values of --inject: seed is among them, or death=KERNEL@MESSAGE[:NUMBER] alone, whose parts become keys
    of the kernel's option."""
    rule: dict[str, str] = {}
    death = re.fullmatch(r"death=([0-9]+)@([A-Za-z_]+)(?::([0-9]+))?", text)
    if death is not None:
        return {"delay": "0", "kernel": death[1], "type": death[2], "dies": death[3] or "1"}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        number = value.isascii() and value.isdigit()
        if not equals or key in rule or not (number if key in INJECT_NUMBERS else key == "type" and value.isidentifier()):
            raise argparse.ArgumentTypeError(f"'{part}' is not KEY=VALUE as seed=7")
        rule[key] = value
    if "seed" not in rule:
        raise argparse.ArgumentTypeError("there is no seed=N")
    return rule


def make_parser(only: str | None = None) -> Parser:
    """The parser of the whole command; with ONLY, of OTHERS' commands it knows the options of this one alone."""
    parser = Parser(prog="kettle", description="Boots the Kettle multikernel in an emulator and runs one program on it.",
                    epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--version", action=Version, nargs=0, help="print the commit of this tree, and exit")
    commands = parser.add_subparsers(dest="subcommand", required=True,
                                     metavar="run|shell|debug|list|bench|sweep|numa|events|abi|programs|completion")
    for name, text in (("run", "run a program and give back its output and exit status"),
                       ("shell", "an interactive shell and its toolbox, or any other program, with every key"),
                       ("debug", "run a program with gdb on one of the kernels")):
        command = commands.add_parser(name, help=text, description=text.capitalize() + ".", epilog=EPILOG,
                                      formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
        _add_options(command)
        if name == "run":
            _add_counting(command)
            command.epilog = RUN_EPILOG + EPILOG
        else:
            command.set_defaults(count=False, profile=None, events=False, dry_run=False, numa_model=None, trace=None)
        if name == "debug":
            command.add_argument("--kernel", type=natural, default=0, metavar="K", help="kernel to select (default 0)")
        program = {"run": None, "shell": None, "debug": DEBUGGED}[name]
        command.add_argument("program", metavar="PROGRAM", nargs="?", default=program,
                             help="a static x86-64 executable of the host, or a program of the image"
                                  + (f" (default {program})" if program else "")
                                  + (" (default: Debian's static busybox)" if name == "shell" else "")).complete = FILE
        command.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER, help="its arguments")
    for name, (module, text) in OTHERS.items():
        command = commands.add_parser(name, help=text, allow_abbrev=False)
        if only is not None and name != only:
            continue
        if name == "numa":
            numa = command.add_subparsers(dest="numa", required=True, metavar="|".join(NUMA))
            for way, text in NUMA.items():
                import_module(f"{module}.{way}").add_options(
                    numa.add_parser(way, help=text, description=text.capitalize() + ".", allow_abbrev=False), natural)
        else:
            import_module(module).add_options(command, natural)
    command = commands.add_parser("list", help="list the image's programs, or the boot options", allow_abbrev=False)
    command.add_argument("what", choices=tuple(LISTS), nargs="?", default="programs", metavar="programs|options",
                         help="programs: of the image; options: of the kernel, with their defaults and values (default programs)")
    command = commands.add_parser("completion", help="print a completion script for a shell", allow_abbrev=False)
    command.add_argument("shell", choices=SHELLS, metavar="bash|zsh", help="the shell")
    return parser


def _add_options(command: argparse.ArgumentParser) -> None:
    machine = command.add_argument_group("the machine")
    machine.add_argument("--cpus", type=natural, default=4, metavar="N", help="CPUs (default 4)")
    machine.add_argument("--nodes", type=natural, default=1, metavar="M", help="NUMA nodes (default 1)")
    machine.add_argument("--mem", metavar="SIZE", help="memory of the whole machine, or of each node, comma-separated "
                                                       "(default 1G, or 32M for each CPU if that is more)")
    machine.add_argument("--dist", metavar="MATRIX", help="node distances: rows by '/', numbers by ',', as 10,20/20,10; "
                                                          "or one number for all pairs")
    machine.add_argument("--kernels", default="core", metavar="core|node|N|LIST",
                         help="one kernel per core or node, N kernels, or a list of their CPUs as 0-1,2-3 (default core)")
    machine.add_argument("--emulator", choices=("qemu", "bochs"), default="qemu", help="default qemu")
    machine.add_argument("--os", choices=("kettle", "linux"), default="kettle",
                         help="linux: Debian's stock kernel on the same machine, as a baseline")
    machine.add_argument("--boot", choices=("kernel", "iso"), help="kernel: QEMU loads the kernel itself (its default); "
                                                                   "iso: through GRUB, as on a PC (Bochs always)")
    machine.add_argument("--accel", choices=("tcg", "kvm", "auto"), default="tcg",
                         help="tcg translates instructions, as all figures of this tree were made; kvm runs them on the "
                              "host's CPUs; auto: kvm where it works and no other option needs tcg (default tcg)")
    machine.add_argument("--tcg", choices=("multi", "single"), help="one host thread per CPU, or one for all "
                                                                    "(default multi; single with --icount, --numa-model or --preempt)")
    machine.add_argument("--prealloc", action="store_true", help="the host's memory is the machine's before it starts: who touches a "
                                                                 "page first does not wait for the host")
    machine.add_argument("--icount", type=natural, metavar="SHIFT", help="guest time counts instructions of 2^SHIFT ns "
                                                                         "each (0 to 10)")
    machine.add_argument("--turn", type=natural, metavar="US", help="with --icount: a CPU's turn ends after US microseconds of guest time "
                                                                    "at the latest (10 to 100000; by default when a timer is due, at most "
                                                                    "100 ms), so what others send it is late by the turns of all CPUs")
    machine.add_argument("--preempt", metavar="SEED[,rate=N][,by=instruction|block]",
                         help="with --tcg single, to find races: a CPU's turn ends in the midst of kernel code, after a random number of "
                              "blocks or instructions of it (about N, default 100 blocks); with --icount and --seed, the same run each "
                              "time (tools/plugin/preempt/preempt.md)")
    machine.add_argument("--seed", type=natural, metavar="N", help="fixes what would be random, and the clock's start")
    machine.add_argument("--append", action="append", default=[], metavar="OPTS",
                         help="more options for the kernel's command line, checked before the machine starts "
                              "(`kettle list options`; with --os linux: Linux's, unchecked)")
    machine.add_argument("--append-raw", action="append", default=[], metavar="WORDS",
                         help="as --append, unchecked: a bootloader's words, which the kernel itself judges")
    machine.add_argument("--inject", type=injection, metavar="seed=N[,KEY=V...]",
                         help="hold messages between kernels back by a random schedule; keys: rate (percent), delay, "
                              "hold, slow (us), peer, type, ring (slots; default 4 for every third seed); or "
                              "death=KERNEL@MESSAGE[:NUMBER]: that kernel dies at its NUMBERth message of that type")
    program = command.add_argument_group("the program")
    program.add_argument("--file", action="append", default=[], metavar="HOST[:GUEST]", dest="files",
                         help="put a file or folder into the guest (as /NAME when GUEST is not given)").complete = FILE
    program.add_argument("--share", action="append", default=[], metavar="HOSTDIR:/GUEST[:ro]", dest="shares",
                         help="a folder of the host that the guest reads and writes, or only reads")
    program.add_argument("--env", action="append", default=[], metavar="K=V", help="set an environment variable")
    program.add_argument("--timeout", type=seconds, metavar="S", help="end the machine after S seconds, with a wait dump")
    output = command.add_argument_group("what is told")
    output.add_argument("--log", metavar="FILE", help="write the kernel's log and the plan to FILE").complete = FILE
    output.add_argument("--json", action="store_true", help="standard output is one JSON object about the run")
    output.add_argument("-v", "--verbose", action="store_true", help="the kernel's log on standard error")


def _add_counting(command: argparse.ArgumentParser) -> None:
    command.add_argument("--dry-run", action="store_true",
                         help="boot nothing: check everything and print the emulator's command line, quoted for a shell; the "
                              "run's own files in it (FOLDER) are not kept")
    counting = command.add_argument_group("counting")
    counting.add_argument("--count", action="store_true", help="count the instructions between the program's markers "
                                                               "(userland/bench/mark.h), in --json or on standard error; rows are by "
                                                               "the markers' regions, which vmbench --list names for it")
    counting.add_argument("--numa-model", metavar="MATRIX[,KEY=V...]",
                          help="as --count, with modelled caches, TLBs and memory of nodes (tools/plugin/numa/numa_model.md); MATRIX: slit, "
                               "opteron-2, opteron-4, opteron-8, a file of rows in ns, or rows as 100,140/140,100; keys: "
                               + ", ".join(numa_model.DEFAULTS))
    counting.add_argument("--trace", metavar="FILE[,every=N][,of=all|misses|memory]",
                          help="with --numa-model: write the data accesses between markers to FILE (tools/plugin/numa/trace.md)")
    counting.add_argument("--events", action="store_true", help="what each kernel counted of address spaces that ended "
                                                                "(docs/events.md), in --json or on standard error")
    counting.add_argument("--profile", metavar="FILE", help="as --count, and write to FILE how many instructions each function of the "
                                                            "kernel, Linux's too, executed between markers")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line. Raises UsageError."""
    options = make_parser(arguments[0] if arguments else "").parse_args(list(arguments))
    if options.subcommand in ("run", "shell", "debug"):
        if options.arguments[:1] == ["--"]:
            del options.arguments[0]
        if options.program is None and options.subcommand != "shell":
            raise UsageError("run which program? ('kettle list' lists the image's; see kettle run --help)")
    return options


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns its exit status."""
    try:
        options = parse(arguments)
        if options.subcommand == "list":
            print(LISTS[options.what](), flush=True)
            return 0
        if options.subcommand == "completion":
            import shtab  # for this alone

            print(shtab.complete(make_parser(), options.shell))
            return 0
        if options.subcommand == "sweep":
            options = parse(import_module(OTHERS["sweep"][0]).words(options))
        if options.subcommand in OTHERS:
            module = OTHERS[options.subcommand][0] + (f".{options.numa}" if options.subcommand == "numa" else "")
            status: int = import_module(module).main(options)
            return status
        if options.subcommand == "debug":
            return debug.main(options)
        return asyncio.run(run.main(options, interactive=options.subcommand == "shell"))
    except UsageError as error:
        print(f"kettle: {error}", file=sys.stderr)
        return STATUS_USAGE
    except MachineError as error:
        print(f"kettle: {error}", file=sys.stderr)
        return STATUS_MACHINE
    except BrokenPipeError:  # who read the list has enough of it; what is left must not be tried again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return STATUS_SIGNAL + signal.SIGPIPE
    except KeyboardInterrupt:
        return STATUS_SIGNAL + 2
