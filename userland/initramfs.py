#!/usr/bin/env python3
"""Writes an initramfs: a cpio archive in the "newc" format that depends on nothing but its contents.

usage: initramfs.py OUTPUT NAME=FILE...

Each NAME is a path inside the archive, without a leading slash. Folders above it are added. Owner is root,
times are zero, modes are 0755 for executable files and folders and 0644 for the rest. Sorted by name.
"""

import os
import stat
import sys
from pathlib import Path

TRAILER = "TRAILER!!!"


def padded(data):
    return data + bytes(-len(data) % 4)


def entry(name, mode, data, inode, links):
    encoded = name.encode() + b"\0"
    fields = (inode, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return padded(header + encoded) + padded(data)


def archive(files):
    """Returns the archive of FILES, a dictionary from names to host paths."""
    folders = {str(folder) for name in files for folder in Path(name).parents if str(folder) != "."}
    parts = []
    for inode, name in enumerate(sorted(folders | set(files)), 1):
        if name in folders:
            parts.append(entry(name, stat.S_IFDIR | 0o755, b"", inode, 2))
        else:
            mode = 0o755 if os.access(files[name], os.X_OK) else 0o644
            parts.append(entry(name, stat.S_IFREG | mode, Path(files[name]).read_bytes(), inode, 1))
    parts.append(entry(TRAILER, 0, b"", 0, 1))
    return b"".join(parts)


def main():
    if len(sys.argv) < 2 or any("=" not in argument for argument in sys.argv[2:]):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    files = dict(argument.split("=", 1) for argument in sys.argv[2:])
    Path(sys.argv[1]).write_bytes(archive(files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
