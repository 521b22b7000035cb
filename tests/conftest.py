"""For all tests in Python."""

LONGEST = "test_the_tutorials_do_what_they_say"


def pytest_collection_modifyitems(items):
    """The longest test begins first: of those that run at once, the others fill the time beside it."""
    items.sort(key=lambda item: item.name != LONGEST)
