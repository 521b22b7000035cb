"""cpio archives in the "newc" format, which Linux and Kettle take as an initial file system."""

import stat
from dataclasses import dataclass, field
from typing import Iterator

from hosttools.errors import UsageError

_MAGIC = b"070701"
_TRAILER = "TRAILER!!!"
_HEADER_SIZE = 110
_FIELDS = 13
_SIZE_MAX = 0xFFFFFFFF


def _pad(length: int) -> bytes:
    return bytes(-length % 4)


@dataclass
class Archive:
    """An archive being written. Names are absolute guest paths; parent folders come by themselves, each once."""

    _parts: list[bytes] = field(default_factory=list)
    _folders: set[str] = field(default_factory=set)
    _inode: int = 1

    def add_file(self, path: str, data: bytes, executable: bool = False) -> None:
        """A regular file; UsageError when it is larger than the format can say (4 GiB - 1)."""
        if len(data) > _SIZE_MAX:
            raise UsageError(f"{path}: {len(data)} bytes are too many for the guest's file system image")
        self._add_parents(path)
        self._add(path, stat.S_IFREG | (0o755 if executable else 0o644), data)

    def add_link(self, path: str, target: str) -> None:
        """A symbolic link to TARGET."""
        self._add_parents(path)
        self._add(path, stat.S_IFLNK | 0o777, target.encode())

    def add_folder(self, path: str) -> None:
        """A folder, and those it lies in."""
        self._add_parents(path.rstrip("/") + "/")

    def finish(self) -> bytes:
        """The whole archive with its trailer, padded so that another can follow."""
        return b"".join(self._parts) + self._entry(_TRAILER, 0, b"", 0)

    def _add_parents(self, path: str) -> None:
        names = path.strip("/").split("/") if path.endswith("/") else path.strip("/").split("/")[:-1]
        for depth in range(1, len(names) + 1):
            folder = "/".join(names[:depth])
            if folder and folder not in self._folders:
                self._folders.add(folder)
                self._add(folder, stat.S_IFDIR | 0o755, b"")

    def _add(self, path: str, mode: int, data: bytes) -> None:
        self._parts.append(self._entry(path.lstrip("/"), mode, data, self._inode))
        self._inode += 1

    @staticmethod
    def _entry(name: str, mode: int, data: bytes, inode: int) -> bytes:
        raw = name.encode() + b"\0"
        links = 2 if stat.S_ISDIR(mode) else 1
        # inode, mode, uid, gid, links, mtime, size, device (2), special device (2), name length, checksum
        numbers = (inode, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(raw), 0)
        header = _MAGIC + b"".join(b"%08X" % number for number in numbers)
        return b"".join((header, raw, _pad(_HEADER_SIZE + len(raw)), data, _pad(len(data))))


def entries(archive: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Name (without leading slash), mode and data of each entry of one or more joined archives.
    Raises ValueError where ARCHIVE is damaged."""
    offset = 0
    while offset < len(archive):
        if archive[offset] == 0:  # padding between archives
            offset += 1
            continue
        header = archive[offset:offset + _HEADER_SIZE]
        if len(header) < _HEADER_SIZE or header[:6] != _MAGIC:
            raise ValueError(f"no cpio entry at byte {offset}")
        fields = [int(header[6 + 8 * index:14 + 8 * index], 16) for index in range(_FIELDS)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        start = offset + _HEADER_SIZE + name_size
        start += -start % 4
        if name_size == 0 or start + size > len(archive):
            raise ValueError(f"a cpio entry at byte {offset} goes past the end")
        name = archive[offset + _HEADER_SIZE:offset + _HEADER_SIZE + name_size - 1].decode()
        if name != _TRAILER:
            yield name.removeprefix("./").lstrip("/"), mode, archive[start:start + size]
        offset = start + size
        offset += -offset % 4
