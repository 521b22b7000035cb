"""The audit's command: its status says whether anything is wrong. Audits of programs while they run are in boots.py."""

import re


def test_kettle_ctl_tells_by_its_status(run):
    done = run("--cpus", "2", "--", "kettle-ctl", "audit")
    assert done.status == 0 and re.match(rb"0 violations .* [1-9]\d* spaces", done.stdout), done.explain()
    done = run("--cpus", "2", "--append", "audit=owned", "--", "kettle-ctl", "audit")
    assert done.status == 1 and b"owned once: " in done.stdout, done.explain()
    done = run("--cpus", "2", "--", "kettle-ctl", "audit", "12345678")
    assert done.status == 2 and "No such process" in done.explain(), done.explain()
