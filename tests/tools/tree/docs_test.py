"""The pages of the tree: what they link to is there, the site has them all, and the plot of README.md is of the data."""

import importlib.util
import re
import runpy
import sys

import pytest

from hosttools.bench import plot_overview
from hosttools.paths import ROOT


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"tools/docs/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


assemble = load("assemble")


@pytest.fixture
def site(tmp_path):
    return assemble.Site(tmp_path)


def test_every_link_leads_to_a_file_of_the_tree(site):
    site.write_all()


def test_a_link_to_what_is_not_there_is_an_error(site):
    with pytest.raises(assemble.Missing, match="README.md: no docs/none.md in the tree"):
        site.linked("README.md", "See [a page](docs/none.md#part).")


def test_links_to_sources_and_folders_become_pages(site):
    text = "[a](../msg/messages.def) [b](../mm) [c](results/tour-2.txt) [d](https://example.org/x.c) `[e](none.c)`"
    assert site.linked("docs/design.md", text) == (
        "[a](../msg/messages.def.md) [b](../mm/README.md) [c](results/tour-2.txt.md) [d](https://example.org/x.c) `[e](none.c)`")


def test_every_page_is_in_the_navigation(site):
    site.write_all()
    lines = assemble.navigation(site)
    own = lines[:lines.index("not_in_nav: |")]
    for page in site.pages:
        assert sum(line.endswith(f" {page}") for line in own) == 1, page
    rooms = [line.strip() for line in own]
    assert rooms.index("- 'mm/frame':") < rooms.index("- 'mm/lock':") < rooms.index("- 'mm/audit':")


def test_lists_get_their_blank_line():
    assert assemble.with_blank_lines("text:\n- a\n- b\n\n```\nx\n- y\n```\n") == "text:\n\n- a\n- b\n\n```\nx\n- y\n```\n"


def test_the_plot_is_of_the_data(tmp_path):
    """Else run tools/plot-overview."""
    plot_overview.draw(tmp_path / "overview.svg")
    assert (tmp_path / "overview.svg").read_bytes() == (ROOT / "docs/overview.svg").read_bytes()


def test_every_message_is_in_the_list_of_deaths():
    """A new one is to be tried, too: `test-death 100 types` writes the list."""
    named = set(re.findall(r"[A-Z][A-Z_]+", (ROOT / "docs/results/death/states.txt").read_text()))
    messages = re.findall(r"^(?:REQUEST|NOTICE|OPERATION)\(\d+, (\w+)", (ROOT / "msg/messages.def").read_text(), re.M)
    assert messages and not set(messages) - named


def test_the_matrix_of_deaths_is_of_the_runs():
    """Each cell is green or has a reason; else run tests/death/matrix --write."""
    matrix = runpy.run_path(str(ROOT / "tests/death/matrix"))
    names, why = matrix["types"](), matrix["reasons"]()
    cells = matrix["table"](names, matrix["reached"](set(names)), why)
    assert not [name for name, row in cells.items() if "" in row]
    assert (ROOT / "docs/results/death/matrix.md").read_text() == matrix["page"](cells, why)
    once = [(name, kernels) for _, of in why for kernels, some in of.items() for name in some]
    assert not set(name for name, _ in once) - set(names)
