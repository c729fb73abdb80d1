"""How TensorFlow's errors are read."""

from __future__ import annotations

import re
from typing import Any

from gradfuzz.targets.base.protocol import Refusal
from gradfuzz.targets.base.refusals import Refusals
from gradfuzz.targets.tensorflow.derivatives import NoGradient

_NODE = re.compile(r"\{\{.*?\}\}\s*|\s*\[\[.*?\]\]|\s*\[Op:.*?\]( name: \S*)?")
_ARGUMENTS = re.compile(r"\n\s*Call arguments received by layer.*", re.DOTALL)
_BOLD = re.compile(r"\x1b\[1m(.*?)\x1b\[0m", re.DOTALL)
_SCOPED = re.compile(r"(?<=')(?:[\w.]+/)+(\w+?)(?:_\d+)?(?=')")  # where a node stands in its graph differs from graph to graph
_NOT_A_CAUSE = ("Graph execution error", "Detected at node", "Node:", "in user code")


class TensorflowRefusals(Refusals):
    """Messages come wrapped in frames, nodes and arguments."""

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(data, (NoGradient,))

    def classify(self, error: BaseException) -> Refusal:
        message = essence(str(getattr(error, "message", None) or error))
        kind = f"{type(error).__name__}: "
        named = message if message.startswith(kind) else kind + message  # a forward accumulator says it once more itself
        return self.read(error, message, named)


def essence(message: str) -> str:
    """What a message says, without the frames, nodes and arguments that TensorFlow and Keras put around it."""
    bold = _BOLD.search(message)
    if bold:
        message = bold.group(1)
    message = _ARGUMENTS.sub("", message)
    lines = [line for line in message.splitlines() if line.strip()]
    if lines and lines[0].startswith("Exception encountered when calling layer"):
        lines = lines[1:] or lines
    if lines and lines[0].startswith("in user code"):
        lines = [lines[-1].strip()]
    elif lines and lines[0].startswith("Graph execution error"):
        lines = [line for line in lines if not line[0].isspace() and not line.startswith(_NOT_A_CAUSE)] or lines
    return _SCOPED.sub(r"\1", _NODE.sub("", "\n".join(lines))).strip()
