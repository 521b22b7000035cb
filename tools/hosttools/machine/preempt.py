"""--preempt: CPUs whose turns end in the midst of kernel code: the option's words, the plugin's arguments, and its report.

tools/plugin/preempt/preempt.md says what it does and how to hunt a race with it.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from hosttools.errors import UsageError

PLUGIN = "plugin/preempt.so"  # in the build directory
OUTPUT = "preempt.json"  # in the run's own folder
FORM = "SEED[,rate=N][,by=instruction|block]"
UNITS = ("block", "instruction")
RATE, RATE_MAX = 100, 1000000
SEED_MAX = (1 << 64) - 1


@dataclass(frozen=True)
class Preemption:
    """Turns that end after about RATE units of kernel code each, as SEED has it."""

    seed: int
    rate: int = RATE
    by: str = UNITS[0]

    def arguments(self, plugin: Path, folder: Path) -> tuple[str, ...]:
        """The options by which QEMU loads PLUGIN, which reports into FOLDER."""
        words = (f"file={plugin}", f"out={folder / OUTPUT}", f"seed={self.seed}", f"rate={self.rate}")
        # The plugin counts blocks: of one instruction each, where QEMU is told so.
        return (*(("-singlestep",) if self.by == "instruction" else ()), "-plugin", ",".join(word.replace(",", ",,") for word in words))


def parse(text: str) -> Preemption:
    """The words of --preempt. Raises UsageError."""
    first, *words = text.split(",")
    seed = _number(first)
    if seed is None or seed > SEED_MAX:
        raise UsageError(f"--preempt {text}: '{first}' is not a seed, a whole number of at most 64 bits ({FORM})")
    given: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in ("rate", "by") or key in given:
            raise UsageError(f"--preempt {text}: '{word}' is " + ("given twice" if key in given else f"not of {FORM}"))
        given[key] = value
    rate = _number(given.get("rate", str(RATE)))
    if rate is None or not 1 <= rate <= RATE_MAX:
        raise UsageError(f"--preempt {text}: rate must be 1 to {RATE_MAX}, not {given['rate']}")
    if given.get("by", UNITS[0]) not in UNITS:
        raise UsageError(f"--preempt {text}: by must be instruction or block, not {given['by']}")
    return Preemption(seed, rate, given.get("by", UNITS[0]))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def tell(preemption: Preemption, folder: Path, quiet: bool) -> dict:
    """Says on standard error what the plugin reported into FOLDER, if QUIET only that it did not. Returns what goes into the
    object of --json: null, when the emulator was killed or did not start."""
    try:
        report = json.loads((folder / OUTPUT).read_text())
    except (OSError, ValueError):
        print("kettle: --preempt: no report: the emulator was killed or did not start", file=sys.stderr)
        return {"preempt": None}
    if not quiet:
        print(f"kettle: --preempt ended {report['ended']} turns in {report['blocks']} {preemption.by}s of kernel code; "
              f"{report['passed_on']} times another CPU went on in its own", file=sys.stderr)
    return {"preempt": {"seed": preemption.seed, "rate": preemption.rate, "by": preemption.by, **report}}
