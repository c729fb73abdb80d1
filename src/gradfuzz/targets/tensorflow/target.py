"""TensorFlow as a target."""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorflow as tf

from gradfuzz.errors import ProgramError
from gradfuzz.program.language import language_for
from gradfuzz.program.model import Program
from gradfuzz.targets.evaluate import Compiler
from gradfuzz.targets.protocol import Refusal, SeedProgram
from gradfuzz.targets.tensorflow.modules import call_value, is_module_class
from gradfuzz.targets.tensorflow.point import Plans, TensorflowPoint
from gradfuzz.targets.tensorflow.rules import Rules
from gradfuzz.targets.tensorflow.scenarios import NoGradient
from gradfuzz.targets.tensorflow.variants import VARIANTS

_REFUSALS = Path(__file__).with_name("refusals.json")
_NODE = re.compile(r"\{\{.*?\}\}\s*")


class TensorflowTarget:
    """The installed TensorFlow on the CPU, single-threaded.

    It can be forked for as long as its runtime has not started: nothing is computed before a worker gets its first job.
    """

    name = "tensorflow"
    fork_safe = True
    variants = tuple(VARIANTS)
    value_edits_cheap = True
    patience = 2.0

    def __init__(self, modules: tuple[str, ...] = ()) -> None:
        self.version = str(tf.__version__)
        self.language = language_for("tensorflow", modules)
        self.compiler = Compiler(self.language, call_value, is_module_class)
        self.plans, self.rules = Plans(), Rules()
        rows = json.loads(_REFUSALS.read_text())["refusals"]
        self._refusals = [(re.compile(row["pattern"]), row["kind"]) for row in rows]
        warnings.filterwarnings("ignore")
        tf.get_logger().setLevel("FATAL")
        tf.autograph.set_verbosity(0)
        with contextlib.suppress(RuntimeError):  # the runtime runs already: somebody else's process
            tf.config.threading.set_intra_op_parallelism_threads(1)
            tf.config.threading.set_inter_op_parallelism_threads(1)
        self.rules.watch()

    def point(self, program: Program, arrays: list[Any] | None = None) -> TensorflowPoint:
        return TensorflowPoint(program, self.compiler, self.plans, self.rules, arrays)

    def classify(self, error: BaseException) -> Refusal:
        message = _NODE.sub("", str(getattr(error, "message", None) or error)).strip()
        if isinstance(error, (NoGradient, NotImplementedError)):
            return Refusal("unsupported", message or type(error).__name__)
        if isinstance(error, ProgramError):
            return Refusal("invalid", message)
        if isinstance(error, MemoryError):
            return Refusal("memory", message or "MemoryError")
        named = f"{type(error).__name__}: {message}"
        for pattern, kind in self._refusals:
            if pattern.search(named):
                return Refusal(kind, named)
        return Refusal("error", named)

    def seeds(self) -> Iterable[SeedProgram]:
        from gradfuzz.targets.tensorflow.samples import sample_seeds

        return sample_seeds(self)

    def smoke_test(self) -> str:
        return 'x = tensor((2,), "float64", uniform(0.5, 1.0, seed=1))\ny = tf.math.sin(x)\n'

    def restore_defaults(self) -> None:
        tf.keras.backend.set_floatx("float32")
        tf.keras.mixed_precision.set_global_policy("float32")
