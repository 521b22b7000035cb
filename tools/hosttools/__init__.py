"""The host side of Kettle: the package behind the command tools/kettle.

One noun per module. Imports go down only: cli; debug; run; session, bochs, linux; qemu; control, machine; then image,
topology, elf, cpio, events, streams, terminal, progress, paths, errors.
"""
