"""hosttools.measure.accuracy: what kernels have noted against a hand-made trace, and the page that `kettle numa accuracy` writes."""

import numpy
import pytest

from hosttools.bench import accuracy as command
from hosttools.errors import UsageError
from hosttools.measure import accuracy, trace

FUNCTION = (0xffffffff80001000, 0xffffffff80001040)
TABLE = 512 * 8  # the first page of a table
PROCESS = 3
KERNELS = [0, 1]  # of the CPUs


def access(cpu, page, pc=0x400000, write=0, node=None):
    return (0, page << 12, 0, pc, cpu, cpu if node is None else node, 0, write, 3, 0, 0)


def look(cpu):
    """A call of the function: it pushes, reads and pops, on the kernel's stack."""
    stack = 0xffff800000000000 >> 12
    return [access(cpu, stack, FUNCTION[0] + at, write) for at, write in ((0, 1), (1, 0), (9, 1), (0x3e, 0))]


def noted(kernel, what, block, figure, process=PROCESS):
    return f"@kernel {kernel} time 5 noted {what} thread 0:{process} peer {kernel} figures {block} {figure}\n"


def looks(kernel, number, page=TABLE, process=PROCESS):
    return noted(kernel, "looks at a table", page // 16, number, process)


def uses(kernel, page, node=None, process=PROCESS):
    return noted(kernel, "uses a page", page // 16, page % 16 | (kernel if node is None else node) << 4, process)


def compare(records, text, faults=False):
    made = numpy.array(records, numpy.dtype(trace.FIELDS))
    notes = accuracy.parse(text)
    true = accuracy.truth(made, accuracy.look_calls(made, FUNCTION, KERNELS), notes, PROCESS, KERNELS)
    return true, accuracy.claims(notes, PROCESS, true, faults)


def test_notes_are_read_and_all_else_is_not():
    text = "@process 3\n" + uses(1, TABLE + 17, node=5) + "other\n" + looks(0, 4) + noted(0, "wants memory on this node", 1, 1)
    assert accuracy.parse(text) == [accuracy.Note(1, 3, TABLE + 17, 5), accuracy.Note(0, 3, TABLE, look=4)]
    assert accuracy.parse(noted(0, "uses a page", 0, 0, "9").replace("0:9", "2:9"))[0].process == 2 << 16 | 9


RECORDS = [access(0, TABLE), *look(0), access(0, TABLE + 1), access(0, TABLE + 1), access(0, TABLE + 20), access(1, TABLE + 300), *look(0),
           access(0, TABLE + 2), *look(0), access(0, TABLE + 3)]


def test_accesses_are_of_the_period_between_two_looks_of_their_kernel():
    """What is before the first look and behind the last is of no period, nor what a kernel does that looks at nothing."""
    true, _ = compare(RECORDS, looks(0, 0) + looks(0, 1) + looks(0, 2))
    assert true.accesses == {(0, 0): {TABLE + 1: 2, TABLE + 20: 1}, (0, 1): {TABLE + 2: 1}}
    assert true.nodes == {0: 0, 1: 1}


def test_bits_are_of_the_period_that_a_look_ends_and_faults_of_their_own():
    text = looks(0, 0) + uses(0, TABLE + 20) + looks(0, 1) + uses(0, TABLE + 1) + looks(0, 2) + uses(0, TABLE + 2)
    _, bits = compare(RECORDS, text)
    assert bits == {(0, 0): {TABLE + 1: 0}, (0, 1): {TABLE + 2: 0}}
    _, faults = compare(RECORDS, text, faults=True)
    assert faults == {(0, 0): {TABLE + 20: 0}, (0, 1): {TABLE + 1: 0}}


def test_a_table_that_a_look_has_not_met_has_no_period():
    """A claim about it is none, though the same look bounds a period elsewhere."""
    other = TABLE + 512
    text = looks(0, 0) + looks(0, 1) + looks(0, 1, other) + uses(0, other)
    records = [*look(0), access(0, TABLE), *look(0), *look(0), access(0, other)]
    _, bits = compare(records, text)
    assert bits == {(0, 0): {}}


def test_looks_at_another_process_bound_nothing():
    true, _ = compare([*look(0), access(0, TABLE), *look(0), access(0, TABLE), *look(0)], looks(0, 0) + looks(0, 7, process=9) + looks(0, 1))
    assert true.accesses == {(0, 0): {TABLE: 2}}


def test_lost_notes_are_an_error():
    with pytest.raises(UsageError, match="kernel 0 has noted 1 looks at tables, and made 2"):
        compare([*look(0), *look(0)], looks(0, 1))


def test_precision_and_recall_by_the_size_of_a_block():
    """Of pages 1 and 20 (used thrice in all), 1 was seen; page 2, which was used in another period, is claimed with 1 by larger blocks,
    and 20 by the largest only."""
    true, found = compare(RECORDS, looks(0, 0) + looks(0, 1) + uses(0, TABLE + 1) + looks(0, 2))
    small = accuracy.score(true, found, 1)
    assert (small.precision, small.recall, small.weighted, small.seen) == (1, 1 / 3, 2 / 4, 1)
    block = accuracy.score(true, found, 16)
    assert (block.precision, block.recall, block.weighted, block.seen) == (1 / 2, 1 / 3, 2 / 4, 1)
    large = accuracy.score(true, found, 256)
    assert (large.precision, large.recall, large.weighted, large.seen) == (2 / 3, 2 / 3, 3 / 4, 1)


def test_nothing_seen_is_no_precision_and_nothing_done_no_recall():
    true, found = compare(RECORDS, looks(0, 0) + looks(0, 1) + looks(0, 2))
    assert accuracy.score(true, found, 1) == accuracy.Score(None, 0, 0, 0, 1, 0)
    empty = accuracy.score(*compare([*look(0), *look(0)], looks(0, 0) + looks(0, 1)), 1)
    assert empty == accuracy.Score(None, None, None, None, None, 0)


def test_a_placement_is_worth_what_the_accesses_say():
    """Kernel 1 uses the page often in one period, kernel 0 seldom in two: seen by periods it belongs to node 0."""
    records = [*look(0), *look(1), access(0, TABLE), *([access(1, TABLE)] * 8), *look(0), *look(1), access(0, TABLE), *look(0), *look(1)]
    text = "".join(looks(kernel, 0) for kernel in KERNELS) + looks(0, 1) + uses(0, TABLE) + looks(1, 1) + uses(1, TABLE) \
        + looks(0, 2) + uses(0, TABLE) + looks(1, 2)
    score = accuracy.score(*compare(records, text), 1)
    assert (score.placed, score.best) == (2 / 10, 8 / 10)


def test_adaptive_blocks_are_halved_by_two_users_and_joined_by_one():
    split = accuracy.adaptive({(0, 0): {TABLE: 0}, (1, 0): {TABLE + 256: 1}, (0, 1): {TABLE: 0}, (1, 1): {TABLE + 256: 1}})
    assert split[0] == {TABLE: TABLE << 10 | 512, TABLE + 256: TABLE << 10 | 512}
    assert split[1] == {TABLE: TABLE << 10 | 256, TABLE + 256: TABLE + 256 << 10 | 256}
    joined = accuracy.adaptive({(0, 0): {TABLE: 0}, (1, 0): {TABLE + 256: 1}, (0, 1): {TABLE: 0, TABLE + 256: 0}, (0, 2): {TABLE: 0}})
    assert joined[2] == split[0]


DATA = {"commit": "0" * 40, "program": ["mine", "1"], "machine": ["--cpus", "2"], "commands": ["tools/kettle run one"],
        "rows": [{"way": way, "period": 20, "periods": 4, "instructions": 1100, "base": 1000,
                  "scores": {name: {"precision": 0.5, "recall": None, "weighted": 1.0, "placed": 0.25, "best": 0.75, "seen": 7}
                             for name in accuracy.SIZES}} for way in command.WAYS]}


def test_the_page_has_scores_costs_and_commands():
    page = command.report(DATA)
    assert "| faults | 20 | adaptive | 50.0 % | - | 100.0 % | 25.0 % | 75.0 % | 7 |" in page
    assert "| accessed bits | 20 | 4 | 1,000 | +100 | 10.00 % | 0 |" in page and "| faults | 20 | 4 | 1,000 | +100 | 10.00 % | 7 |" in page
    assert "    tools/kettle numa accuracy --program 'mine 1'\n" in page and "    tools/kettle run one\n" in page
    assert command.plot(DATA).lines["faults: precision"] == [50.0] * len(accuracy.SIZES)
