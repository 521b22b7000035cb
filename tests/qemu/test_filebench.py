"""What small operations on files cost is counted by filebench (docs/results/files.md). How many messages they take is certain."""

import json

REPEATED = ("--cpus", "4", "--nodes", "2", "--icount", "0", "--seed", "1")


def test_a_descriptor_is_asked_for_once(run):
    """A process at home elsewhere asks its home once what a descriptor is, then the file's kernel, or nobody if it is there."""
    done = run(*REPEATED, "--", "filebench", "--quick", "--json", "--cases", "pread100.*")
    assert done.status == 0, done.explain()
    rows = {row["setting"]: row for row in map(json.loads, done.stdout.decode().splitlines())}
    count = rows["local"]["count"]
    sent = {setting: sum(row["messages"].values()) for setting, row in rows.items()}
    # a request and its answer each time; what "third" and "near" have besides is the first operation's
    assert sent == {"local": 0, "away": 2 * count, "far": 2 * count, "third": 2 * count + 2, "near": 2}
