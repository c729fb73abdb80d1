"""A suspicion: what a worker saw on one mutant, before anybody has looked again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.findings.inside.same import finding_key
from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program import gate
from gradfuzz.program.codec import from_json, to_json
from gradfuzz.program.language import Language
from gradfuzz.program.model import Program


@dataclass(frozen=True)
class Suspicion:
    """A verdict on a mutant of a seed, with all that is needed to see it again."""

    api: str
    seed: Program
    edits: tuple[Edit, ...]
    options: Options
    verdict: Verdict
    rule: str = ""
    blame: str = ""  # of a Program of many calls: whether one of them is at fault or their composition

    @property
    def key(self) -> str:
        return finding_key(self.api, self.rule, self.verdict)

    @property
    def mutant(self) -> Program:
        return apply_all(self.seed, list(self.edits))

    def to_json(self) -> dict[str, Any]:
        return {
            "api": self.api, "seed": to_json(self.seed), "edits": [e.to_json() for e in self.edits], "options": self.options.to_json(),
            "verdict": self.verdict.to_json(), "rule": self.rule, "blame": self.blame,
        }  # fmt: skip

    def check(self, language: Language) -> Suspicion:
        """The suspicion itself; ProgramError if it does not pass the gate: it may have lain in somebody else's store."""
        gate.check_api(self.api, language)
        gate.check(self.seed, language)
        try:
            mutant = self.mutant
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError):
            raise ProgramError("broken data of a suspicion: its edits are none") from None
        gate.check(mutant, language)
        return self

    @staticmethod
    def from_json(data: dict[str, Any]) -> Suspicion:
        try:
            return Suspicion(
                gate.check_word(data["api"], "api"), from_json(data["seed"]), tuple(Edit.from_json(e) for e in data["edits"]),
                Options.from_json(data["options"]), Verdict.from_json(data["verdict"]), gate.check_word(data.get("rule", ""), "rule"),
                gate.check_word(data.get("blame", ""), "blame"),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise ProgramError(f"broken data of a suspicion ({type(error).__name__})") from None
