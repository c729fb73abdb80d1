"""Rounds: plan, write, run as seeds in a campaign, judge, learn; until all is asked for, the money is spent, or nothing new comes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradfuzz.errors import GradfuzzError
from gradfuzz.llm.bandit import Bandit
from gradfuzz.llm.judge import Judgement, judge
from gradfuzz.llm.knowledge import Known, last_campaign
from gradfuzz.llm.ledger import PLAN, REPLY, ROUND, Ledger, Row
from gradfuzz.llm.prompting import AIMS, RULES, Api, Context
from gradfuzz.llm.vet import Valid
from gradfuzz.llm.writing import Planned, Writer, Written
from gradfuzz.program import from_json, to_json, to_text
from gradfuzz.seeds.seed import Seed

SEEDS = "seeds.jsonl"
MOST_ERRORS = 4  # of the last round, in a prompt


@dataclass(frozen=True)
class Order:
    """What is asked for."""

    target: str
    model: str
    store: Path
    out: Path
    num_programs: int | None  # None: until it is dry
    num_apis: int = 1
    start_id: int = 0
    round_size: int = 24
    until_dry: bool = False
    seed: int = 0


@dataclass
class Ending:
    """How it ended."""

    rounds: list[Judgement] = field(default_factory=list)
    seeds: int = 0
    why: str = ""


class Rounds:
    """Everything that a command does, round by round. The book says what was done before."""

    def __init__(
        self, order: Order, ledger: Ledger, writer: Writer, describe: Callable[[list[str], Known], list[Api]], apis: list[str],
        existing: set[str], run: Callable[[Path, int], None] | None, say: Callable[[str], None],
    ) -> None:  # fmt: skip
        """`existing`: the derivative rules that can be reached. `run` puts a file of so many seeds through a campaign; None: the seeds are
        only written."""
        self.order, self.ledger, self.writer, self.describe = order, ledger, writer, describe
        self.apis, self.existing, self.run_campaign, self.say = apis, existing, run, say
        # Each in a file of its own by its first id, so that a round that is done again takes its own place.
        self.folder = order.out / "rounds"

    def run(self) -> Ending:
        ending = Ending()
        for row in self.ledger.of(ROUND):
            self.writer.seen.update(_texts(self.folder / str(row["file"])))
        done = {identity for row in self.ledger.of(ROUND) for identity in row["ids"]}
        ending.rounds = [Judgement.from_json(row["judgement"]) for row in self.ledger.of(ROUND)]
        while not ending.why:
            wanted = [i for i in self._ids(done) if i not in done]
            if not wanted:
                ending.why = "all programs are written"
            elif self.order.until_dry and ending.rounds and ending.rounds[-1].dry:
                ending.why = "the last round brought nothing new"
            else:
                self._round(wanted, done, ending)
        ending.seeds = self._join()
        return ending

    def _ids(self, done: set[int]) -> range:
        first = self.order.start_id
        count = self.order.num_programs
        return range(first, first + (count if count is not None else len(done) + self.order.round_size))

    def _round(self, wanted: list[int], done: set[int], ending: Ending) -> None:
        plan = self._plan(wanted)
        planned = [p for p in map(Planned.from_json, plan["asks"]) if p.id in set(wanted)]
        self.say(f"round {len(ending.rounds) + 1}: {len(planned)} programs, {len({p.api for p in planned})} APIs")
        before = Known.read(self.order.store, self.order.target, last=plan["baseline"])
        written = self.writer.write(planned)
        if not written.answered:
            ending.why = self._nothing()
            return
        file = f"{min(written.answered):06d}.jsonl"
        self._keep(self.folder / file, written)
        campaign = last_campaign(self.order.store)
        if written.seeds and self.run_campaign is not None:
            self._join()
            self.run_campaign(self.folder / file, len(written.seeds))
        after = Known.read(self.order.store, self.order.target, first=max(campaign, plan["baseline"]))
        tokens, cost = self._spent(written.answered)
        found, arms = judge(written.items, before, after, tokens, cost)
        ids = sorted(written.answered)
        items = [item.to_json() for item in written.items]
        self.ledger.add(ROUND, ids=ids, file=file, items=items, judgement=found.to_json(), arms=[list(arm) for arm in arms])
        done.update(ids)
        ending.rounds.append(found)
        self.say(f"round {len(ending.rounds)}: {found.line()}")
        if found.refused:
            self.say("refused: " + ", ".join(f"{count} {reason}" for reason, count in found.refused.items()))
        if self.writer.asking.spent:
            ending.why = "the budget does not allow another request"

    def _nothing(self) -> str:
        asking = self.writer.asking
        if asking.spent:
            return "the budget does not allow another request"
        raise GradfuzzError(f"no request was answered; the last one: {asking.unanswered[-1] if asking.unanswered else 'nothing was asked'}")

    # Planning --------------------------------------------------------------------------------------------------------------

    def _plan(self, wanted: list[int]) -> Row:
        """The plan of the round that the first wanted id belongs to, from the book if it is there: the same prompts, the same hashes."""
        for row in self.ledger.of(PLAN):
            if any(ask["id"] == wanted[0] for ask in row["asks"]):
                return row
        return self._new_plan(wanted[: self.order.round_size])

    def _new_plan(self, ids: list[int]) -> Row:
        order, baseline = self.order, last_campaign(self.order.store)
        known = Known.read(order.store, order.target, last=baseline)
        known.existing |= self.existing
        aims = [aim for aim in AIMS if aim != RULES or known.existing - known.rules]
        bandit = Bandit(self.apis, aims, known.hopes(self.apis))
        rounds = list(self.ledger.of(ROUND))
        for row in rounds:
            for api, aim, value in row["arms"]:
                bandit.learn(api, aim, value)
        chance = random.Random(f"{order.seed}:{ids[0]}")
        taken: set[tuple[str, str]] = set()
        chosen: list[tuple[int, str, list[str]]] = []
        for identity in ids:
            api, aim = bandit.choose(chance, taken)
            taken.add((api, aim))
            chosen.append((identity, aim, [api, *bandit.companions(chance, api, order.num_apis - 1)]))
        names = sorted({api for _, _, apis in chosen for api in apis})
        about = {api.name: api.to_json() for api in self.describe(names, known)}
        asks = [
            Planned(identity, aim, tuple(about[api] for api in apis), self._context(apis[0], known, rounds)).to_json()
            for identity, aim, apis in chosen
        ]
        return self.ledger.add(PLAN, baseline=baseline, asks=asks)

    def _context(self, api: str, known: Known, rounds: list[Row]) -> Context:
        """What goes into the prompts for an API: the errors are its own, or those of the last round."""
        own = [item["message"] for row in rounds for item in row["items"] if not item["valid"] and item["api"] == api]
        last = [item["message"] for row in rounds[-1:] for item in row["items"] if not item["valid"]]
        errors = list(dict.fromkeys(str(message)[:200] for message in (own or last)[-MOST_ERRORS:]))
        return Context(tuple(known.missing(api)), tuple(errors))

    # Keeping ---------------------------------------------------------------------------------------------------------------

    def _keep(self, path: Path, written: Written) -> None:
        rows = [vars(_seed(self.order.model, planned, valid)) for planned, valid in written.seeds]
        _write(path, "".join(json.dumps(row) + "\n" for row in rows))

    def _join(self) -> int:
        """All rounds in one file of seeds; returns how many there are."""
        lines = [line for file in sorted(self.folder.glob("*.jsonl")) for line in file.read_text(encoding="utf-8").splitlines()]
        _write(self.order.out / SEEDS, "".join(line + "\n" for line in lines))
        return len(lines)

    def _spent(self, ids: set[int]) -> tuple[int, float | None]:
        """Tokens and money of these ids, each request once however often it was looked up."""
        paid = [row for row in self.ledger.of(REPLY) if row["id"] in ids and row["paid"]]
        tokens = sum(row["prompt"] + row["completion"] for row in paid)
        return tokens, None if any(row["cost"] is None for row in paid) else sum(row["cost"] for row in paid)


def _seed(model: str, planned: Planned, valid: Valid) -> Seed:
    """The seed under the API that was asked for, if the Program calls it; else under its own."""
    program = valid.program
    calls = {call.func for call in program.calls()}
    method = "." + planned.api.rpartition(".")[2]
    api = planned.api if planned.api in calls or (method in calls and "Tensor." in planned.api) else program.api
    word = "".join(c if c.isprintable() else "?" for c in model)[:80]
    return Seed(api, f"llm:{word}:{planned.id}", to_json(program))


def _texts(path: Path) -> list[str]:
    if not path.exists():
        return []
    rows: list[Any] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [to_text(from_json(row["program"])) for row in rows]


def _write(path: Path, text: str) -> None:
    """The file as a whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise GradfuzzError(f"{path} cannot be written ({error.strerror}); name another folder with --out") from None
