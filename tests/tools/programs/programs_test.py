"""Recipes of real programs, their results, and the lists of apt, without a machine or a network."""

import subprocess

import pytest

from hosttools.errors import UsageError
from hosttools.image import share
from hosttools.programs import builds as program_builds, programs, report as programs_report, sources as program_sources
from hosttools.programs.builds import Built, Recipe
from hosttools.run.guest_runs import Result

RECIPES = program_builds.recipes()


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_whole(name, tmp_path):
    recipe = RECIPES[name]
    assert recipe.build and recipe.about and (recipe.provides or (recipe.take and recipe.cases and recipe.run))
    assert set(recipe.needs) <= set(RECIPES)
    script = tmp_path / "script"
    script.write_text(programs._script(Built(recipe, tmp_path, "1"), "a 'case'", 1, 4))
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0
    assert subprocess.run(["sh", "-nc", recipe.cases], check=False).returncode == 0


def test_a_script_runs_its_case_on_a_cpu_and_then_on_all(tmp_path):
    recipe = Recipe("p", "p", "", ("true",), (".",), "echo a", 'echo "$case in $tree"')
    text = programs._script(Built(recipe, tmp_path, "1"), "it's", 3, 8)
    assert "taskset -p 8 $$" in text and "taskset -p ff $$" in text
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "taskset").write_text("#!/bin/sh\n")
    (bin_folder / "taskset").chmod(0o755)
    tree = tmp_path / "tree"
    tree.mkdir()
    script = tmp_path / "script"
    script.write_text(text.replace("PATH=/usr/bin:/bin", f"PATH={bin_folder}:/usr/bin:/bin").replace("/src/p", str(tree)))
    script.chmod(0o755)
    assert subprocess.run([script], capture_output=True, text=True, check=True).stdout == f"it's in {tree}\n"


@pytest.mark.parametrize("text", ["package = ", "package = 'p'", "nonsense = 1"])
def test_a_bad_recipe_is_refused(text):
    with pytest.raises(UsageError, match="tests/programs/bad.toml"):
        program_builds.read_recipe("bad", text)


@pytest.mark.parametrize("result, state", [
    (Result("exit", 0), "passed"), (Result("exit", 77), "skipped"), (Result("exit", 1), "status 1"),
    (Result("signal", 11), "signal 11"), (Result("hang", 9), "hangs"), (Result("panic", 125), "the machine ends"),
])
def test_what_an_end_means(result, state):
    assert programs.judge(result) == state


def entry(**checks):
    return {"name": "p", "about": "a program", "version": "1-2", "build": ["make"], "left": {"l": "no perl"},
            "differs": {"known": "why", "old": "why"}, "fails": {"both": "wants root"}, "notes": "", "output": {"bad": {"core": ["line"]}},
            "seconds": {"linux": 1, "1": 2, "node": 2, "core": 3}, "machines": {"linux": "--os linux"},
            "checks": {name: dict(zip(("linux", "1", "node", "core"), states)) for name, states in checks.items()}}


def test_what_fails_on_kettle_alone_counts():
    made = entry(good=["passed"] * 4, bad=["passed", "passed", "passed", "status 1"], both=["status 1"] * 4,
                 skipped=["skipped"] * 4, known=["passed", "hangs", "hangs", "hangs"], old=["passed"] * 4)
    assert programs_report.failing(made) == {"bad": {"core": "status 1"},
                                             "known": {"1": "hangs", "node": "hangs", "core": "hangs"}}
    assert programs_report.unexpected(made) == ["bad"]
    assert programs_report.outdated(made) == ["old"]
    assert programs_report.summary([made]).splitlines()[1].split() == [
        "p", "1-2", "6", "4", "(1", "skipped)", "3", "(1", "skipped)", "3", "(1", "skipped)", "2", "(1", "skipped)"]
    page = programs_report.page({"programs": {"p": made}})
    assert "| p | bad | core: status 1 | not known |" in page and "| p | both | status 1 | the same | wants root |" in page
    assert "| p | l | no perl |" in page


def test_lists_of_apt_name_sources():
    assert program_sources.with_sources("# x\nTypes: deb\nURIs: http://h\n", ".sources") == "# x\nTypes: deb deb-src\nURIs: http://h\n"
    assert program_sources.with_sources("deb [a=b] http://h s main\n# deb x\n", ".list") == (
        "deb [a=b] http://h s main\ndeb-src [a=b] http://h s main\n")


def test_a_recipe_whose_checks_all_fail_is_no_success():
    assert programs_report.passes(entry(good=["passed"] * 4, bad=["status 1"] * 4))
    broken = entry(bad=["status 127"] * 4)
    assert not programs_report.passes(broken) and "is its recipe right" in programs_report.differences([broken], False)


def test_the_toolbox_is_not_a_link_to_itself(tmp_path):
    busybox = tmp_path / "busybox"
    busybox.write_text("#!/bin/sh\nprintf '[\\nbusybox\\ncat\\nsh\\n'\n")
    busybox.chmod(0o755)
    assert programs._applets(busybox) == ["[", "cat"]


def test_a_recipe_that_wants_another_file_system_gets_a_folder_of_its_own(tmp_path):
    words = program_builds.read_recipe("p", "package = 'p'\nabout = ''\nbuild = []\nshare = '/var/tmp'")
    option, text = programs._shared_folder(words, tmp_path)
    (made,) = share.parse_all([text])
    assert option == "--share" and made.guest == "/var/tmp" and not made.read_only and list(made.host.iterdir()) == []
    assert programs._shared_folder(program_builds.read_recipe("p", "package = 'p'\nabout = ''\nbuild = []"), tmp_path) == []
