"""The functions of a Linux kernel image: how it is packed, and the table of names as Linux 6.1 lays it out."""

import lzma
import shutil
import struct
import subprocess

import pytest

from hosttools.errors import UsageError
from hosttools.image import linux_symbols

BASE = 0xFFFFFFFF81000000
NAMES = [("tfirst", 0), ("Tsecond", 0x40), ("dvariable", 0x50), ("Wweak", 0x80), ("talias", 0x80), ("t" + "long" * 40, 0xC0),
         *((f"tmore_{number}", 0x100 + 16 * number) for number in range(600)), ("Tlast", 0x8000)]
PAIRS = ["th", "re", "_m"]  # tokens of two letters, in the place of letters that no name has


def kernel(names, between=b""):
    """An executable with the table of NAMES; BETWEEN marks and tokens there is more, as in later versions."""
    tokens = [chr(number) for number in range(256)]
    for place, pair in zip((1, 2, 3), PAIRS):
        tokens[place] = pair
    listed, marks = b"", []
    for number, (name, _) in enumerate(names):
        if number % 256 == 0:
            marks.append(len(listed))
        words = []
        while name:
            pair = next((place for place in (1, 2, 3) if name.startswith(tokens[place])), None)
            words.append(pair or ord(name[0]))
            name = name[2 if pair else 1:]
        size = bytes([len(words)]) if len(words) < 128 else bytes([len(words) & 127 | 128, len(words) >> 7])
        listed += size + bytes(words)
    text = [token.encode("ascii", "replace") + b"\0" if token != "\0" else b"\0" for token in tokens]
    index = [sum(map(len, text[:number])) for number in range(256)]

    def aligned(data):
        return data + bytes(-len(data) % 8)

    decoy = b"".join(b"%c\0" % number for number in range(48, 58))  # the digits, in a table of characters
    parts = [struct.pack("<16xHHIQQQ", 2, 62, 1, BASE, 64, 0).ljust(64, b"\0"), struct.pack("<IIQQQ", 1, 5, 0, BASE, 0).ljust(56, b"\0"), decoy,
             struct.pack(f"<{len(names)}i", *(-1 - offset for _, offset in names)), struct.pack("<Q", BASE), struct.pack("<Q", len(names)),
             listed, struct.pack(f"<{len(marks)}I", *marks), between, b"".join(text), struct.pack("<256H", *index)]
    return b"".join(map(aligned, parts))


def image(payload):
    """A bzImage of one sector of setup with PAYLOAD."""
    setup = bytearray(2 * 512)
    setup[0x1F1] = 1
    struct.pack_into("<II", setup, 0x248, 16, len(payload))
    return bytes(setup) + bytes(16) + payload


def legacy_lz4(data, *pieces):
    """DATA in lz4's legacy format, a block for each of PIECES."""
    return b"\x02\x21\x4c\x18" + b"".join(struct.pack("<I", len(piece)) + piece for piece in pieces) + struct.pack("<I", len(data))


def literal(data):
    """A block without copies."""
    more = len(data) - 15
    return b"\xf0" + b"\xff" * (more // 255) + bytes([more % 255]) + data


@pytest.mark.parametrize("between", [b"", bytes(range(1, 200))])
@pytest.mark.parametrize("pack", [lzma.compress, lambda data: legacy_lz4(data, literal(data[:1000]), literal(data[1000:]))])
def test_functions_are_found_whatever_packs_them(tmp_path, pack, between):
    path = tmp_path / "vmlinuz"
    path.write_bytes(image(pack(kernel(NAMES, between))))
    found = {function.name: function for function in linux_symbols.functions(path)}
    assert found["first"].start == BASE and found["first"].end == found["second"].start == BASE + 0x40
    assert "variable" not in found and "alias" not in found and found["weak"].end == BASE + 0xC0
    assert found["long" * 40].start == BASE + 0xC0 and found["more_599"].end == found["last"].start == BASE + 0x8000
    assert len(found) == len(NAMES) - 2


def test_copies_of_lz4_may_overlap():
    block = b"\x35abc\x03\x00" + b"\x14d\x01\x00" + b"\x20ef"  # abc, 9 from 3 back; d, 8 from 1 back; ef
    assert linux_symbols.unpack(image(legacy_lz4(bytes(23), block))) == b"abc" * 4 + b"d" * 9 + b"ef"


@pytest.mark.skipif(shutil.which("lz4") is None, reason="there is no lz4")
def test_what_lz4_packs_is_unpacked():
    data = b"".join(struct.pack("<I", number * number % 977) for number in range(20000))
    packed = subprocess.run(["lz4", "-l", "-9", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
    assert linux_symbols.unpack(image(packed + struct.pack("<I", len(data)))) == data


@pytest.mark.parametrize("data", [b"", b"short", image(b"?" * 100), image(lzma.compress(kernel(NAMES)[:-600]))])
def test_an_image_without_the_table_is_refused(tmp_path, data):
    path = tmp_path / "vmlinuz"
    path.write_bytes(data)
    with pytest.raises(UsageError, match="its functions are not found"):
        linux_symbols.functions(path)
