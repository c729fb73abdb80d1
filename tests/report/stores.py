"""Stores to report on: one like a campaign's, and one in which every text is somebody else's mischief."""

import json
import math
from dataclasses import replace
from pathlib import Path

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.labels import Label
from gradfuzz.findings.landscape import Landscape
from gradfuzz.findings.proof import PROVEN, Proof
from gradfuzz.findings.shown import Short
from gradfuzz.mutate.cover import Cover
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program import parse, to_json
from gradfuzz.store import Lesson, Store
from gradfuzz.targets.base.scenario import FORWARD, REVERSE
from gradfuzz.targets.homes import language_for

PROGRAM = parse('x = tensor((2,), "float64", listed([0.5, 2.0]))\ny = torch.sin(x)\n', language_for("torch"))
LADDER = [[4.0**-k, 0.8775825618903728 + 16.0**-k] for k in range(2, 13)]
DETAIL = {
    "element": "x[0]", "numbers": {"reverse": 1.25, "forward": 0.8775825618903728}, "numeric": 0.8775825618903728, "numeric_error": 1e-12,
    "bars": {"reverse": 3e-16},
    "steps": 11, "steps_agreeing_with_ad": 0, "ladder": LADDER, "vote": {"reruns": 4, "checks": 52, "against": 52, "for_ad": 0},
}  # fmt: skip
WRONG = Verdict("disagree", "gradient", "gradient", 1, [REVERSE], "reverse differs", 0.8775825618903728, 1.25, 1e-11, DETAIL)
PROOF = Proof(
    PROVEN, "y[0]", ("x[0]",), "0.87758256189037271612", "[0.877582561890372716116282 +/- 1e-25]", {"reverse": 1.25, "forward": 0.87758},
    ("reverse",), 15.0, 0.0, True, False, ((0, 0, 0), ((0, 0, 0),)), 2,
)  # fmt: skip
LANDSCAPE = Landscape(
    {"reverse": 1.25, "forward": 0.8775825618903728}, {"reverse": 3e-16, "forward": 2e-16}, {}, "difference quotient",
    (0.8775825618903728, 1e-12), "y[0]", ("x[0]",), "x[0]", 0.5, 1.0, tuple(math.sin(-0.5 + k / 16) for k in range(33)), None,
    {"reverse": (1.25,) * 33, "forward": tuple(math.cos(-0.5 + k / 16) for k in range(33))},
    tuple(math.cos(-0.5 + k / 16) for k in range(33)),
)  # fmt: skip
ONE = Finding("torch", "2.13.0", "torch.sin", WRONG, PROGRAM, True, "SinBackward0", proof=PROOF, script="print('shows it')\n", id="sin-1")
RAISED = Verdict("disagree", "status", "status", 1, [FORWARD], "RuntimeError: no", "a number", "an error", symptom="no")
RAISES = Finding(
    "torch", "2.13.0", "torch.polar", RAISED,
    parse('x = tensor((2,), "float64", normal(seed=1))\ny = torch.cos(x)\n', language_for("torch")), True, id="polar-2",
)  # fmt: skip
KNOWN = replace(ONE, api="torch.ldexp", rule="LdexpBackward0", id="ldexp-3", label=Label("known", "reported", ""))  # as the target says

MISCHIEF = (
    "<script>window.hacked = 1</script>", "</script><script>window.hacked = 1</script>", "<img src=x onerror='window.hacked = 1'>",
    "<!--", "]]>", "\" onmouseover=\"window.hacked = 1", "javascript:alert(1)", "[a](javascript:alert(1)) ![b](https://evil.example/c.png)",
    '=HYPERLINK("https://evil.example")', "=cmd|' /C calc'!A0", "\t-2+3+cmd|' /C calc'!A0", "＝1+1", "@SUM(1)",
    "&lt;b&gt; &amp;", "\x00\x07\x1b[31m\x85", "\u2028\u202e\ufeff\uffff", "\ud800",
    "$x^{$", "{{ 7 * 7 }}", "```\n# title",
    "a\r\nb\tc", "https://evil.example www.evil.example @everyone #1",
)  # fmt: skip


def store_of(path: Path, *findings: Finding, batches: int = 3, corpus: bool = True) -> Path:
    """A campaign with some batches of two APIs, and the findings."""
    store = Store(path, create=True)
    number = store.begin("torch", "2.13.0", {"seed": 7, "profile": "default"})
    store.set_existing_rules(number, {"reverse:SinBackward0": "", "reverse:CosBackward0": "", "reverse:Far": "needs a device"})
    for k in range(batches):
        api = ("torch.sin", "torch.cos")[k % 2]
        lesson = Lesson(findings=[f"key-{k}"], cover=Cover(4, 6, 0b0111, 0b1000, 0b11, 0, 0b100))
        counts = {"agree": 10 + k, "disagree": 1, "invalid": 2, "inconclusive": 3}
        store.add_batch(number, k, api, counts, {"kink": 3}, {"shape: odd": 2}, 0.5, ["reverse:SinBackward0"], lesson)
    if corpus:
        store.keep_corpus(number, [{"api": "torch.sin", "source": "sample", "program": to_json(PROGRAM)}])
    for k, finding in enumerate(findings):
        store.add_finding(number, f"k{k}", finding)
    for run, seconds in enumerate((60.0, 20.0)):
        store.spend(number, f"run {run}", {"batches": seconds, "confirming": 10.0, "waiting": 0.5 * seconds, "clock": 2 * seconds})
    store.set_status(number, "finished")
    store.close()
    return path


def hostile_store(path: Path, more: tuple[str, ...] = ()) -> Path:
    """Every text that a store can hold, in every place where one is shown."""
    store = Store(path, create=True)
    number = store.begin("torch", MISCHIEF[0], {"seed": MISCHIEF[1], "profile": MISCHIEF[2], "device": MISCHIEF[5]})
    store.set_existing_rules(number, {f"{evil}:{evil}": evil if k % 2 else "" for k, evil in enumerate(MISCHIEF[:8])})
    store.spend(number, MISCHIEF[3], {evil.encode("utf-8", "backslashreplace").decode(): 3.0 + k for k, evil in enumerate(MISCHIEF)})
    for k, evil in enumerate((*MISCHIEF, *more)):
        text = evil.encode("utf-8", "backslashreplace").decode()  # a column holds no half of a character; a document may
        store.add_batch(number, k, text, {"agree": 20, "inconclusive": 5}, {text: 5}, {f"{text}: {text}": 2}, 0.1, [f"reverse:{text}"])
        detail = {**DETAIL, "numbers": {evil: evil, "reverse": 1.25}, "vote": evil, "element": evil}
        verdict = replace(WRONG, reason=evil, expected=evil, actual=evil, detail=detail)
        proof = replace(PROOF, output=evil, along=(evil,), exact=evil, enclosure=evil, got={evil: evil, "reverse": 1.25})
        label = Label("known", evil, evil, evil) if k % 2 else None
        finding = replace(
            ONE, api=f"{evil}{k}", verdict=verdict, rule=f"{evil}{k}", version=evil, label=label, script=evil, script_output=evil,
            proof=proof, id=f"{text}-{k}", lost=evil, releases=((evil, "shows"), ("1.0", "gone")),
            short=Short(evil, evil, evil, evil, 1.25, 0.5, evil) if k % 3 else None, landscape=_hostile(evil) if k % 2 else None,
        )  # fmt: skip
        store.add_finding(number, f"k{k}", finding)
    store.close()
    return path


def _hostile(evil: str) -> Landscape:
    """Names of everybody else's, and numbers that no picture has."""
    line = (1e308, -1e308, None, math.nan, 1e-320, math.inf)
    return Landscape(
        {evil: math.nan, "reverse": 1.25}, {evil: -1.0}, {evil: evil}, evil, (1e308, math.inf), evil, (evil, evil), evil,
        *((1e308, 1e308) if len(evil) % 2 else (0.5, 1e-320)), line, (evil, line), {evil: line, "reverse": line[:2]}, (*line, 1.0, -2.0),
    )  # fmt: skip


def hostile_texts() -> tuple[str, ...]:
    """The corpus of hostile Programs, as texts."""
    lines = (Path(__file__).parent.parent / "hostile" / "texts.jsonl").read_text().splitlines()
    return tuple(json.loads(line)["text"] for line in lines)
