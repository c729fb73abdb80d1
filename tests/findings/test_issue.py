"""Issue texts: the trigger in the title, a control, every mode, why the expected number is right, an example as people write them."""

import json
import math
import subprocess
import sys
from dataclasses import replace

import pytest

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.presentable import presentable
from gradfuzz.findings.issue import issue_text, issue_title
from gradfuzz.findings.short import question, spellings
from gradfuzz.findings.shown import Short
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse, to_text
from gradfuzz.worker.environment import environment
from gradfuzz.worker.pinpoint import pinpoint

X = 'x = tensor((2,), "float64", arange(1.0, 1.0), grad=False)\n'
A = 'a = tensor((2,), "float64", listed([3.0, 4.0]))\n'
CALL = "y = planted_torch.touchy(x, a{})\n"


def told(target, text):
    """The finding with its short script, as a campaign would keep it; nothing is run but what pinpoints it."""
    program = parse(text, target.language)
    examination = examine(target, program, Options(1))
    verdict = next(v for v in examination.findings if v.oracle != "status")
    mutates = examination.trial.point.mutates
    finding = Finding("torch", "2.13.0", program.api, verdict, program, True, modules=("planted_torch",), mutates=mutates)
    return replace(finding, short=next(spellings(finding, pinpoint(target, question(finding))["shown"])))


@pytest.mark.parametrize("text, triggers, control", [
    (X + A + CALL.format(", doubled=True"), ["with `doubled=True`"], "without `doubled`"),
    (X.replace("grad=", 'layout="expanded", grad=') + A + CALL.format(""), ["for an expanded `x`"], "with a contiguous copy of `x`"),
    (X.replace("float64", "complex128") + A.replace("float64", "complex128").replace("3.0, 4.0", "complex(3.0, 1.0), complex(4.0, 2.0)")
     + CALL.format(""), ["for complex numbers"], "for real numbers"),
    (X + A + "y = planted_torch.wrong_backward(a)\n", [], ""),
])  # fmt: skip
def test_what_makes_a_bug_appear_is_in_its_title_and_a_control_beside_it(torch_target, text, triggers, control):
    finding = told(torch_target, text)
    assert [t.trigger for t in finding.short.context.triggers] == triggers
    assert all(words in issue_title(finding) for words in triggers)
    written = issue_text(finding)
    assert f"This very call is right {control}" in written if control else "This very call is right" not in written


def test_arguments_are_called_as_the_api_calls_them_and_modes_are_told_apart(torch_target):
    finding = told(torch_target, X + A + CALL.format(", doubled=True"))
    written = issue_text(finding)
    assert finding.short.argument == "weight" and "with respect to `weight`" in issue_title(finding)
    assert "weight = torch.tensor([3.0, 4.0]" in finding.short.example and "f(weight)" in finding.short.script
    assert finding.short.what == "d y[0] / d weight[0]" and "reverse mode: wrong (2)" in written
    assert "`d y[0] / d weight[0]` is `2.0`, and should be `1.0`" in written
    assert "Why `1.0` is right: " in written and "a central difference quotient" in written and "ball" not in written
    assert finding.short.context.gradient == "[1.0, 0.0]"
    assert set(finding.short.context.modes) == {"reverse", "forward"}  # orders above are not told of, and cost most


def test_an_example_prints_the_whole_gradient_and_leaves_statuses_to_the_script(torch_target, planted_path):
    short = told(torch_target, X + A + CALL.format(", doubled=True")).short
    ran = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for code in (short.example, short.script)]
    assert [done.returncode for done in ran] == [0, 1]
    quotient = float(ran[0].stdout.rpartition(":")[2])
    assert "reverse mode: tensor([2., 0.]" in ran[0].stdout and quotient == pytest.approx(1.0)
    assert "SystemExit" not in short.example and '"""' not in short.example and "found by" not in short.example


def test_a_write_that_is_not_recorded_is_called_so(torch_target):
    text = 'x = tensor((2,), "float64", arange(1.0, 1.0))\na = tensor((2,), "float64", listed([3.0, 4.0]), grad=False)\n'
    finding = told(torch_target, text + "y = planted_torch.touchy_(x, a)\n")
    assert "in place" in [t.trigger for t in finding.short.context.triggers]


def test_no_derivative_at_all_is_printed_as_none(torch_target):
    finding = told(torch_target, X + A + CALL.format(", doubled=True"))
    silent = replace(finding, short=replace(finding.short, printed="reverse mode: None\n"))
    assert "returns no gradient with respect to `weight` (None)" in issue_title(silent) and "is `None`" in issue_text(silent)


def test_versions_come_from_where_the_script_was_run(torch_target):
    finding = told(torch_target, X + A + CALL.format(", doubled=True"))
    where = environment()
    assert {"NumPy", "Python", "OS"} <= set(where)
    known = finding.shown_by(True, "", where)
    assert f"- NumPy {where['NumPy']}" in issue_text(known) and dict(Finding.from_json(known.to_json()).environment) == where


def test_what_surrounds_an_entry_is_kept_and_a_stranger_s_is_refused(torch_target):
    short = told(torch_target, X + A + CALL.format(", doubled=True")).short
    assert Short.from_json(json.loads(json.dumps(short.to_json()))) == short
    older = {key: value for key, value in short.to_json().items() if key not in ("context", "example", "printed", "argument")}
    assert Short.from_json(older).context.modes == {}
    with pytest.raises(Exception, match="a short script that is none"):
        Short.from_json({**short.to_json(), "context": {"modes": 3}})


@pytest.mark.parametrize("text, wanted", [
    ('x = tensor((2,), "float64", full(1.0))\ny = planted_torch.touchy(x, x)\n', "x2"),
    ('x = tensor((), "float64", full(2.0))\ny = planted_torch.touchy(x, x)\n', "(3,)"),
    ('x = tensor((2, 2), "float64", arange(1.0, 1.0))\ny = planted_torch.touchy(x, 1.0)\n', "[1.0, 0.0, 3.0, 4.0]"),
    ('x = tensor((2,), "float64", full(1.0))\nt = tensor((2,), "bool", full(True))\ny = planted_torch.touchy(x, t)\n', '"int64"'),
])  # fmt: skip
def test_an_example_becomes_what_people_would_give(torch_target, text, wanted):
    program = parse(text, torch_target.language)
    shown = presentable(torch_target, program.api, program, lambda p: math.prod(p.inputs["x"].shape) > 0)
    assert wanted in to_text(shown)
    assert presentable(torch_target, program.api, program, lambda p: False) is program
