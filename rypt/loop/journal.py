"""The journal of a loop: one line of JSON for each finished step, on disk before the next one begins."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rypt.locked_files import AppendOnly
from rypt.strict import parse_json
from rypt.text import InputError

FIELDS = {"iteration": int, "step": str, "time": int, "result": dict}


@dataclass(frozen=True, slots=True)
class Entry:
    """A finished step of an iteration, when it ended (seconds since 1970), and its result."""

    iteration: int
    step: str
    time: int
    result: Mapping[str, Any]


class Journal:
    """The entries of a loop. While one process writes, no other can, so two loops never run on one campaign."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = AppendOnly(path, busy="another loop is at work on this campaign")
        self.entries = self._read(self._file.lines())

    @contextmanager
    def opened(self) -> Iterator["Journal"]:
        """Open for writing; a second process is refused."""
        with self._file.opened() as lines:
            self.entries = self._read(lines)
            yield self

    def add(self, entry: Entry) -> None:
        """Record a step; it is on disk when this returns."""
        self._file.add(asdict(entry))
        self.entries.append(entry)

    def result(self, iteration: int, step: str) -> Mapping[str, Any] | None:
        """The result of a step, None while it is not done."""
        return self.results(step).get(iteration)

    def results(self, step: str) -> dict[int, Mapping[str, Any]]:
        return {entry.iteration: entry.result for entry in self.entries if entry.step == step}

    def time(self, iteration: int, step: str) -> int:
        """When a step was last done."""
        return max(entry.time for entry in self.entries if (entry.iteration, entry.step) == (iteration, step))

    def _read(self, lines: Sequence[bytes]) -> list[Entry]:
        entries = []
        for number, line in enumerate(lines, start=1):
            try:
                record = parse_json(line)
                if not all(isinstance(record[name], kind) for name, kind in FIELDS.items()):
                    raise TypeError
                entries.append(Entry(*(record[name] for name in FIELDS)))
            except (ValueError, KeyError, TypeError):
                raise InputError(self.path, number, f"expected a step with {', '.join(FIELDS)}") from None
        return entries
