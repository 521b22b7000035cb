"""What `kettle abi` makes of what the runner writes, without a machine."""

import pytest

from hosttools.abi import build as abi_build, recorded as abi_recorded, report as abi_report
from hosttools.abi.build import Program
from hosttools.errors import UsageError
from hosttools.run import guest_runs

ONE = Program("musl", "memory", "brk")
TWO = Program("glibc", "memory", "brk")


def read(text):
    results = {}
    reader = guest_runs.Reader({(program.file, program.name): program for program in (ONE, TWO)}, results, lambda text: None)
    for byte in text:  # in the smallest pieces
        reader.feed(bytes([byte]))
    return reader, results


def test_output_and_end_of_a_program():
    reader, results = read(b"@begin /abi/musl-memory brk\r\n|one\r\n||two\r\n@end /abi/musl-memory brk signal 11\r\n@all\r\n")
    assert results == {ONE: guest_runs.Result("signal", 11, ["one", "|two"])}
    assert reader.done and reader.running is None


def test_a_program_under_which_the_machine_ended():
    reader, results = read(b"noise\n@begin /abi/glibc-memory brk\n|half\n")
    assert not results and reader.running == TWO and reader.output == ["half"] and not reader.done


def data(*ours):
    reference = {"how": "exit", "value": 0, "output": ["x: 0", "y: 0"], "problem": ""}
    made = {"machine": "--cpus 4", "commands": {"linux": "L", "kernels=1": "K"}, "seconds": {}, "programs": [
        {"library": "musl", "title": f"files/p{i}", "shows": "it", "results": {"linux": reference, "kernels=1": dict(reference, **our)}}
        for i, our in enumerate(ours)]}
    abi_report.judge(made)
    return made


@pytest.mark.parametrize("ours, verdict", [
    ({}, "same"),
    ({"output": ["x: ENOSYS", "y: 0"]}, "`x: ENOSYS`, not `x: 0`"),
    ({"output": ["x: 0"]}, "ends before `y: 0`"),
    ({"output": ["x: 0", "y: 0", "z"]}, "also prints `z`"),
    ({"value": 3}, "exit 3, not exit 0"),
    ({"how": "signal", "value": 11}, "signal 11, not exit 0"),
    ({"how": "hang", "value": 9}, "hangs"),
    ({"how": "panic", "problem": "kernel 1\npanic: mm: lost"}, "the machine ended: panic: mm: lost"),
])
def test_verdicts(ours, verdict):
    assert data(ours)["programs"][0]["verdicts"] == {"linux": "same", "kernels=1": verdict}


def test_known_differences():
    made = data({}, {"output": ["x: ENOSYS"]}, {"how": "hang"})
    assert abi_report.unexpected(made, set()) == ["files/p1", "files/p2"]
    assert abi_report.unexpected(made, {"files/p0", "files/p1"}) == ["files/p2"]
    assert abi_report.outdated(made, {"files/p0", "files/p1", "files/not-run"}) == ["files/p0"]
    assert abi_report.read_known(abi_report.list_known(made)) == {"files/p1", "files/p2"}


def test_counts_and_page():
    made = data({}, {"output": ["x: ENOSYS"]})
    assert abi_report.counts(made) == [["files", "musl", "2", "1"], ["all", "", "2", "1"]]
    page = abi_report.page(made)
    assert "| files | musl | 2 | 1 |" in page and "### A call that is absent (ENOSYS)" in page
    assert "| files/p1 | musl | all | it | `x: ENOSYS`, not `x: 0` |" in page


def test_every_program_is_found_and_says_what_it_shows():
    programs = abi_build.find(abi_build.LIBRARIES, [])
    assert len({program.title for program in programs}) > 400
    for program in programs:
        assert abi_build.shown(program).endswith("."), program
    with pytest.raises(UsageError):
        abi_build.find(abi_build.LIBRARIES, ["no/such"])


def test_recorded_answers_are_good_until_a_source_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(abi_build, "SOURCES", tmp_path)
    (tmp_path / "memory").mkdir()
    (tmp_path / "abi.h").write_text("/* all */\n")
    (tmp_path / "memory" / "brk.c").write_text("/* It. */\n")
    file, answer = tmp_path / "linux.json", guest_runs.Result("signal", 11, ["one", "\"two\""])
    abi_recorded.write(file, "command", {ONE: answer, TWO: guest_runs.Result("hang", 9)})
    assert abi_recorded.read(file, [ONE, TWO]) == {ONE: answer}  # a hang is no answer
    (tmp_path / "abi.h").write_text("/* more */\n")
    assert abi_recorded.read(file, [ONE]) == {}
    for header in (tmp_path / "memory" / "near.h", tmp_path / "far.h"):
        header.write_text("/* It. */\n")
        (tmp_path / "memory" / "brk.c").write_text(f'/* It. */\n#include "{header.name}"\n#include "missing.h"\n')
        abi_recorded.write(file, "command", {ONE: answer})
        assert abi_recorded.read(file, [ONE]) == {ONE: answer}
        header.write_text("/* More. */\n")
        assert abi_recorded.read(file, [ONE]) == {}
    for text in (None, "no JSON", "{}", '{"programs": {"musl memory/brk": {}}}'):
        if text is None:
            file.unlink()
        else:
            file.write_text(text)
        with pytest.raises(UsageError, match="not a file that --record has written"):
            abi_recorded.read(file, [ONE])


def test_every_program_of_a_short_run_is_recorded():
    programs = abi_build.find(["musl"], [])
    recorded = abi_recorded.read(abi_build.SOURCES / "linux.json", programs)
    assert sorted(program.title for program in programs if program not in recorded) == []
