"""What the installed MLX is tried with: seeds from its signatures, and what they may never call."""

import pytest

from gradfuzz.errors import ProgramError
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse

WANTED = 150


@pytest.fixture(scope="module")
def seeds(target):
    return [seed for seed in target.seeds() if not seed.api.startswith("planted_mlx.")]


def test_many_functions_have_seeds(seeds):
    apis = {seed.api for seed in seeds}
    spaces = {api.rpartition(".")[0] for api in apis}
    print(f"{len(seeds)} seeds of {len(apis)} functions and methods")
    assert len(apis) >= WANTED
    assert {"mlx.core", "mlx.core.linalg", "mlx.core.fft", "mlx.core.fast", "mlx.nn", "mlx.nn.losses", "Tensor"} <= spaces


def test_an_alias_is_no_further_function(seeds):
    apis = {seed.api for seed in seeds}
    assert "mlx.core.arccosh" in apis and "mlx.core.acosh" not in apis
    assert "mlx.core.power" in apis and "mlx.core.pow" not in apis


def test_seeds_run_and_have_a_derivative(target, seeds):
    outcomes = {seed.api: examine(target, seed.program, Options(order=1)).outcome for seed in seeds[::7]}
    assert set(outcomes.values()) <= {"agree", "inconclusive", "disagree"}, outcomes
    # About one in six of MLX's functions is computed in single precision inside, where differences of doubles cannot acquit.
    assert sum(outcome == "agree" for outcome in outcomes.values()) > 0.7 * len(outcomes)


def test_signatures_are_read_off_docstrings(target):
    (take,) = target.parameters("mlx.core.take")
    assert [(p.name, p.kind, p.required) for p in take] == [("a", "tensor", True), ("indices", "tensor", True), ("axis", "int", False)]
    (pad,) = target.parameters("mlx.core.pad")
    assert {p.name: p.words for p in pad}["mode"] == ("constant", "edge", "reflect", "symmetric")
    (loss,) = target.parameters("mlx.nn.losses.huber_loss")
    assert [p.kind for p in loss] == ["tensor", "tensor", "float", "str"]
    (method,) = target.parameters(".sum")
    assert [p.name for p in method] == ["self", "axis", "keepdims"]


REFUSED = (
    'mlx.core.save("a", x)', 'mlx.core.save_safetensors("a", x)', "mlx.core.random.normal()", "mlx.core.grad(x)", "mlx.core.compile(x)",
    "mlx.core.set_default_device(x)", "mlx.core.stop_gradient(x)", 'mlx.core.import_function("a")', "mlx.core.fast.metal_kernel(x)",
    "mlx.core.distributed.init()", "x.item()", "mlx.core.metal.start_capture(x)",
)  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_what_reaches_beyond_the_program_is_outside_the_language(target, call):
    with pytest.raises(ProgramError):
        parse(f'x = tensor((3,), "float64", normal(seed=1))\ny = {call}', target.language)


def test_a_type_that_mlx_lacks_is_named(target):
    with pytest.raises(ProgramError, match="MLX has no complex128"):
        target.point(parse('x = tensor((3,), "complex128", normal(seed=1))\ny = mlx.core.abs(x)', target.language))


def test_a_signature_that_somebody_wrote_down_gives_seeds(target):
    (overload,) = target.parameters("mlx.core.logaddexp")
    assert [seed.api for seed in target.probe("mlx.core.logaddexp", overload)] == ["mlx.core.logaddexp"] * 2
    with pytest.raises(ProgramError):
        target.probe("mlx.core.save", overload)
