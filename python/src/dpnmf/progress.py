"""Progress of a run, in a notebook, on a terminal, or nowhere."""

from __future__ import annotations

import html
import shutil
import sys
import time
from typing import Any, Protocol, TextIO

from dpnmf import _text
from dpnmf.results import Event

_BAR = 30


class Progress(Protocol):
    def event(self, event: Event) -> None: ...
    def learning(self, share: float) -> None: ...
    def note(self, sentence: str) -> None: ...
    def close(self) -> None: ...


def progress_for(wanted: bool | None, what: str) -> Progress:
    """None: a notebook and a terminal get a bar; True: also other outputs get
    lines; False: nothing."""
    if wanted is False:
        return _Silent()
    if _in_notebook():
        return _Notebook(what)
    if sys.stderr.isatty():
        return _Terminal(what, sys.stderr)
    if wanted:
        return _Lines(what, sys.stderr)
    return _Silent()


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


class _Silent:
    def event(self, event: Event) -> None:
        pass

    def learning(self, share: float) -> None:
        pass

    def note(self, sentence: str) -> None:
        pass

    def close(self) -> None:
        pass


def _words(event: Event) -> str:
    words = f"{event.state} {event.round}/{event.rounds}, spent so far: epsilon {_text.up(event.spent)}"
    if event.largest_run is not None:
        words += f", largest run {_text.down(event.largest_run)}"
    return words


class _Lines:
    def __init__(self, what: str, out: TextIO) -> None:
        self._what, self._out = what, out

    def event(self, event: Event) -> None:
        tail = f"  {event.sentence}" if event.sentence else ""
        self.note(f"{self._what}: {_words(event)}{tail}")

    def learning(self, share: float) -> None:
        pass

    def note(self, sentence: str) -> None:
        print(sentence, file=self._out, flush=True)

    def close(self) -> None:
        pass


class _Terminal(_Lines):
    def __init__(self, what: str, out: TextIO) -> None:
        super().__init__(what, out)
        self._open = False
        self._start = time.monotonic()

    def event(self, event: Event) -> None:
        if event.sentence:
            self.note(event.sentence)
        share = min(1.0, event.round / event.rounds) if event.rounds else 0.0
        filled = int(_BAR * share)
        line = f"{self._what} [{'#' * filled}{'.' * (_BAR - filled)}] {_words(event)}"
        if 0 < share < 1:
            line += f", {(time.monotonic() - self._start) * (1 / share - 1):.0f} s left"
        width = shutil.get_terminal_size().columns - 1
        self._out.write(f"\r{line[:width]}\x1b[K")
        self._out.flush()
        self._open = True

    def learning(self, share: float) -> None:
        self._out.write(f"\r{self._what} fitting {int(100 * share)} %\x1b[K")
        self._out.flush()
        self._open = True

    def note(self, sentence: str) -> None:
        if self._open:
            self._out.write("\r\x1b[K")
        self._open = False
        super().note(sentence)

    def close(self) -> None:
        if self._open:
            self._out.write("\n")
            self._out.flush()
        self._open = False


class _Notebook:
    def __init__(self, what: str) -> None:
        self._what = what
        self._notes: list[str] = []
        self._shown: Any = None
        self._last = ""

    def event(self, event: Event) -> None:
        if event.sentence:
            self._notes.append(event.sentence)
        words = html.escape(f"{self._what}: {_words(event)}")
        self._last = f'<progress max="{max(event.rounds, 1)}" value="{event.round}"></progress> {words}'
        self._show()

    def learning(self, share: float) -> None:
        what = html.escape(self._what)
        self._last = f'<progress max="1" value="{share:.2f}"></progress> {what}: fitting {int(100 * share)} %'
        self._show()

    def note(self, sentence: str) -> None:
        self._notes.append(sentence)
        self._show()

    def _show(self) -> None:
        from IPython.display import HTML, display

        body = HTML("<div>" + self._last + "".join(f"<br>{html.escape(n)}" for n in self._notes) + "</div>")
        if self._shown is None:
            self._shown = display(body, display_id=True)
        else:
            self._shown.update(body)

    def close(self) -> None:
        pass
