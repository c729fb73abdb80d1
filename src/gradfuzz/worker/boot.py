"""The script that the target's interpreter runs. It makes `gradfuzz` importable there and nothing else.

The interpreter may be an old Python with its own NumPy; putting the campaign's site-packages on its path would mix the two.
So the package is registered by hand, from the folder that this file lies in.
"""

import importlib.util
import os
import sys


def register() -> None:
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = importlib.util.spec_from_file_location("gradfuzz", os.path.join(here, "__init__.py"), submodule_search_locations=[here])
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["gradfuzz"] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    # A script's own folder comes first on the path; its files would shadow modules of the same names.
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]
    register()
    from gradfuzz.worker.zygote import main

    sys.exit(main(sys.argv[1:]))
