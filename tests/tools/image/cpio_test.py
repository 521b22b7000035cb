"""hosttools.image.cpio: archives that other programs read, and reading what others wrote."""

import os
import stat
import subprocess

import pytest

from hosttools.image import cpio


def sample() -> bytes:
    archive = cpio.Archive()
    archive.add_file("/run/program", b"abc", executable=True)
    archive.add_file("/data/deep/one", b"")
    archive.add_file("/data/deep/two", b"12345")
    archive.add_link("/data/link", "deep/one")
    archive.add_folder("/data/empty")
    return archive.finish()


def test_what_is_written_is_read_back():
    found = [(name, oct(mode), data) for name, mode, data in cpio.entries(sample())]
    assert found == [
        ("run", "0o40755", b""), ("run/program", "0o100755", b"abc"), ("data", "0o40755", b""), ("data/deep", "0o40755", b""),
        ("data/deep/one", "0o100644", b""), ("data/deep/two", "0o100644", b"12345"), ("data/link", "0o120777", b"deep/one"),
        ("data/empty", "0o40755", b"")]


def test_the_cpio_program_unpacks_it(tmp_path):
    subprocess.run(["cpio", "-i", "--quiet", "--no-absolute-filenames"], input=sample(), cwd=tmp_path, check=True)
    assert (tmp_path / "data/deep/two").read_bytes() == b"12345"
    assert os.readlink(tmp_path / "data/link") == "deep/one"
    assert stat.S_IMODE((tmp_path / "run/program").stat().st_mode) == 0o755
    assert (tmp_path / "data/empty").is_dir()


def test_what_the_cpio_program_packs_is_read(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "hello").write_bytes(b"hello" * 1000)
    packed = subprocess.run(["cpio", "-o", "--quiet", "-H", "newc"], input=b"./bin\n./bin/hello\n", cwd=tmp_path,
                            capture_output=True, check=True).stdout
    assert [(name, data) for name, _, data in cpio.entries(packed)] == [("bin", b""), ("bin/hello", b"hello" * 1000)]


def test_joined_archives_are_one():
    joined = sample() + bytes(512) + sample()
    assert len(list(cpio.entries(joined))) == 2 * len(list(cpio.entries(sample())))


def test_every_length_of_name_and_data_is_aligned():
    for length in range(1, 9):
        archive = cpio.Archive()
        archive.add_file("/" + "n" * length, b"d" * length)
        archive.add_file("/last", b"end")
        data = archive.finish()
        assert len(data) % 4 == 0
        assert [entry[2] for entry in cpio.entries(data)] == [b"d" * length, b"end"]


@pytest.mark.parametrize("damage", [lambda data: b"x" + data[1:], lambda data: data[:150], lambda data: data[:50],
                                    lambda data: data[:94] + b"00000000" + data[102:]])
def test_a_damaged_archive_is_refused(damage):
    with pytest.raises(ValueError):
        list(cpio.entries(damage(sample())))
