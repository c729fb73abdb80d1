"""The model: one pass over the batches says what the store's own sums say, in slices that stay few."""

import random

from gradfuzz.report.model import report_of
from gradfuzz.report.parameters import parameters_of
from gradfuzz.report.tally import MOST_MESSAGES, MOST_SLICES, OTHERS, tally
from gradfuzz.store import Records
from gradfuzz.store.coverage import designs_of
from gradfuzz.store.health import untested
from gradfuzz.store.reading import BatchRow, Lesson
from tests.report.stores import ONE, PROGRAM, RAISES, store_of


def batch(number, api="f", counts=None, refusals=None, findings=()):
    return BatchRow(1, number, api, counts or {"agree": 8}, {}, refusals or {}, 0.25, Lesson(findings=list(findings)), None)


def test_one_pass_says_what_the_store_says(tmp_path):
    with Records(store_of(tmp_path / "s.db", ONE, RAISES, batches=50)) as store:
        (campaign,) = report_of(store).campaigns
        totals, found = store.totals(1), campaign.tally
        assert dict(found.counts) == totals["counts"] and dict(found.reasons) == totals["reasons"] and found.cpu == totals["cpu"]
        assert {api: dict(row.counts) for api, row in found.apis.items()} == store.by_api(1)
        assert {api: row.cover for api, row in found.apis.items()} == designs_of(store, 1)
        assert campaign.untested == untested(store, 1) and len(campaign.untested) == 2
        assert {(kind, message): n for (kind, message), n in found.messages.items()} == {("shape", "odd"): 100}


def test_slices_stay_few_and_lose_nothing():
    chance = random.Random(1)
    sizes = [chance.randrange(1, 30) for _ in range(5000)]
    found = tally(batch(k, counts={"agree": n}, findings=[f"key-{k // 3}"]) for k, n in enumerate(sizes))
    assert MOST_SLICES / 2 <= len(found.course) <= MOST_SLICES
    assert sum(part.mutants for part in found.course) == sum(sizes) and sum(part.batches for part in found.course) == 5000
    assert sum(part.suspected for part in found.course) == 1667  # each key once


def test_messages_without_end_are_counted_together():
    found = tally(batch(k, refusals={f"value: {k}": 1}) for k in range(MOST_MESSAGES + 10))
    assert len(found.messages) == MOST_MESSAGES + 1 and found.messages["value", OTHERS] == 10


def test_parameters_come_from_findings_where_no_seeds_were_kept(tmp_path):
    found = parameters_of(["not json", '{"api": 3}', '{"api": "torch.sin", "program": {"format": 1}}'], [("torch.sin", PROGRAM)])
    assert found.average("torch.sin") == 1 and found.types == {"tensor": 1}
