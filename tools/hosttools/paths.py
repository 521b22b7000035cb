"""Where the products of the build lie."""

import os
from pathlib import Path

from hosttools.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]


def build_dir() -> Path:
    """The build directory: $KETTLE_BUILD, or build/ of this tree."""
    return Path(os.environ.get("KETTLE_BUILD") or ROOT / "build")


def built(name: str) -> Path:
    """The build product NAME; raises UsageError when it has not been built."""
    path = build_dir() / name
    if not path.is_file():
        raise UsageError(f"{path} is missing: run make first")
    return path
