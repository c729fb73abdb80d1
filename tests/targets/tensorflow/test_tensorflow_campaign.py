"""The whole way on TensorFlow: workers are forked, a planted bug is found, and its script proves it by itself."""

import os
import subprocess
import sys

import gradfuzz
from gradfuzz.engine.config import Config
from gradfuzz.pool.launch import Launch
from gradfuzz.store import Store
from gradfuzz.surveys.mutants import run_mutants


class Silent:
    def tick(self, state):
        pass

    def found(self, finding):
        pass

    def say(self, text):
        pass


def campaign(tmp_path, folder, *names):
    seeds = tmp_path / "seeds.txt"
    text = 'x = tensor((4,), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_tensorflow.{}(x)\n'
    seeds.write_text("\n\n".join(text.format(name) for name in names))
    launch = Launch("tensorflow", sys.executable, ("planted_tensorflow",), (str(folder),), timeout=30.0)
    config = Config(launch, seconds=None, mutants=100 * len(names), seed_files=(str(seeds),), workers=1, shrink_seconds=2.0)
    state = run_mutants(config, tmp_path / "store.db", False, Silent())
    return state, Store(tmp_path / "store.db", create=False).findings()


def run(code, tmp_path, path):
    env = {**os.environ, "PYTHONPATH": str(path)}
    return subprocess.run([sys.executable, *code], capture_output=True, text=True, env=env, cwd=tmp_path)


def test_a_planted_bug_is_found_and_proven_by_its_script(tmp_path, request):
    folder = request.path.parent
    state, findings = campaign(tmp_path, folder, "wrong_gradient", "healthy")
    assert state.counts["agree"] > 0
    assert findings and {f.api for f in findings} == {"planted_tensorflow.wrong_gradient"} and all(f.confirmed for f in findings)
    script = tmp_path / "bug.py"
    script.write_text(findings[0].script)
    broken = run([str(script)], tmp_path, folder)
    assert broken.returncode == 1 and "<-- wrong" in broken.stdout and not broken.stderr
    script.write_text(findings[0].script.replace("planted_tensorflow.wrong_gradient(", "planted_tensorflow.healthy("))
    mended = run([str(script)], tmp_path, folder)
    assert mended.returncode == 0, mended.stdout + mended.stderr


def test_importing_the_target_starts_no_runtime_so_that_workers_can_be_forked(tmp_path):
    code = (
        "from gradfuzz.targets.homes import load_target; target = load_target('tensorflow');"
        "from tensorflow.python.eager import context; assert not context.context()._initialized"
    )
    done = run(["-c", code], tmp_path, gradfuzz.__file__.rsplit("/", 2)[0])
    assert done.returncode == 0, done.stderr
    assert not done.stdout and not done.stderr  # its start-up noise stays away
