"""Debian's busybox as a toolbox: what its programs say on Kettle is what they say on Linux, on the same machine.

One boot of each runs the rows of a table, a third of them in a short run, each in a new folder; what they print and how they end is compared row by row.
"""

import re
import shutil

import pytest

from conftest import first_or_all, kettle

MACHINE = ("--cpus", "4", "--nodes", "2")
KERNELS = ("core", "node", "1")
SAME = {  # name: commands whose output is defined to the byte
    "awk": "seq 1 100 | awk '{s += $1; n[$1 % 7]++} END {print s; for (i = 0; i < 7; i++) printf \"%d:%d \", i, n[i]; print \"\"}'",
    "sed": "seq 1 20 | sed -n -e 's/\\(.\\)\\(.\\)/\\2\\1/p' -e '3,5d' -e '$='",
    "sort": "seq 1 500 | awk '{print $1 * 7919 % 503, $1}' | sort -k1n -k2r | md5sum; printf 'b\\na\\nB\\n' | sort -f",
    "grep": "seq 1 1000 | grep -c '7.*7'; printf 'one\\ntwo\\n' >f; grep -rn tw .; grep -q three f; echo $?",
    "tar": "mkdir d; seq 1 3000 >d/a; ln -s a d/l; ln d/a d/h; tar cf t d; tar tf t | sort; mkdir x; tar xf t -C x; cmp d/a x/d/a; readlink x/d/l",
    "tar gzip": "mkdir d; seq 1 5000 >d/a; tar czf t.gz d; rm -r d; tar xzf t.gz; md5sum d/a",
    "gzip": "seq 1 20000 >f; md5sum f; gzip f; ls; gunzip f.gz; md5sum f; gzip -c f | zcat | wc -c",
    "bzip2": "seq 1 3000 >f; bzip2 f; bunzip2 f.bz2; md5sum f",
    "xz": "printf '\\375' >f; xz -dc f 2>/dev/null; echo $?",
    "find": "mkdir -p a/b/c; touch a/1 a/b/2 a/b/c/3; ln -s x a/l; find a | sort; find a -type f -name '[12]' | sort; find a -type l; find a -type d -empty",
    "find exec": "touch x y z; find . -type f -exec echo {} \\; | sort; find . -name x -delete; ls",
    "xargs": "seq 1 30 | xargs -n 7 echo; printf 'a b\\0c\\0' | xargs -0 -n 1 echo",
    "dd": "seq 1 1000 | dd bs=64 count=3 skip=1 2>/dev/null; printf abcdef >f; printf XY | dd of=f bs=1 seek=2 conv=notrunc 2>/dev/null; cat f",
    "dd large": "dd if=/dev/zero of=f bs=64k count=40 2>/dev/null; wc -c <f; md5sum f; truncate -s 100 f; wc -c <f",
    "cut": "printf 'a:b:c\\nd:e:f\\n' | cut -d : -f 1,3; echo abcdef | cut -c 2-4",
    "tr": "echo 'Hello  World' | tr -s ' ' | tr 'a-z' 'A-Z' | tr -d L",
    "diff": "seq 1 20 >a; seq 2 21 >b; diff a b; echo $?; diff -u a a; echo $?; mkdir x y; echo 1 >x/f; echo 2 >y/f; diff -q x y",
    "patch": "seq 1 9 >a; sed s/5/five/ a >b; diff -u a b >p; cp a c; patch c <p; cat c",
    "sums": "seq 1 999 >f; md5sum f; sha1sum f; sha256sum f; sha512sum f; cksum f 2>/dev/null; crc32 f; md5sum f >s; md5sum -c s",
    "wc": "seq 1 1234 | wc; printf 'no end' | wc -lwc",
    "seq": "seq -w 8 11; seq 5 -2 0; seq -s , 3",
    "od": "printf 'ab\\001\\377xyz' | od -c; printf 'abcd' | od -An -tx4; printf 'abc' | hexdump -C; printf abc | xxd",
    "cp": "mkdir -p s/t; echo one >s/a; ln -s a s/l; chmod 751 s/t; cp -r s d; cp -a s e; ls -R d e; stat -c '%a %F' e/t e/l",
    "mv": "echo one >a; mv a b; mkdir d; mv b d; ls d; echo two >c; mv c d/b; cat d/b; mv d e; ls e; mv nothing there 2>/dev/null; echo $?",
    "ln": "echo one >a; ln a b; ln -s a c; stat -c %h a; rm a; cat b; cat c 2>/dev/null; echo $?; ln -sf b c; readlink c; realpath c | sed 's,.*/,,'",
    "rm": "mkdir -p a/b; touch a/b/c; rmdir a 2>/dev/null; echo $?; rm -r a; ls; rm x 2>/dev/null; echo $?; rm -f x; echo $?",
    "du": "mkdir d; dd if=/dev/zero of=d/f bs=1024 count=100 2>/dev/null; du -k d/f",
    "chmod": "touch f; chmod 640 f; stat -c %a f; chmod u+x,o+r f; stat -c %a f; umask 027; touch g; mkdir h; stat -c %a g h",
    "touch": "touch -d '2020-02-02 02:02:02' f; stat -c %Y f; touch g; test g -nt f; echo $?; test -e nothing; echo $?",
    "test": "test 3 -lt 10; echo $?; [ a = b ]; echo $?; [ -d . -a ! -f . ]; echo $?; [[ abc == a* ]]; echo $?",
    "expr": "expr 6 \\* 7; expr length hello; expr hello : 'h\\(.*\\)o'; expr 1 = 2; echo $?; factor 360",
    "bc": "echo '2^100; scale=10; 1/7; sqrt(2)' | bc; echo '3 4 + 2 * p' | dc",
    "printf": "printf '%5d|%-5s|%x|%o|%c|%s\\n' 42 ab 255 8 x end; printf '%b\\n' 'a\\tb'; printf '%s-' 1 2 3; echo",
    "env": "env -i A=1 B=2 env | sort; A=5 sh -c 'echo $A'; env -u HOME sh -c 'echo ${HOME-none}'",
    "head tail": "seq 1 100 | head -n 3; seq 1 100 | tail -n 3; seq 1 10 | tail -n +8; seq 1 10 | head -c 5; echo",
    "tee": "seq 1 5 | tee a b | wc -l; cmp a b; echo $?; echo 6 | tee -a a >/dev/null; wc -l <a",
    "uniq": "printf 'a\\na\\nb\\na\\n' | uniq -c; printf '3\\n1\\n2\\n' | tac; echo abc | rev; seq 1 6 | paste - - -",
    "fold": "echo 'a long line of words to fold' | fold -s -w 10; printf 'a\\tb\\n' | expand | od -c | head -n 1; seq 1 3 | nl",
    "split": "seq 1 100 | shuf -n 5 | wc -l; yes | head -n 4; strings /bin/busybox | grep -c BusyBox | sed 's/[0-9]*/some/'",
    "timeout": "timeout 1 sleep 100; echo $?; timeout 50 true; echo $?; timeout -s KILL 1 sleep 100; echo $?",
    # a shell says that a child was terminated only if it waits before that
    "kill": "{ sleep 100 & kill $!; wait $!; echo $?; sleep 100 & kill -KILL $!; wait $!; echo $?; } 2>/dev/null; kill -l 15; kill -0 $$; echo $?",
    "wait": "(exit 3) & wait $!; echo $?; sleep 100 & p=$!; kill -STOP $p; kill -CONT $p; kill $p; wait $p 2>/dev/null; echo $?",
    "trap": "trap 'echo hung' HUP; kill -HUP $$; trap 'echo left' EXIT; (trap - EXIT; exit 4); echo $?",
    "sh": "f() { local x=$1; echo $((x * x)); }; for i in 1 2 3; do f $i; done; case abc in a*) echo yes;; esac; x=abcdef; echo ${x#abc} ${x%f} ${#x}",
    "here": "cat <<END\n$((1 + 1)) `echo two`\nEND\nread a b <<END\none two three\nEND\necho \"$b\"",
    "pipes": "seq 1 2000 | cat | cat | cat | cat | cat | tail -n 1; yes | head -n 1; false | true; echo $?; set -o pipefail; false | true; echo $?",
    "redirect": "{ echo out; echo err >&2; } >a 2>b; cat b a; echo more >>a; wc -l <a; exec 3<a; read x <&3; read y <&3; echo $x $y; ls nothing 2>&1 | wc -l",
    "substitution": "echo $(seq 1 3 | while read n; do echo $((n * 10)); done); x=$(printf 'a\\n\\n'); echo \"[$x]\"",
    "mkfifo": "mkfifo p; seq 1 5 >p & cat p; wait; test -p p; echo $?",
    "mktemp": "t=$(mktemp -p .); test -f $t; echo $?; d=$(mktemp -d -p .); test -d $d; echo $?; stat -c %a $t $d",
    "stat": "echo abc >f; stat -c '%s %F %h' f; stat -c '%F' /dev/null . ; stat -c '%t,%T' /dev/zero; ls -l f | cut -c 1-10",
    "ls": "mkdir d; touch b a .h; ln -s a l; ls; ls -a; ls -F; ls -1 d; ls -l | awk '{print $1, $NF}'",
    "cmp": "echo abc >a; echo abd >b; cmp a b; echo $?; cmp -s a a; echo $?",
    "base64": "printf hello | base64; printf aGVsbG8= | base64 -d; echo; echo hello | uuencode -m f | uudecode -o -",
    "cpio": "touch a b; printf 'a\\nb\\n' | cpio -o -H newc 2>/dev/null | cpio -t 2>/dev/null; ar -t /nothing 2>/dev/null; echo $?",
    "ed": "printf 'a\\none\\ntwo\\n.\\n1s/o/O/\\nw f\\nq\\n' | ed f 2>/dev/null; cat f",
    "time": "time -p true 2>&1 | cut -d ' ' -f 1; time sleep 1 2>/dev/null; echo $?",
    "nice": "nice -n 5 nice; renice -n 7 $$ >/dev/null; nice; setsid sh -c 'test $$ = $(cut -d \" \" -f 6 /proc/$$/stat); echo $?'",
    "nproc": "nproc; taskset 3 nproc; taskset 1 sh -c 'nproc; grep Cpus_allowed_list /proc/self/status'",
    "id": "id -u; id -g; whoami; groups 2>/dev/null; logname 2>/dev/null; tty -s; hostid >/dev/null; echo $?",
    "date": "TZ=UTC date -d @0 '+%Y-%m-%d %H:%M:%S'; TZ=UTC date -d '2024-02-29 12:00' +%s; cal 2 2024",
    "flock": "mkdir d; (sleep 1; echo late >>f) & wait; which sh | sed 's,.*/,,'; basename /a/b.c .c; dirname /a/b",
    "less": "seq 1 100 | less | tail -n 1; seq 1 3 | more",
    "vi": "printf 'one\\ntwo\\n' >f; vi -c ':s/one/ONE/' -c ':wq' f </dev/null >/dev/null 2>&1; cat f",
    "usleep": "usleep 1000; echo $?; sleep 0.01; echo $?",
    "sync": "echo x >f; sync f 2>/dev/null; sync; cat f; fallocate -l 100 g; wc -c <g; shred -n 1 f; wc -c <f",
    "proc": "cat /proc/self/comm; tr '\\0' ' ' </proc/self/cmdline; echo; readlink /proc/self/cwd | sed 's,.*/,,'; test -r /proc/self/maps; echo $?",
    "cat dev": "cat /dev/null; head -c 4 /dev/zero | od -An -tx1; head -c 100 /dev/urandom | wc -c; echo x >/dev/full; echo $?",
}
RUNS = {  # name: command and what its output has on both: values differ
    "df": ("df -k", r"^Filesystem +1K-blocks +Used"), "free": ("free", r"Mem: +\d+ +\d+ +\d+"),
    "uptime": ("uptime", r"up .*load average: "), "ps": ("ps -o pid,ppid,stat,args", r"\d+ +\d+ +R"),
    "top": ("top -b -n 1", r"(?s)Mem: \d+K used.*CPU: .*usr.*Load average.*PID"), "mount": ("mount", r" on /proc type proc "),
    "uname": ("uname -s -m", r"^Linux x86_64$"), "dmesg": ("dmesg | head -n 2; echo done", r"done"),
    "date now": ("date +%Y", r"^20\d\d$"), "pidof": ("sleep 100 & until pidof sleep; do :; done; kill $!; wait $!", r"^\d+$"),
    "hostname": ("hostname; echo $?", r"0$"), "cpuinfo": ("grep -c ^processor /proc/cpuinfo", r"^4$"),
    "killall": ("killall sleep; echo $?", r"1$"),
}
MARK = "=== "


def script() -> str:
    """Runs every row in a folder of its own, with a mark before and its status behind."""
    rows = []
    for number, command in enumerate([*SAME.values(), *(command for command, _ in RUNS.values())]):
        rows += [f"mkdir /tmp/{number}; cd /tmp/{number}; echo '{MARK}{number}'", f"cat >/tmp/row <<'ROW'\n{command}\nROW",
                 "sh /tmp/row </dev/null 2>&1; echo; echo status $?"]
    return "\n".join(rows) + "\n"


def results(run, folder, *machine) -> dict[str, str]:
    (folder / "rows").write_text(script())
    done = run(*MACHINE, *machine, "--file", f"{folder / 'rows'}:/rows", "--env", "PATH=/bin", "--", shutil.which("busybox"), "sh", "/rows",
               timeout=900)
    assert done.status == 0, done.explain()
    parts = re.split(rf"^{MARK}\d+\n", done.stdout.decode(errors="replace").replace("\r", ""), flags=re.M)[1:]
    assert len(parts) == len(SAME) + len(RUNS), done.explain()
    return dict(zip([*SAME, *RUNS], parts))


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What each row gave: on Linux, and on Kettle."""
    folder = tmp_path_factory.mktemp("toolbox")
    return (results(kettle, folder, "--os", "linux"),
            {kernels: results(kettle, folder, "--kernels", kernels) for kernels in first_or_all(KERNELS)})


@pytest.mark.parametrize("name", SAME)
def test_says_what_it_says_on_linux(outputs, name):
    linux, kettles = outputs
    for kernels, rows in kettles.items():
        assert rows[name] == linux[name], f"kernels={kernels}: {SAME[name]}"


@pytest.mark.parametrize("name", RUNS)
def test_works(outputs, name):
    linux, kettles = outputs
    for system, rows in (("linux", linux), *kettles.items()):
        assert re.search(RUNS[name][1], rows[name].strip(), re.M), (system, rows[name])
