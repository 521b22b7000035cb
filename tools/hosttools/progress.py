"""What the tool says while it prepares and boots: a moving line on a terminal, nothing anywhere else."""

import sys
from types import TracebackType


class Progress:
    """A context that shows one line of progress on standard error until `stop`."""

    def __init__(self, quiet: bool) -> None:
        """QUIET: say nothing even on a terminal."""
        self._status = None
        if sys.stderr.isatty() and not quiet:
            from rich.console import Console  # only where it is seen is it worth loading

            self._status = Console(stderr=True).status("")

    def __enter__(self) -> "Progress":
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop()

    def say(self, text: str) -> None:
        """Shows TEXT as what is going on."""
        if self._status is not None:
            self._status.update(text)

    def step(self, text: str) -> None:
        """Shows TEXT as what is going on; without a terminal it is a line of its own."""
        if self._status is None:
            print(text, file=sys.stderr, flush=True)
        else:
            self._status.update(text)

    def warn(self, text: str) -> None:
        """Writes TEXT, which is lost to nobody, above the moving line."""
        if self._status is None:
            print(f"kettle: warning: {text}", file=sys.stderr)
        else:
            self._status.console.print(f"kettle: warning: {text}", markup=False, highlight=False)

    def stop(self) -> None:
        """Takes the line away; the terminal is the program's from here on."""
        if self._status is not None:
            self._status.stop()
            self._status = None
