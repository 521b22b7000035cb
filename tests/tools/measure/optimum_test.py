"""hosttools.measure.optimum on a hand-made trace, and `kettle numa optimum`."""

import struct

import numpy
import pytest

from hosttools import cli
from hosttools.measure import optimum, trace

PAGE = 4096
DISTANCES = ((10, 20, 30), (20, 10, 20), (30, 20, 10))


def access(cpu_node, memory_node, page, address=None):
    return (0, page * PAGE if address is None else address, 0, 0, 0, cpu_node, memory_node, 0, 3, 2, 0)


def costs(records, size=1, windows=1):
    return optimum.costs(numpy.array(records, numpy.dtype(trace.FIELDS)), DISTANCES, size, windows)


def test_each_block_is_where_its_accesses_cost_least():
    """Nodes 0 and 2 use page 1 equally: anywhere costs 40, between them too. Page 2 is node 1's, and lies far away. Kernels count not."""
    found = costs([access(0, 0, 1), access(2, 0, 1), access(1, 2, 2), access(1, 2, 2), access(1, 0, 0, 1 << 63)])
    assert found == optimum.Costs(accesses=4, local=40, placed=10 + 30 + 20 + 20, fixed=40 + 20, moving=60, moves=0)


def test_the_node_between_two_may_be_the_best():
    found = costs([access(0, 0, 1)] * 2 + [access(2, 0, 1)] * 2 + [access(1, 0, 1)])
    assert (found.placed, found.fixed) == (20 + 60 + 20, 4 * 20 + 10)


def test_a_larger_block_has_one_place():
    records = [access(0, 0, 16), access(2, 0, 17)]
    assert costs(records, 1).fixed == 20 and costs(records, 16).fixed == 40


def test_windows_let_blocks_move():
    """Node 0 first, then node 2, then nobody, then node 2 again: one move."""
    records = [access(0, 0, 1), access(0, 0, 1), access(2, 0, 1), access(2, 0, 1), access(1, 1, 9), access(1, 1, 9), access(2, 0, 1), access(2, 0, 1)]
    found = costs(records, windows=4)
    assert (found.moving, found.moves) == (80, 1)
    assert (costs(records, windows=1).fixed, costs(records, windows=1).moves) == (30 * 2 + 40 + 20, 0)


def written(path, records):
    head = trace.HEADER.pack(trace.MAGIC, trace.VERSION, struct.calcsize("<QQQQHBBBBBB"), 1, 2, 0)
    path.write_bytes(head + numpy.array(records, numpy.dtype(trace.FIELDS)).tobytes())
    return path


def test_the_command_prints_a_mean_for_each_size(tmp_path, capsys):
    path = written(tmp_path / "trace", [access(0, 1, 16), access(1, 1, 17)])
    assert cli.main(["numa", "optimum", str(path), "--dist", "10,20/20,10", "--windows", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 accesses (memory, one of 1)")
    assert "| 4 KiB | 15.00 | 10.00 | 10.00 | 10.00 | 0 |" in lines and "| 64 KiB | 15.00 | 15.00 | 15.00 | 10.00 | 0 |" in lines


@pytest.mark.parametrize("words, complaint", [(("--nodes", "1"), "more nodes"), (("--windows", "0"), "--windows")])
def test_what_cannot_be_is_refused(tmp_path, capsys, words, complaint):
    path = written(tmp_path / "trace", [access(0, 1, 16)])
    assert cli.main(["numa", "optimum", str(path), *words]) == 2
    assert complaint in capsys.readouterr().err


def test_a_trace_without_a_program_is_refused(tmp_path, capsys):
    assert cli.main(["numa", "optimum", str(written(tmp_path / "trace", []))]) == 2
    assert "no accesses" in capsys.readouterr().err
