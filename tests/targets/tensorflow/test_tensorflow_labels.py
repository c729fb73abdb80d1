"""What labels quote stands in TensorFlow's own docstrings."""

import pytest

from gradfuzz.findings.inside.documented import documented
from gradfuzz.findings.labels import labels


@pytest.mark.parametrize("row", [row for row in labels("tensorflow") if "quote" in row], ids=lambda row: row["quoted"])
def test_every_quote_of_a_label_stands_in_the_docstring_that_it_names(tensorflow_target, row):
    api = row["names"][-1].replace("*", "x")
    assert any(row["quote"] in sentence for sentence in documented(tensorflow_target, api))
