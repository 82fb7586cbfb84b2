"""Write docs/api.md from the docstrings of the public names, those in ``__all__``.

    python .ci/update_api.py

Signatures are taken from the source, so that types have the names they have there. A class is shown with the first line
of each public member.
"""

import ast
import dataclasses
import inspect
import re
import textwrap
from enum import Enum
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

TARGET = Path(__file__).parents[1] / "docs" / "api.md"
PACKAGES = ("rypt", "rypt.loop", "mert", "hits")
WIDTH = 100
HEADER = """# Python API

All public names of the three packages, made from their docstrings by `python .ci/update_api.py`. They are imported
when they are first used, so `import rypt` costs nothing. What is not named here may change from version to version.
"""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def api_page() -> str:
    """The whole page."""
    parts = [HEADER]
    for package in PACKAGES:
        module = import_module(package)
        names = public_names(module)
        if names:
            values = {f"{package}.{name}": getattr(module, name) for name in names}
            parts += [f"## {package}\n", markdown(inspect.getdoc(module) or "")]
            parts += [
                "".join(f"- [`{name}`](#{anchor(name)}): {about(name, values[name])}\n" for name in values)
            ]
            parts += [section(name, value) for name, value in values.items()]
    return "\n".join(parts)


def public_names(module: ModuleType) -> list[str]:
    """The names of ``__all__``, in its order; none where a package has no ``__all__``."""
    return list(getattr(module, "__all__", ()))


def anchor(heading: str) -> str:
    """Where a heading can be linked to."""
    return re.sub(r"[^\w-]", "", heading.lower())


def about(name: str, value: Any) -> str:
    """The first line of what is said of a public name."""
    if name.endswith(".__version__"):
        return "The version that is installed."
    return inline((inspect.getdoc(value) or "").partition("\n")[0])


def section(name: str, value: Any) -> str:
    """A public name: heading, signature, docstring, and for a class its members."""
    lines = [f"### `{name}`\n"]
    if not callable(value):
        return "\n".join([*lines, f"{about(name, value)}\n"])
    lines += [
        "```python",
        signature(name.rpartition(".")[2], value),
        "```\n",
        markdown(inspect.getdoc(value) or ""),
    ]
    if inspect.isclass(value) and (listed := members(value)):
        lines += [*listed, ""]
    return "\n".join(lines)


def signature(name: str, value: Any) -> str:
    """How a function is called or an object made; a parameter a line where it would be too long."""
    return re.sub(r"'([^'\"\\]*)'", r'"\1"', plain_signature(name, value))  # the quotes of the code


def plain_signature(name: str, value: Any) -> str:
    """The signature with the quotes of `ast.unparse`."""
    node = definition(value)
    if isinstance(node, ast.ClassDef):
        if issubclass(value, Enum):
            return "\n".join(
                [f"class {name}(Enum):", *(f"    {member.name} = {member.value!r}" for member in value)]
            )
        return f"class {wrapped(name, constructor(node), '')}"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return wrapped(name, parameters(node.args), returns)


def definition(value: Any) -> ast.ClassDef | Function:
    """The source of a class or function as a tree; of a compiled function that of the Python it was made from."""
    value = inspect.unwrap(getattr(value, "py_func", value))
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(value))).body
    assert isinstance(node, ast.ClassDef | Function)
    return node


def constructor(node: ast.ClassDef) -> list[str]:
    """The parameters of ``__init__``, or the fields of a dataclass or named tuple."""
    for child in node.body:
        if isinstance(child, Function) and child.name == "__init__":
            return parameters(child.args)[1:]
    fields = [child for child in node.body if isinstance(child, ast.AnnAssign) and is_parameter(child)]
    return [field_text(child) for child in fields]


def is_parameter(field: ast.AnnAssign) -> bool:
    """Whether a field of a dataclass is given when an object is made."""
    hidden = ast.unparse(field.annotation).startswith("ClassVar") or ast.unparse(field.target).startswith("_")
    return not (hidden or (field.value is not None and "init=False" in ast.unparse(field.value)))


def field_text(field: ast.AnnAssign) -> str:
    """A field with its type and default; a default that is made anew for each object is shown as ``…``."""
    text = f"{ast.unparse(field.target)}: {ast.unparse(field.annotation)}"
    if field.value is None:
        return text
    default = ast.unparse(field.value)
    return f"{text} = {'…' if default.startswith('field(') else default}"


def parameters(arguments: ast.arguments) -> list[str]:
    """Each parameter with its type and default, ``*`` before those that are given by name."""
    texts = []
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    for parameter, default in zip(positional, defaults, strict=True):
        texts.append(parameter_text(parameter, default))
    if arguments.posonlyargs:
        texts.insert(len(arguments.posonlyargs), "/")
    if arguments.vararg:
        texts.append(f"*{parameter_text(arguments.vararg, None)}")
    elif arguments.kwonlyargs:
        texts.append("*")
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        texts.append(parameter_text(parameter, default))
    if arguments.kwarg:
        texts.append(f"**{parameter_text(arguments.kwarg, None)}")
    return texts


def parameter_text(parameter: ast.arg, default: ast.expr | None) -> str:
    """``name: type = default``."""
    if parameter.annotation is None:
        return parameter.arg + (f"={ast.unparse(default)}" if default else "")
    return f"{parameter.arg}: {ast.unparse(parameter.annotation)}" + (
        f" = {ast.unparse(default)}" if default else ""
    )


def wrapped(name: str, parts: list[str], returns: str) -> str:
    """A signature on one line, or with a line for each parameter."""
    line = f"{name}({', '.join(parts)}){returns}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){returns}"])


def members(kind: type) -> list[str]:
    """The public methods and properties of a class and of its own ancestors, each with the first line about it."""
    lines: dict[str, str] = {}
    given = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    for ancestor in kind.__mro__:
        if ancestor.__module__.partition(".")[0] not in PACKAGES:
            continue  # of the standard library
        for name, value in vars(ancestor).items():
            doc = inspect.getdoc(value)
            if name.startswith("_") or name in lines or name in given or not doc or not is_member(value):
                continue
            lines[name] = f"- `{name}{call(value)}`: {inline(doc.splitlines()[0])}"
    return list(lines.values())


def is_member(value: Any) -> bool:
    """Whether an attribute of a class is a method or a property."""
    return (
        inspect.isfunction(value)
        or isinstance(value, property | classmethod | staticmethod)
        or is_cached(value)
    )


def is_cached(value: Any) -> bool:
    """Whether an attribute is a property that is computed once."""
    return isinstance(value, cached_property)


def call(value: Any) -> str:
    """The names of a method's parameters in parentheses; nothing for a property."""
    if isinstance(value, property) or is_cached(value):
        return ""
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    names = [
        str(p.replace(annotation=p.empty, default=p.empty))
        for p in inspect.signature(function).parameters.values()
    ]
    return f"({', '.join(names if isinstance(value, staticmethod) else names[1:])})"


def markdown(text: str) -> str:
    """A docstring as Markdown: indented blocks and examples are fenced, ``code`` has one backtick."""
    blocks: list[tuple[str, str]] = []  # how a block is fenced, none for prose, and its text
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        body = textwrap.dedent(block)
        if body.startswith(">>>"):
            kind = "python"
        elif body != block:
            kind = "python" if blocks and blocks[-1][0] == "python" else "text"
        else:
            kind, body = "", re.sub(r"::$", ":", inline(block))
        if kind and blocks and blocks[-1][0] == kind:
            blocks[-1] = (kind, f"{blocks[-1][1]}\n\n{body}")
        else:
            blocks.append((kind, body))
    return "\n".join(f"```{kind}\n{body}\n```\n" if kind else f"{body}\n" for kind, body in blocks)


def inline(text: str) -> str:
    """Text whose code stands between single backticks."""
    return text.replace("``", "`")


if __name__ == "__main__":
    TARGET.write_text(api_page(), encoding="utf-8")
