"""Seeds from the installed JAX alone: signatures, docstrings, its own harness, and the recorder."""

from itertools import islice

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from gradfuzz.mutate.cover import Cover
from gradfuzz.mutate.edits import apply_all
from gradfuzz.program import parse, to_text
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.docstrings import examples
from gradfuzz.targets.jax.api import functions
from gradfuzz.targets.jax.harness import harness_programs
from gradfuzz.targets.jax.probing import attempts
from gradfuzz.targets.jax.samples import moves, traces
from gradfuzz.targets.jax.transcribe import NotAProgram, Transcriber
from gradfuzz.worker.drawing import Drawing


def test_the_surface_has_functions_of_every_room_and_no_settings(jax_target):
    paths = {path for path, _ in functions(jax_target.language)}
    wanted = {
        "jax.numpy.sin",
        "jax.lax.dot_general",
        "jax.nn.gelu",
        "jax.scipy.stats.norm.logpdf",
        "jax.numpy.linalg.eigh",
        "jax.image.resize",
    }
    assert wanted <= paths and len(paths) > 700
    assert not any(path.endswith((".save", ".load", ".psum", ".stop_gradient")) for path in paths)


@pytest.mark.parametrize(
    "path, function", [("jax.numpy.hypot", jnp.hypot), ("jax.lax.cumsum", lax.cumsum), ("jax.numpy.linalg.solve", jnp.linalg.solve)]
)
def test_a_signature_is_enough_for_a_seed(jax_target, path, function):
    programs = [parse(text, jax_target.language) for group in list(attempts(path, function))[:6] for text in group]
    assert any(traces(jax_target, p) and moves(jax_target, p) for p in programs)


@pytest.mark.parametrize("path", [
    "jax.scipy.special.sph_harm_y", "jax.scipy.special.multigammaln", "jax.experimental.ode.odeint", "jax.lax.integer_pow",
    "jax.lax.polygamma", "jax.numpy.kaiser", "jax.random.lognormal", "jax.numpy.put", "jax.numpy.place", "jax.numpy.fill_diagonal",
    "jax.lax.linalg.cholesky_update",
])  # fmt: skip
def test_whole_numbers_functions_and_options_that_a_derivative_needs_are_found(jax_target, path):
    first = next(iter(jax_target.seeds(lambda *names: path in names)))
    assert any(call.func == path for call in first.program.calls())


@pytest.mark.parametrize("path, led", [
    ("jax.scipy.stats.gamma.logpdf", {"loc", "scale"}), ("jax.scipy.special.logsumexp", {"b"}), ("jax.numpy.hypot", set()),
])  # fmt: skip
def test_a_seed_with_all_its_options_leads_a_function(jax_target, path, led):
    """Tensors that need not be given have derivatives as well, and no edit brings one."""
    seeds = [seed.program for seed in jax_target.seeds(lambda *names: path in names)]
    given = [{name for call in program.calls() for name, _ in call.kwargs} for program in seeds]
    assert given[0] == led and set() in given and ({"b", "where"} in given) is ("b" in led)


@pytest.mark.parametrize("path, led", [
    ("jax.scipy.linalg.eigh_tridiagonal", "docstring"), ("jax.numpy.sin", "signature"), ("jax.ops.segment_sum", "signature"),
])  # fmt: skip
def test_a_seed_that_computes_something_leads_one_that_is_handed_on(jax_target, path, led):
    """The eigenvalues of matrices of one row are what is on their diagonal."""
    first = next(iter(jax_target.seeds(lambda *names: path in names)))
    assert first.source.startswith(led)


def test_indices_out_of_range_are_a_seed_of_their_own(jax_target):
    seeds = [seed.program for seed in jax_target.seeds(lambda *names: "jax.lax.scatter_max" in names)]
    numbers = [materialise(program.inputs["x1"]) for program in seeds]
    assert any((n < 0).any() and (n > 4).any() for n in numbers) and any((n >= 0).all() and (n < 4).all() for n in numbers)
    assert any("clip" in to_text(program) for program in seeds)  # what becomes of them is said


def test_rows_are_made_of_what_can_be_traced(jax_target):
    """A level that is refused takes all others of its row with it, and of dimension numbers nearly all are."""
    numbers = "update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)"
    text = (
        'x = tensor((4,), "float64", normal(seed=1))\ni = tensor((2, 1), "int64", listed([1, 0]), grad=False)\n'
        'u = tensor((2,), "float64", normal(seed=3))\n'
        f"y = jax.lax.scatter_max(x, i, u, jax.lax.ScatterDimensionNumbers({numbers}))\n"
    )
    job = {"rng": "1", "weights": None, "cover": Cover().to_json()}
    drawing = Drawing.of(job, parse(text, jax_target.language), jax_target)
    rows = [members[0] for members in islice(drawing.design.families(), 12)]
    assert all(jax_target.takes(apply_all(drawing.seed, drawing.design.edits(row))) for row in rows)
    words = [f"{factor.name}={name}" for factor in drawing.design.factors for name, _ in factor.levels]
    assert any(words[level].endswith("mode='clip'") for row in rows for level in row)
    refused = [words[level] for level in range(len(words)) if drawing.design.learnt.refused >> level & 1]
    assert any(word.startswith("argument") for word in refused) and not any(word.startswith("option") for word in refused)


def test_a_function_that_does_not_move_with_its_inputs_is_no_seed(jax_target):
    text = 'x = tensor((4,), "float64", normal(seed=1))\ny = jax.numpy.{}(x)'
    assert not moves(jax_target, parse(text.format("floor"), jax_target.language))
    assert moves(jax_target, parse(text.format("sinc"), jax_target.language))


def test_a_docstring_becomes_a_program_whose_arrays_are_inputs(jax_target):
    doc = """An example.

    >>> x = jnp.array([[1, 2], [3, 4]])
    >>> with jnp.printoptions(precision=2):
    ...     print(jnp.linalg.inv(x))
    [[-2.   1. ]
     [ 1.5 -0.5]]
    >>> open("/etc/passwd").read()
    """
    texts = [to_text(p) for p in examples(doc, jax_target.compiler)]
    assert texts[-2] == 'x0 = tensor((2, 2), "float64", listed([1.0, 2.0, 3.0, 4.0]))\ny = jax.numpy.linalg.inv(x0)\n'
    assert not any("passwd" in text for text in texts)


def test_the_recorder_reads_primitives_off_a_function(jax_target):
    def function(x, y):
        return jnp.sin(x) @ y

    program = Transcriber(jax_target.language).transcribe(function, [np.linspace(0.1, 0.8, 6).reshape(2, 3), np.ones((3, 2))])
    assert [call.func for call in program.calls()][:2] == ["jax.lax.sin_p.bind", "jax.lax.dot_general_p.bind"]
    assert moves(jax_target, parse(to_text(program), jax_target.language))


def test_the_recorder_refuses_what_would_lose_a_rule(jax_target):
    import jax

    with pytest.raises(NotAProgram):
        Transcriber(jax_target.language).transcribe(jax.nn.relu, [np.ones(3)])


def test_the_harness_inside_jax_gives_programs(jax_target):
    pytest.importorskip("absl")
    pytest.importorskip("jax._src.internal_test_util.test_harnesses")
    found = []
    for _, program in harness_programs(jax_target.language):
        found.append(program)
        if len(found) == 12:
            break
    assert len(found) == 12 and all(program.api.endswith("_p.bind") for program in found)
