"""hosttools.machine.topology: what machine the options make, and which ones they cannot make."""

import pytest

from hosttools.errors import UsageError
from hosttools.machine.topology import (MIB, PAGE, Topology, divide_kernels, make_topology, parse_distances, parse_size,
                                split_memory)


@pytest.mark.parametrize("text, size", [
    ("4096", 4096), ("640K", 640 << 10), ("512M", 512 << 20), ("2G", 2 << 30), ("1T", 1 << 40), ("1.5G", 3 << 29),
    ("512MiB", 512 << 20), ("512MB", 512 << 20), ("64k", 64 << 10), (" 1G ", 1 << 30), ("0", 0)])
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1G", "1X", "1GG", "0x100", "1.2.3M", "1e9", "0.3K"])
def test_malformed_sizes_are_refused(text):
    with pytest.raises(UsageError):
        parse_size(text)


def test_default_memory_grows_with_the_cpus():
    assert sum(split_memory(None, 1, 1)) == 1024 * MIB
    assert sum(split_memory(None, 32, 4)) == 1024 * MIB
    assert sum(split_memory(None, 64, 8)) == 2048 * MIB


def test_memory_is_dealt_in_pages_and_none_is_lost():
    sizes = split_memory("1000M", 4, 3)
    assert sum(sizes) == 1000 * MIB
    assert all(size % PAGE == 0 for size in sizes)
    assert max(sizes) - min(sizes) <= PAGE


def test_memory_of_each_node_can_be_given():
    assert split_memory("512M,4K,256M,4K", 4, 4) == (512 * MIB, PAGE, 256 * MIB, PAGE)


@pytest.mark.parametrize("text, nodes, word", [
    ("8K", 4, "node 2 has no memory"), ("512M,0", 2, "node 1 has no memory"), ("512M,512M", 3, "2 sizes for 3 nodes"),
    ("5000", 1, "whole pages"), ("512M,5000", 2, "node 1 are not whole pages"), ("100M,4K", 2, "multiple of 8192")])
def test_memory_that_cannot_be_is_refused(text, nodes, word):
    with pytest.raises(UsageError, match=word):
        split_memory(text, 4, nodes)


@pytest.mark.parametrize("cpus, nodes, runs", [
    (8, 4, [[0, 1], [2, 3], [4, 5], [6, 7]]), (5, 2, [[0, 1, 2], [3, 4]]), (2, 4, [[0], [1], [], []]), (3, 1, [[0, 1, 2]])])
def test_cpus_are_dealt_in_runs(cpus, nodes, runs):
    topology = Topology(cpus, (MIB,) * nodes)
    assert [list(topology.node_cpus(node)) for node in range(nodes)] == runs


@pytest.mark.parametrize("cpus, nodes", [(0, 1), (257, 1), (1, 0), (1, 65)])
def test_machines_out_of_bounds_are_refused(cpus, nodes):
    with pytest.raises(UsageError):
        make_topology(cpus, nodes, None, None)


@pytest.mark.parametrize("text", ["10,21,31/21,10,21/31,21,10", "10,21,31;21,10,21;31,21,10"])
def test_distances(text):
    assert parse_distances(text, 3) == ((10, 21, 31), (21, 10, 21), (31, 21, 10))


def test_one_distance_is_between_all_nodes():
    assert parse_distances("30", 2) == ((10, 30), (30, 10))


def test_distances_may_differ_by_direction():
    assert parse_distances("10,20/40,10", 2) == ((10, 20), (40, 10))


@pytest.mark.parametrize("text", ["", "10,x/20,10", "10,20", "10,20/20", "11,20/20,10", "10,10/20,10", "10,255/20,10",
                                  "10,-20/20,10"])
def test_malformed_distances_are_refused(text):
    with pytest.raises(UsageError):
        parse_distances(text, 2)


@pytest.mark.parametrize("text, groups", [
    ("core", [[0], [1], [2], [3], [4]]), ("node", [[0, 1, 2], [3, 4]]), ("1", [[0, 1, 2, 3, 4]]), ("2", [[0, 1, 2], [3, 4]]),
    ("5", [[0], [1], [2], [3], [4]]), ("0-1,2-3", [[0, 1], [2, 3]]), ("0,4,2-3", [[0], [4], [2, 3]]), ("0-0", [[0]])])
def test_kernels_divide_the_cpus(text, groups):
    assert divide_kernels(text, Topology(5, (MIB, MIB))) == groups


def test_a_node_without_cpus_makes_no_kernel():
    assert divide_kernels("node", Topology(2, (MIB,) * 4)) == [[0], [1]]


@pytest.mark.parametrize("text, word", [
    ("6", "more kernels than the 5 CPUs"), ("0", "at least 1"), ("", "not core"), ("cores", "not core"), ("-1", "not core"),
    ("0-1,", "not core"), ("0-5", "names CPU 5"), ("3-1", "empty"), ("0-2,2-3", "CPU 2 to kernels 0 and 1"),
    ("1-2,0", "CPU 0 to the first"), ("1,2", "CPU 0 to the first"), ("\u0663", "not core")])
def test_kernels_that_cannot_be_are_refused(text, word):
    with pytest.raises(UsageError, match=word):
        divide_kernels(text, Topology(5, (MIB, MIB)))


def test_more_kernels_than_the_limit_are_refused():
    assert len(divide_kernels("core", Topology(64, (MIB,)))) == 64
    with pytest.raises(UsageError, match="64 is the limit"):
        divide_kernels("core", Topology(65, (MIB,)))
