"""Adding a list to ``rypt.toml`` without touching anything else in it: the user's comments and order stay."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import tomli_w

from rypt.campaign.settings import SETTINGS, CampaignSettings, parse_settings, read_settings
from rypt.text import InputError, open_output


def add_list(folder: Path, name: str) -> CampaignSettings:
    """Name one more n-best list, with its alignments inside, in ``[files]``, unless it is named already."""
    path = folder / SETTINGS
    settings = read_settings(folder)
    files = settings.files
    if name in files.nbest:
        return settings
    wanted = replace(
        files, nbest=[*files.nbest, name], alignments=[*files.alignments, ""] if files.alignments else []
    )
    text = path.read_bytes().decode("utf-8")
    edited = _with_array(text, "nbest", wanted.nbest)
    if wanted.alignments:
        edited = _with_array(edited, "alignments", wanted.alignments)
    settings = replace(settings, files=wanted)
    try:
        fits = parse_settings(edited, path) == settings
    except InputError:
        fits = False
    if not fits:
        raise InputError(path, None, f"the list {name} could not be added: add it to nbest in [files]")
    with open_output(path) as stream:
        stream.write(edited)
    return settings


def _with_array(text: str, name: str, values: list[str]) -> str:
    """The text with another array in ``[files]``.

    >>> print(_with_array('[files]\\nnbest = ["a"] # old\\n', "nbest", ["a", "b"]), end="")
    [files]
    nbest = [
        "a",
        "b",
    ] # old
    """
    header = re.search(r"^[ \t]*\[[ \t]*files[ \t]*\][^\n]*(\n|$)", text, re.MULTILINE)
    if header is None:
        return text
    following = re.compile(r"^[ \t]*\[[ \t]*\w+[ \t]*\][ \t]*(#[^\n]*)?$", re.MULTILINE).search(
        text, header.end()
    )
    stop = following.start() if following else len(text)
    array = tomli_w.dumps({name: values}).removeprefix(f"{name} = ").rstrip("\n")
    setting = re.compile(rf"^[ \t]*{name}[ \t]*=[ \t]*(?=\[)", re.MULTILINE).search(text, header.end(), stop)
    if setting is None:
        return f"{text[: header.end()]}{name} = {array}\n{text[header.end() :]}"
    end = next((at for at in _ends(text, setting.end()) if _is_array(text[setting.end() : at])), None)
    return text if end is None else f"{text[: setting.end()]}{array}{text[end:]}"


def _ends(text: str, start: int) -> list[int]:
    """Where an array that begins here may end."""
    return [match.end() for match in re.compile(r"\]").finditer(text, start)]


def _is_array(text: str) -> bool:
    try:
        tomllib.loads(f"x = {text}")
    except tomllib.TOMLDecodeError:
        return False
    return True
