"""Folders of the host that the guest may read and write: --share, virtio-9p devices of QEMU.

QEMU is the server, as the user who runs it. `security_model=none` makes what the guest makes ordinary files of that
user: permissions are kept, a change of owner that the user may not do is left out.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from hosttools.errors import UsageError

READ_ONLY = "ro"
KERNEL_PLACES = ("/proc", "/sys")
GUEST_MAX = 127  # bytes of a guest path, as the kernel's option has room for


@dataclass(frozen=True)
class Share:
    """A folder of the host and the absolute guest path where it is to be."""

    host: Path
    guest: str
    read_only: bool


def parse(text: str) -> Share:
    """HOSTDIR:/GUEST or HOSTDIR:/GUEST:ro. Raises UsageError."""
    rest, read_only = text, False
    if rest.endswith(":" + READ_ONLY):
        rest, read_only = rest[:-len(READ_ONLY) - 1], True
    host, colon, guest = rest.rpartition(":")
    if not colon or not host or not guest.startswith("/"):
        raise UsageError(f"--share {text}: it is HOSTDIR:/GUESTDIR or HOSTDIR:/GUESTDIR:{READ_ONLY}")
    if not os.path.isdir(host):
        raise UsageError(f"--share {text}: no such folder: {host}")
    if not os.access(host, os.R_OK | os.X_OK | (0 if read_only else os.W_OK)):
        raise UsageError(f"--share {text}: {host} cannot be {'read' if read_only else 'read and written'}")
    if any(character in guest for character in " ,:") or ".." in guest.split("/"):
        raise UsageError(f"--share {text}: a guest path has no blank, comma or colon, and no '..'")
    guest = os.path.normpath("/" + guest.lstrip("/"))
    if guest == "/":
        raise UsageError(f"--share {text}: the root cannot be a shared folder")
    if len(os.fsencode(guest)) > GUEST_MAX:
        raise UsageError(f"--share {text}: the guest path is longer than {GUEST_MAX} bytes")
    return Share(Path(os.path.abspath(host)), guest, read_only)


def parse_all(texts: Sequence[str]) -> tuple[Share, ...]:
    """Several, of which no two may be at one place. Raises UsageError."""
    shares = tuple(parse(text) for text in texts)
    places = [share.guest for share in shares]
    for place in places:
        if places.count(place) > 1:
            raise UsageError(f"--share: two folders at {place}")
        for other in (*places, *KERNEL_PLACES):
            if place.startswith(other + "/") or place in KERNEL_PLACES:
                raise UsageError(f"--share: {place} cannot be seen below {other}")
    return shares


def tag(number: int) -> str:
    """The name by which the guest finds device NUMBER."""
    return f"kettle{number}"


def qemu_arguments(shares: Sequence[Share]) -> tuple[str, ...]:
    """The devices."""
    arguments: list[str] = []
    for number, share in enumerate(shares):
        path = str(share.host).replace(",", ",,")
        arguments += ["-fsdev", f"local,id=share{number},path={path},security_model=none,multidevs=remap"
                                + (",readonly=on" if share.read_only else ""),
                      "-device", f"virtio-9p-pci-non-transitional,fsdev=share{number},mount_tag={tag(number)}"]
    return tuple(arguments)


def kernel_option(shares: Sequence[Share]) -> str:
    """The boot option that says where they are, or nothing."""
    parts = (f"{tag(number)}:{share.guest}" + (f":{READ_ONLY}" if share.read_only else "")
             for number, share in enumerate(shares))
    return "share=" + ",".join(parts) if shares else ""
