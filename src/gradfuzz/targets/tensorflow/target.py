"""TensorFlow as a target."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Callable

import tensorflow as tf

from gradfuzz.errors import ProgramError
from gradfuzz.program.language import language_for
from gradfuzz.program.model import Program
from gradfuzz.targets.evaluate import Compiler
from gradfuzz.targets.plans import Plans
from gradfuzz.targets.protocol import Overload, Refusal, SeedProgram
from gradfuzz.targets.refusals import Refusals
from gradfuzz.targets.signatures import overloads
from gradfuzz.targets.tensorflow.bundle import Plan
from gradfuzz.targets.tensorflow.modules import call_value, is_module_class
from gradfuzz.targets.tensorflow.point import MOST_PLANS, Steps, TensorflowPoint
from gradfuzz.targets.tensorflow.rules import Rules, existing_rules
from gradfuzz.targets.tensorflow.scenarios import NoGradient
from gradfuzz.targets.tensorflow.variants import VARIANTS

_REFUSALS = Path(__file__).with_name("refusals.json")
_NODE = re.compile(r"\{\{.*?\}\}\s*|\s*\[\[.*?\]\]|\s*\[Op:.*?\]( name: \S*)?")
_ARGUMENTS = re.compile(r"\n\s*Call arguments received by layer.*", re.DOTALL)
_BOLD = re.compile(r"\x1b\[1m(.*?)\x1b\[0m", re.DOTALL)
_SCOPED = re.compile(r"(?<=')(?:[\w.]+/)+(\w+?)(?:_\d+)?(?=')")  # where a node stands in its graph differs from graph to graph
_NOT_A_CAUSE = ("Graph execution error", "Detected at node", "Node:", "in user code")


class TensorflowTarget:
    """The installed TensorFlow on the CPU, single-threaded.

    It can be forked for as long as its runtime has not started: nothing is computed before a worker gets its first job.
    """

    name = "tensorflow"
    fork_safe = True
    variants = tuple(VARIANTS)
    family = 32
    patience = 2.0

    def __init__(self, modules: tuple[str, ...] = ()) -> None:
        self.version = str(tf.__version__)
        self.language = language_for("tensorflow", modules)
        self.compiler = Compiler(self.language, call_value, is_module_class)
        self.plans: Plans[tuple[Plan, Steps]] = Plans(MOST_PLANS)
        self.notes = Rules()
        self._overloads: dict[str, list[Overload]] = {}
        self._refusals = Refusals(_REFUSALS, (NoGradient,))
        warnings.filterwarnings("ignore")
        tf.get_logger().setLevel("FATAL")
        tf.autograph.set_verbosity(0)
        if hasattr(tf.debugging, "disable_traceback_filtering"):
            tf.debugging.disable_traceback_filtering()  # where in the library an error was raised tells findings apart
        with contextlib.suppress(RuntimeError):  # the runtime runs already: somebody else's process
            tf.config.threading.set_intra_op_parallelism_threads(1)
            tf.config.threading.set_inter_op_parallelism_threads(1)
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # a graph is run some thirty times, not thousands
        self.notes.watch()

    def point(self, program: Program, arrays: list[Any] | None = None) -> TensorflowPoint:
        return TensorflowPoint(program, self.compiler, self.plans, self.notes, self.classify, arrays)

    def classify(self, error: BaseException) -> Refusal:
        message = essence(str(getattr(error, "message", None) or error))
        kind = f"{type(error).__name__}: "
        named = message if message.startswith(kind) else kind + message  # a forward accumulator says it once more itself
        return self._refusals.read(error, message, named)

    def seeds(self, trying: Callable[[str], bool] = lambda _: True) -> Iterable[SeedProgram]:
        from gradfuzz.targets.tensorflow.samples import sample_seeds

        return sample_seeds(self, trying)

    def probe(self, api: str, overload: Overload) -> Iterable[SeedProgram]:
        return []  # its functions and operators say what they take, and are tried out from that

    def parameters(self, func: str) -> list[Overload]:
        if func not in self._overloads:
            try:
                self._overloads[func] = overloads(self.compiler.resolve(func)) if func.startswith("tf.") else []
            except ProgramError:
                self._overloads[func] = []
        return self._overloads[func]

    def rules(self) -> dict[str, str]:
        return {f"reverse:{name}": reason for name, reason in existing_rules().items()}

    def smoke_test(self) -> str:
        return 'x = tensor((2,), "float64", uniform(0.5, 1.0, seed=1))\ny = tf.math.sin(x)\n'

    def restore_defaults(self) -> None:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})
        tf.keras.backend.set_floatx("float32")
        tf.keras.mixed_precision.set_global_policy("float32")


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
