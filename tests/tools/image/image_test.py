"""hosttools.image.image: what one run puts into the guest, and what it refuses to."""

import os

import pytest

from host_command import PROGRAM, compile_c
from hosttools.errors import UsageError
from hosttools.image import cpio
from hosttools.image.image import make_job, run_file


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("image") / "program", PROGRAM, "-static")


@pytest.fixture
def base(tmp_path):
    archive = cpio.Archive()
    for name in ("tour", "hello"):
        archive.add_file(f"/bin/{name}", b"x", executable=True)
    archive.add_file("/etc/bin/other", b"x")
    path = tmp_path / "base.cpio"
    path.write_bytes(archive.finish())
    return path


def contents(job) -> dict[str, bytes]:
    return {name: data for name, _, data in cpio.entries(job.archive())}


def test_the_run_file_has_the_arguments_and_the_environment():
    assert run_file("/run/a", ["./a", "", "x y"], ["K=V"]) == b"/run/a\x003\0./a\0\0x y\x001\0K=V\0"


def test_bytes_of_arguments_that_are_no_text_pass():
    assert run_file("/run/a", [os.fsdecode(b"\xff\xfe")], []) == b"/run/a\x001\0\xff\xfe\x000\0"


def test_a_host_program_goes_to_run(program, base):
    job = make_job(str(program), ["-x", "--"], ["A=b=c", "PATH=/here"], [], base)
    assert (job.path, job.argv) == ("/run/program", (str(program), "-x", "--"))
    assert job.environment == ("PATH=/here", "HOME=/", "A=b=c")
    found = contents(job)
    assert found["run/program"] == program.read_bytes()
    assert found[".kettle/run"] == run_file(job.path, job.argv, job.environment)


def test_a_name_without_a_slash_is_a_host_file_first(program, base, monkeypatch):
    monkeypatch.chdir(program.parent)
    assert make_job("program", [], [], [], base).path == "/run/program"
    assert make_job("tour", [], [], [], base).path == "/bin/tour"


def test_a_program_of_a_recipe_is_found_where_it_is_built(program, base, tmp_path, monkeypatch):
    monkeypatch.setenv("KETTLE_BUILD", str(tmp_path / "products"))
    with pytest.raises(UsageError, match="numactl is not built yet: 'kettle programs --fetch --only numactl'"):
        make_job("numactl", ["--hardware"], [], [], base)
    tree = tmp_path / "products" / "programs" / "numactl" / "tree"
    tree.mkdir(parents=True)
    (tree / "numactl").write_bytes(program.read_bytes())
    job = make_job("numactl", ["--hardware"], [], [], base)
    assert (job.path, job.argv) == ("/run/numactl", ("numactl", "--hardware"))
    assert contents(job)["run/numactl"] == program.read_bytes()


def test_a_program_of_the_image_is_not_copied(base):
    assert set(contents(make_job("tour", [], [], [], base))) == {".kettle", ".kettle/run"}


@pytest.mark.parametrize("name", ["nothing", "other", "bin/tour", "./tour", "/bin/nothing", ""])
def test_an_unknown_program_is_refused(base, name):
    with pytest.raises(UsageError):
        make_job(name, [], [], [], base)


def test_an_unknown_program_names_the_list(base):
    with pytest.raises(UsageError, match=r"nothing: no such file, and no such program in the image \('kettle list' lists all\)"):
        make_job("nothing", [], [], [], base)


def test_without_an_image_its_programs_are_refused():
    with pytest.raises(UsageError, match="run make"):
        make_job("tour", [], [], [], None)


def test_a_damaged_image_is_refused(tmp_path):
    path = tmp_path / "damaged"
    path.write_bytes(b"no archive")
    with pytest.raises(UsageError, match="damaged"):
        make_job("tour", [], [], [], path)


@pytest.mark.parametrize("option, guest", [
    ("note", "note"), ("note:/etc/other", "etc/other"), ("note:etc/other", "etc/other"), ("note:/etc/", "etc/note"),
    ("note:", "note"), ("no:te", "no:te"), ("no:te:/x", "x"), ("./note", "note"), ("link", "link")])
def test_files_go_where_they_are_told(base, tmp_path, monkeypatch, option, guest):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "note").write_bytes(b"text")
    (tmp_path / "no:te").write_bytes(b"text")
    (tmp_path / "link").symlink_to("note")
    assert contents(make_job("tour", [], [], [option], base))[guest] == b"text"


def test_a_folder_goes_with_all_it_holds(base, tmp_path):
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / "deep" / "file").write_bytes(b"1")
    (tmp_path / "tree" / "link").symlink_to("deep/file")
    found = contents(make_job("tour", [], [], [f"{tmp_path / 'tree'}:/in"], base))
    assert (found["in/deep/file"], found["in/link"]) == (b"1", b"deep/file")


@pytest.mark.parametrize("option", ["missing", "missing:/x", ":/x", "", "base.cpio:/bin/tour", "base.cpio:/.kettle/run",
                                    "base.cpio:/a/../b", "pipe"])
def test_files_that_cannot_be_are_refused(base, tmp_path, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with pytest.raises(UsageError):
        make_job("tour", [], [], [option], base).archive()


@pytest.mark.parametrize("assignment", ["", "A", "=b"])
def test_malformed_variables_are_refused(base, assignment):
    with pytest.raises(UsageError):
        make_job("tour", [], [assignment], [], base)
