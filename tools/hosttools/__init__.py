"""The host side of Kettle: the package behind the command tools/kettle.

One noun per module. Calls go down only: cli -> session, debug -> qemu, bochs, linux -> machine, image, topology,
elf, cpio, events, terminal, paths, errors.
"""
