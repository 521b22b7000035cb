"""hosttools.measure.numa_model and hosttools.measure.trace: what --numa-model and --trace take and refuse, and what is read back."""

import struct

import pytest

from host_command import kettle, make_build
from hosttools.errors import UsageError
from hosttools.machine.topology import make_topology
from hosttools.measure import numa_model, trace

TWO = make_topology(4, 2, "256M", None)


def parse(words, topology=TWO):
    return numa_model.parse(words, topology)


@pytest.mark.parametrize("words, cpus, nodes, dist, latencies", [
    ("slit", 4, 2, None, ((250, 500), (500, 250))),
    ("slit,local=80,ghz=2", 4, 2, "10,21/17,10", ((160, 336), (272, 160))),
    ("100,140.4/141,90,ghz=1", 4, 2, None, ((100, 140), (141, 90))),
    ("opteron-2", 4, 2, None, ((280, 398), (398, 280))),
    ("opteron-4,ghz=1", 4, 4, None, ((102, 138, 172, 140), (143, 107, 141, 172), (179, 141, 102, 141), (141, 175, 142, 108))),
    ("50", 1, 1, None, ((125,),))])
def test_matrices(words, cpus, nodes, dist, latencies):
    assert parse(words, make_topology(cpus, nodes, None, dist)).latencies == latencies


def test_the_eight_nodes_are_not_nearest_to_themselves():
    model = parse("opteron-8,ghz=1", make_topology(16, 8, None, None))
    assert model.latencies[0][:2] == (126, 123) and model.latencies[7][0] == 182 and model.latencies[0][7] == 185


def test_a_file_brings_its_keys_and_the_command_has_the_last_word(tmp_path):
    path = tmp_path / "mine"
    path.write_text("# mine\nghz=1\nllc=1M:16\n\n10 20 # near, far\n30,40\n")
    assert parse(str(path)).latencies == ((10, 20), (30, 40))
    assert numa_model.cache_size(parse(str(path)), "llc") == 1 << 20
    assert parse(f"{path},ghz=2").latencies == ((20, 40), (60, 80))


def test_the_plugin_s_file():
    text = parse("100,140/150,90,ghz=1,link=8,cache=32K:4,tlb=0").text(TWO).splitlines()
    assert text == ["low 268435456", "cache 128 4 0", "llc 8192 16 30", "tlb 0 1", "prefetch 2", "link 2048", "check 0",
                    "node 134217728 100 140", "node 134217728 150 90", "cpu 0", "cpu 0", "cpu 1", "cpu 1"]
    assert parse("slit").text(make_topology(4, 2, "4G", None)).startswith("low 2147483648\n")


@pytest.mark.parametrize("words, word", [
    ("100,140/140", "not square: row 1 has 1 numbers, and there are 2 rows"),
    ("100,140,150/140,100,120", "not square"), ("100", "is of 1 nodes, and the machine has 2: say --nodes 1"),
    ("opteron-8", "say --nodes 8"), ("opteron4", "did you mean"), ("", "is no matrix"), ("/missing", "is no matrix"),
    ("100,0/140,100", "'0' is not a latency"), ("100,1..4/140,100", "'1..4' is not a latency"),
    ("slit,chache=5", "did you mean 'cache'"), ("slit,llc=8M", "is not SIZE:WAYS"), ("slit,llc=8M:0", "is not SIZE:WAYS"),
    ("slit,llc=x:16", "is not SIZE:WAYS"), ("slit,llc=3M:16", "power of two of sets"), ("slit,tlb=100:7", "power of two of sets"),
    ("slit,ghz=0", "not a number from"), ("slit,link=x", "not a number from"), ("slit,prefetch=65", "up to 64"),
    ("slit,prefetch=2,100", "'100' is not KEY=VALUE")])
def test_what_is_no_model_is_refused(words, word):
    with pytest.raises(UsageError) as told:
        parse(words)
    assert word in str(told.value)


@pytest.mark.parametrize("text, word", [
    ("10 20\n30\n", "not square"), ("10 x\n", ":1: 'x' is not a latency"), ("what=1\n", ":1: unknown key 'what'")])
def test_a_bad_file_is_refused(tmp_path, text, word):
    path = tmp_path / "mine"
    path.write_text(text)
    with pytest.raises(UsageError, match=word):
        parse(str(path))


def test_too_many_cpus_on_a_node_are_refused():
    with pytest.raises(UsageError, match="more than 64 CPUs"):
        parse("slit", make_topology(65, 1, None, None))


@pytest.mark.parametrize("options, word", [
    ("--numa-model 1,2/3", "not square"), ("--numa-model slit --tcg multi", "--tcg single"),
    ("--numa-model slit --emulator bochs", "bochs"), ("--numa-model slit --accel kvm", "--accel kvm"), ("--trace x", "--numa-model"),
    ("--numa-model slit --trace /missing/x", "no such folder"), ("--numa-model slit --trace x,every=0", "every=0"),
    ("--numa-model slit --trace x,of=some", "of=some")])
def test_the_command_says_one_line_and_status_2(tmp_path, options, word):
    done = kettle(make_build(tmp_path), "run", "--cpus", "2", "--nodes", "2", *options.split(), "--", "inside")
    assert (done.status, done.stderr.count("\n"), word in done.stderr) == (2, 1, True), done.stderr


def test_the_table_sums_up():
    def cpu(number, count):
        return {"cpu": number, "node": number, "modelled_cycles": {"user": 2 * count, "kernel": 1, "idle": 0},
                **{column: count for column in numa_model.COLUMNS}}
    rows = numa_model.rows({"regions": [{"region": 3, "cpus": [cpu(0, 5), cpu(1, 7), cpu(2, 0)]}]})
    assert rows[1:] == [(3, 0, 0, *[5] * 8, 11), (3, 1, 1, *[7] * 8, 15), (3, "all", "", *[12] * 8, 26)]


# --- traces ---

def record(address, node, column=0):
    return struct.pack("<QQQQHBBBBBB", 7, address, address, 0x400000, node * 2, node, 1, 1, 3, 2, column)


def head(**more):
    fields = {"magic": trace.MAGIC, "version": 1, "size": 40, "every": 3, "choice": 1, **more}
    return trace.HEADER.pack(*fields.values(), 0)


def test_a_trace_is_read(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(head() + record(0x1234, 0) + record(0x1fff, 1) + record(0x2000, 1) + record(0x1000, 1, column=1))
    found = trace.read(path)
    assert (found.every, found.choice, len(found.records)) == (3, "misses", 4)
    assert dict(zip(found.records.dtype.names, found.records[1].tolist())) == {
        "clock": 7, "address": 0x1fff, "physical": 0x1fff, "pc": 0x400000, "cpu": 2, "cpu_node": 1, "memory_node": 1, "write": 1,
        "size_shift": 3, "source": 2, "column": 0}
    assert trace.page_counts(found, 2) == {0x1000: [1, 1], 0x2000: [0, 1]}


@pytest.mark.parametrize("data, word", [
    (b"", "no trace"), (b"what is this? " * 10, "no trace"), (head(version=2), "version 2"), (head(size=48), "records of 48"),
    (head() + record(1, 0)[:-1], "cut in the middle of record 0")])
def test_what_is_no_trace_is_refused(tmp_path, data, word):
    path = tmp_path / "t"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=word):
        trace.read(path)
