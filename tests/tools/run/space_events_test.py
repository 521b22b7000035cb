"""hosttools.run.space_events: the sums of what the log's lines say, `kettle run --events`, and the figures of `kettle events`."""

import json

import pytest

from host_command import PROGRAM, compile_c, kettle, make_build
from hosttools.run.events import Event
from hosttools.run.space_events import by_kernel, collect, plots, table

LINES = ("2 1 0 home fetches=7 frame_anonymous=7", "2 0 0 home faults_local=3 maps=2", "5 0 0 home maps=4",
         "2 1 0 members fetches=1 fetched_none=1")


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return make_build(tmp_path_factory.mktemp("events"))


def events(*lines: str, kind: str = "events") -> list[Event]:
    return [Event(float(number), kind, line) for number, line in enumerate(lines)]


def test_all_spaces_of_a_group_on_a_kernel_are_one_sum():
    """A program that another replaced is one, too, and a line that was too long comes in parts."""
    assert collect(events(*LINES)) == [
        {"group": 2, "kernel": 0, "home": 0, "retrieve": "home", "events": {"faults_local": 3, "maps": 2}},
        {"group": 2, "kernel": 1, "home": 0, "retrieve": "members",
         "events": {"fetches": 8, "frame_anonymous": 7, "fetched_none": 1}},
        {"group": 5, "kernel": 0, "home": 0, "retrieve": "home", "events": {"maps": 4}}]


def test_kernels_are_summed_over_all_groups_or_of_one():
    rows = collect(events(*LINES))
    assert by_kernel(rows)[0] == {"faults_local": 3, "maps": 6}
    assert by_kernel(rows, 5) == {0: {"maps": 4}}


@pytest.mark.parametrize("line", ["", "2 1 0 home", "2 1 home maps=1", "2 1 0 home maps=-1", "x 1 0 home maps=1",
                                  "2 1 0 home maps=1 more"])
def test_other_lines_count_for_nothing(line):
    assert collect(events(line)) == [] and collect(events(LINES[0], kind="wait")) == []


def test_the_table_has_a_column_for_each_kernel_and_the_sum():
    lines = [line.split() for line in table(collect(events(*LINES))).splitlines()]
    assert lines[0] == ["event", "kernel", "0", "kernel", "1", "all"]
    assert ["maps", "6", "0", "6"] in lines and ["fetches", "0", "8", "8"] in lines


def test_the_figures_stack_what_happened():
    each, total = plots({"one": collect(events(*LINES))}, None)
    assert each.labels == ["0", "1"]
    assert each.stacks == {"anonymous, area and frame": [0, 7], "nothing there": [0, 1], "map": [6, 0]}
    assert (total.labels, total.stacks["map"]) == (["one"], [6])


def test_figures_are_drawn_of_each_run_and_of_all(build, tmp_path):
    for name in ("small", "large"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"space_events": collect(events(*LINES))}))
    done = kettle(build, "events", tmp_path / "small.json", tmp_path / "large.json", "--out", tmp_path / "out")
    assert done.status == 0 and b"fetched_none" in done.stdout, done
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "events-large.svg", "events-small.svg", "events.svg"]
    assert "anonymous, area and frame" in (tmp_path / "out" / "events.svg").read_text()


@pytest.mark.parametrize("text", ["", "{}", '{"space_events": [1]}', '{"space_events": [{"group": 1}]}', "[]"])
def test_a_file_that_is_none_is_refused(build, tmp_path, text):
    (tmp_path / "file.json").write_text(text)
    done = kettle(build, "events", tmp_path / "file.json", "--out", tmp_path)
    assert done.status == 2 and "file.json" in done.stderr and done.stderr.count("\n") == 1


def test_events_are_asked_of_the_kernel_and_told(build, tmp_path):
    program = compile_c(tmp_path / "program", PROGRAM, "-static")
    done = kettle(build, "run", "--cpus", "1", "--append-raw", "fake=options", "--events", "--json", "--", program)
    told = json.loads(done.stdout)
    assert "events=on" in told["stdout"] and told["space_events"] == []
    done = kettle(build, "run", "--cpus", "1", "--append-raw", "fake=options", "--json", "--", program)
    assert "events=on" not in done.stdout.decode() and "space_events" not in json.loads(done.stdout)


def test_events_of_linux_are_refused(build):
    done = kettle(build, "run", "--os", "linux", "--events", "--", "inside")
    assert done.status == 2 and "--events is for Kettle" in done.stderr
