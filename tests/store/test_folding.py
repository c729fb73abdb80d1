"""A campaign that takes over from another: what was counted and found is there, and the store stays small."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gradfuzz.mutate.cover import Cover
from gradfuzz.program import to_json
from gradfuzz.store import Lesson, Records, Store
from gradfuzz.store.coverage import designs_of
from gradfuzz.store.folding import FOLDED, MOST_GROWN, folded, predecessor, take_over
from gradfuzz.store.reading import BatchRow
from tests.store.test_merge import suspicion
from tests.store.test_store import PROGRAM, finding

words = st.dictionaries(st.sampled_from(("agree", "invalid")), st.integers(0, 9))
lessons = st.builds(
    Lesson, st.lists(st.sampled_from("abc"), unique=True), st.dictionaries(st.sampled_from("xy"), st.just([3, 2])), st.just([]),
    st.just([1]), st.integers(0, 2), st.none() | st.builds(Cover, st.just(3), st.just(3), st.integers(0, 7)),
)  # fmt: skip
rows = st.lists(
    st.builds(BatchRow, st.just(1), st.integers(0, 99), st.sampled_from(("p", "q")), words, words, words, st.just(0.5), lessons, st.none()),
    unique_by=lambda row: row.number,
)


@settings(max_examples=60, deadline=None)
@given(rows, rows)
def test_folding_loses_no_count_and_folding_again_changes_nothing(first, second):
    once = folded(first)
    for name in ("counts", "reasons", "refusals"):
        for api in ("p", "q"):
            told = [getattr(row, name) for row in first if row.api == api]
            kept = [getattr(row, name) for row in once if row.api == api]
            for word in ("agree", "invalid"):
                assert sum(t.get(word, 0) for t in told) == sum(k.get(word, 0) for k in kept)
    assert len(once) == len({row.api for row in first}) and all(row.number >= FOLDED for row in once)
    assert folded(once) == once
    assert [r.counts for r in folded([*once, *second])] == [r.counts for r in folded([*first, *second])]


def leg(store, number):
    """One campaign of many batches that finds the same thing each time."""
    config = {"seed": number, "order": 2}
    before = predecessor(store, "torch", "0", config)
    campaign = store.begin("torch", "0", config)
    if before is not None:
        take_over(store, before, campaign)
    grown = [["f", to_json(PROGRAM)]]
    for batch in range(40):
        lesson = Lesson([f"f{batch}"], {"size": [2, 1]}, [], cover=Cover(3, 3, 1 << (batch % 3)), grown=grown)
        store.add_batch(campaign, batch, f"api{batch % 4}", {"agree": 5}, {}, {}, 1.0, [f"reverse:{batch % 7}"], lesson, 5)
    store.spend(campaign, f"run {number}", {"batches": 40.0, "clock": 25.0})
    if store.known_keys(campaign).get("k1"):
        store.met_again(campaign, "k1")
    else:
        store.add_finding(campaign, "k1", replace(finding("k1"), times=1))
    return campaign


def test_after_many_legs_the_store_is_as_large_as_after_a_few(tmp_path):
    with Store(tmp_path / "s.db", create=True) as store:
        store.suspect(leg(store, 0), "k2", suspicion(1))
        sizes = []
        for number in range(1, 30):
            campaign = leg(store, number)
            store.db.execute("pragma wal_checkpoint(truncate)")
            sizes.append((tmp_path / "s.db").stat().st_size)
        assert sizes[-1] <= 1.1 * sizes[3]
    with Records(tmp_path / "s.db") as kept:
        assert [row["id"] for row in kept.campaigns()] == [campaign]
        assert kept.totals(campaign)["counts"] == {"agree": 30 * 40 * 5} and len(kept.rules(campaign)) == 7
        assert kept.findings(campaign)[0].times == 30 and [p.key for p in kept.suspicions(campaign)] == ["k2"]
        assert designs_of(kept, campaign)["api1"].ran == 7
        assert kept.spending(campaign) == {"batches": 30 * 40.0, "clock": 30 * 25.0}
        assert kept.db.execute("select count(*) from spending").fetchone()[0] == 4  # this leg's, and the sums of those before
        past = [row for number, row in kept.finished_batches(campaign).items() if number >= FOLDED]
        assert len(past) == 4 and all(len(row.lesson.grown) == MOST_GROWN for row in past)


def test_only_a_campaign_of_the_same_kind_is_followed(tmp_path):
    with Store(tmp_path / "s.db", create=True) as store:
        store.begin("torch", "0", {"seed": 0, "order": 2})
        assert predecessor(store, "torch", "0", {"seed": 5, "order": 2, "seconds": 9}) == 1
        assert predecessor(store, "torch", "0", {"seed": 5, "order": 3}) is None
        assert predecessor(store, "torch", "1", {"seed": 5, "order": 2}) is None
