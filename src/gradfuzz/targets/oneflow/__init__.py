"""OneFlow. Its package links against CUDA libraries that other packages bring, in folders that the loader does not search."""

import contextlib
import ctypes
import os
import sysconfig

os.environ.setdefault("GLOG_minloglevel", "3")  # a machine without a CUDA driver is no news
for _library in ("cublas/lib/libcublasLt.so.11", "cublas/lib/libcublas.so.11", "cudnn/lib/libcudnn.so.8"):
    with contextlib.suppress(OSError):  # where the loader's own path has them
        ctypes.CDLL(os.path.join(sysconfig.get_paths()["purelib"], "nvidia", _library), mode=ctypes.RTLD_GLOBAL)
