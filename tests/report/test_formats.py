"""Every format: what it says of a store is true, schemas hold, and nothing of a stranger's is more than text."""

import contextlib
import csv
import json
import math
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.findings.landscape import Landscape
from gradfuzz.report.analysis import Picture, pictures
from gradfuzz.report.formats import formats
from gradfuzz.report.model import report_of
from gradfuzz.report.png import _plain, png
from gradfuzz.store import Records
from tests.report.pages import Elements, read_page
from tests.report.stores import KNOWN, MISCHIEF, ONE, RAISES, WRONG, hostile_store, hostile_texts, store_of

SCHEMAS = Path(__file__).parent / "schemas"
# What the document of the analysis lists, by name.
PICTURES = {
    "overall_test_results", "success_rate_distribution", "mismatch_rate_distribution", "error_rate_distribution", "top10_mismatch_rates",
    "top10_error_rates", "error_categories_per_api", "average_parameters_per_api", "parameter_types_distribution",
    "parameters_distribution", "success_rate_vs_num_parameters", "correlation_matrix", "success_vs_mismatch_heatmap",
    "params_vs_error_rate_heatmap",
}  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return store_of(tmp_path_factory.mktemp("store") / "s.db", ONE, RAISES, KNOWN, batches=40)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return hostile_store(tmp_path_factory.mktemp("hostile") / "s.db", hostile_texts())


def written(store, form, folder, *options):
    done = CliRunner().invoke(app, ["report", "--store", str(store), "--format", form, "--out", str(folder), *map(str, options)])
    assert done.exit_code == 0, done.output
    return folder


def test_the_formats_are_those_that_were_promised():
    assert set(formats()) == {"html", "png", "csv", "junit", "sarif", "json", "markdown"}


def test_the_page_has_all_that_is_known_of_a_finding(store, tmp_path):
    rows, found = read_page(written(store, "html", tmp_path) / "index.html")
    (one,) = [d for row, d in zip(rows["findings"], found) if row["id"] == "sin-1"]
    assert one["text"].startswith("x = tensor") and one["script"] == ONE.script and "torch.sin" in one["issue"]
    shown = [(v["name"], v["fault"], v["bar"], v["known"]) for v in one["values"]["rows"]]
    assert shown == [("reverse", True, 3e-16, ""), ("forward", False, None, "rounding: not measured"), ("numeric", False, 1e-12, "")]
    assert len(one["ladder"]) == 11 and one["proof"]["exact"].startswith("0.8775") and "52 are against AD" in one["vote"]
    (sine,) = [api for api in rows["campaigns"][0]["apis"] if api["api"] == "torch.sin"]
    assert sine["undecided"] == 60 and sine["excuses"] == [["kink", 60]]
    assert rows["campaigns"][0]["reasons"] == [["kink", 120, "torch.sin (60), torch.cos (60)"]]
    assert {g["name"] for g in rows["grades"]} >= {"silent", "loud", "edge"} and rows["campaigns"][0]["mutants"] == sum(
        16 + k for k in range(40)
    )


def plots_of(store, folder, identity):
    rows, found = read_page(written(store, "html", folder) / "index.html")
    (one,) = [d for row, d in zip(rows["findings"], found) if row["id"] == identity]
    return one


def test_where_nobody_has_looked_around_a_proven_finding_the_reference_draws_it(store, tmp_path):
    drawn = plots_of(store, tmp_path, "sin-1")["plots"]
    assert drawn["at"] == 0.5 and drawn["width"] == 1.0 and drawn["axis"] == "x[0]" and "reference" in drawn["by"]
    function, slope = drawn["panels"]
    xs = [-0.5 + 2 * i / 40 for i in range(41)]
    assert all(abs(f - math.sin(x)) < 1e-12 for x, f in zip(xs, function["lines"][0][1]))
    assert all(abs(d - math.cos(x)) < 1e-12 for x, d in zip(xs, slope["lines"][0][1]))
    assert [(name, y, style) for name, y, _, style in slope["marks"]] == [("exact", math.cos(0.5), "truth"), ("reverse", 1.25, "ad")]


def test_what_a_worker_saw_around_the_point_is_shown_with_a_bar_for_every_scenario(tmp_path):
    there = Landscape(
        {"reverse": 1.25, "forward": math.nan}, {"reverse": 2e-16}, {"batched reverse": "no rule"}, "difference quotient", (0.5, 1e-9),
        "y[0]", ("x[0]", "x[1]"), "x[1]", 2.0, 2.0, (0.0, 1.0, 4.0), ("forward", (0.0, 2.0, 4.0)), {"reverse": (1.0, 1.25, None)},
        (0.5, 0.5, 0.5),
    )  # fmt: skip
    one = plots_of(store_of(tmp_path / "s.db", replace(ONE, proof=None, landscape=there)), tmp_path, "sin-1")
    shown = {v["name"]: (v["text"], v["bar"], v["known"], v["truth"]) for v in one["values"]["rows"]}
    assert one["values"]["entry"] == "d² y[0] / d x[0] d x[1]" and shown == {
        "reverse": ("1.25", 2e-16, "", False), "forward": ("nan", None, "not finite", False),
        "batched reverse": ("no rule", None, "no number", False), "difference quotient": ("0.5", 1e-9, "", True),
    }  # fmt: skip
    assert [panel["title"] for panel in one["plots"]["panels"]] == ["y[0]", "the order below, forward", "d² y[0] / d x[0] d x[1]"]
    assert [(name, style) for name, _, style in one["plots"]["panels"][2]["lines"]] == [("difference quotient", "truth"), ("reverse", "ad")]
    assert [v["name"] for v in one["compared"]] == ["reverse", "forward", "numeric"]  # what the ladder is about


@pytest.mark.parametrize(
    "kind, word", [("status", "raises"), ("crash", "dies"), ("malformed", "shape"), ("value", "output"), ("gradient", "nothing")]
)
def test_where_nothing_is_drawn_the_page_says_why(tmp_path, kind, word):
    verdict = replace(WRONG, kind=kind, detail={})
    one = plots_of(store_of(tmp_path / "s.db", replace(ONE, verdict=verdict, proof=None)), tmp_path, "sin-1")
    assert word in one["plots"]["why"] and one["values"]["rows"][0]["name"] == "reverse"


def test_the_page_stands_alone_and_lets_nothing_run_but_itself(store, tmp_path):
    text = (written(store, "html", tmp_path) / "index.html").read_text()
    page = Elements(text)
    policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
    assert [a.get("href") for tag, a in page.elements if tag == "link"] == ["data:,"]
    assert not [a for tag, a in page.elements if a.get("src") or a.get("style") or any(key.startswith("on") for key in a)]


def test_the_page_s_script_never_reads_markup():
    folder = Path(__import__("gradfuzz").__file__).parent / "report" / "page"
    source = "".join(file.read_text() for file in folder.glob("*.js"))
    assert len(source) > 10_000
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser|setTimeout\(\"", source)


def test_every_picture_of_the_analysis_is_there_and_drawn(store, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib, which is not installed")
    folder = written(store, "png", tmp_path)
    assert {p.stem for p in folder.glob("*.png")} == PICTURES and (folder / "analysis_report.csv").exists()
    assert all(p.read_bytes().startswith(b"\x89PNG") and p.stat().st_size > 3000 for p in folder.glob("*.png"))
    rows, _ = read_page(written(store, "html", tmp_path / "page") / "index.html")
    assert {p["name"] for p in rows["campaigns"][0]["pictures"]} == PICTURES


def test_the_table_adds_up(store, tmp_path):
    rows = list(csv.DictReader((written(store, "csv", tmp_path) / "analysis_report.csv").open()))
    assert [row["api"] for row in rows] == ["torch.cos", "torch.sin"]
    for row in rows:
        parts = [int(row[what]) for what in ("success", "mismatch", "error", "undecided")]
        assert sum(parts) == int(row["mutants"]) and abs(float(row["success_rate"]) - parts[0] / sum(parts)) < 1e-4
    assert rows[1]["average_parameters"] == "1.00" and rows[0]["average_parameters"] == "" and rows[0]["error: shape"] == "40"
    bugs = list(csv.DictReader((tmp_path / "bugs.csv").open()))
    assert len(bugs) == 3 and {b["label"] for b in bugs} == {"new", "known"}


def test_every_format_for_people_says_where_the_time_went(store, tmp_path):
    rows, _ = read_page(written(store, "html", tmp_path) / "index.html")
    campaign = rows["campaigns"][0]
    assert [seconds for _, seconds, _ in campaign["times"]] == [80.0, 20.0, 40.0] and campaign["clock"] == 160.0
    assert "mutants" in campaign["times"][0][0] and "waiting" in campaign["times"][-1][0]
    (told,) = json.loads((written(store, "json", tmp_path) / "report.json").read_text())["campaigns"]
    assert told["time"] == {"batches": 80.0, "confirming": 20.0, "waiting": 40.0} and told["clock"] == 160.0
    text = (written(store, "markdown", tmp_path) / "summary.md").read_text()
    assert "in 160 seconds" in text and "time: batches 57 %, waiting 29 %, confirming 14 %" in text
    table = list(csv.DictReader((written(store, "csv", tmp_path) / "time.csv").open()))
    assert [(row["what"], row["seconds"], row["share"]) for row in table][1] == ("confirming", "20.000", "0.1429")


def test_of_an_older_store_batches_are_all_that_is_known(tmp_path):
    path = store_of(tmp_path / "s.db", ONE)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript("drop table spending; pragma user_version = 4;")
    rows, _ = read_page(written(path, "html", tmp_path / "out") / "index.html")
    assert rows["campaigns"][0]["clock"] is None and rows["campaigns"][0]["times"] == [["examining mutants, in batches", 1.5, 1.0]]
    assert "time:" not in (written(path, "markdown", tmp_path / "out") / "summary.md").read_text()


def check_junit(path):
    xmlschema = pytest.importorskip("xmlschema", reason="the schema of JUnit is checked with xmlschema, which is not installed")
    xmlschema.XMLSchema(SCHEMAS / "JUnit.xsd").validate(path)


def check_sarif(path):
    jsonschema = pytest.importorskip("jsonschema", reason="the schema of SARIF is checked with jsonschema, which is not installed")
    schema = json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text())
    jsonschema.Draft4Validator(schema).validate(json.loads(Path(path).read_text()))


def test_junit_holds_its_schema_and_fails_for_what_is_new_alone(store, tmp_path):
    path = written(store, "junit", tmp_path) / "junit.xml"
    suite = ElementTree.parse(path).getroot()[0]
    cases = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert suite.get("tests") == "3" and suite.get("failures") == "2" and suite.get("skipped") == "1"
    assert cases["torch.sin: wrong gradient in reverse"] == ["failure"] and cases["torch.ldexp: wrong gradient in reverse"] == ["skipped"]
    check_junit(path)


def test_junit_of_a_campaign_without_findings_has_a_case_that_passes(tmp_path):
    path = written(store_of(tmp_path / "s.db"), "junit", tmp_path) / "junit.xml"
    (case,) = ElementTree.parse(path).getroot().iter("testcase")
    assert len(case) == 0
    check_junit(path)


def fit_for_code_scanning(folder):
    """What GitHub asks for beyond the schema."""
    (run,) = json.loads((folder / "report.sarif").read_text())["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) <= 5000 and len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert all(0 < len(rule[key]["text"]) <= 1024 for key in ("shortDescription", "fullDescription", "help"))
        assert len(rule["name"]) <= 255 and len(rule["properties"]["tags"]) <= 10
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] and result["message"]["text"].strip()
        assert re.fullmatch(r"[0-9a-f]{16}:1", result["partialFingerprints"]["primaryLocationLineHash"])
        (location,) = result["locations"]
        uri, line = location["physicalLocation"]["artifactLocation"]["uri"], location["physicalLocation"]["region"]["startLine"]
        assert re.fullmatch(r"findings/[\w.-]+\.py", uri) and (folder / uri).is_file() and line == 1


def test_what_code_scanning_would_not_show_is_left_out_with_a_word(store, tmp_path, monkeypatch):
    monkeypatch.setattr("gradfuzz.report.sarif.MOST_RESULTS", 2)
    (run,) = json.loads((written(store, "sarif", tmp_path) / "report.sarif").read_text())["runs"]
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert len(run["results"]) == 2 and note["message"]["text"].startswith("1 bugs are left out, the least grave")
    check_sarif(tmp_path / "report.sarif")


def test_sarif_holds_its_schema_and_has_what_code_scanning_asks_for(store, tmp_path):
    folder = written(store, "sarif", tmp_path)
    (run,) = json.loads((folder / "report.sarif").read_text())["runs"]
    assert len(run["results"]) == 3 and {r["level"] for r in run["results"]} == {"error", "warning"}
    fit_for_code_scanning(folder)
    prints = [r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]]
    assert len(set(prints)) == 3 and not run["invocations"][0]["toolExecutionNotifications"]
    assert [r["properties"]["bug"] for r in run["results"] if r.get("suppressions")] == [
        r["properties"]["bug"] for r in run["results"] if r["properties"]["label"] == "known"
    ]
    check_sarif(folder / "report.sarif")


def test_markdown_begins_with_what_is_new(store, tmp_path):
    text = (written(store, "markdown", tmp_path) / "summary.md").read_text()
    assert text.startswith("# gradfuzz: 2 new bugs") and "torch.sin: wrong gradient in reverse | proven |" in text
    assert "1 bug more is in the baseline, known, by design or edge cases." in text


# A baseline --------------------------------------------------------------------------------------------------------------


def test_against_a_baseline_only_what_is_new_fails(store, tmp_path):
    baseline = written(store_of(tmp_path / "before.db", replace(ONE, version="2.12.0")), "json", tmp_path) / "report.json"
    suite = ElementTree.parse(written(store, "junit", tmp_path, "--baseline", baseline) / "junit.xml").getroot()[0]
    assert suite.get("failures") == "1" and "in the baseline" in {s.get("message") for s in suite.iter("skipped")}
    (run,) = json.loads((written(store, "sarif", tmp_path, "--baseline", baseline) / "report.sarif").read_text())["runs"]
    assert sorted(r["baselineState"] for r in run["results"]) == ["new", "new", "unchanged"]
    assert (written(store, "markdown", tmp_path, "--baseline", baseline) / "summary.md").read_text().startswith("# gradfuzz: 1 new bug\n")
    rows, _ = read_page(written(store, "html", tmp_path, "--baseline", baseline) / "index.html")
    assert rows["baseline"] and {b["api"]: b["fresh"] for b in rows["bugs"]}["torch.sin"] is False


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"findings": 3}', '{"form": 99, "findings": []}', "[" * 100_000])
def test_a_file_that_is_no_baseline_is_one_line(store, tmp_path, text):
    (tmp_path / "b.json").write_text(text)
    done = CliRunner().invoke(app, ["report", "--store", str(store), "--baseline", str(tmp_path / "b.json"), "--out", str(tmp_path)])
    assert done.exit_code == 2 and "--baseline" in done.output and "Traceback" not in done.output


# Strangers ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [f for f in formats() if f != "png"])
def test_a_stranger_s_store_can_be_written_in_every_format(hostile, tmp_path, form):
    folder = written(hostile, form, tmp_path / "out")
    assert {p.name for p in tmp_path.iterdir()} == {"out"}
    for path in folder.rglob("*"):
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", path.name), path


def test_a_stranger_s_words_are_no_pictures_of_theirs(hostile, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib, which is not installed")
    assert len(list(written(hostile, "png", tmp_path).glob("*.png"))) == len(PICTURES)
    plain = Picture("name", "title", "", ("label",), {"series": (1.0,)})
    for evil in (*MISCHIEF, "$$", "\\$x$", "$" + "y" * 60 + "$"):
        assert png(plain, evil).startswith(b"\x89PNG")
        assert not re.search(r"(?<!\\)(\\\\)*\$.*(?<!\\)(\\\\)*\$", _plain(evil))  # no formula


def test_a_page_has_no_element_of_a_stranger_s(hostile, store, tmp_path):
    def skeleton(text):
        return [(tag, sorted(a)) for tag, a in Elements(text).elements if not (a.get("id") or "").startswith("chunk-")]

    mine = (written(store, "html", tmp_path / "mine") / "index.html").read_text()
    theirs = (written(hostile, "html", tmp_path / "theirs") / "index.html").read_text()
    assert skeleton(mine) == skeleton(theirs)
    rows, found = read_page(tmp_path / "theirs" / "index.html")
    assert len(found) == len(rows["findings"]) > 20 and "<script>window.hacked = 1</script>" in {d["script"] for d in found}


def test_machines_read_a_stranger_s_store_as_data(hostile, tmp_path):
    junit = written(hostile, "junit", tmp_path) / "junit.xml"
    assert len(list(ElementTree.parse(junit).getroot().iter("testcase"))) > 10
    check_junit(junit)
    check_sarif(written(hostile, "sarif", tmp_path) / "report.sarif")
    fit_for_code_scanning(tmp_path)
    json.loads((written(hostile, "json", tmp_path) / "report.json").read_text(), parse_constant=lambda word: pytest.fail(word))
    written(hostile, "csv", tmp_path)
    for table in ("bugs.csv", "analysis_report.csv", "time.csv"):
        rows = list(csv.reader((tmp_path / table).open(newline="")))
        assert len({len(row) for row in rows}) == 1
        cells = [cell for row in rows for cell in row]
        assert not [cell for cell in cells if re.match(r"\s*([=+@＝＋－＠]|-(?!\d+(\.\d+)?$))", cell)]
        assert not [cell for cell in cells if not cell.isprintable()]


def test_markdown_shows_a_stranger_s_words_as_words(hostile, tmp_path):
    text = (written(hostile, "markdown", tmp_path) / "summary.md").read_text()
    outside = re.sub(r"```python\n.*?\n```", "", text, flags=re.S)
    outside = re.sub(r"`[^`\n]*`", "", outside)
    assert not re.search(r"(?<!\\)<(?!/?details>|/?summary>)", outside) and "](" not in outside.replace("\\](", "")
    assert not re.search(r"\w://|www\.|@\w", outside) and "\x1b" not in text and "\n# title" not in text


def test_pictures_are_made_of_what_batches_say(store):
    with Records(store) as opened:
        found = {p.name: p for p in pictures(report_of(opened).campaigns[0])}
    assert dict(zip(found["overall_test_results"].labels, found["overall_test_results"].series["mutants"])) == {
        "success": sum(10 + k for k in range(40)), "mismatch": 40, "error": 80, "undecided": 120,
    }  # fmt: skip
    assert sum(found["success_rate_distribution"].series["APIs"]) == 2
    assert found["parameter_types_distribution"].labels == ("tensor",)
