"""Scripts to paste: short, in the library's own words, and never shown unless they show the bug by themselves."""

import json
import math
import subprocess
import sys
from dataclasses import replace

import pytest

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.controls import parameter_names
from gradfuzz.findings.literals import too_long
from gradfuzz.findings.script import folders_of
from gradfuzz.findings.script_names import bound_names
from gradfuzz.findings.short import MOST_LINES, SHORT, question, shortening, showed, spellings
from gradfuzz.findings.short_error import raised, raising
from gradfuzz.findings.shown import Short
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program import parse, to_json
from gradfuzz.targets.base.scenario import Scenario, nestings
from gradfuzz.targets.homes import home_of, language_for
from gradfuzz.worker.entry import Entry
from gradfuzz.worker.pinpoint import pinpoint

# Runs scripts one after the other in one process, as each would run by itself, and prints their ends.
ALL = """
import contextlib, io, json, sys
ends = []
for source in json.load(sys.stdin):
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            exec(compile(source, "bug.py", "exec"), {"__name__": "__main__"})
        ends.append([0, said.getvalue()])
    except SystemExit as end:
        ends.append([end.code, said.getvalue()])
print("ENDS" + json.dumps(ends))
"""


def ends(scripts, **more):
    done = subprocess.run([sys.executable, "-c", ALL], input=json.dumps(scripts), capture_output=True, text=True, timeout=300, **more)
    assert "ENDS" in done.stdout, done.stderr[-2000:]
    return json.loads(done.stdout.rpartition("ENDS")[2])


def seen(target, text, order=1, **more):
    """A finding as a worker sees it, and what pinpoints it."""
    program = parse(text, target.language)
    verdict = next(v for v in examine(target, program, Options(order)).findings if v.oracle != "status")
    finding = Finding("torch", "2.13.0", program.api, verdict, program, True, modules=("planted_torch",), **more)
    return finding, pinpoint(target, question(finding))["shown"]


X = 'x = tensor((2, 2), "float64", arange(1.0, 1.0))\n'


PLANTED = [
    ("wrong_backward", "healthy", 1, X), ("wrong_jvp", "healthy", 1, X), ("wrong_second", "healthy", 2, X),
    ("nan_at_zero", "safe_at_zero", 1, 'x = tensor((2,), "float64", full(0.0))\n'),
]  # fmt: skip


def test_a_planted_bug_is_shown_in_few_lines_and_its_healthy_twin_is_not_accused(torch_target, planted_path):
    cases = [seen(torch_target, f"{text}y = planted_torch.{function}(x)\n", order) for function, _, order, text in PLANTED]
    shorts = [next(spellings(finding, shown)) for finding, shown in cases]
    twins = [short.script.replace(function, twin) for short, (function, twin, _, _) in zip(shorts, PLANTED)]
    found = ends([short.script for short in shorts] + twins, cwd=planted_path)
    assert [status for status, _ in found] == [1] * len(shorts) + [0] * len(twins), found
    for short, (status, output) in zip(shorts, found):
        assert short.lines <= MOST_LINES and "noise" not in short.script and "rng" not in short.script
        assert showed(short, status, output).output == output
        assert showed(short, 0, output) is None and showed(short, 1, "Traceback") is None
        assert showed(short, 1, output.replace(repr(short.actual), "77.5")) is None  # it shows something, and not this
    assert math.isnan(shorts[-1].actual) and shorts[-1].source == "a difference quotient"


@pytest.mark.parametrize("name, dtype, told", [("wrong_in_single", "float32", True), ("wrong_in_single", "float64", False),
                                               ("healthy", "float32", False)])  # fmt: skip
def test_double_precision_says_what_is_right_in_a_lower_one(torch_target, name, dtype, told):
    trial = Trial(torch_target, parse(X.replace("float64", dtype) + f"y = planted_torch.{name}(x)\n", torch_target.language))
    entry = Entry(trial, Scenario(("r",)), (0, 0, 0), ((0, 0, 0),))
    rights = list(entry._double(entry.number(entry.scenario)))
    assert [right["by"] for right in rights] == ["double"] * told


def test_what_is_right_cannot_be_pinpointed(torch_target):
    program = parse(f"{X}y = planted_torch.healthy(x)\n", torch_target.language)
    job = {"program": to_json(program), "scenarios": ["reverse", "forward"], "kind": "gradient", "element": "x[0, 1]"}
    assert pinpoint(torch_target, job) == {"shown": None}


def test_vectors_of_a_decomposition_are_left_to_the_long_script(torch_target):
    program = parse('x = tensor((2, 2), "float64", listed([2.0, 1.0, 1.0, 3.0]), structure="symmetric")\ny = torch.linalg.eigh(x)\n',
                    torch_target.language)  # fmt: skip
    job = {"program": to_json(program), "scenarios": ["reverse"], "kind": "gradient", "element": None}
    assert pinpoint(torch_target, job) == {"shown": None}


SINES = {"torch": "torch.sin(x)", "jax": "jax.numpy.sin(x)", "tensorflow": "tf.math.sin(x)"}
DERIVATIVES = {1: math.cos(2.0), 2: -math.sin(2.0), 3: -math.cos(2.0)}


def told(target, modes, factor, by, complex_=False):
    """A finding that says of the sine's derivative at 2 that it is right, or that it is not."""
    dtype, numbers = ("complex128", "listed([complex(1.0, 0.0), complex(2.0, 0.0)])") if complex_ else ("float64", "listed([1.0, 2.0])")
    program = parse(f'x = tensor((2,), "{dtype}", {numbers})\ny = {SINES[target]}\n', language_for(target))
    order, scenario = len(modes), Scenario(tuple(modes))
    verdict = Verdict("disagree", "gradient", "gradient", order, [scenario], "differs", 1.0, 2.0, 1e-9)
    place = {"number": 0, "index": [1], "part": 0, "complex": complex_, "name": "x", "shape": [2], "direction": None}
    right = DERIVATIVES[order]
    shown = {
        "scenario": scenario.name, "output": place, "outputs": 1, "weights": {}, "along": [place] * order, "actual": right, "agree": [],
        "tolerance": 1e-3, "by": by, "right": right * factor, "step": 1e-4,
    }  # fmt: skip
    return Finding(target, "0", program.api, verdict, program, True), shown


@pytest.mark.parametrize("target", SINES)
def test_every_nesting_is_spelt_for_every_library(target):
    every = [s.modes for order in (1, 2) for s in nestings(order)]
    every += [("r", "r", "r"), ("f", "r", "f")] if target != "tensorflow" else []  # three tapes take more lines than there are
    cases = [(modes, factor, by, False) for modes in every for factor, by in ((1.0, "proof"), (1.5, "proof"), (1.0, "difference"))]
    cases += [
        (("r",), 1.0, "forward", False),
        (("f",), 1.5, "reverse", False),
        (("r",), 1.0, "double", False),
        (("f",), 1.5, "double", False),
    ]
    cases += [(modes, 1.0, "proof", True) for modes in (("r",), ("f",), ("r", "r"))]
    scripts = [next(spellings(*told(target, *case))).script for case in cases]
    wanted = [1 if factor != 1.0 and by in ("proof", "double") else 0 for _, factor, by, _ in cases]
    found = ends(scripts)
    assert [status for status, _ in found] == wanted, [(c, s) for c, s, w in zip(cases, found, wanted) if s[0] != w]


@pytest.mark.parametrize("target", SINES)
def test_examples_of_reports_run_and_print_what_was_found_for_every_library(target):
    cases = [(modes, 1.0, by, False) for modes in (("r",), ("f",), ("r", "f")) for by in ("proof", "difference")]
    cases += [(("r",), 1.0, "forward", False), (("f",), 1.0, "proof", True)]
    examples = [next(spellings(*told(target, *case))).example for case in cases]
    found = ends(examples)
    assert [status for status, _ in found] == [0] * len(cases), [(c, s) for c, s in zip(cases, found) if s[0]]
    for (modes, *_), (_, said), example in zip(cases, found, examples):
        assert str(abs(DERIVATIVES[len(modes)]))[:5] in said and "SystemExit" not in example and '"""' not in example


@pytest.mark.parametrize("target", SINES)
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_an_error_is_shown_in_few_lines_for_every_library(target, mode):
    """Where nothing raises the script says so and ends well: it does not accuse."""
    program = parse(f'x = tensor((2,), "float64", listed([1.0, 2.0]))\ny = {SINES[target]}\n', language_for(target))
    verdict = Verdict(
        "disagree", "status", "status", 1, [Scenario.named(mode)], "raises", "runs", "RuntimeError: no such thing at all", 0.0
    )
    finding = Finding(target, "0", program.api, verdict, program, True)
    short = next(raising(finding))
    (status, said), (example, _) = ends([short.script, short.example])
    assert (status, example) == (0, 0) and f"{mode} mode: works" in said and short.lines <= MOST_LINES
    assert raised(finding, short, 0, said) is None
    assert raised(finding, short, 1, f"{mode} mode: RuntimeError: no such thing at all, really") is not None
    assert raised(finding, short, 1, f"{mode} mode: ValueError: in a layer:\n no such thing at all, really") is not None
    assert raised(finding, short, 1, f"{mode} mode: RuntimeError: another thing") is None


SINE = """
x = tensor((2,), "float64", listed([1.0, 2.0]), layout="strided")
a = tensor((2,), "float64", listed([1.0, 2.0]))
y = torch.atan2(x, a)
"""


TF_SINE = 'x = tensor((2,), "float64", listed([1.0, 2.0]))\na = tensor((2,), "float64", listed([1.0, 2.0]))\ny = tf.math.atan2(x, a)\n'


def erring(text, kind, scenario, actual="RuntimeError: no such thing at all", mutates=False, target="torch"):
    program, scenario = parse(text, language_for(target)), Scenario.named(scenario)
    verdict = Verdict("disagree", "status", kind, scenario.order, [scenario], "raises", "runs", actual, 0.0)
    return Finding(target, "0", program.api, verdict, program, True, mutates=mutates)


@pytest.mark.parametrize("target", ["torch", "tensorflow"])
def test_errors_of_order_two_are_shown_in_few_lines(target):
    pytest.importorskip(target)
    names = [s.name for s in nestings(2)]
    shorts = [short for name in names for short in raising(erring(SINE if target == "torch" else TF_SINE, "status", name, target=target))]
    found = ends([text for short in shorts for text in (short.script, short.example)])
    assert {short.scenario for short in shorts} == set(names) and all(short.lines <= MOST_LINES for short in shorts)
    plain = [n for n, short in enumerate(shorts) if ".real" not in short.script and "[1]" not in short.script]
    for n in plain:
        assert found[2 * n][0] == found[2 * n + 1][0] == 0 and f"{shorts[n].scenario}: works" in found[2 * n][1], (
            shorts[n].script,
            found[2 * n],
        )


def test_an_error_of_order_two_is_recognised_by_its_words():
    finding = erring(SINE, "status", "forward-over-reverse")
    short = next(raising(finding))
    assert raised(finding, short, 1, "forward-over-reverse: RuntimeError: no such thing at all") is not None
    assert raised(finding, short, 1, "forward-over-reverse: RuntimeError: another thing") is None


def test_a_tangent_of_another_type_is_shown_by_both_types():
    text = 'x = tensor((3,), "float64", listed([2.0, 3.0, 4.0]))\ny = torch.prod(x, dtype=torch.float32)\n'
    wrong = erring(text, "malformed", "forward", "the tangent is torch.float64[], the output torch.float32[]")
    right = erring(
        text.replace(", dtype=torch.float32", ""), "malformed", "forward", "the tangent is torch.float64[], the output torch.float32[]"
    )
    shorts = [next(raising(finding)) for finding in (wrong, right)]
    (status, said), (healthy, fits) = ends([short.script for short in shorts])
    assert (status, healthy) == (1, 0) and "the tangent is torch.float64[], the output torch.float64[]" in fits
    assert raised(wrong, shorts[0], status, said) is not None and raised(right, shorts[1], healthy, fits) is None


def test_what_is_written_to_and_held_is_made_in_every_call():
    text = SINE.replace('layout="strided"', "grad=False").replace("torch.atan2", "torch.Tensor.hypot_")
    short = next(raising(erring(text, "status", "forward", mutates=True)))
    (status, said), _ = ends([short.script, ""])
    assert status == 0 and "forward mode: works" in said


def test_an_assertion_that_fails_directly_is_shown_by_the_call():
    short = next(raising(erring(SINE, "internal", "direct")))
    (status, said), _ = ends([short.script, ""])
    assert status == 0 and "direct: works" in said and "requires_grad" not in short.script


def test_steps_that_single_precision_does_not_feel_say_nothing(torch_target):
    """Quotients of steps below the last place agree on zero."""
    text = 'x = tensor((2,), "float32", listed([6e19, 9e19]))\ny = torch.mul(x, 2.0)\n'
    entry = Entry(Trial(torch_target, parse(text, torch_target.language)), Scenario(("f",)), (0, 0, 0), ((0, 0, 0),))
    assert entry._quotient(2.0) is None and entry._quotient(200.0) is not None


def test_an_entry_that_is_finite_does_not_show_one_that_is_not(torch_target):
    text = 'x = tensor((2,), "float64", listed([1.0, 2.0]))\ny = planted_torch.wrong_backward(x)\n'
    entry = Entry(Trial(torch_target, parse(text, torch_target.language)), Scenario(("r",)), (0, 0, 0), ((0, 0, 0),))
    assert entry.shown("gradient", None, [Scenario(("r",))]) is not None and entry.shown("nonfinite", None, [Scenario(("r",))]) is None


def test_a_method_s_own_object_has_a_place_among_its_arguments(torch_target):
    text = 'x = tensor((3,), "float64", full(0.5))\na = tensor((2,), "float64", full(1.0))\ny = torch.{}(x, a, (2,), (2,))\n'
    called = [
        parameter_names(torch_target, parse(text.format(name), language_for("torch")))
        for name in ("Tensor.as_strided_scatter", "as_strided_scatter")
    ]
    assert called[0]["a"] == "src" and called[0]["x"] != "src" and called[1] == {"x": "input", "a": "src"}


def test_names_of_the_script_s_own_are_left_to_it():
    finding, shown = told("torch", ("f",), 1.0, "difference")
    text = 'u = tensor((2,), "float64", listed([1.0, 2.0]))\nf = torch.sin(u)\n'
    finding = Finding("torch", "0", "torch.sin", finding.verdict, parse(text, language_for("torch")), True)
    place = {**shown["along"][0], "name": "u_"}
    script = next(spellings(finding, {**shown, "along": [place]})).script
    assert "u_ = torch.tensor([1.0, 2.0]" in script and "f(u_ + 0.0001 * u)" in script
    assert "u_" in json.dumps(question(finding)["program"])


def test_a_short_script_is_kept_and_comes_first():
    short = Short("print(1)\n", "1\n", "d y / d x", "reverse", float("nan"), 1.0, "proven")
    finding, _ = told("torch", ("r",), 1.0, "proof")
    kept = Finding.from_json(json.loads(json.dumps(Finding(**{**vars(finding), "short": short, "script": "long"}).to_json())))
    assert kept.to_paste == "print(1)\n" and kept.short.what == short.what and math.isnan(kept.short.actual)
    assert finding.to_paste == finding.script


def test_the_place_of_a_nan_is_looked_for_among_elements_and_nothing_else_is():
    """A contracted gradient is NaN along every element if it is in one; a script that runs well there says that it is not the one."""
    finding, shown = told("jax", ("r",), 1.0, "difference")
    shown = {**shown, "actual": math.nan, "spots": [[0, 0, 0], [[0, 0, 0]]]}
    for kind, asked in (("nonfinite", [[], [[0, 0, 0]], [[0, 0, 0], [0, 1, 0]]]), ("gradient", [[]])):
        steps = shortening(replace(finding, verdict=replace(finding.verdict, kind=kind)))
        answers, elements = None, iter([[0, 0, 0], [0, 1, 0], None])
        with pytest.raises(StopIteration) as end:
            while True:
                do, fields = next(steps) if answers is None else steps.send(answers)
                if do == "pinpoint":
                    assert fields["besides"] == asked.pop(0)
                    element = next(elements)
                    answers = {"shown": None if element is None else {**shown, "spots": [[0, 0, 0], [element]]}}
                else:
                    answers = {"status": 0, "output": "reverse: 1.0\n"}
        assert end.value.value is None and not asked


def test_nothing_is_asked_for_what_nobody_could_read():
    """A hundred numbers that cannot be said otherwise; three dozen short ones can be written down, and so can any that count."""
    for values, asked in (("uniform(0.0, 1.0, seed=1)", False), ("arange(1.0, 1.0)", True)):
        program = parse(f'x = tensor((10, 10), "float64", {values})\ny = torch.sin(x)\n', language_for("torch"))
        verdict = Verdict("disagree", "gradient", "gradient", 1, [Scenario.named("reverse")], "", 1.0, 2.0)
        steps = shortening(Finding("torch", "2.13.0", "torch.sin", verdict, program, True))
        assert (next(steps, None) is not None) == asked
    numbers = ", ".join(f"{n % 9 - 4}.5" for n in range(36))
    program = parse(f'x = tensor((2, 3, 6), "float64", listed([{numbers}]))\ny = torch.sin(x)\n', language_for("torch"))
    assert not too_long(program)


def test_no_variable_is_called_like_a_function_that_the_script_calls():
    """As in torch.polar(abs, angle)."""
    for name in ("torch", "jax", "tensorflow"):
        taken = bound_names(folders_of(home_of(name)), SHORT)
        assert "abs" in taken and "input" not in taken
