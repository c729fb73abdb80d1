"""Shards: disjoint work whose union is the whole; two real ones find together what one campaign finds."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gradfuzz.engine.shard import WHOLE, Shard
from gradfuzz.errors import GradfuzzError
from gradfuzz.mutate.cover import Cover
from gradfuzz.store import Lesson
from gradfuzz.surveys.batches import ROUND
from gradfuzz.surveys.schedule import FIRST_COVER, Schedule
from tests.surveys.test_schedule import APIS, run

PLANTED = Path(__file__).parent.parent / "planted" / "planted_torch.py"
FUNCTIONS = ("planted_torch.wrong_backward", "planted_torch.wrong_output", "torch.sin", "torch.exp", "torch.cos")
FIRST_ROUND = 5 * FIRST_COVER  # mutants: a first look at each API, and the values of its design


def lesson(batch):
    return Lesson([f"{batch.rng}"], {}, [], cover=None if batch.cover is None else Cover(2, 1))


@pytest.mark.parametrize("family", [1, 8])
@pytest.mark.parametrize("of", [2, 3, 16])
def test_first_rounds_are_disjoint_and_together_the_whole(of, family):
    whole = Schedule(APIS, 7, family)
    wanted = [whole.batch(number) for number in range(len(whole._first))]
    shards = [Schedule(APIS, 7, family, shard=Shard(number, of)) for number in range(1, of + 1)]
    own = [b for s in shards for b in s._first if not b.elsewhere]
    assert sorted(own, key=lambda b: b.number) == wanted


def test_later_rounds_stay_with_the_shards_own_apis_and_learn_from_them_alone():
    met = {}
    for number in (1, 2, 3):
        shard = Shard(number, 3)
        for batch in run(Schedule(APIS, 7, shard=shard), len(APIS) + 3 * ROUND, lesson):
            if not batch.elsewhere:
                assert shard.has(APIS[batch.seed_index])
                assert met.setdefault(batch.seed_index, number) == number
    assert set(met) == set(range(len(APIS)))


def test_a_shard_plans_the_same_each_time_and_a_whole_campaign_is_the_only_shard():
    batches = len(APIS) + 3 * ROUND
    assert run(Schedule(APIS, 7, shard=Shard(2, 3)), batches, lesson) == run(Schedule(APIS, 7, shard=Shard(2, 3)), batches, lesson)
    assert run(Schedule(APIS, 7, shard=Shard(1, 1)), batches, lesson) == run(Schedule(APIS, 7), batches, lesson)


def test_a_shard_without_apis_comes_to_its_end():
    none = next(s for s in (Shard(n, 100) for n in range(1, 101)) if not any(s.has(api) for api in APIS))
    schedule = Schedule(APIS, 7, shard=none)
    number = 0
    while (batch := schedule.batch(number)) is not None:
        assert batch.elsewhere
        schedule.learn(batch, Lesson())
        number += 1
    assert schedule.over(number)


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "1/0", "-1/4", "1/2/3", "a/b", "1.0/2", "1/99999", "१/२"])
def test_what_is_no_shard_is_refused_with_how_to_write_one(text):
    with pytest.raises(GradfuzzError, match="write 3/16"):
        Shard.named(text)
    assert Shard.named(" 3/16 ") == Shard(3, 16) and str(Shard(3, 16)) == "3/16" and Shard.named("1/1") == WHOLE


def campaign(folder, *more):
    command = [sys.executable, "-m", "gradfuzz", "run", "torch", "--seeds", "seeds.py", "--module", "planted_torch", "--order", "1",
               "--workers", "2", *more]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr + done.stdout
    return done.stdout


def rows(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return sorted(db.execute(statement))


def batches(path):
    told = rows(path, "select number, api, until, counts, reasons from batches")
    return [(number, api, until, json.loads(counts), json.loads(reasons)) for number, api, until, counts, reasons in told]


def test_two_real_shards_do_together_what_one_campaign_does(tmp_path):
    shutil.copy(PLANTED, tmp_path)
    seeds = (f'x = tensor((2, 3), "float64", uniform(0.5, 2.0, seed=1))\ny = {name}(x)\n' for name in FUNCTIONS)
    (tmp_path / "seeds.py").write_text("\n".join(seeds))
    of_shard = {n: sum(Shard(n, 2).has(api) for api in FUNCTIONS) for n in (1, 2)}
    assert all(of_shard.values()), "choose other functions: one shard has none"
    campaign(tmp_path, "--mutants", str(FIRST_ROUND), "--store", "whole.db")
    for number, apis in of_shard.items():
        mutants = str(apis * FIRST_ROUND // len(FUNCTIONS))
        campaign(tmp_path, "--mutants", mutants, "--shard", f"{number}/2", "--store", f"{number}.db")
    merged = subprocess.run([sys.executable, "-m", "gradfuzz", "merge", "1.db", "2.db", "--store", "both.db"], cwd=tmp_path, text=True,
                            capture_output=True)  # fmt: skip
    assert merged.returncode == 0 and "shards 1, 2 of 2" in merged.stdout, merged.stdout + merged.stderr
    both, whole = (batches(tmp_path / name) for name in ("both.db", "whole.db"))
    assert both == whole
    found = "select key, id, confirmed, sum(times) from findings group by key"
    wanted = rows(tmp_path / "whole.db", found)
    assert rows(tmp_path / "both.db", found) == wanted and any(confirmed for _, _, confirmed, _ in wanted)
    shown = [subprocess.run([sys.executable, "-m", "gradfuzz", "coverage", "--json", "--store", name], cwd=tmp_path, capture_output=True)
             for name in ("both.db", "whole.db")]  # fmt: skip
    assert json.loads(shown[0].stdout) == json.loads(shown[1].stdout)
    resumed = subprocess.run(
        [sys.executable, "-m", "gradfuzz", "run", "torch", "--resume", "--store", "1.db", "--shard", "2/2", "--seeds", "seeds.py",
         "--module", "planted_torch"], cwd=tmp_path, capture_output=True, text=True)  # fmt: skip
    assert resumed.returncode == 2 and "is shard 1/2, not 2/2" in resumed.stderr
