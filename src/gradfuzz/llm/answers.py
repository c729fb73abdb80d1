"""What a model said, taken apart: programs and parameter sets, whatever they are wrapped in. All of it is data, nothing is believed."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from gradfuzz.llm.refused import NO_ANSWER, NOT_JSON, TRUNCATED, Refused

MOST_TEXT = 400_000  # characters of one answer
MOST_ITEMS = 64  # of one answer

_FENCE = re.compile(r"```[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_LAST_COMMA = re.compile(r",\s*([\]}])")
_CODE_KEYS = ("code", "program", "python", "source", "text", "test_program", "program_code")
_SET_KEYS = ("parameter_sets", "parameters", "sets", "test_cases", "params")


def _list_of(item: dict[str, Any], name: str) -> dict[str, Any]:
    return {
        "type": "object", "additionalProperties": False, "required": [name],
        "properties": {name: {"type": "array", "items": {
            "type": "object", "additionalProperties": False, "required": list(item), "properties": item,
        }}},
    }  # fmt: skip


_TEXT = {"type": "string"}
_INPUT = {"name": _TEXT, "shape": {"type": "array", "items": {"type": "integer"}}, "dtype": _TEXT, "values": _TEXT}
_ARGUMENT = {"name": _TEXT, "value": _TEXT}
# What is asked for where the server can be held to a form; prompts describe the same in words.
PROGRAMS = _list_of({"code": _TEXT, "note": _TEXT}, "programs")
PARAMETER_SETS = _list_of(
    {
        "inputs": _list_of(_INPUT, "inputs")["properties"]["inputs"],
        "arguments": _list_of(_ARGUMENT, "arguments")["properties"]["arguments"],
        "aim": _TEXT,
    },
    "parameter_sets",
)
GUESS = {
    "type": "object", "additionalProperties": False, "required": ["cause", "fix", "confidence"],
    "properties": {"cause": _TEXT, "fix": _TEXT, "confidence": _TEXT},
}  # fmt: skip


def programs_of(content: str, finish: str = "stop") -> list[str]:
    """The program texts of an answer. Refused if there are none."""
    text = _checked(content)
    found = [code for data in _objects(text) for code in _codes(data)]
    if not found:
        # Only blocks that are said to be Python, or say nothing: a JSON block that did not parse is no program.
        found = [
            body
            for word, body in _FENCE.findall(text)
            if word.lower() in ("python", "py", "python3", "") and not body.lstrip().startswith(("{", "["))
        ]
    if not found and _looks_like_code(text):
        found = [text]
    if not found:
        raise _nothing(text, finish, "programs")
    return [_unfenced(code) for code in found[:MOST_ITEMS]]


def parameter_sets_of(content: str, finish: str = "stop") -> list[Any]:
    """The parameter sets of an answer, as data. Refused if there are none."""
    text = _checked(content)
    found = [row for data in _objects(text) for row in _sets(data)]
    if not found:
        raise _nothing(text, finish, "parameter sets")
    return found[:MOST_ITEMS]


def _checked(content: str) -> str:
    if not content or not content.strip():
        raise Refused(NO_ANSWER, "the answer is empty")
    if len(content) > MOST_TEXT:
        raise Refused(NOT_JSON, f"the answer has {len(content)} characters; the limit is {MOST_TEXT}")
    return _THOUGHTS.sub("", content).strip().lstrip("\ufeff")


def _nothing(text: str, finish: str, what: str) -> Refused:
    if finish == "length":
        return Refused(TRUNCATED, f"the answer was cut short before there were any {what}; write less")
    return Refused(NOT_JSON, f"there are no {what} in the answer; answer with one JSON object of the form asked for")


def _objects(text: str) -> list[Any]:
    """Every JSON value that can be had: the whole, what is fenced, what stands between words, what is whole in a torn one."""
    for candidate in (text, *(body for _, body in _FENCE.findall(text))):
        data = _json(candidate)
        if data is not None:
            return [data]
    return _scattered(text)


def _json(text: str) -> Any:
    """JSON, with the slips that are common: a comma behind the last item, Python's own way to write the same."""
    for read in (_strict, lambda t: _strict(_LAST_COMMA.sub(r"\1", t)), ast.literal_eval):
        try:
            data = read(text.strip())
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        if isinstance(data, (dict, list)):
            return data
    return None


def _strict(text: str) -> Any:
    return json.loads(text, strict=False)


def _scattered(text: str) -> list[Any]:
    """JSON objects inside other text. Where the outer one was cut short, those inside it that are whole."""
    decoder, found, position = json.JSONDecoder(strict=False), [], 0
    for _ in range(MOST_ITEMS * 8):
        position = text.find("{", position)
        if position < 0:
            break
        try:
            data, position = decoder.raw_decode(text, position)
            found.append(data)
        except (ValueError, RecursionError, MemoryError):
            position += 1
    return found


def _codes(data: Any) -> list[str]:
    if isinstance(data, list):
        return [
            code
            for row in data
            for code in (_codes(row) if isinstance(row, dict) else [row] if isinstance(row, str) and "\n" in row else [])
        ]
    if not isinstance(data, dict):
        return []
    for key in ("programs", "tests", "test_programs", "examples"):
        if isinstance(data.get(key), list):
            return _codes([row if isinstance(row, dict) else {"code": row} for row in data[key]])
    for key in _CODE_KEYS:
        value = data.get(key)
        if isinstance(value, str) and value.strip():
            return [value]
        if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
            return ["\n".join(value)]
        if isinstance(value, dict):
            return _codes(value)
    return []


def _sets(data: Any) -> list[Any]:
    if isinstance(data, list):
        return [row for row in data if isinstance(row, dict)]
    for key in _SET_KEYS:
        if isinstance(data.get(key), list):
            return [row for row in data[key] if isinstance(row, dict)]
    return [data] if "inputs" in data or "arguments" in data else []


def _looks_like_code(text: str) -> bool:
    """A text that is a program from its first line on."""
    first = text.splitlines()[0]
    return bool(re.match(r"(import |from |#|[A-Za-z_]\w*(, *\w+)* *= *\S)", first))


def _unfenced(code: str) -> str:
    inner = _FENCE.search(code)
    return (inner.group(2) if inner else code).strip("\n") + "\n"
