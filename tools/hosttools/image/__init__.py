"""What a machine's image holds: archives, ELF files, the files and directories of the host."""
