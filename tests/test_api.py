"""The public names: lazy, complete, and described on docs/api.md, whose examples run."""

import ast
import doctest
import pkgutil
import re
import runpy
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = runpy.run_path(str(ROOT / ".ci" / "update_api.py"))
PACKAGES = [import_module(name) for name in SCRIPT["PACKAGES"]]


def names_of(package: ModuleType) -> list[str]:
    return list(getattr(package, "__all__", []))


def public_values() -> list[tuple[str, ModuleType]]:
    return [(f"{package.__name__}.{name}", package) for package in PACKAGES for name in names_of(package)]


def test_the_page_is_what_the_docstrings_say() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert page == SCRIPT["api_page"](), "run python .ci/update_api.py"


def test_the_page_names_what_is_public_and_nothing_else() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert re.findall(r"^### `(\S+)`$", page, re.MULTILINE) == [name for name, _ in public_values()]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_public_names_are_those_that_a_package_finds(package: ModuleType) -> None:
    assert len(names_of(package)) == len(set(names_of(package)))
    if hasattr(package, "HOMES"):
        assert set(names_of(package)) - {"__version__"} == set(package.HOMES)
        assert set(names_of(package)) <= set(dir(package))
        assert all(home.startswith(f"{package.__name__}.") for home in package.HOMES.values())


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_no_module_hides_a_public_name(package: ModuleType) -> None:
    """Importing ``hits.price`` would put a module in the place of the function."""
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert modules & set(getattr(package, "HOMES", ())) == set()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_type_checkers_see_the_names_where_they_are(package: ModuleType) -> None:
    """A lazy name is written twice, for Python in ``HOMES`` and for type checkers as an import: both agree."""
    tree = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
    blocks = [
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname or alias.name: node.module for node in imports for alias in node.names}
    assert seen == getattr(package, "HOMES", {})


@pytest.mark.parametrize(
    ("name", "package"), public_values(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_public_name_is_described_and_its_examples_run(name: str, package: ModuleType) -> None:
    value = getattr(package, name.removeprefix(f"{package.__name__}."))
    if not callable(value):
        assert isinstance(value, str)
        return
    assert value.__doc__
    home = import_module(value.__module__)
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(value, name, globs=dict(vars(home))):
        assert runner.run(test).failed == 0, test.name


def test_public_names_have_examples() -> None:
    finder = doctest.DocTestFinder()
    values = [getattr(package, name.rpartition(".")[2]) for name, package in public_values()]
    examples = [example for value in values if callable(value) for example in finder.find(value, "x")]
    assert sum(len(test.examples) for test in examples) > 10


DOCUMENTED = '''"""A module."""
def verb(list_of: "list[int]", /, *, seed: int = 1, **rest: str) -> str:
    """Do it.

    Like this::

        verb([1])

    >>> verb([1])
    'x'
    """
    return "x"
'''


def test_how_a_function_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "documented.py").write_text(DOCUMENTED)
    monkeypatch.syspath_prepend(tmp_path)
    value = import_module("documented").verb
    assert SCRIPT["section"]("documented.verb", value) == (
        '### `documented.verb`\n\n```python\nverb(list_of: "list[int]", /, *, seed: int = 1, **rest: str) -> str\n```\n\n'
        "Do it.\n\nLike this:\n\n```text\nverb([1])\n```\n\n```python\n>>> verb([1])\n'x'\n```\n"
    )
