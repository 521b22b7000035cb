"""Command lines that cannot be: each is told why in one line, with exit status 2, and no emulator is started."""

import re
import shlex

import pytest

from host_command import kettle, make_build, stub_emulators
from hosttools.errors import did_you_mean

BAD = {
    # the command
    "no command": ("", r"the following arguments are required: run\|shell\|"),
    "an unknown command": ("fly", r"command 'fly' is unknown \(valid: run, shell, debug, .*\) \(see kettle --help\)$"),
    "a misspelt command": ("shel", r"command 'shel' is unknown; did you mean 'shell'\?"),
    "an unknown option of kettle": ("--verison run inside", r"unknown option --verison; did you mean '--version'\?"),
    # options
    "an unknown option": ("run --what inside", r"unknown option --what \(valid: --accel, --append, .*\) \(see kettle run --help\)$"),
    "a misspelt option": ("run --kernel core inside", r"unknown option --kernel; did you mean '--kernels'\?"),
    "a shortened option": ("run --cpu=1 inside", r"unknown option --cpu; did you mean '--cpus'"),
    "an option without its value": ("run --cpus", r"argument --cpus: expected one argument"),
    "an unknown option of abi": ("abi --nosuch", r"unknown option --nosuch \(valid: .*--only.*\) \(see kettle abi --help\)$"),
    "an unknown option of bench": ("bench vm --quik", r"unknown option --quik; did you mean '--quick'\? \(see kettle bench"),
    "an unknown option of programs": ("programs --lst", r"unknown option --lst; did you mean '--list'\?"),
    "an unknown option of events": ("events --nosuch x", r"unknown option --nosuch \(valid: "),
    "an argument too many": ("list programs more", r"unexpected argument 'more' \(see kettle list --help\)$"),
    "an unknown list": ("list program", r"'program' is unknown; did you mean 'programs'\? \(valid: programs, options\)"),
    "an unknown benchmark": ("bench message", r"'message' is unknown; did you mean 'messages'\? \(valid: all, abi, messages, numa, policies, silence, tasks, thesis, vm, workloads\)"),
    "an unknown shell": ("completion fish", r"'fish' is unknown \(valid: bash, zsh\)"),
    "an unknown library": ("abi --libc dietlibc", r"--libc 'dietlibc' is unknown \(valid: "),
    "an unknown real program": ("programs --only nosuch", r"--only nosuch: no such program \(valid: .*\bsed\b"),
    # the program
    "no program": ("run --cpus 2", r"run which program\? \('kettle list' lists the image's"),
    "a missing file": ("run -- ./missing", r"kettle: missing: no such file$"),
    "an unknown program of the image": ("run -- missing", r"missing: no such file, and no such program in the image "
                                                          r"\('kettle list' lists all\)$"),
    "a misspelt program of the image": ("run -- insid", r"no such program in the image; did you mean 'inside'\?"),
    "a folder": ("run -- /tmp", r"/tmp: not a regular file"),
    "a dynamic executable": ("run -- /bin/true", r"dynamically linked; .* -static"),
    "no executable": ("run -- /etc/passwd", r"not an ELF executable"),
    "a malformed variable": ("run --env A inside", r"--env 'A' is not of the form NAME=VALUE"),
    "a missing guest file": ("run --file missing inside", r"--file missing: no such file"),
    # boot options
    "an unknown boot option": ("run --append retreive=home inside",
                               r"--append 'retreive=home': unknown boot option 'retreive'; did you mean 'retrieve'\? "
                               r"\(valid: alloc, audit, balance, .*, workers\)$"),
    "a word without sense": ("run --append quiet inside", r"unknown boot option 'quiet' \(valid: "),
    "a misspelt value": ("run --append lock=lamprot inside", r"invalid lock='lamprot'; did you mean 'lamport'\? "
                                                             r"\(valid: home\|lamport\)$"),
    "a ring of no power of two": ("run --append ring=5 inside", r"invalid ring='5' \(valid: 4\|8\|16\|32\|64\|.*\|1024\)$"),
    "a number out of range": ("run --append prefetch=33 inside", r"invalid prefetch='33' \(valid: 0\.\.32\)$"),
    "no number": ("run --append seed=x inside", r"invalid seed='x' \(valid: 0\.\."),
    "an empty value": ("run --append trace= inside", r"invalid trace='' \(valid: off\|on\|clear\)$"),
    "a boot option without a value": ("run --append leases inside", r"the boot option leases needs a value: leases=on\|off$"),
    "one bad boot option among good ones": ("run --append 'leases=off huge=often' inside", r"invalid huge='often' \(valid: "),
    "one bad boot option of several": ("run --append leases=off --append place=far inside", r"--append 'place=far': invalid"),
    "a part of a list": ("run --append inject=seed:1,speed:5 inside", r"invalid inject='seed:1,speed:5'"),
    "a message that there is not": ("run --append inject=seed:1,type:NOSUCH inside", r"invalid inject="),
    "a relative shared directory": ("run --append share=tag:mnt inside", r"invalid share='tag:mnt' \(valid: none\|TAG:/DIRECTORY"),
    "the partition as a boot option": ("run --append kernels=node inside", r"is the option --kernels$"),
    "a bad boot option of the shell": ("shell --append lock=none inside", r"invalid lock='none'"),
    "a bad boot option of debug": ("debug --append lock=none inside", r"invalid lock='none'"),
    "a bad boot option of abi": ("abi --append lock=none", r"invalid lock='none' \(valid: home\|lamport\)$"),
    "a bad boot option of programs": ("programs --append lock=none", r"invalid lock='none' \(valid: home\|lamport\)$"),
    "a bad boot option of bench": ("bench vm --append lock=none", r"--append 'lock=none': invalid lock='none'"),
    "a bad boot option of a comparison": ("bench vm --compare '' lock=none", r"--compare 'lock=none': invalid lock='none'"),
    "one side of a comparison": ("bench vm --compare lock=home", r"--compare 'lock=home': expected two sets of boot options, or a folder with raw.json"),
    "no repetition": ("bench vm --repeat 0", r"--repeat must be at least 1"),
    "a class that there is not": ("bench thesis --class D", r"'D' is unknown \(valid: S, W, A, B\)"),
    "a class of what has none": ("bench vm --class W", r"--class is of thesis, and of workloads with "),
    "a class of runs that have theirs": ("bench workloads --class W", r"--class is of thesis, and of workloads with "),
    # --inject
    "a schedule without a seed": ("run --inject rate=5 inside", r"there is no seed=N"),
    "a death at nothing": ("run --inject death=0 inside", r"'death=0' is not KEY=VALUE"),
    "a death of two": ("run --inject death=0@MIGRATE,seed=1 inside", r"is not KEY=VALUE"),
    "a death at a message that there is not": ("run --inject death=0@NOSUCH inside", r"--inject: invalid inject="),
    "a malformed schedule": ("run --inject seed=x inside", r"'seed=x' is not KEY=VALUE"),
    "a rate of more than all": ("run --inject seed=1,rate=101 inside", r"--inject: invalid inject='seed:1,rate:101'"),
    "a schedule with an odd ring": ("run --inject seed=1,ring=5 inside", r"--inject: invalid ring='5'"),
    "a schedule for Linux": ("run --os linux --inject seed=1 inside", r"Linux sends no messages"),
    # the machine
    "too little memory": ("run --mem 4M inside", r"--mem: 4 MiB are too little for 4 kernels on 4 CPUs and .*: the minimum is \d+M$"),
    "a node without memory": ("run --nodes 4 --mem 8K inside", r"node 2 has no memory"),
    "a malformed size": ("run --mem big inside", r"'big' is not a size such as"),
    "a malformed number": ("run --cpus many inside", r"argument --cpus: 'many' is not a whole number"),
    "no CPUs": ("run --cpus 0 inside", r"--cpus must be 1 to 256"),
    "too many nodes": ("run --nodes 65 inside", r"--nodes must be 1 to 64"),
    "a malformed matrix": ("run --nodes 2 --dist 10,20 inside", r"is not 2 rows of 2 numbers"),
    "more kernels than CPUs": ("run --cpus 2 --kernels 3 inside", r"more kernels than the 2 CPUs"),
    "more kernels than the limit": ("run --cpus 65 inside", r"64 is the limit"),
    "a CPU in two kernels": ("run --kernels 0-1,1-2 inside", r"gives CPU 1 to kernels 0 and 1"),
    "a partition of abi": ("abi --kernels cores", r"--kernels 'cores' is not core, node"),
    "an unknown emulator": ("run --emulator vax inside", r"--emulator 'vax' is unknown \(valid: qemu, bochs\)"),
    "nodes in Bochs": ("run --emulator bochs --nodes 2 inside", r"no NUMA tables"),
    "icount in Bochs": ("run --emulator bochs --icount 1 inside", r"--tcg and --icount are QEMU's"),
    "memory beforehand in Bochs": ("run --emulator bochs --prealloc inside", r"--prealloc is QEMU's"),
    "odd memory in Bochs": ("run --emulator bochs --mem 1032K inside", r"whole MiB"),
    "Linux in Bochs": ("run --emulator bochs --os linux inside", r"runs Kettle only"),
    "KVM in Bochs": ("run --emulator bochs --accel kvm inside", r"--accel kvm is QEMU's"),
    "Linux counting on many CPUs": ("run --os linux --icount 1 --cpus 2 inside", r"needs --cpus 1"),
    # pace
    "icount on many threads": ("run --icount 1 --tcg multi inside", r"--icount needs --tcg single"),
    "turns without icount": ("run --turn 500 inside", r"--turn needs --icount"),
    "turns out of range": ("run --icount 1 --turn 9 inside", r"--turn must be 10 to 100000"),
    "preemption on many threads": ("run --preempt 1 --tcg multi inside", r"--preempt needs --tcg single"),
    "preemption without a seed": ("run --preempt rate=5 inside", r"--preempt rate=5: 'rate=5' is not a seed"),
    "a preemption's seed out of range": ("run --preempt 18446744073709551616 inside", r"is not a seed, a whole number of at most 64 bits"),
    "a preemption's rate out of range": ("run --preempt 1,rate=0 inside", r"rate must be 1 to 1000000, not 0$"),
    "a preemption's rate twice": ("run --preempt 1,rate=5,rate=6 inside", r"'rate=6' is given twice$"),
    "a preemption by nothing": ("run --preempt 1,by=line inside", r"by must be instruction or block, not line$"),
    "an unknown key of a preemption": ("debug --preempt 1,all=1 inside", r"'all=1' is not of SEED\[,rate=N\]"),
    "preemption in Bochs": ("run --emulator bochs --preempt 1 inside", r"--preempt is QEMU's"),
    "preemption on KVM": ("run --accel kvm --preempt 1 inside", r"--accel kvm leaves out --preempt: only TCG"),
    "preemption without its plugin": ("run --preempt 1 inside", r"preempt\.so is missing: run make first"),
    "icount out of range": ("run --icount 11 inside", r"--icount must be 0 to 10"),
    "an unknown accelerator": ("run --accel hvf inside", r"--accel 'hvf' is unknown \(valid: tcg, kvm, auto\)"),
    "icount on KVM": ("run --accel kvm --icount 1 inside", r"--accel kvm leaves out --icount: only TCG"),
    "threads of KVM": ("run --accel kvm --tcg single inside", r"--accel kvm leaves out --tcg: only TCG"),
    "counting on KVM": ("run --accel kvm --count --profile p inside", r"--accel kvm leaves out --count and --profile: only TCG"),
    "a malformed timeout": ("run --timeout soon inside", r"'soon' is not a number of seconds above 0"),
    "no timeout": ("run --timeout 0 inside", r"'0' is not a number of seconds"),
    # what is told
    "a missing log folder": ("run --log /missing/log inside", r"--log /missing/log: no such folder"),
    "a dry run as JSON": ("run --dry-run --json inside", r"leave out --json"),
    "debugging Linux": ("debug --os linux inside", r"debug is for Kettle"),
    "debugging a kernel too many": ("debug --cpus 2 --kernel 2 inside", r"the kernels are 0 to 1"),
}


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return make_build(tmp_path_factory.mktemp("bad"))


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_is_one_line_and_status_2(build, tmp_path, what):
    command, words = BAD[what]
    done = kettle(build, *shlex.split(command), PATH=stub_emulators(tmp_path))
    assert (done.status, done.stdout) == (2, b""), done
    assert done.stderr.startswith("kettle: ") and done.stderr.count("\n") == 1, done.stderr
    assert re.search(words, done.stderr.rstrip("\n")), done.stderr
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("word, said", [
    ("test-futx", "; did you mean 'test-futex'?"), ("test-timerd", "; did you mean 'test-timerfd' or 'test-timers'?"), ("vi", "")])
def test_only_what_is_most_alike_is_offered(word, said):
    assert did_you_mean(word, ["test-audit", "test-futex", "test-quota", "test-timerfd", "test-timers"]) == said
