"""The host side of Kettle: the package behind the command tools/kettle.

One noun per module, one subject per room. A room's modules import from their own room, from errors, paths and progress, and
from rooms before theirs in ROOMS; cli imports them all, and guest_runs, which runs the command line as a user would, imports
cli when it is called.
"""

ROOMS = {  # from the bottom
    "image": "what a machine's image holds: archives, ELF files, the files and directories of the host",
    "machine": "machines and what they are made of: topology, boot options, QEMU, Bochs, Linux, their terminals",
    "measure": "the plugin's counts, the model of NUMA, traces",
    "results": "benchmarks' results: samples, statistics, tables, plots",
    "run": "one run: `kettle run`, `debug`, `events`",
    "abi": "`kettle abi`: the system calls against Linux's",
    "programs": "`kettle programs`: programs from Debian's archive",
    "suites": "the benchmarks, each with its runs, tables and plots",
    "bench": "`kettle bench`: makes the runs of suites, and writes what came of them",
}
