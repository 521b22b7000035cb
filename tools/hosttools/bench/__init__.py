"""`kettle bench`: makes the runs of suites, and writes what came of them."""
