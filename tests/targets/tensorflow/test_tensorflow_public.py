"""Findings are named after what people call: an operator gives way to the public function that leads to it and shows the same."""

import pytest

from gradfuzz.findings.inside.public import public
from gradfuzz.program import parse, to_text

INPUTS = """x = tensor((1, 4, 4, 1), "float64", arange(1.0, 1.0))
v = tensor((2,), "float64", arange(1.0, 1.0))
z = tensor((3,), "complex128", arange(1.0, 1.0))
"""
SPARSE = "tf.SparseTensor(indices=[[0, 0], [1, 2]], values=v, dense_shape=[3, 3])"
CASES = [
    ("tf.raw_ops.ResizeBilinear(images=x, size=[2, 2])", "tf.image.resize(x, [2, 2])"),
    ("tf.raw_ops.IRFFT(input=z, fft_length=[4])", "tf.signal.irfft(z, fft_length=[4])"),
    ("tf.raw_ops.ComplexAbs(x=z)", "tf.abs(z)"),
    (
        "tf.raw_ops.SparseSparseMaximum(a_indices=[[0, 0], [1, 2]], a_values=v, a_shape=[3, 3], b_indices=[[0, 0], [1, 2]], b_values=v,"
        " b_shape=[3, 3])",
        f"tf.sparse.maximum({SPARSE}, {SPARSE})",
    ),
    (
        "tf.raw_ops.ImageProjectiveTransformV3(images=tf.cast(x, tf.float32),"
        " transforms=tf.constant([[1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]]),"
        ' output_shape=[4, 4], fill_value=0.0, interpolation="BILINEAR")',
        "tf.keras.ops.image.affine_transform(tf.cast(x, tf.float32), tf.constant([[1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]]))",
    ),
    (
        "tf.raw_ops.ScaleAndTranslate(images=x, size=[2, 2], scale=[1.0, 1.0], translation=[0.0, 0.0])",
        "tf.image.resize(x, [2, 2], antialias=True)",  # which the operator does unless told otherwise
    ),
]


def runs(target):
    def tried(program):
        try:
            return target.point(program).first() is not None
        except Exception:
            return False

    return tried


@pytest.mark.parametrize("operator, wanted", CASES)
def test_an_operator_becomes_the_function_that_leads_to_it(tensorflow_target, operator, wanted):
    program = parse(f"{INPUTS}y = {operator}\n", tensorflow_target.language)
    api, found = public(tensorflow_target, program.api, program, runs(tensorflow_target))
    assert to_text(found).splitlines()[-1] == f"y = {wanted}" and api == wanted.partition("(")[0]


def test_the_function_is_told_in_a_word_what_the_operator_is_by_name(tensorflow_target):
    program = parse(f"{INPUTS}y = tf.raw_ops.ResizeBicubic(images=x, size=[2, 2])\n", tensorflow_target.language)
    _, found = public(tensorflow_target, program.api, program, lambda p: "bicubic" in to_text(p))
    assert 'y = tf.image.resize(x, [2, 2], method="bicubic")' in to_text(found)


def test_a_function_with_another_name_must_show_it_for_the_same_reason(tensorflow_target):
    program = parse(f"{INPUTS}y = tf.raw_ops.ResizeBilinear(images=x, size=[2, 2])\n", tensorflow_target.language)
    assert public(tensorflow_target, program.api, program, runs(tensorflow_target), lambda p: False) == (program.api, program)
