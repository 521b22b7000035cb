"""ELF files: whether one is a program the guest can run, a static x86-64 Linux executable; and a kernel's functions."""

import struct
from dataclasses import dataclass
from pathlib import Path

from hosttools.errors import UsageError

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_DYNAMIC = struct.Struct("<QQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_EXEC, _DYN = 2, 3
_X86_64 = 62
_OSABI_ALLOWED = (0, 3)  # System V and GNU/Linux
_LOAD, _DYNAMIC_SEGMENT, _INTERP = 1, 2, 3
_SYMBOL_TABLE, _EXECUTABLE = 2, 4  # a section's type and flag
_NO_TYPE, _FUNCTION = 0, 2  # of a symbol
_NEEDED, _FLAGS_1, _FLAGS_1_PIE = 1, 0x6FFFFFFB, 0x08000000
_MACHINES = {3: "32-bit x86", 40: "32-bit ARM", 183: "64-bit ARM", 243: "RISC-V", 21: "64-bit POWER", 22: "S/390"}


@dataclass(frozen=True)
class Function:
    """Code with a name, from address START up to END."""

    name: str
    start: int
    end: int


def functions(path: Path) -> list[Function]:
    """The functions of the 64-bit executable PATH that its symbol table names, by address, one for each address. A label
    of assembly code reaches up to the next."""
    data = path.read_bytes()
    header = _HEADER.unpack_from(data)
    offset, count = header[6], header[12]
    sections = [_SECTION.unpack_from(data, offset + index * _SECTION.size) for index in range(count)]
    found: dict[int, tuple[bool, str, int]] = {}
    for _, kind, _, _, start, size, link, _, _, _ in sections:
        if kind != _SYMBOL_TABLE:
            continue
        for name, info, _, section, value, length in _SYMBOL.iter_unpack(data[start:start + size]):
            in_code = 0 < section < count and sections[section][2] & _EXECUTABLE
            if in_code and info & 15 in (_NO_TYPE, _FUNCTION):
                text = _string(data, sections[link][4] + name)
                found[value] = max(found.get(value, (False, "", 0)), (info & 15 == _FUNCTION, text, length))
    starts = sorted(found)
    return [Function(found[start][1], start, start + found[start][2] if found[start][2] else following)
            for start, following in zip(starts, [*starts[1:], starts[-1]] if starts else [])]


def _string(data: bytes, offset: int) -> str:
    return data[offset:data.index(b"\0", offset)].decode(errors="replace")


def loaded_size(path: Path) -> int:
    """The bytes of memory that the segments of the 64-bit executable PATH take up, with what is between them; 0 for any other
    file."""
    data = path.read_bytes()
    if data[:5] != b"\x7fELF\2" or len(data) < _HEADER.size:
        return 0
    header = _HEADER.unpack_from(data)
    segments = [_SEGMENT.unpack_from(data, header[5] + index * _SEGMENT.size) for index in range(header[10])]
    loaded = [(physical, size) for kind, _, _, _, physical, _, size, _ in segments if kind == _LOAD]
    return max(start + size for start, size in loaded) - min(start for start, _ in loaded)


def check_program(path: Path) -> bytes:
    """The bytes of the static x86-64 executable PATH, ET_EXEC or static PIE; UsageError says why it is not one."""
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    if not path.is_file():
        raise UsageError(f"{path}: not a regular file")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    problem = _problem(data)
    if problem:
        raise UsageError(f"{path}: {problem}")
    return data


def _problem(data: bytes) -> str | None:
    """What keeps DATA from being such an executable, or None."""
    if data[:4] != b"\x7fELF":
        return "a script, not an ELF executable" if data[:2] == b"#!" else "not an ELF executable"
    if len(data) < 20:
        return "a truncated ELF file"
    machine = int.from_bytes(data[18:20], "little" if data[5] == 1 else "big")
    if machine != _X86_64:
        return f"made for {_MACHINES.get(machine, f'ELF machine {machine}')}, not for x86-64"
    if data[4] != 2 or data[5] != 1:
        return "not a 64-bit little-endian executable (x32?)"
    if data[7] not in _OSABI_ALLOWED:
        return f"made for another operating system (ELF OS ABI {data[7]})"
    if len(data) < _HEADER.size:
        return "a truncated ELF file"
    _, kind, _, _, _, phoff, _, _, _, phentsize, phnum, *_ = _HEADER.unpack_from(data)
    if kind not in (_EXEC, _DYN):
        return "an ELF file, but not an executable (an object file or core dump?)"
    if phnum == 0 or phentsize != _SEGMENT.size or phoff + phnum * phentsize > len(data):
        return "an ELF file without usable program headers"
    segments = [_SEGMENT.unpack_from(data, phoff + index * phentsize) for index in range(phnum)]
    return _problem_of_segments(data, kind, segments)


def _problem_of_segments(data: bytes, kind: int, segments: list[tuple[int, ...]]) -> str | None:
    kinds = {segment[0] for segment in segments}
    dynamic = [entry for segment in segments if segment[0] == _DYNAMIC_SEGMENT
               for entry in _dynamic_entries(data[segment[2]:segment[2] + segment[5]])]
    tags = dict(dynamic)
    if _INTERP in kinds or _NEEDED in tags:
        return "dynamically linked; Kettle runs static executables: link it with -static"
    if kind == _DYN and not tags.get(_FLAGS_1, 0) & _FLAGS_1_PIE:
        return "a shared library, not an executable"
    if _LOAD not in kinds:
        return "an ELF file with nothing to load"
    if any(segment[0] == _LOAD and segment[2] + segment[5] > len(data) for segment in segments):
        return "a truncated ELF file"
    return None


def _dynamic_entries(table: bytes) -> list[tuple[int, int]]:
    usable = len(table) - len(table) % _DYNAMIC.size
    return [(tag, value) for tag, value in _DYNAMIC.iter_unpack(table[:usable]) if tag]
