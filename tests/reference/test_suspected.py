"""Who suspects something is told more than the numbers."""

from gradfuzz.program import parse, to_json
from gradfuzz.worker.measure import measure


def test_who_suspects_something_is_told_the_rules_at_work(torch_target):
    program = to_json(parse('x = tensor((), "float64", full(41.0))\ny = torch.nn.functional.logsigmoid(x)\n', torch_target.language))
    job = {"program": program, "scenarios": ["reverse-over-reverse"], "most": 4}
    assert "LogSigmoidBackward0" in measure(torch_target, {**job, "fresh": True})["rules"]
    assert "rules" not in measure(torch_target, job)
