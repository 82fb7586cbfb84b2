"""A campaign from texts alone: trees and word alignments that are not given are made, in ``FOLDER/prepared``.

create_campaign("campaign", source="dev.de", nbest=["list.jsonl"], languages=Languages("de", "en"))

FOLDER/prepared/source.trees       by the parser that is installed, or from punctuation and length
FOLDER/prepared/links/LIST.links   by the aligner that is installed, or by our own
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from rypt.campaign.folder import Campaign, create, read_source
from rypt.campaign.settings import SETTINGS, Languages
from rypt.options import PARSERS
from rypt.text import PathLike, Watch, new_folder, unwatched
from rypt.texts.lists import expand_lists, list_name
from rypt.texts.nbest import read_raw
from rypt.tools.aligners import align_lists
from rypt.tools.parsers import FALLBACK, is_installed, parse_source

PREPARED = "prepared"
BETTER_TREES = "--trees takes the trees of any parser"
BETTER_LINKS = "--alignments takes the links of any aligner"


def create_campaign(
    folder: PathLike,
    *,
    source: PathLike,
    trees: PathLike | None = None,
    nbest: Sequence[PathLike] = (),
    alignments: Sequence[PathLike] = (),
    lexicon: PathLike | None = None,
    languages: Languages | None = None,
    watch: Watch = unwatched,
    tell: Callable[[str], None] = lambda message: None,
    **settings: Any,
) -> Campaign:
    """Make a campaign as `rypt.campaign.folder.create` does, with trees and alignments where none are given.

    Lists have alignments if one candidate has links. Where something is wrong, nothing that was made is left.
    """
    made = Path(folder) / PREPARED
    lists, alignments = expand_lists(nbest, alignments)
    needs_trees = trees is None and _exists(source) and not any(segment.tree for segment in read_source(source))
    needs_links = (
        not alignments and lexicon is None and all(map(_exists, [source, *lists])) and _lack_links(source, lists)
    )
    with ExitStack() as on_error:
        if (needs_trees or needs_links) and not (Path(folder) / SETTINGS).exists():
            if not Path(folder).exists():
                on_error.callback(_remove_if_empty, Path(folder))
            with new_folder(made) as building:
                if needs_trees:
                    trees = _make_trees(source, building, languages, watch, tell)
                if needs_links:
                    alignments = _make_links(source, lists, building, watch, tell)
            on_error.callback(shutil.rmtree, made, ignore_errors=True)
            trees = made / trees.name if needs_trees and isinstance(trees, Path) else trees
            alignments = [made / "links" / Path(path).name for path in alignments] if needs_links else alignments
        campaign = create(
            folder, source=source, trees=trees, nbest=lists, alignments=alignments, lexicon=lexicon,
            languages=languages, watch=watch, **settings,
        )  # fmt: skip
        on_error.pop_all()
    return campaign


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _exists(path: PathLike) -> bool:
    """Whether there is a file to read; `create` reports one that is missing."""
    return Path(path).is_file()


def _lack_links(source: PathLike, lists: Sequence[PathLike]) -> bool:
    names = [segment.id for segment in read_source(source)]
    return bool(lists) and not any(raw.alignment for path in lists for _, raw in read_raw(path, names))


def _make_trees(
    source: PathLike, folder: Path, languages: Languages | None, watch: Watch, tell: Callable[[str], None]
) -> Path:
    language = languages.source if languages else None
    tool = next((name for name in PARSERS if language and is_installed(name)), FALLBACK)
    path = folder / "source.trees"
    parsed = parse_source(source, path, tool=tool, language=None if tool == FALLBACK else language, watch=watch)
    how = "from punctuation and length" if tool == FALLBACK else f"by {tool}"
    tell(f"{parsed.segments} trees made {how}; {BETTER_TREES}")
    return path


def _make_links(
    source: PathLike, lists: Sequence[PathLike], folder: Path, watch: Watch, tell: Callable[[str], None]
) -> list[Path]:
    (folder / "links").mkdir()
    names = [list_name(path) for path in lists]
    if len(set(names)) < len(names):  # of lists in different folders
        names = [f"{number}-{name}" for number, name in enumerate(names, start=1)]
    outputs = [folder / "links" / f"{name}.links" for name in names]
    aligned = align_lists(source, lists, outputs, watch=watch)
    tell(f"{aligned.candidates} candidates aligned by {aligned.aligner}; {BETTER_LINKS}")
    return outputs
