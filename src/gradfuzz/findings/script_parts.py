"""A Program in the parts that scripts are made of: what is made once, what is computed, what comes out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from gradfuzz.errors import ProgramError
from gradfuzz.findings.finding import Finding
from gradfuzz.program import Program, gate
from gradfuzz.program.language import Language
from gradfuzz.program.model import Call, Let, Name, Ref, Tensor, walk
from gradfuzz.program.text import statement_text
from gradfuzz.program.unknown import without_numbers


def gated(finding: Finding, language: Language) -> Finding:
    """The finding itself. ProgramError if its Program does not pass the gate, or a module of the user's own has a name that is none."""
    if not all(gate.is_plain(part) for module in finding.modules for part in module.replace(":", ".").split(".")):
        raise ProgramError("a module of the user's own has a name that is none")
    return replace(finding, program=gate.check(finding.program, language))


@dataclass(frozen=True)
class Parts:
    """A Program as lines of Python; `modules` are the names of what its constructors make, once and outside the function."""

    differentiable: list[str]
    fixed: list[str]
    constructors: list[str]
    modules: list[str]
    body: list[str]
    names: tuple[str, ...]  # that the last call assigns

    def lines(self, program: Program) -> list[str]:
        """The lines of another Program of the same calls."""
        return _lines(_calls(program, self.modules))

    def unknown(self, program: Program) -> tuple[list[str], dict[str, object]]:
        """The lines with a variable in the place of each number, and the numbers by these names."""
        calls, numbers = without_numbers(_calls(program, self.modules), {name for s in program.statements for name in s.names})
        return _lines(calls), numbers

    @property
    def result(self) -> str:
        return self.names[0] if len(self.names) == 1 else "(" + ", ".join(self.names) + ")" if self.names else "result"


def parts_of(finding: Finding) -> Parts:
    """What the worker says is made once stands outside the function."""
    program = finding.program
    differentiable = [name for name, r in program.inputs.items() if r.differentiable]
    fixed = [name for name, r in program.inputs.items() if not r.differentiable]
    # What is computed last is the output, whatever it looks like.
    constructors = [s for s in program.statements[:-1] if _is_made(s, finding.made, fixed)]
    modules = [s.names[0] for s in constructors]
    calls = _calls(program, modules)
    return Parts(differentiable, fixed, [statement_text(s) for s in constructors], modules, _lines(calls), calls[-1].names)


def _is_made(statement: Let, made: tuple[str, ...] | None, fixed: list[str]) -> bool:
    """Whether a statement makes something once, outside the function: as the worker says, or else as it looks."""
    if made is None:
        return _is_constructor(statement, fixed)
    return len(statement.names) == 1 and statement.names[0] in made and not isinstance(statement.value, Tensor)


def _calls(program: Program, made: Collection[str]) -> list[Let]:
    return [s for s in program.statements if not isinstance(s.value, Tensor) and not set(made).intersection(s.names)]


def _lines(calls: list[Let]) -> list[str]:
    return [statement_text(s if s.names or s is not calls[-1] else Let(("result",), s.value)) for s in calls]


def _is_constructor(statement: Let, fixed: list[str]) -> bool:
    """`m = library.Linear(…)`, perhaps with `.eval()` behind it, is made once, outside the function.

    What is made from inputs that are differentiated, or from results, is not: operators too may be written with a capital.
    """
    value = statement.value
    if len(statement.names) != 1 or any(isinstance(node, Ref) and node.name not in fixed for node in walk(value)):
        return False
    while isinstance(value, Call) and value.func[0] == "." and value.args and isinstance(value.args[0], Call):
        value = value.args[0]
    return isinstance(value, Call) and value.func.rsplit(".", 1)[-1][:1].isupper() and "." in value.func


def imports_of(program: Program) -> list[str]:
    """The modules of the functions that are called or passed: a submodule need not be there before it is imported."""
    paths = {node.func if isinstance(node, Call) else node.path for node in program.expressions() if isinstance(node, (Call, Name))}
    spaces = {path.rsplit(".", 1)[0] for path in paths if "." in path.strip(".")}
    return sorted(space for space in spaces if not space.rsplit(".", 1)[-1].lstrip("_")[:1].isupper())


def modules_of(finding: Finding) -> list[str]:
    """The user's own modules as a script imports them: of `module:function`, the module."""
    return sorted({module.partition(":")[0] for module in finding.modules})
