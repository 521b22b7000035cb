"""Runs spread over machines by dask.distributed: `kettle bench ... --scheduler ADDRESS`.

Each worker is a machine with this tree, built, at the same commit, started in it with one thread:

    build/venv/bin/dask worker ADDRESS --nworkers 1 --nthreads 1

A task is a group of runs, which one machine makes one after another: ratios are taken within a group, so what a machine is like
cancels out. A worker whose tree is of another commit fails its groups.
"""

from typing import Any, Callable, Sequence

from hosttools.errors import UsageError
from hosttools.machine import host
from hosttools.results.runs import Run, groups

Json = dict[str, Any]
CONNECT = 10  # seconds
# What dask.distributed needs of a run's numbers: none; a task that fails is not tried again.
SUBMIT = {"pure": False, "retries": 0}


def execute(runs: Sequence[Run], address: str, commit: str, before: Callable[[str], None], after: Callable[[Json], None]) -> None:
    """Makes RUNS on the workers of the scheduler at ADDRESS. Calls AFTER with each result, and BEFORE with what is being
    waited for. Raises UsageError when there is no such scheduler, or it has no worker."""
    from distributed import as_completed

    with _connect(address) as client:
        tasks = {client.submit(make_group, group, commit, **SUBMIT): group for group in groups(runs)}
        waiting = dict(tasks)
        before(f"groups of runs: {len(tasks)}, machines: {len(client.scheduler_info()['workers'])}")
        for task in as_completed(tasks):
            group = waiting.pop(task)
            error = task.exception()
            for result in task.result() if error is None else [failed(run, error) for run in group]:
                after(result)
            if waiting:
                before(f"groups of runs left: {len(waiting)}")


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise UsageError("--scheduler needs Python's package distributed: run tools/setup") from None
    try:
        client = Client(address, timeout=CONNECT)
    except (OSError, ValueError) as error:
        raise UsageError(f"--scheduler {address}: {error}") from None
    if not client.scheduler_info()["workers"]:
        client.close()
        raise UsageError(f"--scheduler {address}: it has no worker; start one on each machine, in this tree: "
                         f"build/venv/bin/dask worker {address} --nworkers 1 --nthreads 1")
    return client


def make_group(runs: Sequence[Run], commit: str) -> list[Json]:
    """On a worker: makes RUNS, which are of a tree at COMMIT."""
    from hosttools.bench import execute as executor  # which imports this module

    if host.commit() != commit:
        raise UsageError(f"the worker's tree is of commit {host.commit()}, not {commit}")
    return [{**executor.make(run), "host": host.describe()} for run in runs]


def failed(run: Run, error: BaseException) -> Json:
    """The result of RUN, which no worker could make because of ERROR."""
    return {"name": run.name, "command": "", "qemu_command": None, "status": None, "seconds": None, "cpu_seconds": None, "load": None, "output": [],
            "counts": [], "problem": f"not run: {error}"}
