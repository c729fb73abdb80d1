"""PaddlePaddle as a target."""

import os

# Before Paddle is imported: what it raises it also logs otherwise, on standard error and before anybody has read it.
os.environ.setdefault("GLOG_minloglevel", "3")
