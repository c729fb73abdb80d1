"""Where in TensorFlow an error was raised: that tells findings apart whose messages are alike."""

from __future__ import annotations

import re

from gradfuzz.targets.tensorflow.rules import NOTED

_FAILING_NODE = re.compile(r"Detected at node '?(?:[\w.]+/)*([A-Za-z0-9]+)")


def place_of(error: BaseException) -> str:
    """Where in the library an error was raised: the graph's node, the registered gradient on the way, or the innermost function."""
    node = _FAILING_NODE.search(str(error))
    if node:
        return f"node {node.group(1)}"
    place, trace = "", error.__traceback__
    while trace is not None:
        code, space = trace.tb_frame.f_code, trace.tb_frame.f_globals.get("__name__", "")
        if code.co_name == NOTED:
            return str(trace.tb_frame.f_locals["name"])
        if not code.co_name.startswith("<") and space.startswith(("tensorflow.", "keras.")) and "traceback_utils" not in space:
            place = f"{space}.{code.co_name}"
        trace = trace.tb_next
    return place
