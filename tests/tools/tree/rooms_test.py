"""hosttools.ROOMS: each module of the host side is in a room, and imports go down only."""

import ast

from hosttools import ROOMS
from hosttools.paths import ROOT

HOST_SIDE = ROOT / "tools" / "hosttools"
BASE = ("errors", "paths", "progress")  # which every room may use
TOP = ("cli", "__main__")
LATE = {("run", "cli")}  # imported when guest_runs is called


def imports(path) -> set[str]:
    """The parts of hosttools that the module at PATH imports from."""
    found = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    names = [name for node in found if node.module == "hosttools" for name in (alias.name for alias in node.names)]
    return {*names, *(node.module.split(".")[1] for node in found if (node.module or "").startswith("hosttools."))}


def test_each_module_is_in_a_room():
    assert {path.stem for path in HOST_SIDE.glob("*.py")} == {"__init__", *BASE, *TOP}
    assert {path.parent.name for path in HOST_SIDE.glob("*/*.py")} == set(ROOMS)


def test_imports_go_down():
    order = list(ROOMS)
    seen = set()
    for path in HOST_SIDE.glob("*/*.py"):
        room = path.parent.name
        seen |= {(room, other) for other in imports(path) if other not in BASE}
    assert ("bench", "suites") in seen
    assert {pair for pair in seen - LATE if pair[1] not in order or order.index(pair[1]) > order.index(pair[0])} == set()


def test_the_base_uses_no_room():
    assert set().union(*(imports(HOST_SIDE / f"{name}.py") for name in BASE)) <= set(BASE)
