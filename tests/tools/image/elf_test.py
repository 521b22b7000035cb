"""hosttools.image.elf: which files are programs the guest can run, and what is said of the others."""

import struct

import pytest

from host_command import PROGRAM, compile_c
from hosttools.errors import UsageError
from hosttools.image.elf import check_program


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("elf") / "static", PROGRAM, "-static")


def refusal(path) -> str:
    with pytest.raises(UsageError) as caught:
        check_program(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_static_executable_is_taken_whole(static):
    assert check_program(static) == static.read_bytes()


def test_a_static_pie_is_taken(tmp_path):
    check_program(compile_c(tmp_path / "pie", PROGRAM, "-static-pie", "-fPIE", compiler="gcc"))


def test_a_dynamic_executable_is_refused(tmp_path):
    assert "dynamically linked" in refusal(compile_c(tmp_path / "dynamic", PROGRAM, compiler="gcc"))


def test_a_dynamic_executable_without_pie_is_refused(tmp_path):
    assert "dynamically linked" in refusal(compile_c(tmp_path / "dynamic", PROGRAM, "-no-pie", compiler="gcc"))


def test_a_dynamic_executable_that_needs_no_library_is_refused(tmp_path):
    program = compile_c(tmp_path / "dynamic", "void _start(void) { for (;;) { } }", "-nostdlib", "-pie", "-fPIE", compiler="gcc")
    assert "dynamically linked" in refusal(program)


def test_an_executable_that_needs_a_library_is_refused_without_an_interpreter_too(tmp_path):
    data = bytearray(compile_c(tmp_path / "dynamic", PROGRAM, compiler="gcc").read_bytes())
    first, = struct.unpack_from("<Q", data, 32)
    for offset in range(first, first + 56 * struct.unpack_from("<H", data, 56)[0], 56):
        if struct.unpack_from("<I", data, offset) == (3,):
            struct.pack_into("<I", data, offset, 0)
    (tmp_path / "patched").write_bytes(data)
    assert "dynamically linked" in refusal(tmp_path / "patched")


def test_a_shared_library_is_refused(tmp_path):
    library = compile_c(tmp_path / "library.so", "int f(void) { return 1; }", "-shared", "-fPIC", "-nostdlib", compiler="gcc")
    assert "shared library" in refusal(library)


def test_an_object_file_is_refused(tmp_path):
    assert "not an executable" in refusal(compile_c(tmp_path / "part.o", PROGRAM, "-c"))


def test_a_32_bit_executable_is_refused(tmp_path):
    text = "void _start(void) { for (;;) { } }"
    program = compile_c(tmp_path / "small", text, "-m32", "-static", "-nostdlib", "-ffreestanding", compiler="gcc")
    assert "32-bit x86" in refusal(program)


@pytest.mark.parametrize("offset, value, word", [
    (18, 183, "64-bit ARM"), (18, 999, "ELF machine 999"), (7, 9, "another operating system"), (4, 1, "not a 64-bit"),
    (16, 4, "not an executable"), (56, 0, "program headers"), (54, 32, "program headers"), (32, 1 << 40, "program headers")])
def test_a_foreign_or_damaged_header_is_refused(static, tmp_path, offset, value, word):
    data = bytearray(static.read_bytes())
    size = {4: "B", 7: "B", 32: "Q"}.get(offset, "H")
    struct.pack_into("<" + size, data, offset, value)
    path = tmp_path / "patched"
    path.write_bytes(data)
    assert word in refusal(path)


@pytest.mark.parametrize("keep", [4, 19, 40, 63, 100, 5000])
def test_a_truncated_file_is_refused(static, tmp_path, keep):
    path = tmp_path / "short"
    path.write_bytes(static.read_bytes()[:keep])
    refusal(path)


@pytest.mark.parametrize("data, word", [(b"", "not an ELF"), (b"#!/bin/sh\n", "a script"), (b"MZ" * 100, "not an ELF")])
def test_what_is_no_elf_file_is_refused(tmp_path, data, word):
    path = tmp_path / "other"
    path.write_bytes(data)
    assert word in refusal(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    assert "no such file" in refusal(tmp_path / "nothing")
    assert "not a regular file" in refusal(tmp_path)
