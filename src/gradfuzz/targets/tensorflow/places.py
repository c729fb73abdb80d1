"""Where in TensorFlow an error was raised: that tells findings apart whose messages are alike."""

from __future__ import annotations

import re

from gradfuzz.targets.tensorflow.rules import NOTED

# What differentiates traced functions.
TRACED, BACKWARD = "tensorflow.python.eager.polymorphic_function.", "_backward_function"
# What runs operators, whichever fails: it tells nothing apart.
EXECUTES = ("tensorflow.python.eager.execute.", "tensorflow.python.eager.context.")
_FAILING_NODE = re.compile(r"Detected at node '?(?:[\w.]+/)*([A-Za-z0-9]+)")


def place_of(error: BaseException) -> str:
    """Where in the library an error was raised: the graph's node, the registered gradient on the way, or the innermost function;
    nothing where that only runs what it is given.

    Where a gradient has gone on to differentiate a traced function, what raises is what does that, whoever asked for it.
    """
    node = _FAILING_NODE.search(str(error))
    if node:
        return f"node {node.group(1)}"
    place, gradient, trace = "", "", error.__traceback__
    while trace is not None:
        code, space = trace.tb_frame.f_code, trace.tb_frame.f_globals.get("__name__", "")
        if code.co_name == NOTED:
            gradient = gradient or str(trace.tb_frame.f_locals["name"])
        elif space.startswith(TRACED) and code.co_name.endswith(BACKWARD):
            gradient = ""
        if not code.co_name.startswith("<") and space.startswith(("tensorflow.", "keras.")) and "traceback_utils" not in space:
            place = f"{space}.{code.co_name}"
        trace = trace.tb_next
    return gradient or ("" if place.startswith(EXECUTES) else place)
