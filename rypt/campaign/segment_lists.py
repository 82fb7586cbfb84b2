"""The candidates of one segment in all lists of a campaign: which one a number, "best" or a list's name means."""

from dataclasses import dataclass
from pathlib import Path

from rypt.campaign.folder import Campaign
from rypt.records import Candidate
from rypt.text import RyptError, plural
from rypt.texts.lists import distinct, list_names

BEST = "best"


@dataclass(frozen=True, slots=True)
class SegmentLists:
    """The distinct candidates of a segment in the order of the lists, and what each list has of it.

    ``files`` are the names of the lists' files, ``names`` those without endings.
    """

    segment: str
    names: list[str]
    files: list[str]
    lists: list[list[Candidate]]
    candidates: list[Candidate]

    @classmethod
    def read(cls, part: Campaign, segment: str) -> "SegmentLists":
        """Read the lists of a part of a campaign that is this segment alone."""
        files, lists = [], []
        for name, candidates in part.lists():
            files.append(name)
            lists.append([candidate for candidate in candidates if candidate.segment == segment])
        return cls(segment, list_names(files), [Path(name).name for name in files], lists, distinct(lists))

    def number_of(self, candidate: int | str) -> int | None:
        """The number of a candidate among the distinct ones; None for "best", which a score decides.

        Digits are a number and "best" the best: a list of such a name is called by its file's name.
        """
        if not self.candidates:
            raise RyptError(f"segment {self.segment} has no candidate in the campaign's lists")
        if candidate == BEST:
            return None
        try:
            number = int(candidate)
        except ValueError:
            return self._first_of(str(candidate))
        if not 0 <= number < len(self.candidates):
            raise RyptError(f"{self._counted()}; there is no candidate {number}")
        return number

    def _counted(self) -> str:
        """How many distinct candidates there are, and why fewer than in the lists."""
        count, total = len(self.candidates), sum(map(len, self.lists))
        words = f"segment {self.segment} has {plural(count, 'candidate')}, numbered from 0 to {count - 1}"
        if total == count:
            return words
        return f"{words} ({total} in the lists, {total - count} of them with a text and links that are there already)"

    def _first_of(self, name: str) -> int:
        """The number of the first candidate of a list."""
        for place, names in enumerate(zip(self.names, self.files, strict=True)):
            if name in names:
                if not self.lists[place]:
                    raise RyptError(
                        f"the list {self.files[place]} has no candidate of segment {self.segment}"
                    )
                first = self.lists[place][0]
                return next(i for i, kept in enumerate(self.candidates) if _same(kept, first))
        lists = ", ".join(self.names)
        raise RyptError(
            f"expected a candidate's number, {BEST} or the name of a list, found {name!r}; lists: {lists}"
        )

    def describe(self, number: int) -> str:
        """Its number, and where there are several lists, those that hold it.

        >>> a, b = Candidate("1", "x", "0-0"), Candidate("1", "y", "0-0")
        >>> SegmentLists("1", ["A", "B"], ["A.txt", "B.txt"], [[a], [a, b]], [a, b]).describe(0)
        'candidate 0 (A, B)'
        """
        if len(self.names) < 2:
            return f"candidate {number}"
        holders = [
            name
            for name, candidates in zip(self.names, self.lists, strict=True)
            if any(_same(candidate, self.candidates[number]) for candidate in candidates)
        ]
        return f"candidate {number} ({', '.join(holders)})"


def _same(one: Candidate, other: Candidate) -> bool:
    return (one.text, one.alignment) == (other.text, other.alignment)
