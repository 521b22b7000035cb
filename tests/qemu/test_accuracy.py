"""`kettle numa accuracy` on a whole machine: accessed bits show each page that was used and nothing else, faults nothing else; but
for the few pages where a kernel looks between a fault and the access that it was for, which is of the next period then."""

import json
import subprocess

from conftest import ROOT


def test_what_is_seen_is_what_happened(tmp_path):
    done = subprocess.run([ROOT / "tools" / "kettle", "numa", "accuracy", "--period", "20", "--out", tmp_path,
                           "--program", "seenbench --rounds 12"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = {row["way"]: row for row in json.loads((tmp_path / "raw.json").read_text())["rows"]}
    bits, faults = (rows[way]["scores"] for way in ("accessed", "faults"))
    assert bits["4 KiB"]["seen"] > 1000 and faults["4 KiB"]["seen"] > 1000
    assert min(bits["4 KiB"]["precision"], bits["4 KiB"]["recall"]) > 0.999
    assert faults["4 KiB"]["precision"] > 0.999 and 0.5 < faults["4 KiB"]["recall"] <= 1
    for way in rows.values():
        recalls = [way["scores"][size]["recall"] for size in ("4 KiB", "64 KiB", "1 MiB", "2 MiB")]
        assert recalls == sorted(recalls) and way["scores"]["2 MiB"]["precision"] < 1
        assert way["instructions"] > way["base"]
