"""Ways that a release breaks itself, whatever is run in them, and where that is reported: a healthy function is healthy in the others."""

BROKEN = {
    "jax": {
        "rooted-counting": "https://github.com/jax-ml/jax/issues/24295",
        "integrated-counting": "https://github.com/jax-ml/jax/issues/16517",
        "branching-rule-batched-inside": "https://github.com/jax-ml/jax/issues/39219",
        "accumulated-checkpointed": "docs/found/ways-jax-0.10.2.md",
        "stepped": "docs/found/ways-jax-0.10.2.md",
    },
    "torch": {
        "rule-nested": "https://github.com/pytorch/pytorch/issues/197867",
        "registered": "docs/found/ways-torch-2.13.0.md",
        "registered-functional": "https://github.com/pytorch/pytorch/issues/179652",
        "compiled-read": "https://github.com/pytorch/pytorch/issues/197039",
        "compiled-drawn": "https://github.com/pytorch/pytorch/issues/190758",
        "compiled-broken": "https://github.com/pytorch/pytorch/issues/185829",
        "compiled-batched-jacobian": "https://github.com/pytorch/pytorch/issues/183015",
        "detour-padded": "https://github.com/pytorch/pytorch/issues/145837",
        "compiled-turned": "docs/found/ways-torch-2.13.0.md",
        "compiled-one-by-one": "https://github.com/pytorch/pytorch/issues/118739",
        "rows-inductor": "https://github.com/pytorch/pytorch/issues/138422",
    },
    "tensorflow": {
        "rule-vectorized-inside": "docs/found/ways-tensorflow-2.21.0.md",
        "compiled-counted": "https://github.com/tensorflow/tensorflow/issues/123067",
    },
}


def sound_ways(target):
    """All others of a target."""
    return tuple(way for way in target.ways if way not in BROKEN.get(target.name, {}))
