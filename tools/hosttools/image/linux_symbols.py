"""The functions of a Linux kernel image, from the table that Linux keeps for its own traces (kernel/kallsyms.c).

Debian's kernel comes without a symbol table, but with CONFIG_KALLSYMS: names as strings of tokens, and addresses as offsets from a
base, in the order of scripts/kallsyms.c of Linux 6.1: offsets, base, number, names, a mark for each 256 names, and further behind
tokens and the index of the tokens. Nothing says where they are: the tokens of the digits are found first, then the base before them
whose names have the marks that follow.
"""

import lzma
import struct
from pathlib import Path

from hosttools.errors import UsageError
from hosttools.image.elf import Function

_LZ4_LEGACY, _XZ = b"\x02\x21\x4c\x18", b"\xfd7zXZ"
_SECTORS, _PAYLOAD = 0x1F1, 0x248  # in the header of a bzImage: Documentation/x86/boot.rst
_DIGITS = b"".join(b"%d\0" % digit for digit in range(10))
_MARKED = 256  # names to a mark
_ALIGNED = 8
_TEXT = "tTwW"  # types of functions


def functions(image: Path) -> list[Function]:
    """The functions of the bzImage IMAGE by address, one for each, as they are with nokaslr. Raises UsageError."""
    try:
        return _functions(unpack(image.read_bytes()))
    except (ValueError, IndexError, struct.error, lzma.LZMAError) as error:
        raise UsageError(f"{image}: its functions are not found: {error}") from None


def unpack(image: bytes) -> bytes:
    """The kernel inside the bzImage IMAGE."""
    offset, length = struct.unpack_from("<II", image, _PAYLOAD)
    start = (image[_SECTORS] + 1) * 512 + offset
    payload = image[start:start + length]
    if payload.startswith(_LZ4_LEGACY):
        return _unpack_lz4(payload)
    if payload.startswith(_XZ):
        return lzma.LZMADecompressor().decompress(payload)
    raise ValueError("packed neither by lz4 nor by xz")


def _unpack_lz4(payload: bytes) -> bytes:
    """The blocks of lz4's legacy format; the last four bytes of the payload are the size of all."""
    (total,) = struct.unpack_from("<I", payload, len(payload) - 4)
    out, at = bytearray(), len(_LZ4_LEGACY)
    while len(out) < total:
        (size,) = struct.unpack_from("<I", payload, at)
        out += _lz4_block(payload[at + 4:at + 4 + size])
        at += 4 + size
    return bytes(out)


def _lz4_block(data: bytes) -> bytearray:
    """https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md"""
    out, at = bytearray(), 0

    def length(start: int) -> int:
        nonlocal at
        if start == 15:
            while data[at] == 255:
                start, at = start + 255, at + 1
            start, at = start + data[at], at + 1
        return start

    while at < len(data):
        token = data[at]
        at += 1
        literals = length(token >> 4)
        out += data[at:at + literals]
        at += literals
        if at >= len(data):
            break
        offset = data[at] | data[at + 1] << 8
        at += 2
        copied = length(token & 15) + 4
        first = len(out) - offset
        piece = out[first:first + copied]
        out += piece if offset >= copied else (piece * (copied // offset + 1))[:copied]
    return out


def _functions(kernel: bytes) -> list[Function]:
    at = kernel.index(_DIGITS)
    while True:
        try:
            return _at_digits(kernel, at)
        except (ValueError, IndexError, struct.error):
            at = kernel.find(_DIGITS, at + 1)
            if at < 0:
                raise ValueError("no table of symbols as Linux 6.1 has it") from None


def _at_digits(kernel: bytes, digits: int) -> list[Function]:
    """The functions, if the tokens of the ten digits are at DIGITS."""
    tokens, table = _tokens(kernel, digits)
    base = _text(kernel)
    start, names = _names(kernel, base, table)
    offsets = struct.unpack_from(f"<{len(names)}i", kernel, start - _aligned(4 * len(names)))
    found: dict[int, str] = {}
    for offset, name in zip(offsets, names):
        text = "".join(tokens[token] for token in name)
        if text[0] in _TEXT and offset < 0:  # the others are absolute: places of variables that each CPU has
            found.setdefault(base - 1 - offset, text[1:])
    starts = sorted(found)
    return [Function(found[at], at, end) for at, end in zip(starts, [*starts[1:], starts[-1]])]


def _text(kernel: bytes) -> int:
    """The address of the first segment, which all offsets are relative to."""
    (segments,) = struct.unpack_from("<Q", kernel, 32)
    (address,) = struct.unpack_from("<Q", kernel, segments + 16)
    return int(address)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _tokens(kernel: bytes, digits: int) -> tuple[list[str], int]:
    """All 256 tokens, and where they begin."""
    at = digits
    for _ in range(ord("0"), 256):
        at = kernel.index(0, at) + 1
    index = struct.unpack_from("<256H", kernel, _aligned(at))
    table = digits - index[ord("0")]
    if index[0] != 0 or list(index) != sorted(index) or table + index[255] >= at:
        raise ValueError("no index of tokens")
    return [kernel[table + first:kernel.index(0, table + first)].decode("ascii") for first in index], table


def _names(kernel: bytes, base: int, end: int) -> tuple[int, list[bytes]]:
    """Where BASE is, behind which are the number of names and the names, each a string of tokens, before END; and these."""
    start = end
    while (start := kernel.rfind(struct.pack("<Q", base), 0, start)) >= 0:
        if start % _ALIGNED == 0:
            (count,) = struct.unpack_from("<Q", kernel, start + _ALIGNED)
            names = _names_from(kernel, start + 2 * _ALIGNED, count) if 0 < count <= end - start else None
            if names is not None:
                return start, names
    raise ValueError("no names")


def _names_from(kernel: bytes, first: int, count: int) -> list[bytes] | None:
    """COUNT names from FIRST on, if the marks behind them are theirs."""
    names, marks, at = [], [], first
    for number in range(count):
        if number % _MARKED == 0:
            marks.append(at - first)
        length, at = kernel[at], at + 1
        if length & 0x80:  # a second byte has what does not fit
            length, at = length & 0x7F | kernel[at] << 7, at + 1
        names.append(kernel[at:at + length])
        at += length
    return names if list(struct.unpack_from(f"<{len(marks)}I", kernel, _aligned(at))) == marks else None
