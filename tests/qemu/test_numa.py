"""Programs with libnuma, as Debian has it: on Kettle they say what they say on Linux."""

from pathlib import Path

import pytest

from conftest import first_or_all, kettle

TOUR = Path(__file__).parents[1] / "numa" / "numa_tour.c"
MACHINE = ("--cpus", "8", "--nodes", "4")
KERNELS = ["core", "node", "2", "1"]


@pytest.fixture(scope="session")
def numa_tour(musl):
    return musl("numa_tour", TOUR.read_text(), compiler="gcc", libraries=("-lnuma",))


@pytest.fixture(scope="session")
def on_linux(numa_tour, tmp_path_factory):
    done = kettle("--os", "linux", *MACHINE, "--", numa_tour, log=tmp_path_factory.mktemp("linux") / "log")
    assert done.status == 0, done.explain()
    return done.stdout.decode()


@pytest.mark.parametrize("kernels", first_or_all(KERNELS, 2))
def test_libnuma(run, numa_tour, on_linux, kernels):
    """What is allocated, bound, interleaved and moved is on the same nodes, whichever kernels have them."""
    done = run(*MACHINE, "--kernels", kernels, "--", numa_tour)
    assert done.status == 0, done.explain()
    assert "available: 4 nodes" in on_linux
    assert done.stdout.decode() == on_linux
