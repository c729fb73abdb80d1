"""What was seen twice and lost to its script is kept with the reason, counted, and shown."""

from dataclasses import replace

from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.findings.finding import Finding
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program import parse
from gradfuzz.report.html import write
from gradfuzz.report.model import report_of
from gradfuzz.store import Records, Store
from gradfuzz.store.proofs import proofs_of
from gradfuzz.targets.base.scenario import REVERSE
from gradfuzz.targets.homes import language_for
from tests.report.pages import read_page

PROGRAM = parse('x = tensor((2,), "float64", normal(seed=1))\ny = torch.sin(x)\n', language_for("torch"))
FINDING = Finding(
    "torch", "0", "torch.sin", Verdict("disagree", "gradient", "gradient", 1, [REVERSE], "differs", 1.0, 2.0, 1e-9), PROGRAM, True
)


def stored(tmp_path):
    path = tmp_path / "gradfuzz.db"
    store = Store(path, create=True)
    number = store.begin("torch", "0", {})
    shown = FINDING.shown_by(True, "BUG\n")
    failed = FINDING.shown_by(False, "numeric 1.0\nValueError: 'module.weight' is not in list")
    agreed = [FINDING.shown_by(False, f"reverse {n}\nfixed: they agree") for n in (1.5, 2.5)]
    unseen = replace(FINDING, confirmed=False)  # a fresh process did not see it again: no script has run
    for index, finding in enumerate([shown, failed, *agreed, unseen]):
        store.add_finding(number, f"key {index}", finding.filed(f"key {index}"))
    store.set_status(number, "finished")
    store.close()
    return path


def test_what_is_lost_is_counted_by_its_reason(tmp_path):
    with Records(stored(tmp_path)) as records:
        proofs = proofs_of(records)
        assert sorted(f.lost for f in records.findings(unconfirmed=True)) == [
            "", "", "gradient: ValueError: 'module.weight' is not in list", "gradient: fixed: they agree", "gradient: fixed: they agree",
        ]  # fmt: skip
    assert proofs.told == (
        "3 of 4 seen twice were lost to their script: gradient: fixed: they agree (2); "
        "gradient: ValueError: 'module.weight' is not in list (1)"
    )
    assert proofs.to_json()["seen_twice"] == 4


def test_commands_and_the_report_say_so(tmp_path):
    path = stored(tmp_path)
    for command in ("findings", "coverage"):
        shown = CliRunner().invoke(app, [command, "--store", str(path)])
        assert "3 of 4 seen twice were lost to their script" in shown.stdout, shown.stdout
    assert "lost to its script" in " ".join(CliRunner().invoke(app, ["findings", "--all", "--store", str(path)]).stdout.split())
    with Records(path) as records:
        rows, _ = read_page(write(report_of(records), tmp_path / "report"))
    assert rows["campaigns"][0]["seen"] == 4 and rows["campaigns"][0]["lost"][0] == ["gradient: fixed: they agree", 2]


def test_nothing_is_said_where_nothing_is_lost(tmp_path):
    store = Store(tmp_path / "gradfuzz.db", create=True)
    number = store.begin("torch", "0", {})
    store.add_finding(number, "key", FINDING.filed("key"))
    assert proofs_of(store, number).told == ""
    store.close()
