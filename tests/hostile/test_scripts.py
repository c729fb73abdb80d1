"""Scripts are run to prove findings: nothing that a finding holds becomes code in one, but a Program that has passed the gate."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import pytest

from gradfuzz.errors import ProgramError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.script import script
from gradfuzz.mutate.edits import Edit
from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program import parse
from gradfuzz.program.model import Attr, Call, Let, Program, Ref
from gradfuzz.targets.base.scenario import REVERSE
from gradfuzz.targets.homes import language_for

SIN = {"torch": "torch.sin", "jax": "jax.numpy.sin", "tensorflow": "tf.sin"}
HOSTILE = [
    'x"""\nimport os; os.system("touch /tmp/f")\n"""',
    '"""',
    '\\"""',
    '\\\\"""',
    "x\\",
    "'''",
    '"',
    '""" + exec("1") + """',
    "a\r\nimport os",
    "a\x0cimport os",
    "a\u2028import os",
    "a\x85import os",
    "\x00",
    "\x1b[31m",
    "{{ 7 * 7 }}",
    "{% set a = 1 %}",
    "\ud800",
    "\\N{BULLET}",
    "\\x41",
    "\\",
]


def finding(target: str, **changes: Any) -> Finding:
    program = parse(f'x = tensor((2,), "float64", normal(seed=1))\ny = {SIN[target]}(x)', language_for(target))
    verdict = Verdict("disagree", "gradient", "gradient", 1, [REVERSE], "why", 1.0, 2.0, 1e-9, {"element": "x[0]"})
    return replace(Finding(target, "1.0", SIN[target], verdict, program, True), **changes)


def shape(source: str) -> list[str]:
    """What a script does, apart from its docstring."""
    return [ast.dump(node) for node in ast.parse(source).body[1:]]


@pytest.mark.parametrize("target", SIN)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_words_of_a_finding_stay_in_the_docstring(target, text):
    plain = shape(script(finding(target)))
    for change in ({"api": text}, {"version": text}):
        source = script(finding(target, **change))
        assert shape(source) == plain
        assert source.isascii() or source.replace("\n", "").isprintable()


@pytest.mark.parametrize("target", SIN)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_the_reason_of_a_death_stays_in_the_docstring(target, text):
    def death(reason: str) -> Finding:
        return finding(target, verdict=Verdict("crash", "process", "crash", 1, [REVERSE], reason, "comes back", reason))

    assert shape(script(death(text))) == shape(script(death("signal 11")))


@pytest.mark.parametrize("target", SIN)
@pytest.mark.parametrize(
    "element", ["x[0]\nimport os", 'x"].a[0', "x[__import__('os')]", "x[0][0]", "exec('1')[0]", 3, None, ["x"], "x[-1]", "x"]
)
def test_an_element_is_an_element_or_is_left_out(target, element):
    verdict = replace(finding(target).verdict, detail={"element": element})
    assert shape(script(finding(target, verdict=verdict))) == shape(script(finding(target, verdict=replace(verdict, detail={}))))


PROGRAMS = [
    Let(("y",), Attr(Ref("x"), "__class__")),
    Let(("y",), Call(".__reduce__", (Ref("x"),))),
    Let(("y\nimport os",), Call("torch.sin", (Ref("x"),))),
    Let(("y",), Call("torch.sin(x); exec", ("1",))),
    Let(("y",), Call("torch.sin", (), (("a=1) or exec('1", 1),))),
    Let(("y",), Ref("__import__('os')")),
    Let(("y",), Call("torch.load", ("f",))),
    Let(("sys.x",), Call("torch.sin", (Ref("x"),))),
]


@pytest.mark.parametrize("statement", PROGRAMS, ids=range(len(PROGRAMS)))
def test_no_script_is_written_of_a_program_that_does_not_pass_the_gate(statement):
    good = finding("torch")
    with pytest.raises(ProgramError):
        script(replace(good, program=Program((good.program.statements[0], statement))))


@pytest.mark.parametrize("module", ["os; import x", "a\nb", "", "a..b", "__import__('os')", "a b"])
def test_no_script_imports_what_is_no_module(module):
    with pytest.raises(ProgramError):
        script(finding("torch", modules=(module,)))


BROKEN_EDITS = [
    ["argument", [1, 0], {"call": "exec"}],
    ["argument", "x", 1],
    ["argument", [1], "a\nb"],
    ["argument", [1, 0], {"ref": "x"}],
    ["nosuch", "x", 1],
    ["shape", "x", "a"],
    ["shape", "x", [10**9]],
    ["dtype", "x", "object"],
    ["values", "x", {"kind": "exec"}],
    ["set_keyword", [1], ["a b", 1]],
    ["set_keyword", [1], 3],
    ["set_keyword", [1], ["__class__", 1]],
    ["set_name", [1], ["dtype", "os.system"]],
    ["set_name", [1], ["dtype", "torch.load"]],
    ["set_name", [1], ["dtype", "torch.float32\nimport os"]],
    ["set_name", [1], ["dtype", 3]],
    ["set_name", [1], 3],
    ["nothing", [1, 0], []],
    ["nothing", "x", "x"],
    ["by_name", [1], "x=exec('1')"],
    ["size", 2, []],
    ["layout", "x", "__class__"],
    ["batch", None, "many"],
]


@pytest.mark.parametrize("edit", BROKEN_EDITS, ids=range(len(BROKEN_EDITS)))
def test_a_suspicion_whose_edits_are_hostile_is_refused(edit):
    good = finding("torch")
    data = Suspicion(good.api, good.program, (Edit("grad", "x", True),), Options(), good.verdict).to_json()
    assert Suspicion.from_json(data).check(language_for("torch")).api == good.api
    with pytest.raises(ProgramError):
        Suspicion.from_json({**data, "edits": [edit]}).check(language_for("torch"))


def test_a_suspicion_that_is_none_is_refused():
    good = finding("torch")
    data = Suspicion(good.api, good.program, (), Options(), good.verdict).to_json()
    for key in data:
        for junk in (None, 3, "\x1b", [3], {"a": 1}, "x\ny"):
            with pytest.raises(ProgramError):
                Suspicion.from_json({**data, key: junk}).check(language_for("torch"))
