"""What a release needs is data in its target's folder; what releases are called has an order."""

import re

import pytest

from gradfuzz.envs.bisect import bisect
from gradfuzz.envs.install import fault
from gradfuzz.envs.recipe import read_request, recipe_for, releases_tested
from gradfuzz.envs.versions import is_release, order, wanted
from gradfuzz.errors import GradfuzzError
from gradfuzz.targets.homes import home_of, known_targets


def test_releases_are_ordered_by_their_numbers():
    assert sorted(["2.10.0", "2.9.1", "1.13.1", "2.9"], key=order) == ["1.13.1", "2.9", "2.9.1", "2.10.0"]
    assert order("2.13.0+cpu") == order("2.13") and not is_release("2.0.0rc1") and is_release("1.8.1.post3")


def test_a_range_is_filled_from_what_is_offered_and_a_list_is_taken_at_its_word():
    offered = ["1.10.0", "1.11.0", "1.12.0rc1", "1.12.1", "2.0.1", "2.4.1"]
    assert wanted("1.11.0..2.0.1", offered) == ["1.11.0", "1.12.1", "2.0.1"]
    assert wanted("2.0.1, 1.12.1", []) == ["1.12.1", "2.0.1"]
    for text in ("", "new..2.0", "1.0..", "1.0,latest", "1.0..2.0..3.0"):
        with pytest.raises(GradfuzzError, match="is no release"):
            wanted(text, offered)


def test_a_request_names_a_library_and_a_release():
    assert read_request("torch==1.13.1") == ("torch", "1.13.1")
    assert read_request("tensorflow-cpu==2.9.3") == read_request("tensorflow==2.9.3") == ("tensorflow", "2.9.3")
    for text in ("torch", "torch>=2", "torch==", "torch==new", "torch==2.0; rm -rf", "--index-url=x", "nosuch==1.0"):
        with pytest.raises(GradfuzzError):
            read_request(text)


def test_pins_are_those_of_every_range_that_a_release_lies_in():
    old, new = recipe_for("torch", "1.13.1"), recipe_for("torch", "2.13.0")
    assert "numpy<2" in old.needs and "numpy<2" not in new.needs and "numpy" in new.needs
    assert "3.12" not in old.pythons and "3.12" in new.pythons
    assert "jaxlib==0.4.30" in recipe_for("jax", "0.4.30").needs
    assert recipe_for("tensorflow", "2.9.3").commands == [["tensorflow-cpu==2.9.3", "numpy<1.24", "protobuf<3.20"]]


@pytest.mark.parametrize("name", known_targets())
def test_every_pin_has_its_reason_and_every_target_its_releases_tested(name):
    data = home_of(name).data("releases")
    assert releases_tested(home_of(name)) and all(is_release(v) for v in data["tested"])
    for row in data["ranges"]:
        assert set(row) <= {"from", "below", "python", "needs", "alone", "note", "variables"}
        assert all(len(why) > 10 for why in row.get("needs", {}).values())
        assert all(re.fullmatch(r"3\.\d+", minor) for minor in row.get("python", ()))
        for about in row.get("variables", {}).values():
            assert about["reason"] and ("folders" in about) != ("value" in about)


SAID = {
    "ERROR: Could not find a version that satisfies the requirement torch==9.9 (from versions: 1.0, 1.1, 2.0)": "torch==9.9 cannot be "
    "installed: there is no such release for this Python and system; there are 1.0, 1.1, 2.0",
    "ERROR: No matching distribution found for numpy<1": "numpy<1 cannot be installed: there is no package of it",
    "  ╰─▶ Because there is no version of torch==9.9 and you require it": "torch==9.9 cannot be installed: there is no such release",
    "ERROR: Cannot install a==1 and b==2 because these package versions conflict.": "a==1 and b==2 cannot be installed: they need",
    "error: Failed building wheel for protobuf": "protobuf cannot be installed: building it failed",
    "OSError: [Errno 28] No space left on device": "there is no space left",
    "ERROR: something else": "torch==9.9 cannot be installed: ERROR: something else",
}  # fmt: skip


@pytest.mark.parametrize("line", SAID)
def test_a_failure_is_one_line_that_names_the_requirement(line):
    told = fault(["Collecting things", line], ["--no-deps", "torch==9.9"])
    assert told.startswith(SAID[line]) and "\n" not in told


# Halves ------------------------------------------------------------------------------------------------------------------


def by_halves(words):
    releases = [f"1.{i}" for i in range(len(words))]
    said = bisect(releases, lambda release: words[releases.index(release)], "?")
    assert all(words[releases.index(r)] == word for r, word in said.items())
    return said


def test_a_change_is_found_in_a_few_steps_wherever_it_is():
    for at in range(1, 32):
        words = ["a"] * at + ["b"] * (32 - at)
        said = by_halves(words)
        assert {f"1.{at - 1}", f"1.{at}"} <= set(said) and len(said) <= 7


def test_releases_that_cannot_say_are_passed_over():
    assert set(by_halves("?a?b?")) == {"1.0", "1.1", "1.2", "1.3", "1.4"}
    said = by_halves("aa?????bb")
    assert said["1.1"] == "a" and said["1.7"] == "b"
    assert set(by_halves("????").values()) == {"?"}


def test_where_the_ends_agree_nobody_else_is_asked():
    assert by_halves("abba") == {"1.0": "a", "1.3": "a"}
