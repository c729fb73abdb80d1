"""TensorFlow. These settings are read when the library is loaded: no start-up noise, no accelerator, kernels of its own."""

import os

for _name, _value in {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "0"}.items():
    os.environ.setdefault(_name, _value)
