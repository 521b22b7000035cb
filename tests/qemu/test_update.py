"""Kernels start from images of another build (kernel/machine/update.md): build/moved.image has the same objects in another
order, so that nothing of it is where it is in the booted one; build/foreign.image says that its messages are others."""

import fcntl
import subprocess

import pytest

from boots import MACHINES
from conftest import ROOT, first_or_all, tap_problems

FILES = {name: ROOT / f"build/{name}.image" for name in ("moved", "foreign")}


@pytest.fixture(scope="module")
def images():
    """The arguments that bring the images into a machine. Of several processes with tests the first one makes them."""
    with (ROOT / "build/images.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "-s", *(f"build/{name}.image" for name in FILES)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return [word for name, path in FILES.items() for word in ("--file", f"{path}:/images/{name}")]


def checked(done):
    assert done.status == 0 and not tap_problems(done.stdout.decode(errors="replace")), done.explain()
    return done.stdout.decode(errors="replace")


@pytest.mark.parametrize("text", first_or_all(["node", "one", "core"], 2))
def test_images(run, images, text):
    """Wrong images are refused, right ones run, whoever shares text."""
    checked(run(*MACHINES["4-kernels"], *images, "--append", f"text={text}", "--", "test-update", "/images/moved", "/images/foreign"))


@pytest.mark.parametrize("machine", first_or_all(["2-nodes-smp", "8-kernels"], 1))
def test_images_on_other_machines(run, images, machine):
    checked(run(*MACHINES[machine], *images, "--", "test-update", "/images/moved", "/images/foreign"))


@pytest.mark.parametrize("workload", [["3"], ["under", "test-content"], ["under", "test-zero", "busy"]])
def test_programs_lose_nothing(run, images, workload):
    """Kernels of both builds stop and start under programs, in turns."""
    checked(run(*MACHINES["4-kernels-parallel"], *images, "--append", "text=one", "--", "test-stop", "image", "/images/moved", *workload))


def test_the_command(run, images, tmp_path):
    """kettle-ctl update: a foreign image changes nothing, the other is that of all kernels but 0."""
    (tmp_path / "list").write_text("kettle-ctl update /images/foreign\nkettle-ctl kernels\nkettle-ctl update /images/moved\n"
                                   "kettle-ctl kernels\nkettle-ctl start 1 --image /images/moved\nkettle-ctl audit\n")
    done = run(*MACHINES["4-kernels"], *images, "--file", f"{tmp_path}/list:/list", "--", "suite", "/list")
    parts = done.stdout.decode().split("@suite begin ")[1:]
    builds = [[line.split()[-1] for line in part.splitlines() if line.startswith("kernel ")] for part in parts]
    assert "messages and shared structures are not those of this machine" in parts[0], done.explain()
    assert len(builds[1]) == 4 and len(set(builds[1])) == 1, done.explain()
    assert [f"kernel {k} updated" in parts[2] for k in range(4)] == [False, True, True, True], done.explain()
    assert builds[3][0] == builds[1][0] and len(set(builds[3][1:])) == 1 and builds[3][1] != builds[3][0], done.explain()
    assert "the kernel runs" in parts[4] and "0 violations" in parts[5], done.explain()
