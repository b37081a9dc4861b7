"""The documented objects of the native module, and their docstrings."""

from __future__ import annotations

import inspect

from openchatml import _openchatml


def documented() -> dict[str, object]:
    """Returns the public functions, classes, methods and properties by their names."""
    found: dict[str, object] = {}
    for name, value in vars(_openchatml).items():
        if name.startswith("_"):
            continue
        found[name] = value
        if inspect.isclass(value):
            for member, attribute in vars(value).items():
                if not member.startswith("_"):
                    found[f"{name}.{member}"] = attribute
    return found


def docstring(value: object) -> str:
    """Returns the documentation of an object, without the indentation."""
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    return inspect.cleandoc(getattr(value, "__doc__", None) or "")
