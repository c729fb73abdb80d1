"""PaddlePaddle as a target."""

from __future__ import annotations

import paddle

from gradfuzz.targets.base.taped_target import TapedTarget
from gradfuzz.targets.homes import Home
from gradfuzz.targets.paddle import nodes
from gradfuzz.targets.paddle.point import PaddlePoint


class PaddleTarget(TapedTarget):
    """The installed PaddlePaddle on the CPU."""

    version = str(paddle.__version__)
    point_class = PaddlePoint
    module_class = paddle.nn.Layer
    tensor_class = paddle.Tensor

    def __init__(self, home: Home, modules: tuple[str, ...] = ()) -> None:
        super().__init__(home, modules)
        paddle.disable_signal_handler()  # a crash is the worker's to die of

    def rules(self) -> dict[str, str]:
        return nodes.rules_that_exist()

    def smoke_test(self) -> str:
        return 'x = tensor((2,), "float64", uniform(0.5, 1.0, seed=1))\ny = paddle.sin(x)\n'
