"""`kettle programs`: programs from Debian's archive."""
