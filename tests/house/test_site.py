"""The documentation as a site: it is built without a warning, every link within it leads somewhere, and it fetches nothing."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradfuzz import testing
from tests.house.links import broken_in_site, fetched_from_elsewhere

for package in ("mkdocs", "material", "mkdocstrings"):
    pytest.importorskip(package, reason=f"the site is not built: {package} is missing (pip install 'gradfuzz[docs]')")

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_link_of_the_site_leads_somewhere(site):
    assert broken_in_site(site) == []


def test_nothing_is_fetched_from_elsewhere_while_it_is_read(site):
    assert fetched_from_elsewhere(site) == []


def test_the_gallery_a_real_report_and_the_api_are_in_it(site):
    assert (site / "gallery.html").is_file() and (site / "reports" / "torch-2.13.0.html").is_file()
    api = (site / "testing-api.html").read_text()
    assert [name for name in testing.__all__ if not re.search(rf'id="gradfuzz\.testing\.\w+\.{name}"', api)] == []


def test_what_is_broken_or_fetched_would_be_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html">b</a><a href="a.html#none">c</a><script src="https://x.example/y.js"></script>')
    assert broken_in_site(tmp_path) == ["a.html: b.html", "a.html: a.html#none"]
    assert fetched_from_elsewhere(tmp_path) == ["a.html: https://x.example/y.js"]
