"""gdb commands for a Kettle machine under QEMU. tools/kettle debug loads this file and calls set_kernels.

    kernels        every kernel, its CPUs and where each of them is
    kernel K       select the CPU that kernel K started on; memory and symbols are then that kernel's
    kbreak K LOC   stop where the code at LOC runs on a CPU of kernel K, and nowhere else
    kstart K       run until kernel K enters its C code; at once when there is no such code to see

QEMU shows each CPU as a thread, numbered from 1 in CPU order. All kernels run one image at one virtual address, each in
memory of its own: which copy gdb reads depends on the selected CPU.
"""

import gdb

ENTRY = "kernel_main"  # every kernel's first C function, on the CPU it starts on

_kernels = []  # the CPUs of each kernel, the one it starts on first


def set_kernels(kernels):
    """KERNELS: a list of CPU numbers for each kernel."""
    _kernels[:] = kernels


def _cpus(text):
    """The CPUs of the kernel whose number TEXT evaluates to."""
    number = int(gdb.parse_and_eval(text or "-1"))
    if not 0 <= number < len(_kernels):
        raise gdb.GdbError(f"kernels are 0 to {len(_kernels) - 1}")
    return _kernels[number]


def _thread(cpu):
    """gdb's thread for CPU."""
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == cpu + 1:
            return thread
    raise gdb.GdbError(f"no CPU {cpu}: is the machine connected?")


class KernelCommand(gdb.Command):
    """kernel K: select the CPU that kernel K started on."""

    def __init__(self):
        super().__init__("kernel", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        """Switches and shows where that CPU is."""
        _thread(_cpus(argument)[0]).switch()
        gdb.execute("frame")


class KernelsCommand(gdb.Command):
    """kernels: every kernel, its CPUs and where each of them is."""

    def __init__(self):
        super().__init__("kernels", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        """Prints a line for each CPU; the selected one stays selected."""
        selected = gdb.selected_thread()
        for kernel, cpus in enumerate(_kernels):
            for cpu in cpus:
                thread = _thread(cpu)
                thread.switch()
                frame = gdb.newest_frame()
                mark = "*" if selected is not None and thread.num == selected.num else " "
                print(f"{mark} kernel {kernel} cpu {cpu}  {frame.pc():#x} {frame.name() or ''}")
        if selected is not None:
            selected.switch()


class KernelBreakCommand(gdb.Command):
    """kbreak K LOCATION: stop where the code at LOCATION runs on a CPU of kernel K."""

    def __init__(self):
        super().__init__("kbreak", gdb.COMMAND_BREAKPOINTS)

    def invoke(self, argument, from_tty):
        """Sets one breakpoint for each CPU of the kernel."""
        number, _, location = argument.partition(" ")
        if not location.strip():
            raise gdb.GdbError("usage: kbreak K LOCATION")
        for cpu in _cpus(number):
            gdb.execute(f"break {location.strip()} thread {_thread(cpu).num}")


class KernelStartCommand(gdb.Command):
    """kstart K: run until kernel K enters its C code."""

    def __init__(self):
        super().__init__("kstart", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        """Continues the machine; what runs on the other kernels meanwhile is not stopped for."""
        thread = _thread(_cpus(argument)[0])
        thread.switch()
        if gdb.lookup_global_symbol(ENTRY) is not None:
            gdb.execute(f"tbreak {ENTRY} thread {thread.num}")
            gdb.execute("continue")


KernelCommand()
KernelsCommand()
KernelBreakCommand()
KernelStartCommand()
