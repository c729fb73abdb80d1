"""What the installed PaddlePaddle is tried with: seeds from its signatures and docstrings, and what they may never call."""

import pytest

from gradfuzz.errors import ProgramError
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.targets.base.kinds import origin
from gradfuzz.targets.base.surface import surface

paddle = pytest.importorskip("paddle", reason="not in this interpreter; tests/targets/test_elsewhere.py runs these in its own")

WANTED = 500


@pytest.fixture(scope="module")
def seeds(paddle_target):
    return [seed for seed in paddle_target.seeds() if not seed.api.startswith("planted_paddle.")]


@pytest.mark.slow
def test_many_functions_have_seeds(seeds):
    apis = {seed.api for seed in seeds}
    spaces = {api.rpartition(".")[0] for api in apis}
    print(f"{len(seeds)} seeds of {len(apis)} functions, methods and layers")
    assert len(apis) >= WANTED
    assert {"paddle", "paddle.Tensor", "paddle.nn", "paddle.nn.functional", "paddle.linalg", "paddle.fft", "paddle.signal"} <= spaces


@pytest.mark.slow
def test_seeds_run_and_have_a_derivative(paddle_target, seeds):
    outcomes = {seed.api: examine(paddle_target, seed.program, Options(order=1)).outcome for seed in seeds[::29]}
    assert set(outcomes.values()) <= {"agree", "inconclusive", "disagree"}, outcomes
    assert sum(outcome == "agree" for outcome in outcomes.values()) > 0.8 * len(outcomes)


def test_everything_on_the_surface_is_paddle_s_own(paddle_target):
    own = [p for p in surface(paddle_target.compiler, paddle_target.is_module_class) if not p.path.startswith("planted_paddle.")]
    assert len(own) > 1000
    for public in own:
        assert public.form == "method" or isinstance(public.value, type) or origin(public.value).startswith("paddle."), public
        assert not isinstance(public.value, type) or issubclass(public.value, paddle.nn.Layer), public


REFUSED = (
    'paddle.save(x, "a")', 'paddle.load("a")', "paddle.grad(x, x)", "paddle.set_flags(x)", "paddle.enable_static()",
    "paddle.jit.to_static(x)",
    'paddle.vision.ops.read_file("a")', "x.numpy()", "x.tolist()", "x.backward()", 'paddle.hub.load("a", "b")', "paddle.utils.run_check()",
    "paddle.nn.functional.flash_attention.sdp_kernel()", "paddle.tensor.math.os.getcwd()", "paddle.static.save(x, x)", "paddle.empty([2])",
    "paddle.seed(1)", "paddle.base.core.globals()", "paddle.set_device(x)", 'paddle.Model(x).save("a")', "paddle.autograd.backward(x)",
)  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_what_reaches_beyond_the_program_is_outside_the_language(paddle_target, call):
    with pytest.raises(ProgramError):
        paddle_target.point(parse(f'x = tensor((3,), "float64", normal(seed=1))\ny = {call}', paddle_target.language))


def test_signatures_and_their_words_are_read(paddle_target):
    ((x, y, *_),) = paddle_target.parameters("paddle.nn.functional.kl_div")
    assert (x.name, y.name) == ("input", "label")
    (interpolate,) = paddle_target.parameters("paddle.nn.functional.interpolate")
    assert {"bilinear", "nearest"} <= set(next(p for p in interpolate if p.name == "mode").words)
    assert any(p.name == "axis" for way in paddle_target.parameters(".sum") for p in way)


def test_a_signature_that_somebody_wrote_down_gives_seeds(paddle_target):
    (overload,) = paddle_target.parameters("paddle.logaddexp")
    assert {seed.api for seed in paddle_target.probe("paddle.logaddexp", overload)} == {"paddle.logaddexp"}
    with pytest.raises(ProgramError):
        paddle_target.probe("paddle.save", overload)
