"""The command line of tools/kettle: what can be asked, and what is said when it cannot be."""

import argparse
import asyncio
import sys
from typing import NoReturn, Sequence

from hosttools import abi, bench, debug, programs, run, space_events
from hosttools.errors import STATUS_MACHINE, STATUS_SIGNAL, STATUS_USAGE, MachineError, UsageError

EPILOG = """\
exit status: the program's; 128 + N when signal N ended it; 124 on --timeout; 125 when the machine itself failed (the
panic text is then on standard error); 2 when what was asked for cannot be. On a terminal Ctrl-A x leaves.
"""
RUN_EPILOG = """\
PROGRAM with a slash, or a name that exists here, is a file of the host; any other name is a program of the image, as
tour, console, ps, taskset, kettle-ctl, hello, msgbench, taskbench, vmbench, abibench (a wrong name lists all).

"""
DEBUGGED = "tour"  # the image's program that `debug` runs when none is named


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


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
    """The keys and values of --inject; seed is among them."""
    rule: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        number = value.isascii() and value.isdigit()
        if not equals or key in rule or not (number if key in INJECT_NUMBERS else key == "type" and value.isidentifier()):
            raise argparse.ArgumentTypeError(f"'{part}' is not KEY=VALUE as seed=7")
        rule[key] = value
    if "seed" not in rule:
        raise argparse.ArgumentTypeError("there is no seed=N")
    return rule


def make_parser() -> Parser:
    """The parser of the whole command."""
    parser = Parser(prog="kettle", description="Boots the Kettle multikernel in an emulator and runs one program on it.",
                    epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    commands = parser.add_subparsers(dest="subcommand", required=True, metavar="run|shell|debug|bench|events|abi|programs")
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
            command.set_defaults(count=False, profile=None, events=False)
        if name == "debug":
            command.add_argument("--kernel", type=natural, default=0, metavar="K", help="kernel to select (default 0)")
        program = {"run": None, "shell": None, "debug": DEBUGGED}[name]
        command.add_argument("program", metavar="PROGRAM", nargs="?", default=program,
                             help="a static x86-64 executable of the host, or a program of the image"
                                  + (f" (default {program})" if program else "")
                                  + (" (default: Debian's static busybox)" if name == "shell" else ""))
        command.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER, help="its arguments")
    command = commands.add_parser("bench", help="run a benchmark and write its results", allow_abbrev=False)
    bench.add_options(command, natural)
    command = commands.add_parser("events", help="draw what kernels counted of address spaces", allow_abbrev=False)
    space_events.add_options(command, natural)
    command = commands.add_parser("abi", help="compare programs on Linux and on Kettle", allow_abbrev=False)
    abi.add_options(command, natural)
    command = commands.add_parser("programs", help="real programs' own checks on Linux and on Kettle", allow_abbrev=False)
    programs.add_options(command, natural)
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
    machine.add_argument("--tcg", choices=("multi", "single"), help="one host thread per CPU, or one for all "
                                                                    "(default multi; single with --icount)")
    machine.add_argument("--icount", type=natural, metavar="SHIFT", help="guest time counts instructions of 2^SHIFT ns "
                                                                         "each (0 to 10)")
    machine.add_argument("--seed", type=natural, metavar="N", help="fixes what would be random, and the clock's start")
    machine.add_argument("--append", action="append", default=[], metavar="OPTS",
                         help="more options for the kernel's command line")
    machine.add_argument("--inject", type=injection, metavar="seed=N[,KEY=V...]",
                         help="hold messages between kernels back by a random schedule; keys: rate (percent), delay, "
                              "hold, slow (us), peer, type, ring (slots; default 4 for every third seed)")
    program = command.add_argument_group("the program")
    program.add_argument("--file", action="append", default=[], metavar="HOST[:GUEST]", dest="files",
                         help="put a file or folder into the guest (as /NAME when GUEST is not given)")
    program.add_argument("--share", action="append", default=[], metavar="HOSTDIR:/GUEST[:ro]", dest="shares",
                         help="a folder of the host that the guest reads and writes, or only reads")
    program.add_argument("--env", action="append", default=[], metavar="K=V", help="set an environment variable")
    program.add_argument("--timeout", type=seconds, metavar="S", help="end the machine after S seconds, with a wait dump")
    output = command.add_argument_group("what is told")
    output.add_argument("--log", metavar="FILE", help="write the kernel's log and the plan to FILE")
    output.add_argument("--json", action="store_true", help="standard output is one JSON object about the run")
    output.add_argument("-v", "--verbose", action="store_true", help="the kernel's log on standard error")


def _add_counting(command: argparse.ArgumentParser) -> None:
    counting = command.add_argument_group("counting")
    counting.add_argument("--count", action="store_true", help="count the instructions between the program's markers "
                                                               "(userland/mark.h), in --json or on standard error; rows are by "
                                                               "the markers' regions, which vmbench --list names for it")
    counting.add_argument("--events", action="store_true", help="what each kernel counted of address spaces that ended "
                                                                "(docs/events.md), in --json or on standard error")
    counting.add_argument("--profile", metavar="FILE", help="as --count, and write to FILE how many instructions each "
                                                            "function of the kernel executed between markers")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line. Raises UsageError."""
    options = make_parser().parse_args(list(arguments))
    if options.subcommand not in ("bench", "events", "abi", "programs"):
        if options.arguments[:1] == ["--"]:
            del options.arguments[0]
        if options.program is None and options.subcommand != "shell":
            raise UsageError("run which program? (see kettle run --help)")
    return options


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns its exit status."""
    try:
        options = parse(arguments)
        if options.subcommand == "bench":
            return bench.main(options)
        if options.subcommand == "events":
            return space_events.main(options)
        if options.subcommand == "abi":
            return abi.main(options)
        if options.subcommand == "programs":
            return programs.main(options)
        if options.subcommand == "debug":
            return debug.main(options)
        return asyncio.run(run.main(options, interactive=options.subcommand == "shell"))
    except UsageError as error:
        print(f"kettle: {error}", file=sys.stderr)
        return STATUS_USAGE
    except MachineError as error:
        print(f"kettle: {error}", file=sys.stderr)
        return STATUS_MACHINE
    except KeyboardInterrupt:
        return STATUS_SIGNAL + 2
