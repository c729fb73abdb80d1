"""TensorFlow as a target."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import Program
from gradfuzz.targets.base.evaluate import Compiler
from gradfuzz.targets.base.parameters import overloads
from gradfuzz.targets.base.plans import Plans
from gradfuzz.targets.base.protocol import Overload, Refusal, SeedProgram, Trying, anything
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.base.ways import declared
from gradfuzz.targets.homes import Home
from gradfuzz.targets.tensorflow.bare import bare
from gradfuzz.targets.tensorflow.modules import is_module_class
from gradfuzz.targets.tensorflow.point import MOST_PLANS, Kept, TensorflowPoint
from gradfuzz.targets.tensorflow.refusals import TensorflowRefusals
from gradfuzz.targets.tensorflow.rules import Rules, existing_rules, formula, helpers
from gradfuzz.targets.tensorflow.ways import WAYS


class TensorflowTarget:
    """The installed TensorFlow on the CPU, single-threaded.

    It can be forked for as long as its runtime has not started: nothing is computed before a worker gets its first job.
    """

    # Tracing a shape for orders one and two takes as long as running some sixty mutants.
    family = 64
    patience = 2.0
    steady_rules = True

    def __init__(self, home: Home, modules: tuple[str, ...] = ()) -> None:
        self.name = home.name
        self.version = str(tf.__version__)
        self.language = home.language(modules)
        self.compiler = Compiler(self.language, is_module_class)
        self.plans: Kept = Plans(MOST_PLANS)
        self.notes = Rules()
        self._overloads: dict[str, list[Overload]] = {}
        self.ways = declared(home.data("ways"), WAYS)
        self._refusals = TensorflowRefusals(home.data("refusals"))
        warnings.filterwarnings("ignore")
        tf.get_logger().setLevel("FATAL")
        tf.autograph.set_verbosity(0)
        if hasattr(tf.debugging, "disable_traceback_filtering"):
            tf.debugging.disable_traceback_filtering()  # where in the library an error was raised tells findings apart
        with contextlib.suppress(RuntimeError):  # the runtime runs already: somebody else's process
            tf.config.threading.set_intra_op_parallelism_threads(1)
            tf.config.threading.set_inter_op_parallelism_threads(1)
        self._optimised(False)  # a graph is run some sixty times, not thousands
        self.notes.watch()

    def point(self, program: Program, arrays: list[Any] | None = None) -> TensorflowPoint:
        return TensorflowPoint(program, self.compiler, self.plans, self.notes, arrays)

    def bare(self, program: Program, scenario: Scenario) -> str:
        return bare(program, self.compiler, scenario)

    def inferred(self, program: Program) -> list[list[int | None]]:
        return self.point(program).inferred()

    def classify(self, error: BaseException) -> Refusal:
        return self._refusals.classify(error)

    def forget(self) -> None:
        self.compiler.forget()
        self.plans.forget()

    def seeds(self, trying: Trying = anything) -> Iterable[SeedProgram]:
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

    def prepare(self, ways: Sequence[str]) -> None:
        pass  # its runtime bears no fork: nothing may be computed yet

    def rules(self) -> dict[str, str]:
        return {f"reverse:{name}": reason for name, reason in existing_rules().items()}

    def formula(self, rule: str) -> str:
        return formula(rule)

    def helpers(self, rule: str) -> list[tuple[str, int]]:
        return helpers(rule)

    def smoke_test(self) -> str:
        return 'x = tensor((2,), "float64", uniform(0.5, 1.0, seed=1))\ny = tf.math.sin(x)\n'

    def _optimised(self, graphs: bool) -> None:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": not graphs})

    def optimise(self) -> None:
        self.forget()  # what was traced stays as it is
        self._optimised(True)

    def restore_defaults(self) -> None:
        self._optimised(True)
        tf.keras.backend.set_floatx("float32")
        tf.keras.mixed_precision.set_global_policy("float32")
