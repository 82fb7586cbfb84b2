"""Raw texts, as neural systems read and write them: cut into tokens before trees, links and phrases are made of them.

    is_raw(["Die Kinder spielen."])        # True: the full stop sticks to the word
    is_raw(["▁Die ▁Kinder ▁spiel en ."])    # True: pieces of words
    is_raw(["孩子们在玩。"])                 # True: no spaces between words
    is_raw(["die Kinder spielen ."])       # False: these are tokens

Texts are raw or not side by side: a tokenised source may have raw candidates. `tokenized` joins pieces and cuts words
and punctuation apart (`rypt.texts.tokenizer`), without changing a letter.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rypt.records import Candidate, Segment
from rypt.text import PathLike, Watch, open_output, read_lines
from rypt.texts.formats import RAW
from rypt.texts.nbest import read_list
from rypt.texts.segmenters import HOW_TO_INSTALL, Segmenter, is_ideograph, is_unspaced
from rypt.texts.tokenizer import join_pieces, tokens_of

SAMPLE = 1000  # texts that decide whether a side is raw
FINAL = frozenset(".!?…。！？؟।")
PIECES = 0.1  # of all tokens: ▁ or @@ elsewhere is a slip, not a subword model
LONGEST_MEAN = {
    True: 5.0,
    False: 12.0,
}  # letters in a word on average: of ideographs and kana, of other scripts


def is_raw(texts: Iterable[str]) -> bool:
    """Whether texts have to be cut into tokens: final punctuation sticks to words, or words are not apart."""
    sample = list(islice((text for text in texts if text.strip()), SAMPLE))
    tokens = [token for text in sample for token in text.split()]
    if not tokens:
        return False
    if sum(token.startswith("▁") or token.endswith("@@") for token in tokens) > PIECES * len(tokens):
        return True
    ends = [text.split()[-1] for text in sample if text.rstrip()[-1] in FINAL]
    attached = sum(len(token) > 1 and token[-2].isalnum() for token in ends)
    return 2 * attached > len(ends) or _without_spaces(tokens)


def _without_spaces(tokens: Sequence[str]) -> bool:
    unspaced = [token for token in tokens if any(map(is_unspaced, token))]
    if 3 * len(unspaced) < len(tokens):
        return False
    longest = LONGEST_MEAN[any(map(is_ideograph, "".join(unspaced[:50])))]
    return sum(map(len, unspaced)) > longest * len(unspaced)


def tokenized(text: str, segmenter: Segmenter | None = None) -> str:
    """The tokens of a raw text, with a space between them.

    >>> tokenized("▁Die ▁Kinder ▁spiel en.")
    'Die Kinder spielen .'
    """
    return " ".join(tokens_of(join_pieces(text.split()), segmenter))


@dataclass
class RawTexts:
    """Writes tokenised copies of texts to a folder, and remembers whether some had no spaces between words."""

    folder: Path
    segmenter: Segmenter | None = None
    unspaced: bool = False

    def source(self, segments: Iterable[Segment]) -> Path:
        """Copy segments, which keep their ids."""
        path = self.folder / "source.jsonl"
        with open_output(path) as stream:
            for segment in segments:
                stream.write(_line({"id": segment.id, "text": self._tokens(segment.text)}))
        return path

    def lists(self, paths: Mapping[str, PathLike], names: Sequence[str], watch: Watch) -> list[Path]:
        """Copy lists under their names, with all that their lines hold, and the texts as they were."""
        copies = [self.folder / "lists" / f"{name}.jsonl" for name in paths]
        (self.folder / "lists").mkdir()
        for path, copy in zip(paths.values(), copies, strict=True):
            with open_output(copy) as stream:
                for _, raw in read_list(path, names, watch):
                    stream.write(_line(self._record(raw)))
        return copies

    def references(self, paths: Sequence[PathLike]) -> list[Path]:
        """Copy references, a line each segment."""
        if paths:
            (self.folder / "references").mkdir()
        copies = [self.folder / "references" / f"{number}.txt" for number, _ in enumerate(paths)]
        for path, copy in zip(paths, copies, strict=True):
            with open_output(copy) as stream:
                stream.writelines(f"{self._tokens(line)}\n" for _, line in read_lines(path))
        return copies

    def _record(self, raw: Candidate) -> dict[str, object]:
        record: dict[str, object] = {"id": raw.segment, "candidate": self._tokens(raw.text)}
        record[RAW] = join_pieces(raw.text.split())
        if raw.features:
            record["features"] = dict(raw.features)
        if raw.score is not None:
            record["score"] = raw.score
        return record | dict(raw.columns)

    def _tokens(self, text: str) -> str:
        self.unspaced = self.unspaced or any(map(is_unspaced, text))
        return tokenized(text, self.segmenter)

    @property
    def words_by(self) -> str | None:
        """The segmenter that found words, with its version; None where none did."""
        return self.segmenter.signature if self.segmenter and self.unspaced else None

    def how(self) -> str:
        """How the words were found."""
        if self.words_by:
            return f"words found by {self.words_by}"
        if self.unspaced:
            return f"each character without spaces is a token: {HOW_TO_INSTALL} finds words"
        return "punctuation cut off"


def _line(record: Mapping[str, object]) -> str:
    return f"{json.dumps(record, ensure_ascii=False)}\n"
