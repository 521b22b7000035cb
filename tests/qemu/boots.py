"""The machines that boot in the tests, as data: which programs of tests/guest run on which, under which options.

`make test` boots BOOTS: always the same, with the same seeds. `make test-long` boots more: all programs on all machines, and
more of the options' combinations under other seeds, which each failure's command names.
"""

import itertools
import random

from allpairspy import AllPairs

from conftest import SEED, long_run
from hosttools.machine.strategies import strategy_names
from suite import Boot

# One thread of the host takes the CPUs of most machines in turns, so that the host's load changes little of what happens.
SINGLE = ("--tcg", "single")
MACHINES = {
    "1-kernel": ("--cpus", "1"),
    "4-kernels": ("--cpus", "4", "--nodes", "2", *SINGLE),
    "8-kernels": ("--cpus", "8", "--nodes", "4", *SINGLE),
    "1-kernel-smp": ("--cpus", "4", "--kernels", "1", *SINGLE),
    "2-nodes-smp": ("--cpus", "4", "--nodes", "2", "--kernels", "node", *SINGLE),
}
# Here CPUs run at once, for races, and where threads are placed by what runs: as many as most hosts have, or few more.
PARALLEL = {
    "2-kernels": ("--cpus", "2", "--tcg", "multi"),
    "2-cpus-smp": ("--cpus", "2", "--kernels", "1", "--tcg", "multi"),
    "4-kernels-parallel": ("--cpus", "4", "--nodes", "2", "--tcg", "multi"),
}
MACHINES |= PARALLEL
# More of them, which few CPUs of a host run slowly.
LONG_MACHINES = PARALLEL | {
    "8-kernels": ("--cpus", "8", "--nodes", "4", "--tcg", "multi"),
    "1-kernel-smp": ("--cpus", "4", "--kernels", "1", "--tcg", "multi"),
    "2-nodes-smp": ("--cpus", "4", "--nodes", "2", "--kernels", "node", "--tcg", "multi"),
    "4-nodes-smp": ("--cpus", "8", "--nodes", "4", "--kernels", "node", "--tcg", "multi"),
}
# All tests of pages that move. A round moves each page once more; where CPUs take turns the next rounds are like those before,
# and the boots called "moves" have more of them where CPUs run at once.
MOVE = "test-move 8" if not long_run() else "test-move"
# Those that look at the whole machine, and want it as it is after the boot.
FRESH = ["test-machine", "test-huge"]
MEMORY = ["test-memory", "test-fork-memory", "test-map", "test-many-areas", "test-remap", "test-break", "test-lease", "test-empty", "test-directory",
          "test-advise",
          "test-resident", "test-membarrier", "test-stale", "test-memfd", "test-content", "test-filemap", "test-zero",
          "test-memory-races", "test-copy-races", "test-mempolicy", "test-where", "test-file-nodes", "test-block", MOVE, "test-seen", "test-draw", "test-group", "test-hint", "test-lazy", "test-replicate", "test-newcomer",
          f"test-vm seed={SEED} batches=2 pages=320",
          f"test-retrieve seed={SEED} batches=1 pages=100", "test-one-frame 500"]
TASKS = ["test-threads", "test-futex", "test-pi", "test-handoff 5000", "test-pthreads 1", "test-sched", "test-migrate",
         "test-moved", "test-registers", "test-thread-state", "test-signals", "test-fork", "test-vfork", "test-exec",
         "test-exec-change", "test-proc",
         "test-accounting", "test-limits", "test-timers", "test-subreaper", "test-many-children", "test-pidfd", "test-users"]
FILES = ["test-files", "test-descriptors", "test-tree", "test-names", "test-root", "test-xattr", "test-inotify",
         "test-splice", "test-zero-copy", "test-descriptor-cache", "test-partial-io", "test-clone-files",
         "test-file-locks", "test-file-lock-wait"]
IPC = ["test-pipes", "test-kept-reads", "test-sockets", "test-socket-race", "test-sysv", "test-shm", "test-mqueue", "test-eventfd",
       "test-timerfd", "test-signalfd", "test-epoll", "test-epoll-remote", "test-stop-sets", "test-pty"]
OTHERS = ["test-libc", "test-vdso", "test-hostname", "test-silence"]
STORMS = [f"stress-tasks {SEED} 3 all", "leak-tasks 60"]
AUDIT = ["kettle-ctl audit"]
ALL = FRESH + MEMORY + TASKS + FILES + IPC + OTHERS + STORMS + AUDIT
SEVERAL = ["test-mempolicy", "test-where", "test-file-nodes", "test-block", "test-move", "test-seen", "test-draw", "test-group", "test-lazy", "test-replicate", "test-newcomer", "test-retrieve", "test-one-frame",
           "test-migrate"]  # kernels, for most of it
THREE = ["test-newcomer"]  # kernels at least
# Where two CPUs of the host run two of the machine at once, and where CPUs share a kernel: what races.
RACES = ["test-memory", "test-fork-memory", "test-stale", "test-memory-races", "test-copy-races", "test-content", "test-one-frame 500",
         "test-threads", "test-futex 30000", "test-pi", "test-handoff 5000", "test-pthreads 1", "test-sched", "test-signals",
         "test-fork", "test-vfork", "test-exec", "test-exec-change", "test-timers", "test-names", "test-tree", "test-pipes", "test-kept-reads", "test-sockets",
         "test-socket-race", "test-silence", "test-epoll", "test-eventfd", "test-timerfd", "test-signalfd", "test-descriptors", *STORMS,
         *AUDIT]
# Far more than four kernels: what goes to all of them, and what finds its way among many.
MANY = ["test-membarrier", "test-mempolicy", "test-file-nodes", "test-move 8", "test-migrate", "test-subreaper", "test-file-locks", "test-users",
        "test-hostname", "test-epoll-remote", "test-stale", f"stress-tasks {SEED} 3 all",
        f"test-vm seed={SEED} batches=0 pages=200", *AUDIT]
LATE = ["test-fork", "test-vfork", "test-exec", "test-exec-change", "test-signals", "test-moved", "test-proc", "test-map", "test-remap", "test-lazy", "test-filemap",
        "test-zero", "test-pipes", "test-kept-reads", "test-epoll-remote", "test-names", "test-splice", "test-sysv", "leak-tasks 60", *AUDIT]
STRATEGIES = {
    "lock": ("home", "lamport"),
    "retrieve": strategy_names(),
    "extra": ("", "ranges=off", "prefetch=8", "leases=off"),
    "machine": ("4-kernels", "2-nodes-smp"),
    "late": ("", "seed={seed}", "seed={seed},ring=4"),
}
SPACES = ["test-memory", "test-threads", "test-fork-memory", "test-migrate", "test-newcomer", "test-move 6", "test-lazy", "test-map", "test-remap",
          "test-break", "test-advise", "test-resident", "test-lease", "test-empty", "test-directory", "test-stale", "test-membarrier",
          "test-audit", f"test-vm seed={SEED} batches=1 pages=160", "test-one-frame 200"]


# What the longest take, and others about 1, in seconds on two idle CPUs: so that the longest boots begin first.
SECONDS = {"test-death": 30, "test-fuzz-calls": 20, "test-bad-pointers": 8, "test-copy-races": 5, "test-machine": 12, "test-move": 6, "test-quota": 4, "test-refused-programs": 120, "test-survive": 15, "test-stop": 7,
           "test-moved": 6, "test-signals": 5, "test-futex": 5, "test-audit": 4, "test-fork-memory": 3, "stress-tasks": 3}


def boot_seconds(boot):
    """About how long BOOT takes."""
    return sum(SECONDS.get(program.split()[0], 1) for program in boot.programs)


def boot(machine, programs, append="", inject="", label="", machines=None):
    """A boot whose name says its machine and options. More machines run at once than the host has CPUs: but where kernels are to
    die, one that the host leaves alone for a while is given time."""
    words = f"{append} death={200 if label == 'deaths' else 2000}".strip()
    options = (*(("--append", words) if words else ()), *(("--inject", inject) if inject else ()))
    return Boot(" ".join(part for part in (label, machine, append, inject) if part),
                (machines or MACHINES)[machine] + options, tuple(programs))


def counted(machine, programs):
    """A boot in which time counts instructions."""
    return Boot(f"counted {machine}", (*MACHINES[machine], "--icount", "0", "--seed", "1"), tuple(programs))


def deaths(rounds):
    """Deaths of each kind; those at each message, and their times, on other machines in a long run only."""
    kinds = ("refused rest threads homes orphans reaper group exec vfork vfork-storm vfork-home vfork-stopped vfork-reaper waits files queued locks served futex maker robust robust-home pi moved read exclusive "
             "passed lent references borrowed copies file mover workers load stops account")
    return f"test-death {rounds}" + (f" {kinds}" if not long_run() else "")


def moves(rounds):
    """Programs in which pages move so many rounds, and in a long run for minutes."""
    if not long_run():
        return [f"test-move {rounds}"]
    return [f"test-move {rounds}", "test-move 1500 readers newcomers writers", "test-move 500 beside", "test-move 100 shared sharers crowd"]


def fuzz_boots():
    """System calls with random arguments, on all kernels, while threads move and kernels stop, and beside that allocations that are
    refused: fixed rounds of two seconds each, two minutes of machines altogether on an idle host. In a long run for hours."""
    rounds = [("4-kernels", 14, ""), ("2-nodes-smp", 10, ""), ("8-kernels", 6, ""), ("2-kernels", 8, ""), ("1-kernel-smp", 4, ""),
              ("4-kernels", 9, "alloc=15"), ("2-kernels", 5, "alloc=15"), ("2-nodes-smp", 4, "alloc=40")]
    return [boot(machine, [f"test-fuzz-calls seed={SEED + number} {f'rounds={count}' if not long_run() else 'seconds=1800'} {more}".strip(),
                           *AUDIT], label=f"fuzz {more}".strip())
            for number, (machine, count, more) in enumerate(rounds)]


def strategy_boots(combinations, each, programs):
    """A boot for each combination of STRATEGIES' values, with EACH of PROGRAMS in turn, of those that the machine is for."""
    boots, turns = [], {machine: itertools.cycle([program for program in programs if program not in THREE or machine == "4-kernels"])
                        for machine in STRATEGIES["machine"]}
    for lock, retrieve, extra, machine, late in combinations:
        chosen = [next(turns[machine]) for _ in range(each)]
        boots.append(boot(machine, chosen, f"lock={lock} retrieve={retrieve} {extra}".strip(), late.format(seed=SEED)))
    return boots


# Machines in one thread of the host, on which turns of CPUs end in the midst of kernel code: tools/plugin/preempt/preempt.md.
PREEMPTED = {
    "machine": ("--cpus 4 --kernels 1", "--cpus 2 --kernels 1", "--cpus 4 --nodes 2 --kernels node", "--cpus 4 --nodes 2",
                "--cpus 8 --nodes 4 --kernels node", "--cpus 2"),
    "icount": (1, 2, 3, 4),
    "turns": ("rate=15", "rate=40", "rate=100", "rate=300", "rate=100,by=instruction", "rate=300,by=instruction",
              "rate=1000,by=instruction"),
    "options": ("", "numa=nemo numasee=faults numaperiod=20", "lock=lamport", "place=local"),
}


def preempted_boots(count):
    """COUNT boots in which a CPU stands still anywhere in its kernel, again and again, while the others go on: eight programs that
    race, but for those that expect so many signals or turns in a time, and a storm. The same command is the same run."""
    racing = sorted({*RACES, *IPC} - {*STORMS, *AUDIT, "test-timers", "test-timerfd", "test-sched"})
    chosen = random.Random(SEED)
    boots = []
    for seed in range(SEED, SEED + count):
        machine, icount, turns, options = (chosen.choice(values) for values in PREEMPTED.values())
        words = f"{machine} --icount {icount} --seed {seed} --preempt {seed},{turns}".split()
        usable = [program for program in racing if "--kernels 1" not in machine or program.split()[0] not in SEVERAL]
        programs = [*chosen.sample(usable, 8), f"stress-tasks {seed} 3 all", *AUDIT]
        boots.append(Boot(" ".join(["preempted", *words, options]).strip(), (*words, "--append", f"{options} death=10000".strip()),
                          tuple(programs)))
    return boots


PAIRS = [tuple(row) for row in AllPairs(list(STRATEGIES.values()))]  # every two values of two columns together
BOOTS = [
    boot("4-kernels", ALL),
    boot("1-kernel", [program for program in FRESH + MEMORY + TASKS + IPC + ["test-names", *STORMS, *AUDIT]
                      if program.split()[0] not in [*SEVERAL, "test-sched"]]),
    # what a fork and a wait cost does not depend on the number of children; shares of a CPU, which a busy host would distort
    counted("1-kernel", ["test-many-children costs 1600", "test-sched", "test-shares"]),
    counted("4-kernels", ["test-shares", "test-survive sizes"]),
    # root has its answers in time, whatever a user takes all of; the whole memory is taken, page by page, which in the usual machine
    # takes minutes of the host. All but locks leave it its second. Beside those it may have to wait for another kernel that the emulator
    # leaves alone for up to 2.9 s of this time while kernel 0 executes, which differs from build to build (docs/limits.md)
    Boot("counted 4-kernels, 256M", (*MACHINES["4-kernels"], "--mem", "256M", "--icount", "0", "--seed", "1"),
         ("test-survive within 5000 beside",)),
    # kernels so small that root is refused objects, too, until the user's process has been killed
    Boot("counted 4-kernels, 128M", (*MACHINES["4-kernels"], "--mem", "128M", "--icount", "0", "--seed", "1"),
         ("test-survive large", "test-survive hog pages within 1000 beside")),
    # and calls of root's that are refused begin again: without that, some fail here. Each of the seven in hog_root_works that may do
    # so has a hundred times, 10 ms apart, and each time takes a while itself: the time only bounds that, and any failure counts
    Boot("counted 4-kernels, 128M, none refused", (*MACHINES["4-kernels"], "--mem", "128M", "--icount", "0", "--seed", "1"),
         ("test-survive hog pages within 20000 refuses 0 beside",)),
    # a kernel dies when none has memory: root's calls begin again, and who waits for memory stands while the others clean up
    Boot("deaths without memory", ("--cpus", "4", "--nodes", "2", "--kernels", "0-1,2,3", "--mem", "128M", "--icount", "1", "--seed", "2",
                                   "--append", "place=local"), ("test-death 1123 at OOM_LARGEST types", *AUDIT)),
    counted("1-kernel-smp", ["test-shares"]),
    # a user takes his part of all memory
    *(Boot(f"quota {machine}", (*MACHINES[machine], "--mem", "256M"), ("test-quota", *AUDIT)) for machine in ("4-kernels", "1-kernel")),
    boot("2-kernels", [*RACES, "test-stop", "test-stop under test-filemap", "test-audit under test-threads"]),
    boot("2-cpus-smp", [program for program in ["test-shares crowd", *RACES] if program.split()[0] not in SEVERAL]),
    boot("1-kernel-smp", [program for program in RACES if program.split()[0] not in SEVERAL]),
    boot("2-nodes-smp", ["test-fork-memory", "test-stale", "test-copy-races", "test-threads", "test-futex", "test-pthreads 1", "test-signals",
                         "test-epoll", "test-socket-race", "test-mempolicy", "test-file-nodes", "test-block", MOVE, "test-lazy", "test-replicate", *STORMS, *AUDIT]),
    boot("8-kernels", MANY),
    # messages that come late: all of them, those of one type, and those that a lock's end has overtaken
    boot("4-kernels", LATE, inject="seed=7"),
    boot("4-kernels", ["test-exec coming"], inject="seed=1,rate=60,delay=3000,type=SPACE_UNLOCK"),
    boot("4-kernels", ["test-directory", "test-fork-memory"], inject="seed=1,rate=60,delay=3000,type=SPACE_GET"),
    boot("4-kernels", ["test-lease"], inject="seed=1,rate=60,delay=3000,type=SPACE_TAKE"),
    boot("4-kernels", ["test-users"], inject="seed=1,rate=60,delay=3000,type=REACH_WRITE"),
    boot("4-kernels", ["test-tree fifo"], inject="seed=1,rate=60,delay=3000,type=WATCH"),
    boot("4-kernels", ["test-exec-change turns"], inject="seed=1,rate=100,delay=20000,type=FILE_DROP"),
    boot("4-kernels", ["test-file-lock-wait race"], inject="seed=1,rate=60,delay=3000,type=FILE_LOCK"),
    boot("4-kernels", ["test-newcomer"], "lock=lamport", "seed=1,rate=100,delay=5000,type=SPACE_WRITE_PROTECT"),
    boot("4-kernels", ["test-exec coming"], "lock=lamport", "seed=1,rate=60,delay=3000,type=SPACE_FREED"),
    # where threads begin and go
    boot("4-kernels-parallel", ["test-balance spread"], "place=spread"),
    boot("4-kernels-parallel", ["test-balance spread"], "place=spread poll=always"),
    boot("4-kernels-parallel", ["test-balance local"], "place=local"),
    boot("4-kernels-parallel", ["test-balance local"], "balance=off"),
    boot("4-kernels-parallel", ["test-balance least-loaded"], "place=least-loaded"),
    boot("4-kernels-parallel", ["test-balance active"], "place=local balance=active"),
    # large pages only where they are asked for
    boot("4-kernels", ["test-huge", "test-fork-memory", f"test-vm seed={SEED} batches=1 pages=320", "test-remap",
                       "test-advise", "test-stop 3", "leak-tasks 100", *AUDIT], "huge=madvise text=core"),
    boot("4-kernels", ["test-huge"], "huge=madvise", "seed=13"),
    boot("4-kernels", [f"test-retrieve seed={SEED} batches=1 pages=50"], "lock=lamport"),
    *fuzz_boots(),
    boot("2-kernels", ["test-refused"], label="refused"),
    boot("4-kernels", ["test-bad-pointers", *AUDIT], label="bad pointers"),
    boot("4-kernels", ["test-survive hints stops copies readers", "test-survive hog locks beside", "test-survive hog terminals beside"],
         label="survive"),
    boot("4-kernels", ["test-prefetch 0"], "prefetch=0"),
    boot("2-kernels", ["test-prefetch 4"], "prefetch=4"),
    boot("2-kernels", ["test-prefetch 32"], "prefetch=32"),
    # kernels die, where a process that has not moved is on its kernel alone
    boot("4-kernels", [f"test-death {6 if not long_run() else 100}", *AUDIT], "place=local", label="deaths"),
    boot("4-kernels", ["test-death 2 threads waits load", *AUDIT], "place=local retrieve=chain", label="deaths"),  # a search without an answer
    boot("2-kernels", [deaths(3)], "place=local", label="deaths"),
    boot("2-nodes-smp", [deaths(3)], "place=local", label="deaths"),
    # a kernel that sends the others what no correct kernel sends; FRAME_RELEASE (43) and EVACUATE_ENTRIES (87) of frames that it has not got
    Boot("hostile 3-kernels", ("--cpus", "3", *SINGLE, "--append", "death=off"),
         (f"test-hostile {SEED} 10000", f"test-hostile {SEED} 6000 43", f"test-hostile {SEED} 3000 87")),
    Boot("hostile 4-kernels", (*MACHINES["4-kernels"], "--append", "place=local"), ("test-hostile opens",)),
    # programs while kernels stop and start, and while all memory is audited
    boot("4-kernels-parallel", ["test-stop", "test-stop under test-filemap", "test-stop under test-content",
                                "test-stop under test-zero busy", "test-stop under test-directory",
                                 "test-stop under test-move writers", "test-stop under test-lazy storm",
                                 "test-stop under test-replicate storm",
                                 "test-stop under test-move 6 files file-sharers file-cut", *AUDIT], "text=one", label="stops"),
    # memory that follows its users under everything else
    boot("4-kernels-parallel", ["test-memory-races", "test-fork-memory", "test-move 6 readers newcomers beside writers files places", "test-stop 3",
                                *STORMS, *AUDIT], "numa=nemo"),
    # and the same with faults that show accesses, whose records leak-tasks would count
    boot("4-kernels-parallel", ["test-memory-races", "test-fork-memory", "test-huge follows", "test-remap",
                                "test-move 6 newcomers writers", "test-stop 3", STORMS[0], "test-seen", "test-draw", "test-group", *AUDIT],
         "numa=nemo numasee=faults numaperiod=20"),
    Boot("1-kernel of 2 nodes", ("--cpus", "2", "--nodes", "2", "--kernels", "1", *SINGLE),
         ("test-hint", "test-lazy", "test-move 8", "test-file-nodes")),
    # pages that move while all CPUs read and write them, for a minute in a long run
    boot("4-kernels-parallel", [*moves(10), *AUDIT], label="moves"),
    boot("4-kernels-parallel", [*moves(6), *AUDIT], inject=f"seed={SEED}", label="moves"),
    boot("2-nodes-smp", ["test-move 6 files file-sharers file-cut", *AUDIT], label="moves", machines=LONG_MACHINES),
    boot("4-kernels", ["test-audit", "test-audit under test-threads", "test-audit under test-fork-memory",
                       f"test-audit under stress-tasks {SEED} 3 all", "test-audit under test-exec",
                       "test-audit under test-migrate", "test-audit under test-filemap", "test-audit under test-content",
                       "test-audit under test-zero busy", "test-audit under test-move 4 files file-cut", "test-audit under test-stop 3"],
         label="audits"),
    boot("4-kernels", ["test-audit", "test-audit under test-threads"], "retrieve=members", "seed=11", "audits"),
    # changes that ask more kernels than have something of the pages
    boot("4-kernels", ["test-audit under test-directory", "test-audit under test-remap", "test-fork-memory"],
         "leases=off sharers=random", label="audits"),
    boot("4-kernels", ["test-vdso ask"], "skew=50000000"),  # more than the noise of a busy host, which hides a difference
    *strategy_boots(PAIRS, 3, SPACES),
    # Linux keeps the same promises: else they are not Linux's
    Boot("linux", ("--os", "linux", "--cpus", "4", "--tcg", "multi"),
         ("test-fork", "test-exec", "test-signals", "test-thread-state", "test-moved", "test-proc", "test-map", "test-remap",
          "test-break", "test-filemap", "test-zero", "test-memory-races", "test-copy-races", "test-partial-io",
          "test-bad-pointers types errors",
          f"test-vm all seed={SEED} batches=2 pages=96")),
]
if long_run():
    # thousands of threads move to the other kernel, one after the other: where CPUs of the host are short, each move costs
    # turns of both, and all of them minutes (the end of the threads then takes a second)
    BOOTS += [boot("2-kernels", ["test-survive readers"])]
    # programs of all rooms, which get to allocations that random calls do not reach
    BOOTS += [boot("4-kernels", ["test-refused-programs", *AUDIT], label="refused")]
    BOOTS += [boot(machine, ["test-death 100"], "place=local", inject, label="deaths", machines=MACHINES | LONG_MACHINES)
              for machine in ("4-kernels", "4-kernels-parallel", "8-kernels", "2-nodes-smp", "4-nodes-smp")
              for inject in ("", f"seed={SEED}")]
    BOOTS += [boot(machine, ALL, inject=inject, label="long", machines=LONG_MACHINES)
              for machine in LONG_MACHINES for inject in ("", f"seed={SEED}")]
    BOOTS += strategy_boots(random.Random(SEED).sample(list(itertools.product(*STRATEGIES.values())), 200), 8,
                            [*SPACES, "test-fork", "test-exec", "leak-tasks 300", f"test-vm seed={SEED} seconds=30"])
    BOOTS += preempted_boots(100)
