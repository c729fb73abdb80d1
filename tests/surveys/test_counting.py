"""Counting right: a campaign comes to the same however often it is stopped, and however many workers it has."""

import sqlite3

import pytest

from tests.surveys.test_campaign import RUN, folder, gradfuzz  # noqa: F401 - a fixture

# Deep enough for rules of rules to be read off tapes, which earlier batches of the same worker must not spoil.
MORE = """
x = tensor((3, 4), "float64", uniform(0.5, 2.0, seed=1))
y = torch.nn.functional.softmax(x, dim=1)

x = tensor((3, 4), "float64", uniform(0.5, 2.0, seed=1))
y = torch.logsumexp(torch.sin(x) * x, dim=1)

x = tensor((2, 3, 4), "float64", uniform(0.5, 2.0, seed=1))
y = torch.nn.functional.layer_norm(x, (4,))

x = tensor((2, 3, 4), "float64", uniform(0.5, 2.0, seed=1))
y = torch.nn.functional.softmax(x, dim=0)

x = tensor((2, 4), "float64", uniform(0.5, 2.0, seed=1))
y = torch.cumprod(x, dim=1)
"""


def outcome(folder, store):  # noqa: F811
    """Batches with what they taught, and findings with the times they were met."""
    db = sqlite3.connect(folder / store)
    batches = db.execute("select number, api, counts, reasons, refusals, lesson, until from batches order by number").fetchall()
    rules = db.execute("select rule from rules order by rule").fetchall()
    findings = db.execute("select key, id, confirmed, times from findings order by rowid").fetchall()
    waiting = db.execute("select count(*) from suspicions").fetchone()[0]
    db.close()
    return {"batches": batches, "rules": rules, "findings": findings, "waiting": waiting}


def run(folder, store, *options):  # noqa: F811
    done = gradfuzz(*RUN, "--store", store, *options, cwd=folder)
    assert done.returncode == 1, done.stdout + done.stderr
    return outcome(folder, store)


def test_a_campaign_that_is_resumed_makes_the_mutants_that_were_asked_for(folder):  # noqa: F811
    at_once = run(folder, "once.db", "--mutants", 70)
    run(folder, "twice.db", "--mutants", 60)
    assert run(folder, "twice.db", "--mutants", 70, "--resume") == at_once


def test_one_worker_and_two_come_to_the_same(folder):  # noqa: F811
    with (folder / "seeds.py").open("a") as file:
        file.write(MORE)
    found = [run(folder, f"{n}.db", "--mutants", 100, "--order", 3, "--workers", n) for n in (1, 2)]
    assert found[0] == found[1]


SIMILAR = """
x = tensor((3, 4), "float64", uniform(0.5, 2.0, seed=1))
y = {0}.sin(x) * {0}.exp(x)

x = tensor((4,), "float64", uniform(0.5, 2.0, seed=1))
y = {0}.exp({0}.sin(x))

x = tensor((3, 4), "float64", uniform(0.5, 2.0, seed=1))
y = {0}.sin(x) * x
"""


JAX = pytest.param("jax", "jax.numpy", 3 * 3 * 384, marks=pytest.mark.slow)


@pytest.mark.parametrize(("target", "namespace", "mutants"), [JAX, ("tensorflow", "tf.math", 3 * 3 * 64)])
def test_a_library_that_remembers_what_it_compiled_teaches_the_same_to_one_worker_and_two(tmp_path, target, namespace, mutants):
    """The seeds share their operators, so that a worker that runs all of them meets each rule once, and two workers meet it twice."""
    (tmp_path / "seeds.py").write_text(SIMILAR.format(namespace))
    found = []
    for workers in (1, 2):
        options = ("--seeds", "seeds.py", "--mutants", mutants, "--order", 2, "--workers", workers, "--store", f"{workers}.db")
        done = gradfuzz("run", target, *options, cwd=tmp_path)
        assert done.returncode in (0, 1), done.stdout + done.stderr
        found.append(outcome(tmp_path, f"{workers}.db"))
    assert len(found[0]["batches"]) > 3  # more than each seed's first
    assert found[0] == found[1]
