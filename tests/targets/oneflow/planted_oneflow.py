"""OneFlow functions with one planted bug each, and their healthy twins."""

import oneflow as flow

FACTOR = 1.0 + 1e-3


def healthy(x):
    return x * x * x


def wrong_reverse(x):
    """The value of x³, and a little more than its gradient."""
    return x * x * x + (FACTOR - 1.0) * (x - x.detach())


def wrong_second(x):
    """The value and the gradient of x³; the gradient's own is that of 3 x c."""
    c = x.detach()
    return c * c * c + 3 * c * c * (x - c) + 1.5 * c * (x - c) * (x - c)


def wrong_in_a_graph(x):
    """Takes another way inside a graph, as code that asks where it runs does."""
    return x * x * x * (FACTOR if x.is_lazy else 1.0)


class WrongModule(flow.nn.Module):
    """y = w x³, wrong in x."""

    def __init__(self):
        super().__init__()
        self.w = flow.nn.Parameter(flow.ones(1))

    def forward(self, x):
        return wrong_reverse(x) * self.w
