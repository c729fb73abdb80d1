"""One batch: a seed and its mutants, one after the other, each in every scenario."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, product
from typing import Any, Callable

from gradfuzz.errors import ProgramError
from gradfuzz.findings.inside.same import finding_key, mark
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.mutate.cover import Cover
from gradfuzz.mutate.edits import Edit, apply_all, counted_as
from gradfuzz.oracles.check import NO_OUTPUT, Examination, Options, examine
from gradfuzz.oracles.refused import NOT_ASKED
from gradfuzz.oracles.verdict import AGREE, DISAGREE, INCONCLUSIVE, INVALID, RANK, Verdict
from gradfuzz.program.codec import from_json, to_json
from gradfuzz.program.model import Program
from gradfuzz.targets.base.errors import error_kind, normalised
from gradfuzz.targets.base.protocol import Outcome, Target
from gradfuzz.worker.asking import ASKED_ABOUT, ASKED_EVERY, HIGHEST_ASKED, LATER_ASKS_EVERY, askable, far_out, question
from gradfuzz.worker.depth import Depth
from gradfuzz.worker.drawing import Drawing
from gradfuzz.worker.progress import DIED, LEFT_OUT, RAN, RAN_BLIND, REFUSED, Progress
from gradfuzz.worker.scent import Scent, is_plain, is_scent, steps

# A Program of many operators counts as a new combination of so many of them at most.
MOST_RULES = 8
# Rules are read off the first few mutants of a batch: walking a tape costs as much as a run.
RULES_OF = 4
# So many mutants of a batch may become seeds, if what they brought is new to the campaign, too: the smallest of those that brought it.
MOST_GROWN = 4
# Members of a family fail alike: after so many the rest of it is left out.
INVALID_OFTEN = 2
# They show the same bugs, too, and a mutant with a bug takes the time of twenty without. What changes one thing must not hide what changes
# two: each has as many.
FOUND_OFTEN = 8
# Of all mutants of a batch that show the same, so many are judged to the end and told. The others are counted: whoever has seen it once
# more has learnt nothing, and has spent the time of twenty mutants.
TOLD_OFTEN = 2
NUMBERS = "values"  # the kind of edit that gives an input other numbers
# A mutant that shares everything but its numbers with one that took less than this, without a compilation, takes as long: if something is
# suspected there, twenty times that. One of them that takes seconds hangs.
SWIFT = 0.05
# A seed whose mutants take seconds each gives way to the others after so much of the processor's time.
MOST_SECONDS = 12.0


def run_batch(target: Target, job: dict[str, Any], progress: Progress, found: Callable[[Suspicion], None]) -> dict[str, Any]:
    """Examine mutants start … count-1 of a seed; `found` is told of each suspicion at once, but for those before mutant `told`.

    The answer depends on the batch alone: nothing that earlier batches left in this process may change it. `fates`: what became of the
    mutants before `start`, where they were examined by workers that have died since.
    """
    target.forget()
    seed, depth = from_json(job["program"]), Depth.from_json(job["depth"])
    counts = [0] * len(RANK)
    drawing = Drawing.of({**job, "family": depth.family}, seed, target)
    tally = Tally(target.steady_rules)
    shown: Counter[int] = Counter()  # findings by order
    began = time.process_time()
    failed: Counter[int] = Counter()  # by family: invalid mutants
    told: Counter[tuple[int, int]] = Counter()  # and by how much they change: mutants with findings
    same = Same(job["api"], job.get("familiar", ()))
    questions: dict[str, list[dict[str, Any]]] = {end: [] for end in (*ASKED_ABOUT, "")}
    number = job.get("number", 0)
    often = 0 if job["start"] > 0 and number % LATER_ASKS_EVERY > 0 else -(-job["count"] // ASKED_EVERY)
    # Questions about numbers of that size at that order.
    left = dict.fromkeys(product(ASKED_ABOUT, range(1, HIGHEST_ASKED + 1)), max(1, often))
    scents: dict[str, Scent] = {}  # by what is wrong
    swift: set[tuple[int, int, tuple[str, ...] | None]] = set()  # families, orders and ways of which some mutant took next to no time
    asked: set[str] = set()  # refusals that were put to the derivatives
    deadly: list[list[Edit]] = []
    for index, fate in enumerate(job.get("fates", "").encode()[: job["count"]]):
        tally.meet(drawing, index, bytes([fate]))
        deadly += [drawing.edits(index)] if bytes([fate]) == DIED else []
    for index in range(job["start"], job["count"]):
        family = drawing.family(index)
        if depth.families is not None and family < depth.families[0]:
            continue
        if depth.families is not None and family >= depth.families[1]:
            break
        progress.write(job["id"], index, counts)
        alike = family, len(drawing.row(index) or ())
        if failed[family] >= INVALID_OFTEN or told[alike] >= FOUND_OFTEN:
            continue
        if time.process_time() - began > MOST_SECONDS:
            break
        try:
            edits = drawing.edits(index)
            if any(done and all(edit in edits for edit in done) for done in deadly):
                continue  # all that has killed a worker, and more
            program = apply_all(seed, edits).check()
        except ProgramError:
            counts[RANK.index(INVALID)] += 1
            tally.meet(drawing, index, REFUSED)
            progress.note(index, REFUSED)
            continue
        options = depth.options(index, shown, drawing.alone(index), drawing.wide(index))
        sharing = family, options.order, options.ways
        progress.write(job["id"], index, counts, sharing in swift)
        started = time.process_time()
        seen = examine(target, program, options, keep_rules=index < RULES_OF, familiar=same.often)
        if target.family > 1 and time.process_time() - started < SWIFT and seen.outcome != INVALID:
            swift.add(sharing)
        options = depth.whole(options)
        if any(v.order > 1 for v in seen.findings) and drawing.wide(index):
            seen = examine(target, program, options, familiar=same.often)  # what is wrong is looked at in every nesting
        complaint = unasked(seen, program)
        if complaint and complaint not in asked and len(asked) < depth.refused:
            asked.add(complaint)
            progress.write(job["id"], index, counts)
            options = replace(options, refused=True)
            seen = examine(target, program, options)
        progress.write(job["id"], index, counts)
        raising = doubtful(target, program, depth.traced) if index == 0 and seen.outcome == AGREE else ()
        if raising:
            options = replace(options, ways=(*(options.ways or ()), *raising))
            seen = examine(target, program, options, keep_rules=True)
        counts[RANK.index(seen.outcome)] += 1
        failed[family] += seen.outcome == INVALID
        fate = REFUSED if seen.outcome == INVALID else RAN if seen.outcome in (AGREE, DISAGREE) else RAN_BLIND
        tally.meet(drawing, index, fate)
        progress.note(index, fate)
        tally.take(edits, program, options, seen)
        ends = far_out(seen) if often or (alike[1] == 1 and edits[0].kind == NUMBERS) else []
        for order in askable(seen, beyond_first=index > 0):
            new = [(end, order) for end in ends if left[end, order]]
            if (new or index == 0) and (wondered := question(edits, options, seen, order, index)):
                left.update({each: left[each] - 1 for each in new if index})
                end = new[0][0] if new else ""
                questions[end].extend([{**each, "far": end} for each in wondered] if index >= job.get("told", 0) else ())
        if seen.findings:
            told[alike] += 1
            shown.update({v.order for v in seen.findings})
            for verdict in seen.findings:
                rule = seen.rule_of(verdict)
                if same.is_told(rule, verdict) and index >= job.get("told", 0):
                    found(Suspicion(job["api"], seed, tuple(edits), options, verdict, rule))
                if is_scent(verdict) and len(scents) < depth.scents:
                    scents.setdefault(mark(verdict), Scent(tuple(edits), options, verdict, index))
    for scent in scents.values():
        if time.process_time() - began <= MOST_SECONDS:
            follow(target, job, seed, scent, progress, counts, found)
    progress.write(job["id"], job["count"], counts)
    if drawing.design is not None:
        tally.cover |= drawing.design.learnt
    return {"counts": counts, **tally.to_json(), "questions": [*chain(*questions.values())], "cpu": time.process_time() - began}


def follow(
    target: Target, job: dict[str, Any], seed: Program, scent: Scent, progress: Progress, counts: list[int],
    found: Callable[[Suspicion], None],
) -> None:  # fmt: skip
    """Walk on from a finding until something is wrong in plain sight; what is met on the way is told."""
    for number, step in enumerate(steps(apply_all(seed, list(scent.edits)), scent.verdict)):
        progress.write(job["id"], job["count"] + number, counts)
        edits = (*scent.edits, step)
        try:
            seen = examine(target, apply_all(seed, list(edits)).check(), scent.options)
        except ProgramError:
            continue
        for verdict in seen.findings if scent.index >= job.get("told", 0) else ():
            found(Suspicion(job["api"], seed, edits, scent.options, verdict, seen.rule_of(verdict)))
        if any(map(is_plain, seen.findings)):
            return


def doubtful(target: Target, program: Program, ways: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the ways in which a derivative cannot be traced, where the library traces without computing anything."""
    return tuple(target.doubtful(program, ways)) if ways and hasattr(target, "doubtful") else ()  # see Tracing


def unasked(seen: Examination, program: Program) -> str:
    """Why nothing was differentiated, such that the same reason counts once; nothing where something was, or nothing could be."""
    if not any(r.differentiable for r in program.inputs.values()) or seen.findings:
        return ""
    if seen.error is not None:
        return "" if seen.error.kind in NOT_ASKED else normalised(seen.error.message)
    if not any(v.reason == NO_OUTPUT for v in seen.verdicts):
        return ""
    return f"{NO_OUTPUT} of {sorted({r.dtype for r in program.inputs.values()})}"


class Same:
    """What a batch has told so far, by what makes two findings one."""

    def __init__(self, api: str, familiar: Iterable[str] = ()) -> None:
        """`familiar`: keys that batches before this one have told often enough."""
        self._api = api
        self._met = Counter(dict.fromkeys(familiar, TOLD_OFTEN))

    def often(self, rule: str, finding: Verdict) -> bool:
        return self._met[finding_key(self._api, rule, finding)] >= TOLD_OFTEN

    def is_told(self, rule: str, finding: Verdict) -> bool:
        """Whether it is told; it was met once more in any case."""
        again = self.often(rule, finding)
        self._met[finding_key(self._api, rule, finding)] += 1
        return not again


class Tally:
    """What a batch teaches: rules reached, edits refused, what was refused and why, which combinations came up."""

    def __init__(self, steady_rules: bool) -> None:
        self._steady_rules = steady_rules
        self.own = ""  # the seed's own feature
        self.calls: set[str] = set()
        self.cover = Cover()
        self.rules: set[str] = set()
        self.ways: set[str] = set()  # in which some derivative was had
        self.features: set[str] = set()
        self.grown: dict[str, tuple[int, Program]] = {}  # by feature: the smallest mutant that has it, with its size
        self.refusals: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.edits: dict[str, list[int]] = {}

    def take(self, edits: list[Edit], program: Program, options: Options, seen: Examination) -> None:
        self.rules.update(seen.rules)
        if (options.ways or options.ways is None) and seen.trial is not None:
            self.ways.update(s.way for s, had in seen.trial.outcomes.items() if s.way and s.modes and isinstance(had, Outcome))
        valid = seen.outcome != INVALID
        for edit in edits:
            tried = self.edits.setdefault(counted_as(edit), [0, 0])
            tried[0] += 1
            tried[1] += valid
        if seen.error is not None:
            self.refusals[f"{error_kind(seen.error.message)}: {normalised(seen.error.message)}"] += 1
        # By mutant, not by verdict: what part of an API's mutants an excuse takes is what matters.
        self.reasons.update({name for v in seen.verdicts if v.outcome == INCONCLUSIVE for name in v.excuses})
        if valid:
            self.calls.update(call.func for call in program.calls())
            shape = " ".join(sorted({f"{r.dtype},{len(r.shape)},{r.layout}" for r in program.inputs.values() if r.differentiable}))
            feature = f"{shape}|{options.order}|{seen.outcome}"
            if edits and not seen.findings:
                self._grow(feature, program)
            elif not edits:
                self.own = feature
            self.features.add(feature)

    def _grow(self, feature: str, program: Program) -> None:
        size = sum(recipe.elements for recipe in program.inputs.values())
        if feature != self.own and size < self.grown.get(feature, (size + 1, program))[0]:
            self.grown[feature] = (size, program)

    def meet(self, drawing: Drawing, index: int, fate: bytes) -> None:
        """What became of a mutant teaches something of its design's row."""
        row = drawing.row(index) if fate != LEFT_OUT else None
        if row is not None and drawing.design is not None:
            self.cover |= drawing.design.met(row, fate not in (REFUSED, DIED), fate == RAN)

    def to_json(self) -> dict[str, Any]:
        """Features are told as (rule, dtype, rank, layout, order, outcome); the batch's rules stand for each mutant's, and its calls
        for the rules where those hang on what the process has seen before."""
        smallest = sorted(self.grown.items(), key=lambda kept: (kept[1][0], kept[0]))
        names = sorted({r.partition(":")[2] for r in self.rules} if self._steady_rules else self.calls) or [""]
        return {
            "cover": self.cover.to_json(),
            "rules": sorted(self.rules),
            "ways": sorted(self.ways),
            "features": sorted(f"{name}|{feature}" for feature in self.features for name in names[:MOST_RULES]),
            "refusals": dict(self.refusals.most_common(20)),
            "reasons": dict(sorted(self.reasons.items())),
            "edits": self.edits,
            "grown": [[feature, to_json(program)] for feature, (_, program) in smallest[:MOST_GROWN]],
        }
