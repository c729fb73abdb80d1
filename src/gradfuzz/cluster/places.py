"""Where a campaign's nodes are, and which interpreter has the library on each: they need not be alike."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from gradfuzz.envs.environment import environment
from gradfuzz.errors import TargetError
from gradfuzz.pool.launch import Launch


@dataclass(frozen=True)
class Cluster:
    """Said by the user, sent to every node."""

    address: str = ""  # of a Ray cluster; nothing: the one that is there, or one of this machine's own
    python: str = ""  # the interpreter, as it is called on the nodes
    env: str = ""  # an environment of `gradfuzz env add`, by its name on the nodes


def on_this_node(launch: Launch, cluster: Cluster) -> Launch:
    """How the library is started here: by the interpreter or the environment that was named, else by the one that runs this."""
    if not cluster.env:
        return replace(launch, python=cluster.python or sys.executable)
    found = environment(cluster.env)
    if found.target != launch.target:
        raise TargetError(f"--env {cluster.env}: it has {found.target}, not {launch.target}")
    return replace(launch, python=found.python, variables=found.settings)
