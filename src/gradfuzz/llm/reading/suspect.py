"""A look at what is left out of a Program: it is never run, yet an answer that reaches for files or code there is refused as a whole."""

from __future__ import annotations

import ast

from gradfuzz.llm.reading.meanings import refuse
from gradfuzz.program.language import Language

REACHING = (
    "it reaches files", "it reaches the network", "it starts processes or threads", "it loads or runs code", "it runs code",
)  # fmt: skip
# Of Python itself: what reads, writes, runs or looks behind things.
_PYTHON = frozenset((
    "open", "eval", "exec", "compile", "input", "breakpoint", "exit", "quit", "globals", "locals", "vars", "getattr", "setattr",
    "delattr", "memoryview", "help", "dir", "id", "os", "sys", "subprocess", "socket", "shutil", "pathlib", "importlib", "builtins",
    "ctypes", "pickle", "marshal",
    "threading", "multiprocessing", "requests", "urllib", "http", "tempfile", "glob", "signal", "io", "inspect", "gc",
))  # fmt: skip
_METHODS = frozenset(("tofile", "dump", "dumps", "save", "load", "system", "popen", "write", "read", "savez"))


class Suspect:
    """Refuses names that have no business in a Program, wherever they stand."""

    def __init__(self, language: Language) -> None:
        reasons = {**language.refused_names, **language.refused_methods}
        self.out = {name: reason for name, reason in reasons.items() if reason in REACHING}

    def look(self, node: ast.AST) -> None:
        """ProgramError if anything within reaches beyond the library."""
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute):
                self.name(part.attr, part)
            elif isinstance(part, ast.Name):
                if part.id in _PYTHON:
                    refuse(part, f"{part.id} is not part of the language")
                self.name(part.id, part, alone=True)
            elif isinstance(part, (ast.Import, ast.ImportFrom)):
                refuse(part, "an import inside other code is not part of the language")

    def name(self, name: str, node: ast.AST, alone: bool = False) -> None:
        """One name or attribute."""
        if name.startswith("__") and name != "__version__" and name != "__name__":
            refuse(node, f"{ascii(name)[1:-1]}: private names are not part of the language")
        if not alone and (name in _METHODS or (name in self.out and name not in ("print", "library"))):
            refuse(node, f"{name}: {self.out.get(name, 'it reaches files')}")
