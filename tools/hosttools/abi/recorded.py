"""What Linux gave, kept in a file: so that a comparison needs no Linux, nor depends on how a busy host treats it.

An answer is good for as long as the program's source and headers are those it was recorded with; a program that is new
or changed runs on Linux again.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Mapping, Sequence

from hosttools.abi import build as abi_build
from hosttools.abi.build import Program
from hosttools.errors import UsageError
from hosttools.run.guest_runs import Result

Json = dict[str, Any]

RUN = ("exit", "signal")  # how a program ended of which there is an answer


def read(file: Path, programs: Sequence[Program]) -> dict[Program, Result]:
    """The answers in FILE to those of PROGRAMS that have not changed. Raises UsageError when FILE has none."""
    try:
        recorded = json.loads(file.read_text())["programs"]
        return {program: Result(**entry["result"]) for program in programs
                if (entry := recorded.get(_key(program))) is not None and entry["source"] == _hash(program)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--recorded {file}: not a file that --record has written ({error})") from None


def write(file: Path, command: str, results: Mapping[Program, Result]) -> None:
    """Writes RESULTS, which COMMAND gave, to FILE. What did not come to its own end is left out."""
    kept = {_key(program): {"source": _hash(program), "result": {**asdict(result), "problem": ""}}
            for program, result in sorted(results.items()) if result.how in RUN}
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in kept.items())
    file.write_text(f'{{"command": {json.dumps(command)}, "programs": {{\n{lines}\n}}}}\n')


def _key(program: Program) -> str:
    return f"{program.library} {program.title}"


def _hash(program: Program) -> str:
    source = abi_build.source(program)
    text = b"".join(path.read_bytes() for path in (source, *abi_build.headers(source)))
    return hashlib.sha256(text).hexdigest()[:16]
