"""`bugs`, `findings`, `show`, `judge`, `found` and the report: gathered, in order, within eighty columns, and judged."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from gradfuzz.bugs.judgements import beside, read_judgements
from gradfuzz.cli.app import app
from gradfuzz.cli.console import lines
from gradfuzz.errors import StoreError
from gradfuzz.findings.labels import Label
from gradfuzz.findings.shown import Short
from gradfuzz.report.html import write
from gradfuzz.report.model import report_of
from gradfuzz.store import Records
from tests.bugs.made import kept, made
from tests.report.pages import read_page

LONG = (
    'x = tensor((12,), "float64", listed([0.51, 0.62, 0.73, 0.84, 0.95, 1.16, 1.27, 1.38, 1.49, 1.51, 1.62, 1.73]))\n'
    "y = torch.nn.functional.binary_cross_entropy_with_logits(x, x)\n"
)
SECOND = made("torch.Tensor.sin", scenarios=["reverse-over-reverse", "forward-over-reverse", "reverse-over-forward"], text=LONG)
FIRST = made("torch.sin", scenarios=["reverse", "forward"], times=3)
POINT = made("torch.cos", "nonfinite", text='x = tensor((), "float64", full(0.0))\ny = torch.cos(x)\n')
EMPTY = made("torch.tan", "status", symptom="expected non zero size", text='x = tensor((0,), "float64", full(0.0))\ny = torch.tan(x)\n')
MESSAGE = made(
    "torch.nn.functional.binary_cross_entropy_with_logits", "status", ["reverse-over-forward-over-reverse"],
    symptom="the words of a long message", actual="RuntimeError: " + "words of a message that goes on and on, " * 5,
)  # fmt: skip


@pytest.fixture
def store(tmp_path):
    shown = replace(SECOND, script_output="numeric  1.0 +- 1e-12\n" + "reverse is wrong, as this line says at length, " * 4)
    return kept(tmp_path / "s.db", EMPTY, POINT, shown, MESSAGE, FIRST)


def run(store, *command, status=0):
    done = CliRunner().invoke(app, [*command, "--store", str(store)])
    assert done.exit_code == status, done.output
    return done.output


def told(store, *command):
    return json.loads(run(store, *command, "--json"))


def test_bugs_are_listed_gravest_first_with_the_edge_cases_in_one_line(store):
    text = run(store, "bugs")
    places = [
        text.index(word) for word in ("silently wrong first", "torch.sin:", "NaN, errors", "binary_cross", "single points", "torch.cos:")
    ]
    assert places == sorted(places)
    assert "edge cases: 1 (1 empty tensors); --all lists them" in text and "torch.tan" not in text
    assert "torch.tan" in run(store, "bugs", "--all")
    assert "2 findings, met 4 times, also in torch.Tensor.sin" in text


def test_each_finding_says_which_bug_it_belongs_to(store):
    bugs = {b["id"]: b for b in told(store, "bugs")}
    findings = told(store, "findings")
    assert {f["id"]: f["bug"] for f in findings} == {name: bug["id"] for bug in bugs.values() for name in bug["findings"]}
    assert [f["severity"] for f in findings] == ["silent", "silent-higher", "loud", "point", "edge"]
    assert bugs[findings[0]["bug"]]["findings"] == [FIRST.id, SECOND.id]
    text = run(store, "findings")
    assert text.index(findings[0]["bug"]) < text.index(FIRST.id) < text.index(SECOND.id) < text.index(findings[2]["bug"])


def test_a_bug_can_be_shown_and_its_gravest_finding_taken_away(store):
    name = told(store, "bugs")[0]["id"]
    text = run(store, "show", name)
    assert "Nothing warns" in text and FIRST.id in text and SECOND.id in text and "y = torch.sin(x)" in text
    whole, alone = run(store, "issue", name), run(store, "issue", FIRST.id)
    assert whole.splitlines()[0] == alone.splitlines()[0] == "# torch.sin returns an incorrect gradient in reverse and forward mode"
    assert "The same cause shows in `torch.Tensor.sin`" in whole and "The same cause" not in alone
    assert run(store, "repro", name) == run(store, "repro", FIRST.id) == run(store, "repro", name, "--full")
    assert "no bug starts with" in run(store, "show", "bug-nothing", status=2)


def test_a_finding_of_a_function_called_bug_is_still_found(tmp_path):
    finding = made("torch.bug")
    assert finding.id.startswith("bug-")
    assert finding.id in run(kept(tmp_path / "s.db", finding), "show", finding.id)


def test_everything_fits_eighty_columns_and_no_word_is_broken(store):
    run(store, "judge", POINT.id, "dull", "zero alone, " * 20)
    bug = told(store, "bugs")[0]["id"]
    for command in (("bugs", "--all"), ("findings",), ("show", bug), ("show", SECOND.id), ("show", MESSAGE.id)):
        text = run(store, *command)
        assert max(map(len, text.splitlines())) <= 80, command
        assert "torch.nn.functional.binary_cross_entropy_with_logits" in text or bug in command


def test_a_word_that_is_longer_than_a_line_stays_whole():
    word = "w" * 100
    assert lines(f"a {word} b", "- ", "  ") == f"- a\n  {word}\n  b"
    assert lines("") == "" and lines("one\n  two", "  ", "  ") == "  one\n    two"


# Judgements ----------------------------------------------------------------------------------------------------------------


def test_a_judgement_is_kept_and_shown_and_the_last_one_counts(store):
    run(store, "judge", POINT.id, "real", "wrong")
    run(store, "judge", POINT.id, "dull", "at zero alone")
    (kept_one,) = read_judgements(beside(store))
    assert (kept_one.id, kept_one.judgement, kept_one.why) == (POINT.id, "dull", "at zero alone")
    bug = next(b for b in told(store, "bugs") if POINT.id in b["findings"])
    assert (bug["judgement"], bug["severity"], bug["because"]) == ("dull", "edge", "judged dull")
    assert "at zero alone" in run(store, "show", bug["id"])


def test_a_bug_is_judged_with_all_its_findings_and_one_finding_alone_hides_no_neighbour(store):
    bug = told(store, "bugs")[0]["id"]
    run(store, "judge", FIRST.id, "false", "a kink")
    assert told(store, "bugs")[0]["severity"] == "silent"
    run(store, "judge", bug, "false", "a kink")
    assert {j.id for j in read_judgements(beside(store))} == {FIRST.id, SECOND.id}
    assert next(b for b in told(store, "bugs") if b["id"] == bug)["severity"] == "edge"


def test_judgements_may_be_kept_elsewhere(store, tmp_path):
    elsewhere = tmp_path / "said.json"
    run(store, "judge", FIRST.id, "real", "indeed", "--judgements", str(elsewhere))
    assert not beside(store).exists() and read_judgements(elsewhere)
    assert "judged real" in run(store, "bugs", "--judgements", str(elsewhere)) and "judged real" not in run(store, "bugs")


@pytest.mark.parametrize("words, complaint", [(("nice", "because"), "is no judgement"), (("real", "  "), "say why")])
def test_what_is_no_judgement_is_refused(store, words, complaint):
    assert complaint in run(store, "judge", FIRST.id, *words, status=2)
    assert not beside(store).exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"form": 1, "judgements": [1]}', '{"form": 1, "judgements": [{"id": "a"}]}', "[" * 9999,
                                  '{"form": 2, "judgements": []}'])  # fmt: skip
def test_a_file_that_is_no_file_of_judgements_is_refused_in_one_line(store, text):
    beside(store).write_text(text)
    with pytest.raises(StoreError):
        read_judgements(beside(store))
    assert len(run(store, "bugs", status=2).splitlines()) == 1
    assert len(run(store, "judge", FIRST.id, "real", "yes", status=2).splitlines()) == 1
    assert beside(store).read_text() == text


# Pages ---------------------------------------------------------------------------------------------------------------------


def test_a_page_is_made_of_stores_and_judgements_and_begins_with_bugs(store, tmp_path):
    run(store, "judge", told(store, "bugs")[0]["id"], "real", "by | hand, *twice*")
    page = tmp_path / "page.md"
    again = kept(tmp_path / "again.db", FIRST)
    run(store, "found", "--store", str(again), "--out", str(page))
    text = page.read_text()
    assert text.startswith("# Found in PyTorch 1.0") and "**4 bugs in 5 findings: 1 real, 3 not judged" in text
    assert text.index("## Silently wrong first") < text.index("### torch.sin") < text.index("## Edge cases") < text.index("torch.tan")
    assert "**Judged real**: by \\| hand, \\*twice\\*" in text and "y = torch.sin(x)" in text
    run(store, "found", "--store", str(again), "--out", str(page))
    assert page.read_text() == text  # it can be made again


def test_a_page_shows_the_entry_and_the_library_s_own_idiom_where_a_short_script_does(tmp_path):
    short = Short("…", "", "d y / d x[0]", "reverse", 0.5, 2.0, "proven", example="import torch\nprint(1)\n")
    page = tmp_path / "page.md"
    run(kept(tmp_path / "s.db", replace(FIRST, short=short)), "found", "--out", str(page))
    assert "d y / d x\\[0\\] is 2.0 (proven); reverse gives 0.5; findings" in page.read_text()
    assert "import torch\nprint(1)" in page.read_text() and "y = torch.sin(x)" not in page.read_text()


def test_a_page_is_about_one_release(store, tmp_path):
    other = kept(tmp_path / "o.db", replace(FIRST, version="2.0"))
    assert "name one release with --of" in run(store, "found", "--store", str(other), status=2)
    assert run(store, "found", "--store", str(other), "--of", "torch==2.0").startswith("# Found in PyTorch 2.0")
    assert "name one of these" in run(store, "found", "--of", "torch==3.0", status=2)


def test_a_stranger_s_words_mean_nothing_more_on_a_page(tmp_path):
    evil = Label("known", "```\n<script>|# [a](b)\x1b", "https://a b>c")
    text = run(kept(tmp_path / "s.db", replace(FIRST, label=evil, api="torch.`x|<b>")), "found")
    assert "<script>" not in text and "\x1b" not in text and "https://a b>c" not in text and "\n# [" not in text


def test_the_report_has_bugs_before_findings(store, tmp_path):
    run(store, "judge", POINT.id, "dull", "at <zero> alone")
    with Records(store) as opened:
        rows, found = read_page(write(report_of(opened), tmp_path / "page"))
    ids = [row["id"] for row in rows["findings"]]
    assert len(rows["bugs"]) == 4 and len(ids) == 5 and ids.index(FIRST.id) < ids.index(EMPTY.id)
    assert found[ids.index(POINT.id)]["judged"] == [["dull", "at <zero> alone"]]
