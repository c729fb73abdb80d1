"""What is found out about a death, with answers of a worker made up: which scenario dies, and what its calls lead to elsewhere."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar

from gradfuzz.findings.postmortem import Death, DeathDesk, _PostMortem
from gradfuzz.mutate.edits import Edit
from gradfuzz.oracles.check import Options
from gradfuzz.pool.executor import Event
from gradfuzz.pool.launch import Launch
from gradfuzz.program import parse
from gradfuzz.targets.homes import language_for

SEED = parse('x = tensor((2,), "float64", listed([0.5, 2.0]))\ny = torch.sin(x)\n', language_for("torch"))


class Worker:
    """Dies in reverse mode. The seed's examination ends as it is told to."""

    ways: ClassVar = {}

    def __init__(self, examined):
        self.examined = examined

    def run(self, do, **fields):
        if do == "mutant":
            return Event("done", {}, {"edits": [Edit("dtypes", None, "float32").to_json()]})
        if do == "documented":
            return Event("done", {}, {"hidden": ["out"], "documented": [f"{fields['api']}: indices are not checked."]})
        if do == "examine":
            assert fields["fresh"] and fields["options"]["order"] == 1  # what a process remembers tells no rule twice
            return Event(self.examined, {}, {"rules": ["reverse:SinBackward0", "forward:SinBackward0", "reverse:MulBackward0"]})
        return Event("died" if fields["scenario"] == "reverse" else "done", {}, {"cause": "timeout"})


def seen(examined, rng="0:1"):
    launch = SimpleNamespace(timeout=1.0)
    return _PostMortem(launch, 0.0, Worker(examined), Death("torch.sin", SEED, "timeout", Options(order=1), rng), 1.0).result()


def test_a_death_keeps_the_rules_of_its_seed():
    found, confirmed = seen("done")
    assert confirmed and [s.name for s in found.verdict.scenarios] == ["reverse"]
    assert found.rules == ("SinBackward0", "MulBackward0")
    assert found.hidden == ("out",) and found.documented == ("torch.sin: indices are not checked.",)


def test_a_seed_that_dies_itself_has_no_rules():
    for examined, rng in (("died", "0:1"), ("done", "")):
        found, confirmed = seen(examined, rng)
        assert confirmed and found.rules == ()


@dataclass(frozen=True)
class Written:
    """As much of a finding as the desk looks at: its script is the name of the scenario at fault."""

    script: str
    confirmed: bool

    def shown_by(self, proven, output):
        return replace(self, confirmed=proven)


class Slow(Worker):
    """Every scenario takes its seconds; the scripts of those that take longer than ten show it."""

    def __init__(self, seconds):
        super().__init__("done")
        self.seconds, self.scripts, self.spent = seconds, [], 0.0

    def run(self, do, **fields):
        if do != "scenario":
            return super().run(do, **fields)
        needed = self.seconds.get(fields["scenario"], 0.1)
        self.spent += min(needed, fields["limit"])
        return Event("died" if needed > fields["limit"] else "done", {}, {"cause": "timeout"})

    def alone(self, source):
        self.scripts.append(source)
        return self.seconds[source] > 10.0, ""


def looked_into(worker):
    launch = Launch("torch", timeout=10.0)
    desk = DeathDesk(SimpleNamespace(launch=launch), 0.0, lambda api, seen, confirmed: Written(seen.verdict.scenarios[0].name, confirmed))
    return desk._looked_into(Death("torch.sin", SEED, "timeout", Options(order=1)), worker)


def test_a_scenario_that_hangs_is_found_in_haste_and_its_script_waits_for_the_whole_limit():
    worker = Slow({"reverse": 1000.0})
    assert looked_into(worker) == Written("reverse", True) and worker.scripts == ["reverse"]
    assert worker.spent < 3.0


def test_one_that_is_slow_alone_does_not_hide_the_one_that_hangs():
    worker = Slow({"direct": 4.0, "reverse": 1000.0})
    assert looked_into(worker) == Written("reverse", True) and worker.scripts == ["direct", "reverse"]
