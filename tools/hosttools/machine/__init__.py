"""Machines and what they are made of: topology, boot options, QEMU, Bochs, Linux, their terminals."""
