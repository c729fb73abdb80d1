"""One round of writing: programs, then parameter sets for those that are valid; whatever is refused goes back once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from gradfuzz.llm.answers import PARAMETER_SETS, PROGRAMS, parameter_sets_of, programs_of
from gradfuzz.llm.asking import Ask, Asking
from gradfuzz.llm.cache import Messages
from gradfuzz.llm.judge import Item
from gradfuzz.llm.limits import Limits
from gradfuzz.llm.prompting import Context, Prompts
from gradfuzz.llm.reading.idioms import Idioms
from gradfuzz.llm.refused import LANGUAGE, REPEATED, Refused
from gradfuzz.llm.vet import Valid, changed, forms_of, try_forms
from gradfuzz.pool.executor import Executor
from gradfuzz.program import Program, to_text

PROGRAM, PARAMETERS = "program", "parameters"
AGAIN = " again"


@dataclass(frozen=True)
class Planned:
    """One program to be asked for."""

    id: int
    aim: str
    apis: tuple[dict[str, Any], ...]  # what is known of each; see Api.to_json
    context: Context

    @property
    def api(self) -> str:
        return str(self.apis[0]["name"])

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "aim": self.aim, "apis": list(self.apis), "context": self.context.to_json()}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Planned:
        return Planned(int(data["id"]), str(data["aim"]), tuple(data["apis"]), Context.from_json(data["context"]))


@dataclass
class Written:
    """What a round wrote: the valid Programs with their ids, every item, and the ids that had an answer at all."""

    seeds: list[tuple[Planned, Valid]] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    answered: set[int] = field(default_factory=set)


@dataclass
class _Draft:
    """One request on its way through a phase: the texts of its answer that were refused, and why."""

    planned: Planned
    messages: Messages
    base: Program | None = None  # what parameter sets are for
    content: str = ""


class Writer:
    """Asks for what is planned and gates what comes back."""

    def __init__(self, asking: Asking, pool: Executor, prompts: Prompts, idioms: Idioms, limits: Limits, params: int) -> None:
        self.asking, self.pool, self.prompts = asking, pool, prompts
        self.idioms, self.limits, self.params = idioms, limits, params
        self.seen: set[str] = set()  # texts of Programs that are seeds already

    def write(self, planned: list[Planned]) -> Written:
        written = Written()
        drafts = [_Draft(p, self.prompts.program(p.id, list(p.apis), p.aim, p.context)) for p in planned]
        self._phase(PROGRAM, drafts, written)
        if self.params:
            drafts = [
                _Draft(p, self.prompts.parameters(valid.program, list(p.apis), p.aim, self.params, p.context), valid.program)
                for p, valid in _first_of_each(written.seeds)
            ]
            self._phase(PARAMETERS, drafts, written)
        return written

    def _phase(self, phase: str, drafts: list[_Draft], written: Written) -> None:
        """Ask, gate, send back what was refused, gate again."""
        refused = self._turn(phase, drafts, written, again=False)
        back = []
        for draft, items in refused:
            messages = [item.message[:400] for item in items]
            back.append(_Draft(draft.planned, self.prompts.again(draft.messages, draft.content, messages), draft.base))
        still = self._turn(phase, back, written, again=True)
        answered = {draft.planned.id for draft in back if draft.content}
        for draft, items in refused:
            written.items.extend(replace(item, replaced=draft.planned.id in answered) for item in items)
        for _, items in still:
            written.items.extend(items)

    def _turn(self, phase: str, drafts: list[_Draft], written: Written, again: bool) -> list[tuple[_Draft, list[Item]]]:
        """One turn of a phase; returns what was refused, by request."""
        form, schema = ("programs", PROGRAMS) if phase == PROGRAM else ("parameter_sets", PARAMETER_SETS)
        name = phase + AGAIN if again else phase
        asks = [Ask(draft.planned.id, name, draft.messages, form, schema) for draft in drafts]
        replies = self.asking.all(asks, {PROGRAM: "programs", PARAMETERS: "parameter sets"}[phase] + (", once more" if again else ""))
        gated: list[tuple[_Draft, list[Program] | Refused]] = []
        for draft in drafts:
            reply = replies.get(draft.planned.id)
            if reply is not None:
                draft.content = reply.content
                written.answered.add(draft.planned.id)
                gated += [(draft, result) for result in self._gate(draft, phase, reply.content, reply.finish)]
        tried = iter(try_forms(self.pool, [result for _, result in gated if not isinstance(result, Refused)]))
        refused: dict[int, tuple[_Draft, list[Item]]] = {}
        for draft, result in gated:
            outcome = result if isinstance(result, Refused) else next(tried)
            planned = draft.planned
            if isinstance(outcome, Valid):
                written.seeds.append((planned, outcome))
                written.items.append(Item(planned.id, phase, planned.aim, planned.api, True, again, rules=outcome.rules))
            else:
                item = Item(planned.id, phase, planned.aim, planned.api, False, again, outcome.reason, outcome.message)
                refused.setdefault(planned.id, (draft, []))[1].append(item)
        return list(refused.values())

    def _gate(self, draft: _Draft, phase: str, content: str, finish: str) -> list[list[Program] | Refused]:
        """Programs within the language and the limits, in their forms, or why not; nothing has run."""
        try:
            parts: list[Any] = list(programs_of(content, finish) if phase == PROGRAM else parameter_sets_of(content, finish))
        except Refused as refused:
            return [refused]
        found: list[list[Program] | Refused] = []
        for part in parts:
            try:
                if draft.base is None:
                    forms = forms_of(part, self.idioms, self.limits)
                else:
                    forms = [changed(draft.base, part, self.idioms, self.limits)]
                text = to_text(forms[0])
                if text in self.seen:
                    raise Refused(REPEATED, "this was written before; write another one")
                self.seen.add(text)
                found.append(forms)
            except Refused as refused:
                found.append(refused)
            except (RecursionError, MemoryError):
                found.append(Refused(LANGUAGE, "the program nests deeper than anybody reads"))
        return found


def _first_of_each(seeds: list[tuple[Planned, Valid]]) -> list[tuple[Planned, Valid]]:
    """One Program of each request: parameter sets are written for that."""
    return list({planned.id: (planned, valid) for planned, valid in reversed(seeds)}.values())[::-1]
