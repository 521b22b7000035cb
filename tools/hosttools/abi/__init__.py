"""`kettle abi`: the system calls against Linux's."""
