"""The whole way on JAX: workers are forked, a planted bug is found, and its script proves it by itself."""

import subprocess
import sys

from gradfuzz.engine.config import Config
from gradfuzz.pool.launch import Launch
from gradfuzz.store import Store
from gradfuzz.surveys.mutants import run_mutants
from gradfuzz.targets.jax.target import JaxTarget


class Silent:
    def tick(self, state):
        pass

    def found(self, finding):
        pass

    def say(self, text):
        pass


def campaign(tmp_path, folder, *names):
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("\n\n".join(f'x = tensor((4,), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_jax.{name}(x)\n' for name in names))
    launch = Launch("jax", sys.executable, ("planted_jax",), (str(folder),), timeout=30.0)
    mutants = JaxTarget.family // 2 * len(names)  # every seed's first batch
    config = Config(launch, seconds=None, mutants=mutants, seed_files=(str(seeds),), workers=1, shrink_seconds=2.0)
    state = run_mutants(config, tmp_path / "store.db", False, Silent())
    return state, Store(tmp_path / "store.db", create=False).findings()


def test_a_planted_bug_is_found_and_proven_by_its_script(tmp_path, request):
    folder = request.path.parent
    state, findings = campaign(tmp_path, folder, "wrong_vjp", "healthy")
    assert state.counts["agree"] > 0
    assert findings and {f.api for f in findings} == {"planted_jax.wrong_vjp"} and all(f.confirmed for f in findings)
    script = tmp_path / "bug.py"
    script.write_text(findings[0].script)
    env = {"PYTHONPATH": str(folder), "PATH": ""}
    broken = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env, cwd=tmp_path)
    assert broken.returncode == 1 and "<-- wrong" in broken.stdout
    script.write_text(findings[0].script.replace("planted_jax.wrong_vjp(", "planted_jax.healthy_vjp("))
    mended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env, cwd=tmp_path)
    assert mended.returncode == 0, mended.stdout + mended.stderr


def test_importing_the_target_starts_no_runtime_so_that_workers_can_be_forked():
    code = (
        "from gradfuzz.targets.homes import load_target; target = load_target('jax');"
        "import jax._src.xla_bridge as bridge; assert not bridge._backends, bridge._backends"
    )
    import gradfuzz

    source = gradfuzz.__file__.rsplit("/", 2)[0]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": source, "PATH": ""})
    assert done.returncode == 0, done.stderr
