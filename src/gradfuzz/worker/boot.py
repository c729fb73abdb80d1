"""The script that the target's interpreter runs. It makes `gradfuzz` importable there and nothing else.

The interpreter may be an old Python with its own NumPy; putting the campaign's site-packages on its path would mix the two.
So the package is registered by hand, from the folder that this file lies in.
"""

import importlib.util
import json
import os
import sys

OLDEST = (3, 9)


def too_old(version) -> str:  # type: ignore[no-untyped-def]
    """Why a Python cannot serve; nothing where it can. Up to here this file keeps to what every Python 3 understands."""
    if tuple(version[:2]) >= OLDEST:
        return ""
    told = "Python {}.{} is older than {}.{}: name another interpreter with --python"
    return told.format(version[0], version[1], *OLDEST)


def register() -> None:
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = importlib.util.spec_from_file_location("gradfuzz", os.path.join(here, "__init__.py"), submodule_search_locations=[here])
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["gradfuzz"] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    complaint = too_old(sys.version_info)
    if complaint:
        print(json.dumps({"failed": complaint}))
        sys.exit(2)
    # A script's own folder comes first on the path; its files would shadow modules of the same names.
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]
    register()
    from gradfuzz.worker.zygote import main

    sys.exit(main(sys.argv[1:]))
