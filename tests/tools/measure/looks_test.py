"""hosttools.measure.looks on a hand-made trace, and on the files of tests/mm/seen/data."""

import re
from pathlib import Path

import numpy

from hosttools.measure import looks, trace

PAGE = 4096
BLOCK = looks.BLOCK * PAGE
DISTANCES = ((10, 20), (20, 10))
DATA = Path(__file__).parents[2] / "mm" / "seen" / "data"


def access(node, memory, address, write=0):
    return (0, address, 0, 0, 0, node, memory, write, 3, 2, 0)


def made(records):
    return numpy.array(records, numpy.dtype(trace.FIELDS))


def test_a_period_tells_pages_accesses_and_writes_of_each_node():
    records = made([access(0, 1, BLOCK), access(0, 1, BLOCK + 8), access(0, 1, BLOCK + PAGE, 1), access(1, 1, BLOCK),
                    access(1, 0, 5 * BLOCK), access(1, 0, 5 * BLOCK), access(1, 0, 5 * BLOCK), access(1, 0, BLOCK)])
    assert list(looks.lines(records, DISTANCES, 2)) == [
        "nodes 2", "10 20", "20 10", "optimum 8 150 100 90", "blocks 1 0",
        "period", "0 0:2:3w 1:1:1", "period", "0 1:1:1", "1 1:1:3"]


def test_kernels_and_blocks_with_few_accesses_are_left_out():
    records = made([access(0, 0, BLOCK)] * 99 + [access(0, 0, 2 * BLOCK), access(0, 0, 1 << 63)])
    assert len(looks.chosen(records, 0.02)) == 99
    assert len(looks.chosen(records, 0.01)) == 100


def test_bad_input_is_one_line(tmp_path, capsys):
    assert looks.main([str(tmp_path / "none")]) == 2
    (tmp_path / "short").write_bytes(trace.HEADER.pack(trace.MAGIC, trace.VERSION, 40, 1, 0, 0))
    assert looks.main([str(tmp_path / "short")]) == 2
    assert re.fullmatch(r"looks: .*No such file or directory\nlooks: 0 accesses cannot be cut into 32 periods\n",
                        capsys.readouterr().err)


def test_each_file_of_the_tests_says_how_it_was_made():
    files = sorted(DATA.glob("*.txt"))
    assert files
    for file in files:
        head = file.read_text().partition("\nnodes ")[0]
        assert "tools/kettle run" in head and "hosttools.measure.looks" in head
        assert file.stat().st_size < 8192
