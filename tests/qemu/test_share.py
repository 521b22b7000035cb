"""Folders of the host (`tools/kettle run --share`): what goes in and comes out is the same, bytes and names."""

import hashlib
import os
import random
import subprocess
import threading
import time

import pytest

from boots import MACHINES
from conftest import first_or_all, tap_problems

ODD_NAMES = [b"plain", b"with blank", b"new\nline", b"\xff\xfe\x80", "Übergröße".encode(), b"-n", b"*", b"a" * 255, b".hidden"]


def checked(done):
    assert done.status == 0 and not tap_problems(done.stdout.decode(errors="replace")), done.explain()


def digest(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("machine", first_or_all(["4-kernels", "1-kernel", "2-kernels", "8-kernels", "4-nodes-smp"], 2))
def test_share(run, tmp_path, machine):
    """The program of the tests, on all machines; it leaves nothing on the host."""
    folder = tmp_path / "shared"
    folder.mkdir()
    checked(run(*MACHINES[machine], "--share", f"{folder}:/mnt/results", "--", "test-share", "/mnt/results"))
    assert not list(folder.iterdir())


def test_share_with_messages_held_back(run, tmp_path):
    checked(run("--cpus", "4", "--nodes", "2", "--inject", "seed=3", "--share", f"{tmp_path}:/mnt", "--", "test-share", "/mnt"))


@pytest.mark.parametrize("under", ["test-stop", "test-audit"])
def test_share_while_kernels_stop(run, tmp_path, under):
    """Files stay open, and are read and written, while kernels stop and start; or the whole machine is audited."""
    checked(run("--cpus", "4", "--nodes", "2", "--tcg", "multi", "--share", f"{tmp_path}:/mnt", "--", under, "under", "test-share",
                "/mnt"))


def test_programs_on_a_share(run, tmp_path):
    """Tests of files that know nothing of shares, in /tmp, which is one."""
    folder = tmp_path / "shared"
    folder.mkdir()
    for program in ("test-file-locks", "test-filemap"):
        checked(run("--cpus", "4", "--nodes", "2", "--share", f"{folder}:/tmp", "--", program))


def test_same_as_linux(run):
    """In an ordinary folder the tests say what Linux does."""
    checked(run("--os", "linux", "--cpus", "2", "--", "test-share", "/tmp"))
    checked(run("--cpus", "2", "--", "test-share", "/tmp"))


def test_bytes_both_ways(run, tmp_path):
    """What the host made is copied over all kernels into a file of the host."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "data").write_bytes(random.Random(1).randbytes(3_000_001))
    done = run("--cpus", "4", "--share", f"{tmp_path}/in:/data:ro", "--share", f"{tmp_path}/out:/results", "--",
               "test-share", "copy", "/data/data", "/results/data")
    assert done.status == 0, done.explain()
    assert digest(tmp_path / "in" / "data") == digest(tmp_path / "out" / "data")
    assert (tmp_path / "out" / "data").stat().st_mode & 0o7777 == 0o755


def test_names_of_the_host(run, tmp_path):
    """Names of any bytes are listed as they are."""
    for name in ODD_NAMES:
        with open(os.fsencode(tmp_path) + b"/" + name, "wb"):
            pass
    done = run("--cpus", "2", "--share", f"{tmp_path}:/mnt:ro", "--", "test-share", "names", "/mnt")
    assert done.status == 0, done.explain()
    # The run's own log is in the folder, too.
    assert set(done.stdout.split(b"\0")) >= {*ODD_NAMES, b".", b".."}


def test_many_names(run, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(10_000):
        (folder / f"name-{number:05}").touch()
    done = run("--cpus", "2", "--share", f"{folder}:/mnt", "--", "test-share", "count", "/mnt")
    assert done.status == 0 and done.stdout == b"10000\n", done.explain()


def test_changes_of_the_host_are_seen(run, tmp_path):
    """Host and guest answer each other by files, replaced and written, ten times."""
    folder = tmp_path / "meeting"
    folder.mkdir()
    over = threading.Event()

    def answer():
        turn = 0
        while not over.is_set() and turn < 10:
            asked = folder / "asked"
            if asked.exists() and asked.read_text() == f"asked {turn}\n":
                (folder / "answering").write_text(f"answered {turn}\n")
                (folder / "answering").rename(folder / "answered")
                turn += 1
            time.sleep(0.002)

    host = threading.Thread(target=answer)
    host.start()
    try:
        done = run("--cpus", "4", "--share", f"{folder}:/mnt", "--", "test-share", "meet", "/mnt")
    finally:
        over.set()
        host.join()
    assert done.status == 0, done.explain()


READ_ONLY = """
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
static int failed;
static void refused(const char *what, int result)
{
    if (result != -1 || errno != EROFS)
        failed = printf("%s: %d, %d\\n", what, result, errno);
}
int main(void)
{
    struct stat facts;
    refused("create", open("/mnt/new", O_CREAT | O_WRONLY, 0600));
    refused("write", open("/mnt/file", O_WRONLY));
    refused("truncate", open("/mnt/file", O_RDONLY | O_TRUNC));
    refused("mkdir", mkdir("/mnt/folder", 0755));
    refused("unlink", unlink("/mnt/file"));
    refused("rename", rename("/mnt/file", "/mnt/other"));
    refused("symlink", symlink("file", "/mnt/link"));
    refused("chmod", chmod("/mnt/file", 0600));
    if (mkdir("/mnt/there", 0755) != -1 || errno != EEXIST)
        failed = printf("what is there is there\\n");
    if (stat("/mnt/file", &facts) != 0 || facts.st_size != 5 || rename("/two/file", "/mnt/file") != -1 || errno != EXDEV)
        failed = printf("the other folder\\n");
    return failed != 0;
}
"""


def test_read_only(run, tmp_path, musl):
    """Nothing of a folder that is shared to be read changes, and Linux's errors say so; a second folder is another file
    system."""
    for name in ("one", "two"):
        (tmp_path / name / "there").mkdir(parents=True)
        (tmp_path / name / "file").write_text("text\n")
    done = run("--cpus", "2", "--share", f"{tmp_path}/one:/mnt:ro", "--share", f"{tmp_path}/two:/two", "--",
               musl("read_only", READ_ONLY))
    assert done.status == 0, done.explain()
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["file", "there"]
    assert (tmp_path / "one" / "file").read_text() == "text\n"


def test_results_of_an_ordinary_user(run, tmp_path):
    """What programs make belongs to who runs the tool, with the permissions that they gave."""
    checked(run("--cpus", "1", "--share", f"{tmp_path}:/mnt", "--", "test-share", "/mnt"))
    done = run("--cpus", "1", "--share", f"{tmp_path}:/mnt", "--", "test-share", "copy", "/bin/hello", "/mnt/hello")
    assert done.status == 0, done.explain()
    facts = (tmp_path / "hello").stat()
    assert (facts.st_uid, facts.st_mode & 0o777) == (os.getuid(), 0o755)
    assert subprocess.run([tmp_path / "hello"], capture_output=True, check=False).stdout


def test_a_device_that_is_missing(run, tmp_path):
    """A boot option for a device that is not there is said, and the rest goes on."""
    done = run("--cpus", "2", "--append-raw", "share=nothing:/mnt", "--", "hello")
    assert done.status == 0, done.explain()
    assert "share= nothing at /mnt has no device" in done.stderr, done.explain()
    done = run("--cpus", "1", "--append-raw", "share=nothing:/mnt,none", "--", "hello")
    assert done.status == 0 and "invalid share='nothing:/mnt,none'; using none" in done.stderr, done.explain()


@pytest.mark.parametrize("place", ["/bin/hello", "/proc/below"])
def test_a_place_that_cannot_be(run, tmp_path, place):
    """So is a place where nothing can be mounted."""
    done = run("--cpus", "1", "--share", f"{tmp_path}:/mnt", "--append", f"share=kettle0:{place}", "--", "hello")
    assert done.status == 0 and f"share= kettle0 at {place} cannot be mounted there" in done.stderr, done.explain()


@pytest.mark.parametrize("arguments, reason", [
    (("--share", "/nowhere/at/all:/mnt"), "no such folder"),
    (("--share", "/tmp"), "HOSTDIR:/GUESTDIR"),
    (("--share", "/tmp:mnt"), "HOSTDIR:/GUESTDIR"),
    (("--share", "/tmp:/"), "the root"),
    (("--share", "/tmp:/a,b"), "comma"),
    (("--share", "/tmp:/mnt", "--share", "/tmp:/mnt/"), "two folders"),
    (("--share", "/tmp:/mnt", "--share", "/tmp:/mnt/below"), "below /mnt"),
    (("--share", "/tmp:/proc/self"), "/proc"),
    (("--share", "/tmp:/mnt", "--os", "linux"), "for Kettle"),
    (("--share", "/tmp:/mnt", "--emulator", "bochs"), "bochs"),
])
def test_what_cannot_be_shared(run, arguments, reason):
    """Is said before anything boots."""
    done = run(*arguments, "--", "hello")
    assert done.status == 2 and reason in done.stderr, done.explain()
