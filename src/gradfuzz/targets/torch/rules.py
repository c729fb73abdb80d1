"""Which derivative rules the installed PyTorch has, and which of them one computer's CPU can reach.

Newer releases ship derivatives.yaml, the table that their autograd nodes are generated from. An entry's node is named after its
operator, with a running number for its overloads: add.Tensor is AddBackward0, add.Scalar AddBackward1.
A rule is counted in three ways: `reverse:NODE`, `forward:NODE` (where the entry has a forward formula) and `second:NODE`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

_REASONS = Path(__file__).with_name("rules.json")
_DATA = json.loads(_REASONS.read_text())
_OUT_OF_REACH = [(re.compile(row["pattern"]), row["reason"]) for row in _DATA["out_of_reach"]]
_NOT_ALONE = [re.compile(row["pattern"]) for row in _DATA["not_alone"]]
_NAME = re.compile(r"^- name: ([\w.]+)\((.*)\) -> (.*)$")
_FORMULA = re.compile(r"^\s+([\w, ]+):\s+(\S.*)$")
_ARGUMENT = re.compile(r"(\w+)(=[^,]*)?\s*(,|$)")
_NOT_FORMULAS = ("output_differentiability", "dispatch", "Default")


@dataclass(frozen=True)
class Entry:
    """One entry of the table that gives rise to a node."""

    operator: str  # with its overload: add.Tensor
    node: str
    forward: bool  # it has a forward formula
    implemented: bool  # at least one reverse formula is more than a refusal


def _table() -> list[str]:
    """The lines of the table; none where the release does not ship it."""
    path = Path(torch.__file__).parent.parent / "torchgen" / "packaged" / "autograd" / "derivatives.yaml"
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def entries() -> list[Entry]:
    """The table's entries with a node; nothing where the release does not ship the table."""
    found = []
    numbers: Counter[str] = Counter()
    for operator, arguments, formulas in _blocks(_table()):
        reverse = [f for keys, f in formulas for key in keys if key in arguments and f != "non_differentiable"]
        forward = [f for keys, f in formulas for key in keys if key not in arguments]
        if not reverse:
            continue
        prefix = _prefix(operator.split(".")[0])
        node = f"{prefix}{numbers[prefix]}"
        numbers[prefix] += 1
        real = [f for f in reverse if not f.startswith("not_implemented")]
        usable = any(f != "not_implemented" and not f.startswith("not_implemented(") for f in forward)
        found.append(Entry(operator, node, usable, bool(real)))
    return found


def _blocks(lines: list[str]) -> Iterator[tuple[str, list[str], list[tuple[list[str], str]]]]:
    """(operator, its argument names, [(names, formula)]) of each entry."""
    operator, arguments, formulas = "", [], []  # type: tuple[str, list[str], list[tuple[list[str], str]]]
    for line in lines:
        head = _NAME.match(line)
        if head is not None:
            if operator:
                yield operator, arguments, formulas
            operator, formulas = head.group(1), []
            arguments = [match.group(1) for match in _ARGUMENT.finditer(re.sub(r"\[[^]]*\]", "[]", head.group(2)))]
        elif operator and not line.lstrip().startswith("#"):
            body = _FORMULA.match(line)
            if body is not None and body.group(1).strip() not in _NOT_FORMULAS:
                formulas.append(([key.strip() for key in body.group(1).split(",")], body.group(2).strip()))
    if operator:
        yield operator, arguments, formulas


def _prefix(name: str) -> str:
    """How PyTorch's generator names nodes: max_pool2d_with_indices is MaxPool2DWithIndicesBackward."""
    return ("".join(part.title() for part in name.split("_")) + "Backward").replace("ForwardBackward", "Backward")


def existing_rules() -> dict[str, str]:
    """Every rule that exists, and why a CPU cannot reach it; nothing to say where it can."""
    found: dict[str, str] = {}
    for entry in entries():
        why = out_of_reach(entry.operator) or ("" if entry.implemented else "its formula is a refusal")
        found[f"reverse:{entry.node}"] = why
        if entry.forward:
            found[f"forward:{entry.node}"] = why
        found[f"second:{entry.node}"] = why
    return found


def formula(rule: str) -> str:
    """The entry of derivatives.yaml behind a node; nothing where the release does not ship the table."""
    operator = next((entry.operator for entry in entries() if entry.node == rule), "")
    for name, _, formulas in _blocks(_table()) if operator else ():
        if name == operator:
            return "\n".join([name, *(f"  {', '.join(keys)}: {text}" for keys, text in formulas)])
    return ""


def out_of_reach(operator: str) -> str:
    """Why a CPU cannot run an operator; nothing to say where it can."""
    return next((reason for pattern, reason in _OUT_OF_REACH if pattern.search(operator)), "")


def may_be_called_alone(operator: str) -> bool:
    """Whether an operator below the public functions makes sense as a seed by itself; rules.json says why others do not."""
    return not any(pattern.search(operator) for pattern in _NOT_ALONE)
