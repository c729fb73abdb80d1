"""Where the time went: every job on one account, and what is left of the workers' time is what they waited."""

from gradfuzz.engine.spending import Spending
from gradfuzz.report.times import TITLES, times_of, told

JOBS = {
    "batch": 50.0,
    "confirm": 6.0,
    "shrink": 4.0,
    "script": 2.0,
    "pinpoint": 0.75,
    "landscape": 0.25,
    "measure": 1.5,
    "forwards": 0.5,
    "seeds": 3.0,
    "rules": 1.0,
}


def spending(clock=40.0, workers=2):
    found = Spending()
    found.see(JOBS, post_mortems=7.0, proofs=2.0, passed=clock, clock=clock, workers=workers)
    return found


def test_every_second_is_on_one_account():
    kept = spending().to_keep()
    assert kept.pop("steering") >= 0.0
    assert kept == {
        "batches": 50.0, "confirming": 6.0, "shrinking": 4.0, "scripts": 3.0, "post-mortems": 7.0, "seeds": 4.0, "reference": 2.0,
        "proofs": 2.0, "waiting": 80.0 - sum(JOBS.values()), "clock": 40.0,
    }  # fmt: skip


def test_workers_that_come_and_go_are_counted_while_they_are_there():
    found = Spending()
    for clock, workers in ((10.0, 1), (20.0, 5), (30.0, 0)):
        found.see({}, 0.0, 0.0, clock, clock, workers)
    assert found.waiting == 10.0 + 50.0


def test_what_was_spent_before_the_clock_ran_makes_nobody_wait_less_than_nothing():
    assert spending(clock=1.0).waiting == 0.0


def test_the_share_of_searching_counts_workers_alone_after_the_first_minute():
    found = spending(clock=59.0)
    assert found.searching is None
    found.see({**JOBS, "batch": 140.0, "confirm": 16.0}, 7.0, 99.0, 61.0, 61.0, 2)
    assert found.searching == 0.9 and "batches after the first minute 90 %" in str(found)


def test_each_account_has_its_line_in_a_report():
    rows = times_of(spending().to_keep(), batches=0.0)
    assert {row.what for row in rows} == set(TITLES) and abs(sum(row.share for row in rows) - 1) < 1e-9
    assert told(rows).startswith("batches ")
