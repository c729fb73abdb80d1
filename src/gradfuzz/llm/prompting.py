"""Prompts: templates filled with what is known of an API and of the round before."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from gradfuzz.findings.finding import Finding
from gradfuzz.llm.cache import Messages
from gradfuzz.llm.limits import Limits
from gradfuzz.llm.parameters import places
from gradfuzz.program import Program, to_text
from gradfuzz.targets.homes import home_of

_FOLDER = Path(__file__).with_name("prompts")
_environment = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_FOLDER), undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=False
)
AIMS: dict[str, str] = {
    key: text for key, text in json.loads((_FOLDER / "aims.json").read_text(encoding="utf-8")).items() if key != "about"
}
RULES = "rules"  # the aim that needs a list of rules
MOST_DOC = 1800  # characters of a docstring: the beginning says what the function is
MOST_SENTENCES = 3
_DOMAIN = re.compile(
    r"must be|positive|negative|non-?zero|between|in the range|in range|interval|domain|defined for|greater than|less than|at least|"
    r"finite|invertible|definite|symmetric|(?<!-)[<>≤≥]|\\ge|\\le|should be",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Api:
    """What is known of one API."""

    name: str
    signature: str = ""
    doc: str = ""
    example: str = ""
    left: tuple[str, ...] = ()  # combinations that no campaign has tried, in words

    @property
    def domain(self) -> str:
        return domain_of(self.doc)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "signature": self.signature, "doc": self.doc[:MOST_DOC], "example": self.example, "domain": self.domain,
            "left": list(self.left),
        }  # fmt: skip


def domain_of(doc: str) -> str:
    """The sentences of a docstring that speak of what its arguments may be."""
    text = " ".join(doc.split(">>>")[0].split())
    found = [s.strip() for s in re.split(r"(?<=[.:;])\s", text) if _DOMAIN.search(s) and 15 < len(s) < 300]
    return " ".join(found[:MOST_SENTENCES])


@dataclass(frozen=True)
class Context:
    """What the rounds before have taught: rules not reached, what was refused."""

    rules: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"rules": list(self.rules), "errors": list(self.errors)}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Context:
        return Context(tuple(data["rules"]), tuple(data["errors"]))


class Prompts:
    """The prompts of one target."""

    def __init__(self, target: str, version: str, limits: Limits) -> None:
        home = home_of(target)
        self.title = home.title
        self.system = _render(
            "system.j2", title=self.title, version=version, namespaces=", ".join(home.language().namespaces[:8]),
            dimension=limits.dimension, memory=limits.memory,
        )  # fmt: skip

    def program(self, identity: int, apis: list[dict[str, Any]], aim: str, context: Context) -> Messages:
        return self._messages(_render("program.j2", id=identity, apis=apis, aim=AIMS[aim], **context.to_json()))

    def parameters(self, program: Program, apis: list[dict[str, Any]], aim: str, count: int, context: Context) -> Messages:
        text = _render(
            "parameters.j2", title=self.title, program=to_text(program), inputs=program.inputs, places=places(program), apis=apis,
            aim=AIMS[aim], count=count, **context.to_json(),
        )  # fmt: skip
        return self._messages(text)

    def again(self, messages: Messages, content: str, refused: list[str]) -> Messages:
        """The same conversation with the answer and what was wrong with it."""
        said = {"role": "assistant", "content": content[:20_000]}
        return [*messages, said, {"role": "user", "content": _render("again.j2", refused=refused)}]

    def explain(self, finding: Finding, formula: str) -> Messages:
        numbers = finding.verdict.detail.get("numbers") or {}
        return self._messages(_render("explain.j2", title=self.title, finding=finding, numbers=numbers, formula=formula))

    def _messages(self, text: str) -> Messages:
        return [{"role": "system", "content": self.system}, {"role": "user", "content": text}]


def _render(name: str, **values: Any) -> str:
    return _environment.get_template(name).render(**values).strip() + "\n"
