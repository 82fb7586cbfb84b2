"""What Moses' programs do to texts before they are compared: pick factors, and send lines through a program."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.references import References


@dataclass(frozen=True, slots=True)
class Preparation:
    """``factors`` of each token that are kept, such as 0 and 2 of ``house|NN|n``, then a shell ``command`` for lines.

    The command reads all texts, a line each, and must write as many.
    """

    factors: tuple[int, ...] = ()
    command: str | None = None

    def __bool__(self) -> bool:
        return bool(self.factors) or self.command is not None

    def texts(self, texts: Sequence[str]) -> list[str]:
        """The prepared texts.

        >>> Preparation((0, 2)).texts(["the|DT|1 house|NN|2"])
        ['the|1 house|2']
        """
        chosen = [self._picked(text) for text in texts] if self.factors else list(texts)
        return _filtered(chosen, self.command) if self.command is not None else chosen

    def _picked(self, text: str) -> str:
        words = [token.split("|") for token in text.split()]
        for factors in words:
            if len(factors) <= max(self.factors):
                wanted = "|".join(map(str, self.factors))
                raise RyptError(
                    f"--factors {wanted}: the token {'|'.join(factors)!r} has {len(factors)} factors"
                )
        return " ".join("|".join(factors[i] for i in self.factors) for factors in words)

    def references(self, references: References) -> References:
        """The prepared references."""
        if not self:
            return references
        return References([self.texts(document) for document in references.documents], references.paths)

    def candidates(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """The prepared candidates; each text is prepared once."""
        if not self:
            return candidates
        texts = list(dict.fromkeys(candidate.text for candidate in candidates))
        prepared = dict(zip(texts, self.texts(texts), strict=True))
        return [replace(candidate, text=prepared[candidate.text]) for candidate in candidates]


def read_preparations(factors: str | None, command: str | None, count: int) -> list[Preparation]:
    """What ``--factors`` and ``--filter`` say for ``count`` metrics; for more than one they are comma lists."""
    parts = [_split(text, count, option) for text, option in ((factors, "--factors"), (command, "--filter"))]
    return [Preparation(_read_factors(picked), line or None) for picked, line in zip(*parts, strict=True)]


def _split(text: str | None, count: int, option: str) -> list[str]:
    if text is None:
        return [""] * count
    parts = text.split(",") if count > 1 else [text]
    if len(parts) != count:
        raise RyptError(f"{option} {text}: expected {count} values separated by commas, one per metric")
    return parts


def _read_factors(text: str) -> tuple[int, ...]:
    if text and not re.fullmatch(r"[0-9]{1,3}(\|[0-9]{1,3})*", text):
        raise RyptError(f"--factors {text}: expected numbers from 0 separated by |, such as 0|2")
    return tuple(map(int, text.split("|"))) if text else ()


def _filtered(texts: Sequence[str], command: str) -> list[str]:
    data = "".join(f"{text}\n" for text in texts).encode()
    try:
        done = subprocess.run(["/bin/sh", "-c", command], input=data, stdout=subprocess.PIPE, check=False)
        lines = done.stdout.decode().removesuffix("\n").split("\n") if done.stdout else []
    except (OSError, UnicodeDecodeError) as error:
        raise RyptError(f"--filter {command}: {error}") from None
    if done.returncode:
        raise RyptError(f"--filter {command}: it failed with code {done.returncode}")
    if len(lines) != len(texts):
        raise RyptError(
            f"--filter {command}: expected {len(texts)} lines, one for each it was given, got {len(lines)}"
        )
    return lines
