"""A finding: what is wrong, in words and numbers, with everything needed to show it again. JSON is what it is stored as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gradfuzz.errors import StoreError
from gradfuzz.findings.history import SHOWS
from gradfuzz.findings.inside.same import finding_id, finding_key
from gradfuzz.findings.labels import NEW, Label, label_for
from gradfuzz.findings.landscape import Landscape
from gradfuzz.findings.proof import PROVEN, REFUTED, Proof
from gradfuzz.findings.shown import Short
from gradfuzz.mutate.edits import Edit
from gradfuzz.oracles.kinds import in_words, title
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program import Program, from_json, to_json, to_text
from gradfuzz.program.model import COMPLEXES
from gradfuzz.worker.wire import finite_or_text

FORM = 1  # of the stored JSON; 0 is what was written before forms were counted


@dataclass(frozen=True)
class Finding:
    """A disagreement or death that was seen again in a fresh process. `confirmed`: its own script shows it, too."""

    target: str
    version: str
    api: str
    verdict: Verdict
    program: Program
    confirmed: bool
    rule: str = ""
    edits: tuple[Edit, ...] = ()
    mutates: bool = False
    random: bool = False
    modules: tuple[str, ...] = ()  # the user's own, which the Program calls
    limit: float = 60.0  # seconds after which it counts as hung
    label: Label | None = None
    script: str = ""
    script_output: str = ""
    id: str = ""
    times: int = 1
    campaign: int = 0
    proof: Proof | None = None  # what the reference says
    salt: int = 0  # where the directions begin along which it was seen
    made: tuple[str, ...] | None = None  # what the Program makes once, outside the function; None where nobody has looked
    lost: str = ""  # why its script does not show what a fresh process has seen again
    ordinary: bool | None = None  # whether it shows at ordinary numbers, one type and nothing empty; None where nobody has looked
    releases: tuple[tuple[str, str], ...] = ()  # what other releases were asked, and what each said (findings/said.py)
    empty: bool = False  # the direct run gives no number at all
    rules: tuple[str, ...] = ()  # derivative rules at work, where no single one is known to be at fault
    hidden: tuple[str, ...] = ()  # options of the API that no docstring mentions
    documented: tuple[str, ...] | None = None  # what docstrings say that it may hang on; None where nobody has looked
    short: Short | None = None  # the script that people paste; None where only the long one shows it
    environment: tuple[tuple[str, str], ...] = ()  # where its script was run: what a report says beside the library's release
    landscape: Landscape | None = None  # what there is to see around its point; None where nobody has looked
    calls: tuple[tuple[str, int], ...] = ()  # the library's functions that the API passes through, its own first, and how special each is
    helpers: tuple[tuple[str, int], ...] = ()  # functions that the rule at fault calls, and how many rules do
    unsound: str = ""  # why the direct run cannot be held against a derivative that raises: no gradient bug then

    @property
    def proven(self) -> bool:
        """Whether AD is wrong by a proof."""
        return self.proof is not None and self.proof.verdict == PROVEN

    @property
    def refuted(self) -> bool:
        """Whether AD is right by a proof: no finding at all."""
        return self.proof is not None and self.proof.verdict == REFUTED

    @property
    def dismissed(self) -> bool:
        """Whether it is known to be no finding; elsewhere the same function may still be wrong."""
        return self.refuted or bool(self.unsound)

    @property
    def said(self) -> dict[str, str]:
        """What each release says of it, its own among them."""
        return {**({self.version: SHOWS} if self.confirmed else {}), **dict(self.releases)}

    @property
    def key(self) -> str:
        return finding_key(self.api, self.rule, self.verdict)

    @property
    def kind(self) -> str:
        return self.verdict.kind

    @property
    def title(self) -> str:
        return self.titled(self.verdict)

    def titled(self, verdict: Verdict) -> str:
        """A line for a verdict on this Program. Complex numbers are named: examples have them where real ones do not show it."""
        return title(verdict) + (", at complex numbers" if self.is_complex else "")

    @property
    def is_complex(self) -> bool:
        return any(recipe.differentiable and recipe.dtype in COMPLEXES for recipe in self.program.inputs.values())

    @property
    def explanation(self) -> str:
        return in_words(self.verdict).explanation

    @property
    def text(self) -> str:
        return to_text(self.program)

    @property
    def label_name(self) -> str:
        return self.label.label if self.label else NEW

    @property
    def to_paste(self) -> str:
        """The script that people are shown first: the short one, if it was seen to show the bug by itself."""
        return self.short.script if self.short is not None else self.script

    def relabelled(self) -> Finding:
        """With the label that this gradfuzz knows for it, whatever was known when it was found."""
        try:
            label = label_for(self.target, self.api, self.rule, self.verdict, self.program, self.version, self.documented)
        except Exception:  # a stranger's recipe may raise anything; a finding is shown all the same
            return self
        return self if label == self.label else replace(self, label=label)

    def filed(self, key: str) -> Finding:
        """The finding with the id that belongs to a key."""
        return replace(self, id=finding_id(self.api, key))

    def shown_by(self, proven: bool, output: str, environment: Mapping[str, str] | None = None) -> Finding:
        """What its own script made of it. One that was seen twice and is not shown now is lost: that is ours to mend."""
        last = (output.strip().splitlines() or ["it says nothing"])[-1]
        where = tuple((environment or {}).items())
        return replace(self, confirmed=proven, script_output=output, lost="" if proven else f"{self.kind}: {last}", environment=where)

    def to_json(self) -> dict[str, Any]:
        """What the store keeps; how often it was met and by which campaign stands beside it there."""
        verdict = {key: value for key, value in self.verdict.to_json().items() if key != "outcome"}
        return {
            "form": FORM, "id": self.id, "target": self.target, "version": self.version, "api": self.api, "rule": self.rule, **verdict,
            "outcome": self.verdict.outcome, "confirmed": self.confirmed, "program": to_json(self.program), "text": self.text,
            "edits": [e.to_json() for e in self.edits], "mutates": self.mutates, "random": self.random, "modules": list(self.modules),
            "limit": self.limit, "title": self.title, "explanation": self.explanation, "label": vars(self.label) if self.label else None,
            "reproducer": self.script, "script_output": self.script_output, "proof": self.proof.to_json() if self.proof else None,
            "salt": self.salt, "made": None if self.made is None else list(self.made), "lost": self.lost, "ordinary": self.ordinary,
            "releases": dict(self.releases), "short": self.short.to_json() if self.short else None,
            "empty": self.empty, "rules": list(self.rules), "hidden": list(self.hidden),
            "documented": None if self.documented is None else list(self.documented), "environment": dict(self.environment),
            "landscape": self.landscape.to_json() if self.landscape else None, "unsound": self.unsound,
            "calls": [list(call) for call in self.calls], "helpers": [list(helper) for helper in self.helpers],
        }  # fmt: skip

    @staticmethod
    def from_json(data: dict[str, Any], times: int = 1, campaign: int = 0) -> Finding:
        """Read what `to_json` wrote, now or earlier. StoreError for what a newer gradfuzz wrote."""
        if data.get("form", 0) > FORM:
            raise StoreError(f"finding {data.get('id')} is of form {data['form']}, this gradfuzz knows {FORM}; upgrade gradfuzz")
        if data.get("form", 0) == 0:
            data = _since_form_0(data)
        return Finding(
            data["target"], data["version"], data["api"], Verdict.from_json(data), from_json(data["program"]), data["confirmed"],
            data["rule"], tuple(Edit.from_json(e) for e in data["edits"]), data["mutates"], data["random"], tuple(data["modules"]),
            data["limit"], Label(**data["label"]) if data["label"] else None, data["reproducer"], data.get("script_output", ""),
            data["id"], times, campaign, Proof.from_json(data.get("proof")), int(data.get("salt", 0)),
            None if data.get("made") is None else tuple(map(str, data["made"])), data.get("lost", ""), data.get("ordinary"),
            tuple(dict(data.get("releases") or {}).items()),
            bool(data.get("empty")), tuple(map(str, data.get("rules") or ())),
            tuple(map(str, data.get("hidden") or ())),
            None if data.get("documented") is None else tuple(map(str, data["documented"])), Short.from_json(data.get("short")),
            tuple((str(name), str(said)) for name, said in dict(data.get("environment") or {}).items()),
            Landscape.from_json(data.get("landscape")), tuple((str(name), int(n)) for name, n in data.get("calls") or ()),
            tuple((str(name), int(n)) for name, n in data.get("helpers") or ()),
            str(data.get("unsound", "")),
        )  # fmt: skip

    def public(self) -> dict[str, Any]:
        """The finding as `findings --json` shows it: strict JSON, the Program as text."""
        shown = {key: value for key, value in self.to_json().items() if key not in _PRIVATE}
        label = self.label or Label(NEW, "", "")
        shown |= {"program": self.text, "label": label.label, "label_reason": label.reason, "label_link": label.link}
        shown |= {"times": self.times, "campaign": self.campaign, "proven": self.proven}
        result: dict[str, Any] = finite_or_text(shown)
        return result


_PRIVATE = (
    "form",
    "outcome",
    "symptom",
    "subject",
    "text",
    "mutates",
    "random",
    "edits",
    "limit",
    "salt",
    "made",
    "landscape",
    "calls",
    "helpers",
)


def _since_form_0(data: dict[str, Any]) -> dict[str, Any]:
    """A way was called a variant then."""
    renamed = {key: "way" for key in ("kind", "oracle") if data[key] == "variant"}
    outcome = data["kind"] if data["kind"] in ("crash", "timeout") else "disagree"
    return {**data, **renamed, "outcome": outcome}
