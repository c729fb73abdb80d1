"""What a library says is told without the folders of the machine that it was met on."""

import pytest

from gradfuzz.targets.base.errors import without_paths
from gradfuzz.targets.base.refusals import Refusals

FRAME = 'File "/home/me/venv/lib/python3.11/site-packages/tensorflow/python/ops/x.py", line 3, in f'


@pytest.mark.parametrize("said, told", [
    (FRAME, 'File "tensorflow/python/ops/x.py", line 3, in f'),
    ("no such kernel (/srv/code/own.py:33)", "no such kernel (own.py:33)"),
    ("raised at /opt/build/src/Foo.cpp:12", "raised at Foo.cpp:12"),
    (r"C:\Users\me\work\own.py, line 3", "own.py, line 3"),
    ("~/.cache/lib/kernel.so: bad", "kernel.so: bad"),
])  # fmt: skip
def test_a_path_of_somebody_s_disk_is_left_out(said, told):
    assert without_paths(said) == told


@pytest.mark.parametrize("said", [
    "Could not place it on /job:localhost/replica:0/task:0/device:CPU:0",
    "See https://docs.jax.dev/en/latest/notebooks/shard_map.html#scan-vma for more",
    "{{node gradient_tape/while/Foo}} and/or 3 / 4, ../aten/src/Foo.cpp:12",
])  # fmt: skip
def test_devices_addresses_nodes_and_quotients_stay(said):
    assert without_paths(said) == said


def test_one_complaint_on_two_machines_is_one_complaint():
    said = [Refusals({}).classify(ValueError(f"in {home}/lib/python3.11/site-packages/lib/a.py: no")) for home in ("/srv/e", "/home/me")]
    assert said[0] == said[1] and said[0].message == "ValueError: in lib/a.py: no" and "root" not in said[0].symptom
