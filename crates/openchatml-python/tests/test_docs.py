"""Every public object of the native module is documented, its examples run, and the stub says the
same. `UPDATE_DOCS=1` writes the documentation into the stub.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import os
import pathlib
import pkgutil
import re
import subprocess
import sys

import openchatml
import pytest
from docs import docstring, documented

STUB = "crates/openchatml-python/python/openchatml/_openchatml.pyi"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", documented())
def test_examples(name: str) -> None:
    text = docstring(documented()[name])
    assert text, "it has no documentation"
    names = {key: getattr(openchatml, key) for key in openchatml.__all__}
    examples = doctest.DocTestParser().get_doctest(text, names, name, None, None)
    result = doctest.DocTestRunner(optionflags=FLAGS).run(examples)
    assert result.failed == 0


RUN = """
import doctest, importlib, sys
module = importlib.import_module(sys.argv[1])
sys.exit(doctest.testmod(module, optionflags=int(sys.argv[2])).failed)
"""


@pytest.mark.parametrize(
    "module", [it.name for it in pkgutil.walk_packages(openchatml.__path__, "openchatml.")]
)
def test_examples_of_modules(module: str) -> None:
    """Each module runs in its own process: an example may change what an import means."""
    if module.endswith("__main__") or module == "openchatml._openchatml":
        return
    command = [sys.executable, "-c", RUN, module, str(FLAGS)]
    ran = subprocess.run(command, capture_output=True, text=True)
    if needed := re.search(r"pip install \S+", ran.stderr):
        pytest.skip(needed.group())
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_examples_of_the_package() -> None:
    assert doctest.testmod(openchatml, optionflags=FLAGS).attempted > 0
    assert doctest.testmod(openchatml, optionflags=FLAGS).failed == 0


def with_docs(source: str) -> str:
    """Returns the stub with the docstrings of the native module."""
    lines = source.splitlines()
    changes: list[tuple[int, int, list[str]]] = []

    def visit(node: ast.ClassDef | ast.FunctionDef, name: str) -> None:
        value = documented().get(name)
        if value is None or any("overload" in ast.unparse(it) for it in node.decorator_list):
            return
        text = docstring(value).replace("\\", "\\\\")
        indent = " " * (node.col_offset + 4)
        quoted = [f'{indent}"""{text}"""'] if "\n" not in text else [
            f'{indent}"""{text.splitlines()[0]}',
            *[f"{indent}{line}".rstrip() for line in text.splitlines()[1:]],
            f'{indent}"""',
        ]
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            last = first.end_lineno or first.lineno
            # `...` on the line of its `def` becomes the docstring.
            begin = first.lineno - 1
            if lines[begin].strip().endswith(": ..."):
                head = lines[begin].rstrip()[: -len(" ...")]
                changes.append((begin, last, [head, *quoted]))
            else:
                changes.append((begin, last, quoted))
        else:
            decorators = getattr(first, "decorator_list", [])
            at = min([first.lineno, *(it.lineno for it in decorators)]) - 1
            changes.append((at, at, quoted))
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    visit(inner, f"{name}.{inner.name}")

    for node in ast.parse(source).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            visit(node, node.name)
    for begin, end, new in sorted(changes, reverse=True):
        lines[begin:end] = new
    return "\n".join(lines) + "\n"


def test_stub_has_the_documentation() -> None:
    path = pathlib.Path(os.environ["OPENCHATML_REPOSITORY"], STUB)
    source = path.read_text(encoding="utf-8")
    expected = with_docs(source)
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(expected, encoding="utf-8")
    else:
        assert source == expected, "UPDATE_DOCS=1 .ci/python -k stub"
