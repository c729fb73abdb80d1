"""An API of which one excuse takes too many mutants is not being tested, and a campaign says so."""

from gradfuzz.store import Store
from gradfuzz.store.health import untested


def test_what_one_excuse_takes_is_told_and_what_is_rare_is_not(tmp_path):
    store = Store(tmp_path / "store.db", create=True)
    campaign = store.begin("torch", "0", {})
    store.add_batch(campaign, 0, "torch.relu", {"agree": 30, "inconclusive": 10, "invalid": 60}, {"kink": 10, "noisy": 1}, {}, 1.0, ())
    store.add_batch(campaign, 1, "torch.sin", {"agree": 99, "inconclusive": 1}, {"noisy": 1}, {}, 1.0, ())
    store.add_batch(campaign, 2, "torch.rare", {"inconclusive": 3}, {"kink": 3}, {}, 1.0, ())
    (found,) = untested(store, campaign)
    store.close()
    assert (found.api, found.excuse, found.taken, found.mutants) == ("torch.relu", "kink", 10, 40)
