"""Declares functions of Python as tools."""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ._errors import ToolError

__all__ = ["declaration", "typed_arguments"]

_PRIMITIVES: dict[object, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
}

_LISTS = ("list", "tuple", "set", "frozenset", "Sequence", "Iterable", "Collection")

_DICTS = ("dict", "Mapping", "MutableMapping")


def declaration(function: Callable[..., object]) -> dict[str, Any]:
    """Returns the declaration of a function, as OpenAI's API has it.

    The name is that of the function, the description is the beginning of its docstring. The schema
    of the parameters comes from the type hints; descriptions of parameters come from the section
    ``Args:`` of the docstring, or from ``Annotated[type, "description"]``.

    Raises:
        ToolError: A parameter has no type hint, or one that JSON cannot express.

    >>> def weather(city: str, days: int = 1) -> str:
    ...     '''The weather of a city.
    ...
    ...     Args:
    ...         city: The name of the city.
    ...     '''
    ...     return "Sunny."
    >>> declared = declaration(weather)["function"]
    >>> declared["name"], declared["description"], declared["parameters"]["required"]
    ('weather', 'The weather of a city.', ['city'])
    >>> declared["parameters"]["properties"]["city"]
    {'type': 'string', 'description': 'The name of the city.'}
    """
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        raise ToolError("a tool is a function with a name")
    try:
        signature = inspect.signature(function)
        hints = get_type_hints(function, include_extras=True)
    except (TypeError, ValueError, NameError) as error:
        raise ToolError(f"the function `{name}` has no readable signature: {error}") from None
    summary, descriptions = _docstring(inspect.getdoc(function) or "")
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ToolError(f"the function `{name}` has `*{parameter.name}`; name each parameter")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ToolError(f"the parameter `{parameter.name}` of `{name}` cannot be named in a call")
        if parameter.name not in hints:
            raise ToolError(f"the parameter `{parameter.name}` of `{name}` has no type hint")
        where = f"the parameter `{parameter.name}` of `{name}`"
        schema = _schema(hints[parameter.name], where)
        if parameter.name in descriptions:
            schema.setdefault("description", descriptions[parameter.name])
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif _is_data(parameter.default):
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    declared: dict[str, Any] = {"name": name}
    if summary:
        declared["description"] = summary
    declared["parameters"] = parameters
    return {"type": "function", "function": declared}


def typed_arguments(function: Callable[..., object], named: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a call as the type hints of the function want them.

    JSON has no enumerations, tuples and sets, and one type of numbers.
    """
    try:
        hints = get_type_hints(function)
    except (TypeError, ValueError, NameError):
        return named
    return {name: _typed(hints.get(name, Any), value) for name, value in named.items()}


def _typed(hint: Any, value: Any) -> Any:
    """Returns data of JSON as a type hint wants it, or unchanged."""
    if hint is float and type(value) is int:
        return float(value)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return next((it for it in hint if it.value == value), value)
    if typing.is_typeddict(hint) and isinstance(value, dict):
        fields = get_type_hints(hint)
        return {key: _typed(fields.get(key, Any), inner) for key, inner in value.items()}
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Union or origin is types.UnionType:
        return _typed(next((arm for arm in arguments if _fits(arm, value)), Any), value)
    kind = origin or hint
    name = getattr(kind, "__name__", "")
    if isinstance(value, list) and name in _LISTS:
        if name == "tuple" and arguments and arguments[-1] is not Ellipsis:
            inner = list(arguments) + [Any] * (len(value) - len(arguments))
        else:
            inner = [arguments[0] if arguments else Any] * len(value)
        items = [_typed(each, item) for each, item in zip(inner, value, strict=False)]
        return kind(items) if kind in (tuple, set, frozenset) else items
    if isinstance(value, dict) and name in _DICTS and len(arguments) == 2:
        return {key: _typed(arguments[1], inner) for key, inner in value.items()}
    return value


def _fits(hint: Any, value: Any) -> bool:
    """Whether data of JSON can be a value of this type."""
    if value is None or hint is None or hint is type(None):
        return value is None and (hint is None or hint is type(None) or hint is Any)
    if hint in _PRIMITIVES:
        return type(value) is hint or hint is float and type(value) is int
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return any(it.value == value for it in hint)
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    name = getattr(get_origin(hint) or hint, "__name__", "")
    if name in _LISTS:
        return isinstance(value, list)
    if name in _DICTS or typing.is_typeddict(hint):
        return isinstance(value, dict)
    return True


def _is_data(value: object) -> bool:
    """Whether JSON can express a default."""
    return value is None or isinstance(value, (str, bool, int)) or (
        isinstance(value, float) and value - value == 0
    )


def _schema(hint: Any, where: str) -> dict[str, Any]:
    """Returns the JSON Schema of a type hint."""
    if hint is Any:
        return {}
    if hint is None or hint is type(None):
        return {"type": "null"}
    if hint in _PRIMITIVES:
        return {"type": _PRIMITIVES[hint]}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if typing.is_typeddict(hint):
        fields = get_type_hints(hint)
        return {
            "type": "object",
            "properties": {key: _schema(field, where) for key, field in fields.items()},
            "required": sorted(hint.__required_keys__),
        }
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is typing.Annotated:
        schema = _schema(arguments[0], where)
        texts = [note for note in arguments[1:] if isinstance(note, str)]
        return {**schema, "description": texts[0]} if texts else schema
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is Union or origin is types.UnionType:
        return _union(arguments, where)
    kind = getattr(origin or hint, "__name__", "")
    if kind in _LISTS:
        inner = [argument for argument in arguments if argument is not Ellipsis]
        return {"type": "array", "items": _union(tuple(inner), where) if inner else {}}
    if kind in _DICTS:
        schema = {"type": "object"}
        if len(arguments) == 2:
            schema["additionalProperties"] = _schema(arguments[1], where)
        return schema
    raise ToolError(f"{where} has the type `{hint}`, which JSON cannot express")


def _union(hints: tuple[Any, ...], where: str) -> dict[str, Any]:
    schemas = []
    for hint in hints:
        schema = _schema(hint, where)
        if schema not in schemas:
            schemas.append(schema)
    if len(schemas) == 1:
        return schemas[0]
    if all(set(schema) == {"type"} for schema in schemas):
        return {"type": [schema["type"] for schema in schemas]}
    return {"anyOf": schemas}


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """Splits a docstring into the text before its sections, and the parameters of ``Args:``."""
    summary: list[str] = []
    descriptions: dict[str, str] = {}
    section, last = "", ""
    for line in text.splitlines():
        word = line.strip()
        if word.endswith(":") and not line.startswith(" ") and word[:-1].isalpha():
            section = word[:-1]
        elif not section:
            summary.append(line)
        elif section in ("Args", "Arguments", "Parameters") and word:
            head, colon, rest = word.partition(":")
            name = head.split("(")[0].strip()
            indent = len(line) - len(line.lstrip())
            if colon and name.isidentifier() and indent <= 4:
                last = name
                descriptions[name] = rest.strip()
            elif last:
                descriptions[last] = f"{descriptions[last]} {word}".strip()
    return "\n".join(summary).strip(), descriptions
