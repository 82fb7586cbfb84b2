"""What the server reads in its copies of published batches: pages, titles and instructions in the worker's language.

``rypt hits publish`` copies batches into the market's folder (`hits.market.folder`), so the batch folder itself may be
moved or removed.
"""

import tomllib
from functools import lru_cache
from pathlib import Path

from hits.batch.folder import BATCH_TOML, read_batch
from hits.batch.markup import plain
from hits.batch.page import (
    allows_blank,
    asks_severity,
    batch_template,
    fill,
    interface_languages,
    item_question,
    placeholders,
    read_interface,
    without_market_parts,
)
from hits.market.folder import BATCH_FILES, BATCHES, kept_batches
from hits.records import Batch, Item, Kind, parse_annotation
from rypt.text import RyptError


@lru_cache(maxsize=32)
def _read(folder: Path, changed: int) -> tuple[Batch, dict[str, Item]]:
    batch = read_batch(folder)
    return batch, {item.id: item for item in batch.items}


def read_kept(folder: Path) -> tuple[Batch, dict[str, Item]]:
    """A batch folder and its items by their ids; read again only when it has changed."""
    return _read(folder, max((folder / name).stat().st_mtime_ns for name in BATCH_FILES))


def page_in(market: Path, annotation: str | None, question: str, language: str) -> str | None:
    """The page of a published item with all its texts in another language; None when it cannot be had.

    That needs a copy of the batch with this very page, and a template as rypt made it: texts of one's own exist in one
    language only.
    """
    batch_id, item_id = parse_annotation(annotation or "") or ("", "")
    if not (batch_id.isascii() and batch_id.isalnum()):
        return None
    try:
        batch, items = read_kept(market / BATCHES / batch_id)
        item = items.get(item_id)
        if item is None or item_question(batch, item) != question:
            return None
    except (RyptError, OSError):
        return None
    template = _template_in(batch, language)
    return None if template is None else fill(template, item.columns)


def words_in(market: Path, annotation: str | None, words: tuple[str, str], language: str) -> tuple[str, str]:
    """Title and description of a published batch in another language, each as it is unless it is rypt's own."""
    batch_id, _ = parse_annotation(annotation or "") or ("", "")
    try:
        if not (batch_id.isascii() and batch_id.isalnum()):
            return words
        settings = read_kept(market / BATCHES / batch_id)[0].settings
        languages = (settings.source_language, settings.target_language)
        if not {settings.interface, language} <= set(interface_languages()):
            return words
        ours = _own_words(settings.interface, settings.kind, languages)
        title, description = _own_words(language, settings.kind, languages)
        return (title if words[0] == ours[0] else words[0], description if words[1] == ours[1] else words[1])
    except (RyptError, OSError):
        return words


@lru_cache(maxsize=64)
def _own_words(interface: str, kind: Kind, languages: tuple[str, str]) -> tuple[str, str]:
    texts = read_interface(interface, kind, *languages)
    return plain(texts["title"]), plain(texts["description"])


def _template_in(batch: Batch, language: str) -> str | None:
    settings = batch.settings
    return _translated(
        settings.interface,
        batch.template,
        settings.kind,
        settings.source_language,
        settings.target_language,
        language,
    )


@lru_cache(maxsize=64)
def _translated(
    interface: str, template: str, kind: Kind, source: str, target: str, language: str
) -> str | None:
    """A template in another language, if it is one that rypt made in a language of its own."""
    if (
        interface not in interface_languages()
        or language not in interface_languages()
        or language == interface
    ):
        return None
    columns = placeholders(template)
    slots = max(
        (int(name[5:]) for name in columns if name.startswith("text_") and name[5:].isdigit()), default=1
    )

    def made(wanted: str) -> str:
        texts = read_interface(wanted, kind, source, target, severity=asks_severity(template))
        return batch_template(
            kind, texts, slots=slots, reference="reference" in columns, blank=allows_blank(template)
        )

    same = without_market_parts(made(interface)) == without_market_parts(template)
    return made(language) if same else None


def market_language(market: Path) -> str:
    """The language of the instructions of the batch published last; empty without one."""
    folders = kept_batches(market)
    try:
        latest = max(folders, key=lambda folder: (folder / BATCH_TOML).stat().st_mtime_ns)
        path = latest / BATCH_TOML
        return _interface(path, path.stat().st_mtime_ns)
    except (ValueError, OSError):
        return ""


@lru_cache(maxsize=64)
def _interface(path: Path, changed: int) -> str:
    value = tomllib.loads(path.read_text(encoding="utf-8")).get("interface", "")
    return str(value).lower().replace("_", "-").split("-")[0]
