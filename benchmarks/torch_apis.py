"""Which names of a list of PyTorch APIs have seeds, and why the others have none.

    python benchmarks/torch_apis.py LIST

LIST has one API name a line. Names that cannot be differentiated are told apart by trying: no call that was tried gives a
floating output that PyTorch says depends on a floating input.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.program import from_json
from gradfuzz.seeds.library import library_seeds

WANTED = 0.95
# Names whose call has no derivative to test, by what they are for. Whatever is not covered and not here counts as missed.
NOT_DIFFERENTIABLE = {
    "its output is not a floating tensor": (
        "all allclose any argmax argmin argsort bincount bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift "
        "bitwise_xor bool byte char int long short bucketize count_nonzero dim element_size eq equal gcd ge get_device greater "
        "greater_equal gt is_complex is_conj is_contiguous is_floating_point is_inference is_nonzero is_pinned is_set_to "
        "is_shared is_signed is_storage "
        "is_tensor isclose isfinite isinf isnan isneginf isposinf isreal lcm le less less_equal logical_and logical_not logical_or "
        "logical_xor lt matrix_rank multinomial ndimension ne nelement nonzero not_equal numel searchsorted signbit size storage_offset "
        "stride tril_indices triu_indices broadcast_shapes can_cast promote_types result_type is_tensor_like data_ptr storage storage_type "
        "numpy tolist bitwise_and_ bitwise_left_shift_ bitwise_not_ bitwise_or_ bitwise_right_shift_ bitwise_xor_ gcd_ lcm_"
    ),
    "its output does not depend on its floating inputs": (
        "arange empty empty_like empty_strided eye full full_like new_empty new_ones new_tensor new_zeros ones ones_like rand rand_like "
        "randint randn randn_like randperm range zeros zeros_like make_tensor detach detach_ histc tensor linspace logspace"
    ),
    "it sets its argument under no_grad": (
        "constant_ eye_ kaiming_normal_ kaiming_uniform_ normal_ ones_ orthogonal_ sparse_ uniform_ xavier_normal_ xavier_uniform_ zeros_ "
        "clip_grad_norm_ clip_grad_value_"
    ),
    "it changes settings, files, storage or code rather than numbers": (
        "are_deterministic_algorithms_enabled get_rng_state save set_default_dtype set_flush_denormal set_num_interop_threads "
        "set_num_threads set_warn_always use_deterministic_algorithms script_if_tracing wrap_torch_function from_dlpack to_dlpack "
        "resize_as_ set_ share_memory_"
    ),
    "it raises in this release: it was removed": "eig lstsq solve symeig",
}


def resolved(name: str) -> Any:
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found


def main(path: Path) -> None:
    names = [line.strip() for line in path.read_text().splitlines() if line.strip()]
    with Pool(Launch("torch", sys.executable), 1) as pool:
        seeds = library_seeds(pool, print)
    by_api: dict[str, list[Any]] = {}
    for seed in seeds:
        by_api.setdefault(seed.api, []).append(seed)
    objects = {id(resolved(api)) for api in by_api if resolved(api) is not None}
    covered = [n for n in names if n in by_api or (resolved(n) is not None and id(resolved(n)) in objects)]
    reasons = {word: reason for reason, words in NOT_DIFFERENTIABLE.items() for word in words.split()}
    rest = [n for n in names if n not in set(covered)]
    excused = {n: reasons[n.rsplit(".", 1)[-1]] for n in rest if n.rsplit(".", 1)[-1] in reasons}
    missed = [n for n in rest if n not in excused]
    share = len(covered) / (len(covered) + len(missed))
    print(f"{len(names)} names; {len(by_api)} APIs have {len(seeds)} seeds")
    print(f"covered {len(covered)}, not differentiable {len(excused)}, missed {len(missed)}")
    print(f"{100 * share:.1f} % of those that can be differentiated (wanted: {100 * WANTED:.0f} %)")
    print("missed:", ", ".join(missed) or "none")
    for reason, count in Counter(excused.values()).most_common():
        print(f"  {count:4d} {reason}: {', '.join(sorted(n for n, r in excused.items() if r == reason))}")
    programs = [(n, from_json(s.program)) for n in covered for s in by_api.get(n, [])[:3]]
    forms = {
        "in-place": [n for n, _ in programs if n.endswith("_")],
        "modules": [n for n, p in programs if any(c.func == "()" for c in p.calls())],
        "lists of tensors": [n for n, p in programs if any(isinstance(a, (list, tuple)) and len(a) > 1 and any(
            hasattr(x, "name") for x in a) for c in p.calls() for a in c.args)],
    }  # fmt: skip
    for form, found in forms.items():
        print(f"{form}: {len(set(found))} of the names")
    raise SystemExit(share < WANTED)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
