"""JAX as a target."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any

# A third of the price of a compilation, and no thread pool per worker: no dear passes, and no code made by MLIR pipelines. Read when the
# runtime starts, which is after the fork.
_FAST = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_multi_thread_eigen=false"
    " --xla_backend_extra_options=xla_cpu_disable_new_fusion_emitters"
)
# An eighth of what is left: one module rather than many small ones. XLA ends the process at a flag that it does not know (an extra option
# is none), so this is for releases on which it was tried; what is shared between compilations is, too.
_FASTER = "--xla_cpu_parallel_codegen_split_count=1"
_FASTER_ON = ((0, 10), (0, 11))
_USERS_FLAGS = os.environ.get("XLA_FLAGS")
_JAXLIB = tuple(int(n) for n in re.findall(r"\d+", version("jaxlib"))[:2])
os.environ["XLA_FLAGS"] = " ".join(filter(None, (_FAST, _FASTER if _JAXLIB in _FASTER_ON else "", _USERS_FLAGS)))
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.scipy  # noqa: E402

from gradfuzz.errors import ProgramError  # noqa: E402
from gradfuzz.program.model import Program  # noqa: E402
from gradfuzz.targets.base.evaluate import Compiler  # noqa: E402
from gradfuzz.targets.base.parameters import overloads  # noqa: E402
from gradfuzz.targets.base.plans import Plans  # noqa: E402
from gradfuzz.targets.base.protocol import Overload, Refusal, SeedProgram, Trying, anything  # noqa: E402
from gradfuzz.targets.base.refusals import NO_FINDING  # noqa: E402
from gradfuzz.targets.base.scenario import Scenario  # noqa: E402
from gradfuzz.targets.base.ways import declared  # noqa: E402
from gradfuzz.targets.homes import Home  # noqa: E402
from gradfuzz.targets.jax.api import import_all  # noqa: E402
from gradfuzz.targets.jax.bare import bare  # noqa: E402
from gradfuzz.targets.jax.bundle import JaxPlan, release  # noqa: E402
from gradfuzz.targets.jax.contexts import share  # noqa: E402
from gradfuzz.targets.jax.point import MOST_PLANS, JaxPoint  # noqa: E402
from gradfuzz.targets.jax.refusals import JaxRefusals  # noqa: E402
from gradfuzz.targets.jax.rules import Rules, existing_rules, formula  # noqa: E402
from gradfuzz.targets.jax.ways import WAYS  # noqa: E402


class JaxTarget:
    """The installed JAX on the CPU, double precision on.

    It can be forked for as long as its runtime has not started: nothing is computed before a worker gets its first job.
    """

    family = 768
    patience = 2.0
    steady_rules = False

    def __init__(self, home: Home, modules: tuple[str, ...] = ()) -> None:
        self.name = home.name
        self.version = str(jax.__version__)
        self.language = home.language(modules)
        self.compiler = Compiler(self.language)
        self.plans: Plans[JaxPlan] = Plans(MOST_PLANS, release)
        self.notes = Rules()
        self._overloads: dict[str, list[Overload]] = {}
        self.ways = declared(home.data("ways"), WAYS)
        self._refusals = JaxRefusals(home.data("refusals"))
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_traceback_filtering", "off")  # finding out which frames of a refusal are JAX's costs more than the refusal
        _cache_compilations(False)  # what nobody looks for again need not have a key: a twentieth of each compilation
        warnings.filterwarnings("ignore")
        import_all(self.language)
        self.notes.watch()
        if _JAXLIB in _FASTER_ON:
            share()

    def point(self, program: Program, arrays: list[Any] | None = None) -> JaxPoint:
        return JaxPoint(program, self.compiler, self.plans, self.notes, arrays)

    def bare(self, program: Program, scenario: Scenario) -> str:
        return bare(self.point(program), scenario)

    def inferred(self, program: Program) -> list[tuple[int, ...]]:
        return [o.shape for o in self.point(program).foreseen()]

    def doubtful(self, program: Program, ways: Iterable[str]) -> list[str]:
        raised = [
            way for way, modes, error in self.point(program).untraced(ways)
            if any(s.modes == modes for s in self.ways[way].scenarios) and self.classify(error).kind not in NO_FINDING
        ]  # fmt: skip
        return list(dict.fromkeys(raised))

    def takes(self, program: Program) -> bool:
        try:
            self.point(program).traces(0)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # of JAX as of whatever the Program calls
            return False
        return True

    def classify(self, error: BaseException) -> Refusal:
        return self._refusals.classify(error)

    def forget(self) -> None:
        self.compiler.forget()
        self.plans.forget()

    def seeds(self, trying: Trying = anything) -> Iterable[SeedProgram]:
        from gradfuzz.targets.jax.samples import sample_seeds

        return sample_seeds(self, trying)

    def probe(self, api: str, overload: Overload) -> Iterable[SeedProgram]:
        return []  # its functions say what they take, and are tried out from that

    def parameters(self, func: str) -> list[Overload]:
        if func not in self._overloads:
            try:
                self._overloads[func] = overloads(self.compiler.resolve(func))
            except ProgramError:
                self._overloads[func] = []
        return self._overloads[func]

    def prepare(self, ways: Sequence[str]) -> None:
        pass  # its runtime bears no fork: nothing may be computed yet

    def rules(self) -> dict[str, str]:
        return existing_rules()

    def formula(self, rule: str) -> str:
        return formula(rule)

    def smoke_test(self) -> str:
        return 'x = tensor((2,), "float64", uniform(0.5, 1.0, seed=1))\ny = jax.numpy.sin(x)\n'

    def restore_defaults(self) -> None:
        if _USERS_FLAGS is None:
            os.environ.pop("XLA_FLAGS", None)
        else:
            os.environ["XLA_FLAGS"] = _USERS_FLAGS
        _share_compilations()


def _cache_compilations(cached: bool) -> None:
    with contextlib.suppress(AttributeError):  # an older release has no such switch
        jax.config.update("jax_enable_compilation_cache", cached)


def _share_compilations() -> None:
    """What one script has had compiled, as users have it compiled, the next one need not: many of their operators are the same."""
    _cache_compilations(True)
    with contextlib.suppress(AttributeError):  # an older release has no such cache, or not for this device
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        jax.config.update("jax_compilation_cache_dir", os.path.join(tempfile.gettempdir(), "compiled"))
