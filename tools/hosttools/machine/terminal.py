"""The user's terminal, when there is one: every key goes to the guest at once, except the ones that leave.

Ctrl-A x leaves; Ctrl-A Ctrl-A (or Ctrl-A a) sends one Ctrl-A. Outside `shell`, Ctrl-C keeps its meaning for the host.
"""

import os
import termios
from types import TracebackType

ESCAPE = 0x01  # Ctrl-A


class RawTerminal:
    """A context in which the terminal FD passes keys on unprocessed. It does nothing where FD is no terminal or
    belongs to another job; the way out of the context always restores the old state."""

    def __init__(self, fd: int, keep_signals: bool, guest_cooks: bool = False) -> None:
        """KEEP_SIGNALS: Ctrl-C and Ctrl-\\ still interrupt the tool. GUEST_COOKS: the guest's terminal does all that a
        terminal does, so this one is to do nothing."""
        self._fd = fd
        self._keep_signals = keep_signals
        self._guest_cooks = guest_cooks
        self._saved: list | None = None
        self.active = False

    def __enter__(self) -> "RawTerminal":
        if not owns_terminal(self._fd):
            return self
        self._saved = termios.tcgetattr(self._fd)
        mode = termios.tcgetattr(self._fd)
        # Enter stays a newline: a guest's terminal need not translate it.
        mode[0] &= ~(termios.INLCR | termios.IGNCR | termios.IXON | termios.ISTRIP | termios.BRKINT)
        mode[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
        if self._guest_cooks:
            mode[0] &= ~(termios.ICRNL | termios.IXOFF)
            mode[1] &= ~termios.OPOST
        if self._keep_signals:
            mode[6][termios.VSUSP] = b"\0"
        else:
            mode[3] &= ~termios.ISIG
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._fd, termios.TCSADRAIN, mode)
        self.active = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._saved is not None:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._saved)
            self._saved = None
        self.active = False


def owns_terminal(fd: int) -> bool:
    """Whether FD is a terminal whose keys are for this job."""
    try:
        return os.isatty(fd) and os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False


class EscapeFilter:
    """Takes the Ctrl-A sequences out of what is typed."""

    def __init__(self) -> None:
        self._escaped = False
        self.left = False  # Ctrl-A x was typed

    def feed(self, keys: bytes) -> bytes:
        """The bytes of KEYS for the guest, up to the one that leaves."""
        out = bytearray()
        for key in keys:
            if not self._escaped and key == ESCAPE:
                self._escaped = True
                continue
            if self._escaped:
                self._escaped = False
                if key == ord("x"):
                    self.left = True
                    break
                if key in (ESCAPE, ord("a")):
                    key = ESCAPE
                else:
                    out.append(ESCAPE)
            out.append(key)
        return bytes(out)
