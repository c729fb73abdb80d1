"""A campaign's seeds come in the same parts, whoever read which shard first."""

import json
from types import SimpleNamespace

import pytest

from gradfuzz.errors import WorkerError
from gradfuzz.pool.launch import Launch
from gradfuzz.seeds.cache import BESIDE_SEEDS, _fingerprint
from gradfuzz.seeds.library import Reading
from gradfuzz.seeds.seed import Seed, led
from gradfuzz.targets.base.seeds import SHARDS


def program(number):
    return {"format": 1, "statements": [{"names": [f"x{number}"]}]}


@pytest.fixture
def pool(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "scratch").mkdir()
    return SimpleNamespace(launch=Launch("torch"), version="0", folder=tmp_path / "scratch")


def write(pool, reading, shard, *rows):
    """What a worker writes."""
    fields = reading.fields(shard)
    with open(fields["path"], "w") as file:
        for number, reached, spare in rows:
            row = {"api": f"torch.api{number}", "source": "test", "program": program(number), "reached": reached, "spare": spare}
            file.write(json.dumps(row) + "\n")
    reading.read(shard)


ROWS = {shard: [(shard, ["SinBackward0"] if shard == 3 else [], False), (100, [], False)] for shard in range(SHARDS)}
ROWS[0] += [(200, ["SinBackward0"], True), (201, ["CosBackward0"], True)]


def numbers(reading):
    return [[int(seed.api.removeprefix("torch.api")) for seed in part] for part in reading.parts]


@pytest.mark.parametrize("order", [range(SHARDS), reversed(range(SHARDS)), (3, 0, 7, 1, 2, 6, 5, 4, *range(15, 7, -1))])
def test_parts_come_in_the_order_of_the_shards_each_program_once(pool, order):
    reading = Reading(pool, lambda _: None)
    for shard in order:
        assert not reading.complete
        write(pool, reading, shard, *ROWS[shard])
    assert numbers(reading) == [[0, 100], *([shard] for shard in range(1, SHARDS)), [201]]


def test_a_shard_that_was_read_is_not_read_again(pool):
    first = Reading(pool, lambda _: None)
    assert first.next() == 0 and first.under_way == 1
    write(pool, first, 0, *ROWS[0])
    assert first.under_way == 0
    again = Reading(pool, lambda _: None)
    assert numbers(again) == [[0, 100]] and again.missing == SHARDS - 1
    assert [again.next() for _ in range(SHARDS)] == [*range(1, SHARDS), None]


def test_an_api_that_kills_its_reader_is_said_and_left_out_and_a_second_time_is_another_matter(pool):
    said = []
    reading = Reading(pool, said.append)
    note = pool.folder / "seeds-2.jsonl.trying"
    note.write_text("torch.deadly")
    reading.died(2, "SIGSEGV")
    assert "torch.deadly killed its process (SIGSEGV)" in said[-1] and reading.fields(2)["deadly"] == ["torch.deadly"]
    note.write_text("torch.deadly")
    with pytest.raises(WorkerError, match="could not be read: SIGSEGV"):
        reading.died(2, "SIGSEGV")
    with pytest.raises(WorkerError):
        reading.died(3, "SIGABRT")


@pytest.mark.parametrize("name, again", [("labels.json", False), ("script.py.j2", False), ("probes.json", True), ("samples.py", True)])
def test_seeds_are_read_again_where_what_they_hang_on_has_changed(tmp_path, name, again):
    for file in ("labels.json", "script.py.j2", "probes.json", "samples.py"):
        (tmp_path / file).write_text("before")
    before = _fingerprint.__wrapped__(tmp_path, (), BESIDE_SEEDS)
    (tmp_path / name).write_text("after")
    assert (_fingerprint.__wrapped__(tmp_path, (), BESIDE_SEEDS) != before) == again


def tensors(*shapes, dtype="float64"):
    return {"statements": [{"names": ["x"], "tensor": {"shape": list(shape), "dtype": dtype}} for shape in shapes]}


def test_what_is_empty_or_a_single_number_leads_no_api_that_has_more():
    def row(api, *shapes):
        return {"api": api, "source": "test", "program": tensors(*shapes), "reached": [], "spare": False}

    empty, number, matrix, other = row("a", (0, 0)), row("a", (), ()), row("a", (3, 3), ()), row("b", (1,))
    seeds = led([Seed(r["api"], r["source"], r["program"]) for r in (empty, number, other, matrix)])
    assert [seed.program for seed in seeds] == [r["program"] for r in (matrix, empty, other, number)]


def test_indices_make_no_seed_varied():
    assert not Seed("a", "test", tensors((5,), dtype="int64")).varied


def called(*args, **kwargs):
    call = {"call": "a", "args": [{"ref": "x"}, *args], "kwargs": [[*pair] for pair in kwargs.items()]}
    return Seed("a", "test", {"statements": [{"names": ["y"], "expr": call}]})


def test_a_form_is_what_is_given_and_its_words():
    assert called(2, scale=0.5).form == called(3, scale=1.5).form
    forms = [called(2), called(2, mode="sum"), called(2, mode="mean"), called(2, True), called(2, False), called([2]), called(None)]
    assert len({seed.form for seed in forms}) == len(forms)


def test_words_are_those_among_the_arguments():
    inner = {"call": "b", "args": [{"tuple": ["same", {"name": "lib.float64"}]}]}
    assert called(inner, 2, mode="sum", size={"float": "inf"}, kept=True).words == {"same", "sum"}
    assert called(2).words == frozenset()
