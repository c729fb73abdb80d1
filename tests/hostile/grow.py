"""Grows the corpus of hostile Programs beside this file: `python -m tests.hostile.grow` writes texts.jsonl, data.jsonl and rows.jsonl.

What is written is never run to see what it does: that every line of it is refused, and why, is what the tests look at. @PATH@ stands for a
file that must not be there afterwards.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
INPUT = 'x = tensor((2, 2), "float64", normal(seed=1))\n'
LAST = {"torch": "y = torch.sin(x)\n", "jax": "y = jnp.sin(x)\n", "tensorflow": "y = tf.sin(x)\n"}

# What people wrote: modules in reach and what can be done with them, calls that reach beyond the library, steps that ask too much of what a
# Program may hold, lines that are not in the language at all, and names as only JSON can bring them.
WRITTEN = json.loads((HERE / "written.json").read_text(encoding="utf-8"))
LARGE = [
    "t = tensor((2,), 'float64', full(" + "9" * 400 + "))",
    "a = " + "9" * 400,
    "a = " + "(" * 100 + "x" + ")" * 100 + "[0]" * 80,
    "a = " + "-" * 500 + "x",
    "a = " + "~" * 900 + "x",
    "a = x" + "[0]" * 300,
    "a = x" + ".T" * 300,
    "a = " + "[" * 90 + "]" * 90,
    "a = x" + " + x" * 300,
    "a = '" + "z" * 5000 + "'",
]


def texts() -> Iterator[dict[str, str]]:
    uses = WRITTEN["uses"]
    for target, last in LAST.items():
        for number, path in enumerate(WRITTEN["modules"][target]):
            yield {"target": target, "text": f"{INPUT}m = {path}\n{last}"}
            yield {"target": target, "text": f"{INPUT}m = {path}\na = {uses[number % len(uses)]}\n{last}"}
        for call in WRITTEN["calls"][target]:
            yield {"target": target, "text": f"{INPUT}a = {call}\n{last}"}
        for steps in WRITTEN["steps"][target]:
            yield {"target": target, "text": f"{INPUT}{steps}\n{last}"}
    for line in WRITTEN["syntax"] + LARGE:
        yield {"target": "torch", "text": f"{INPUT}{line}\n{LAST['torch']}"}


GOOD: dict[str, Any] = {
    "format": 1,
    "statements": [
        {"names": ["x"], "tensor": {"shape": [2], "dtype": "float64", "values": {"kind": "normal", "args": [0.0, 1.0], "seed": 1}}},
        {"names": ["m"], "expr": {"call": "torch.nn.Linear", "args": [2, 2], "kwargs": [["bias", True]]}},
        {"names": ["y"], "expr": {"call": "torch.add", "args": [{"ref": "x"}, {"attr": [{"ref": "x"}, "mT"]}], "kwargs": [["alpha", 2]]}},
        {
            "names": ["z"],
            "expr": {"call": "+", "args": [{"item": [{"ref": "y"}, {"slice": [None, 1, None]}]}, {"call": ".sum", "args": [{"ref": "y"}]}]},
        },
        {
            "names": [],
            "expr": {"call": "torch.sum", "args": [{"tuple": [{"ref": "z"}, {"name": "torch.float64"}]}, {"complex": [1.0, 2.0]}]},
        },
    ],
}
NAMES = [*WRITTEN["names"], "a" * 2000]
JUNK: list[Any] = [
    None,
    True,
    -1,
    2**200,
    1e308,
    "",
    "__globals__",
    [],
    {},
    [[]],
    {"ref": "nosuch"},
    {"a": 1},
    {"float": "1e5"},
    {"complex": [1]},
]


def data() -> Iterator[tuple[list[Any], Any]]:
    """(place, what is put there): each by itself makes a Program's data hostile."""
    for path, old in places(GOOD):
        for junk in JUNK + (NAMES if isinstance(old, str) else []):
            if not _harmless(path, old, junk):
                yield path, junk
    chain: Any = {"ref": "x"}
    for name in ("sum", "__globals__", "__getitem__", "exec"):
        chain = {"attr": [chain, name]}
        yield [], _program({"call": "()", "args": [chain, "open('@PATH@', 'w')"]})
    for deep in (70, 200):
        for wrap in (lambda e: [e], lambda e: {"tuple": [e]}, lambda e: {"call": "neg", "args": [e]}, lambda e: {"attr": [e, "T"]}):
            nested: Any = {"ref": "x"}
            for _ in range(deep):
                nested = wrap(nested)
            yield [], _program(nested)


def _harmless(path: list[Any], old: Any, junk: Any) -> bool:
    """A literal where any expression may stand, another number among the numbers, another name, a list that may be empty."""
    slot, literal = path[-1:] in ([0], [1], [2], ["expr"]), not isinstance(junk, dict) and junk != 2**200
    if isinstance(old, str):
        return path[-2:] != ["call", 0] and junk in ("_x", "numpy", "sys", "np") and ("names" in path or "kwargs" in path)
    if path[-1:] in (["args"], ["kwargs"], ["tuple"], ["names"], ["shape"]) and junk in ([], [[]]):
        return not (path[-1] in ("shape", "kwargs", "names") and junk == [[]]) and path != ["statements", 3, "expr", "args"]
    if "values" in path:
        return (path[-1] == "seed" and junk is None) or (len(path) == 6 and type(junk) in (bool, int, float) and junk != 2**200)
    if "complex" in path:
        return type(junk) in (int, float)
    return "expr" in path and slot and literal and path[-2:] not in (["kwargs", 0], ["kwargs", 1])


def _program(expression: Any) -> dict[str, Any]:
    return {"format": 1, "statements": [GOOD["statements"][0], {"names": ["y"], "expr": expression}]}


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[list[Any], Any]]:
    """Every place in the data and what stands there."""
    yield list(path), node
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def changed(whole: Any, path: list[Any], value: Any) -> Any:
    """A copy with another value at a place."""
    if not path:
        return copy.deepcopy(value)
    made = copy.deepcopy(whole)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = copy.deepcopy(value)
    return made


GOOD_ROW = {"api": "torch.add", "source": "sample", "program": GOOD}


def rows() -> Iterator[str]:
    """Lines of a file of seeds, such as people might send."""
    for key in GOOD_ROW:
        yield json.dumps({k: v for k, v in GOOD_ROW.items() if k != key})
        for junk in (None, 3, True, [], {}, ["torch.add"]):
            yield json.dumps({**GOOD_ROW, key: junk})
    for api in (
        'x"""\nimport os; os.system("touch @PATH@")\n"""',
        'x""" + open("@PATH@", "w").close() + """',
        "x\\",
        "torch.sin\nimport os",
        "torch.sin;",
        "../../etc",
        "torch..sin",
        "torch.sin()",
        "<script>alert(1)</script>",
        "\x1b[31mtorch",
        "torch.sin\u202e",
        "torch.sin " * 300,
        "",
        " ",
        "a b",
        "{{ 7 * 7 }}",
        "{% import os %}",
        "torch.import",
        "тorch.sin",
        "%s",
        "'; drop table findings; --",
    ):
        yield json.dumps({**GOOD_ROW, "api": api})
    for source in ("a\nb", "\x1b]0;title\x07", "a" * 5000, "\u202e", "\x00"):
        yield json.dumps({**GOOD_ROW, "source": source})
    yield from (
        "{",
        "[]",
        "3",
        "null",
        '"torch.add"',
        "nothing",
        "{'api': 1}",
        '{"api": }',
        "[" * 3000 + "]" * 3000,
        '{"api": NaN',
        "\x00",
        "\ufeff{}",
    )


def write() -> None:
    for name, lines in (("texts", map(json.dumps, texts())), ("data", map(json.dumps, data())), ("rows", map(json.dumps, rows()))):
        (HERE / f"{name}.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    write()
