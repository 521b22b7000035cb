"""For all tests in Python."""

from xdist.scheduler import LoadScopeScheduling

# The longest tests, by their names without parameters, begin first: of those that run at once, the others fill the time
# beside them.
LONGEST = ("test_the_tutorials_do_what_they_say", "test_real_programs_pass_on_kettle_what_they_pass_on_linux", "test_programs_give_what_linux_gives",
           "test_what_is_seen_is_what_happened")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: LONGEST.index(item.originalname) if item.originalname in LONGEST else len(LONGEST))


# Modules whose tests share what takes long to make, such as a boot: one of the processes with tests runs all of them.
TOGETHER = ("test_toolbox.py", "test_numa.py", "path_test.py")


class Scheduling(LoadScopeScheduling):
    """Which process runs a test: any that is free, but the same one for all of a module of TOGETHER."""

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return module if module.endswith(TOGETHER) else nodeid


def pytest_xdist_make_scheduler(config, log):
    return Scheduling(config, log)
