"""Grows the corpus of hostile Programs beside this file: `python -m tests.hostile.grow` writes texts.jsonl, data.jsonl and rows.jsonl.

What is written is never run to see what it does: that every line of it is refused, and why, is what the tests look at. @PATH@ stands for a
file that must not be there afterwards.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
INPUT = 'x = tensor((2, 2), "float64", normal(seed=1))\n'
LAST = {"torch": "y = torch.sin(x)\n", "jax": "y = jnp.sin(x)\n", "tensorflow": "y = tf.sin(x)\n"}

# Modules that can be reached through the library's own, and what can be done with them.
MODULES = {
    "torch": ["torch.importlib", "F.importlib", "F.np", "F.torch", "torch.torch", "torch.ops", "torch.classes", "torch.ctypes", "torch.glob",
              "torch.inspect", "torch.threading", "torch.functools", "torch.utils", "torch.storage", "torch.autograd", "torch.backends",
              "torch.testing", "torch.nn", "nn.modules", "nn.functional", "nn.utils", "nn.utils.parametrize", "torch.linalg", "torch.fft.torch",
              "torch.special.torch", "torch.linalg.torch", "torch.ops.aten", "torch.Tensor", "torch.func", "torch.masked", "torch.platform"],
    "jax": ["jnp.linalg", "jnp.fft", "lax.linalg", "nn.initializers", "jsp.special", "jsp.stats", "jax.numpy", "jax.lax", "jax.random",
            "jax.scipy.stats.norm", "jax.ad_checkpoint.checkpoint_policies"],
    "tensorflow": ["tf.compat.v1.python_io", "tf.compat.v1.gfile", "tf.io", "tf.data", "tf.compat", "tf.compat.v1", "tf.keras", "tf.raw_ops",
                   "tf.autograph", "tf.audio", "tf.lite", "tf.train", "tf.types", "tf.sysconfig", "tf.version", "tf.compat.v1.app",
                   "tf.compat.v1.flags", "tf.compat.v1.layers", "tf.losses", "tf.keras.layers", "tf.compat.v1.logging", "tf.nest", "tf.mlir",
                   "tf.experimental", "tf.experimental.numpy", "tf.compat.v1.nn.rnn_cell", "tf.optimizers", "tf.lookup"],
}  # fmt: skip
USES = ['m.import_module("os")', 'm.save(x, "@PATH@")', 'm.system("touch @PATH@")', 'm.TFRecordWriter("@PATH@")', 'm("@PATH@")']

# Names that are functions or classes, and reach files, processes, the network or code.
CALLS = {
    "torch": ['torch.PyTorchFileWriter("@PATH@")', 'torch.PyTorchFileReader("@PATH@")', 'torch.UntypedStorage.from_file("@PATH@", True, 16)',
              'torch.save(x, "@PATH@")', 'torch.load("@PATH@")', 'torch.from_file("@PATH@", True, 16)', 'torch.ops.aten.from_file("@PATH@", True, 16)',
              'torch.ops.aten.from_file.default("@PATH@", True, 16)', 'torch.hub.load("a", "b")', 'torch.ops.load_library("@PATH@")',
              'torch.classes.load_library("@PATH@")', 'torch.import_ir_module("@PATH@")', 'torch.parse_ir("graph(): return ()")',
              'torch.parse_schema("f() -> ()")', 'torch.compile(torch.sin)', 'torch.jit.script(torch.sin)', 'torch.fork(torch.sin, x)',
              "torch.wait(x)", 'torch.get_file_path("a")', "torch.prepare_multiprocessing_environment()", 'torch.typename(x)',
              "F.handle_torch_function(torch.sin, (x,), x)", 'F.boolean_dispatch("a", 1, False, torch.sin, torch.cos, "m", "f")',
              "torch.cond(True, torch.sin, torch.cos, (x,))", "torch.while_loop(torch.sin, torch.cos, (x,))", 'torch.set_vital("a", "b", "c")',
              "torch.Generator()", "torch.FloatStorage(4)", "torch.FileCheck()", 'torch.ScriptFile("a")', "torch.DisableTorchFunctionSubclass()",
              "torch.get_device_module()", "torch.is_tensor(x)", "torch.read_vitals()", "nn.DataParallel(nn.Linear(2, 2))",
              "torch.nn.parallel.DataParallel(nn.Linear(2, 2))", "torch.nn.utils.remove_weight_norm(x)", "torch.autograd.grad(x, x)",
              "torch.func.torch.save(x)", 'torch.ops.aten.sin.overloads()', "torch.ops.aten.sin.default.decompose(x)", "torch.vitals_enabled()",
              'torch.distributed.init_process_group("gloo")', 'torch.multiprocessing.spawn(torch.sin)', 'torch.utils.cpp_extension.load("a", "b")',
              'torch.package.PackageImporter("@PATH@")', 'torch.serialization.load("@PATH@")', 'torch.onnx.export(x, x, "@PATH@")',
              'torch.profiler.profile()', "torch.set_num_threads(4)", "torch.manual_seed(1)", "torch.seed()", 'torch.os.system("touch @PATH@")',
              'torch.sys.exit(0)', 'torch.builtins.exec("1")', 'torch.math.sin(1.0)', "torch.Size((1, 2))", 'torch.device("cpu")',
              "torch.TensorType(x)", "torch.finfo(torch.float64)", "torch.Tag.core.name()", "torch.Tensor(2, 2)", "torch.SymInt(1)"],
    "jax": ['jnp.savez("@PATH@", x)', 'jnp.save("@PATH@", x)', 'jnp.load("@PATH@")', 'jnp.fromfile("@PATH@")', 'jnp.ufunc(jnp.sin, 1, 1)',
            'jnp.set_printoptions(precision=3)', "jnp.array_repr(x)", "jnp.array_str(x)", "jnp.iterable(x)", 'jnp.dtype("float64")', "jnp.finfo(x)",
            "jnp.ComplexWarning()", 'jnp.from_dlpack(x)', 'jnp.frombuffer("abc")', "jax.pure_callback(jnp.sin, x, x)", "jax.jit(jnp.sin)",
            "jax.debug.callback(jnp.sin, x)", 'jax.device_put(x)', "jax.grad(jnp.sin)", "jnp.linalg.np.save(x)", 'jax.numpy.np.save("@PATH@", x)',
            "lax.sin_p.def_impl(jnp.sin)", "lax.sin_p.impl(x)", "lax.sin_p(x)", "lax.Precision(1)", "lax.FftType.FFT.value.mro()",
            "jax.lax.lax.np.save(x)", "jax.profiler.start_trace('@PATH@')", "jax.experimental.io_callback(jnp.sin, x, x)", "jax.distributed.initialize()",
            "jax.export.export(x)", "jax.ffi.ffi_call('a', x)", "jax.clear_caches()", "jax.config.update('jax_enable_x64', False)",
            "jax.lax.Tolerance.__init__.__globals__", "jax.ad_checkpoint.Offloadable('a', 'b')", "jnp.ndarray()", "jnp.index_exp[0]", "jnp.s_[0]",
            "jnp.c_[x, x]", "jax.nn.initializers.Initializer()", "jax.scipy.stats.norm.np.save(x)"],
    "tensorflow": ['tf.compat.v1.python_io.TFRecordWriter("@PATH@")', 'tf.io.write_file("@PATH@", "a")', 'tf.io.read_file("@PATH@")',
                   'tf.compat.v1.write_file("@PATH@", "a")', 'tf.compat.v1.read_file("@PATH@")', 'tf.raw_ops.WriteFile(filename="@PATH@", contents="a")',
                   'tf.raw_ops.ReadFile(filename="@PATH@")', 'tf.compat.v1.matching_files("@PATH@")', 'tf.raw_ops.MatchingFiles(pattern="@PATH@")',
                   'tf.raw_ops.PrintV2(input="a", output_stream="file://@PATH@")', 'tf.print(x, output_stream="file://@PATH@")',
                   'tf.load_op_library("@PATH@")', 'tf.compat.v1.load_op_library("@PATH@")', 'tf.compat.v1.load_file_system_library("@PATH@")',
                   'tf.py_function(tf.sin, (x,), tf.float64)', 'tf.numpy_function(tf.sin, (x,), tf.float64)', 'tf.compat.v1.py_func(tf.sin, (x,), tf.float64)',
                   'tf.raw_ops.EagerPyFunc(input=[x], token="a", Tout=[tf.float64])', 'tf.saved_model.save(x, "@PATH@")', 'tf.Module()',
                   'tf.Variable(x)', 'tf.function(tf.sin)', 'tf.keras.Sequential()', 'tf.keras.Model()', 'tf.keras.models.load_model("@PATH@")',
                   'tf.keras.utils.get_file("a", "file://@PATH@")', 'tf.keras.utils.save_img("@PATH@", x)', 'tf.keras.utils.load_img("@PATH@")',
                   'tf.keras.utils.plot_model(x, "@PATH@")', 'tf.keras.utils.model_to_dot(x)', 'tf.keras.layers.TFSMLayer("@PATH@")',
                   'tf.keras.layers.TextVectorization(vocabulary="@PATH@")', 'tf.keras.layers.StringLookup(vocabulary="@PATH@")',
                   'tf.keras.layers.deserialize("a")', 'tf.keras.utils.deserialize_keras_object("a")', 'tf.keras.utils.serialize_keras_object(x)',
                   'tf.keras.utils.get_registered_object("a")', 'tf.keras.utils.PyDataset()', 'tf.keras.utils.Progbar(3)', 'tf.keras.utils.Config()',
                   'tf.keras.utils.FeatureSpace.load("@PATH@")', 'tf.data.Dataset.from_tensors(x)', 'tf.compat.v1.Session()', 'tf.compat.v1.GraphDef()',
                   'tf.compat.v1.Event()', 'tf.compat.v1.TFRecordReader()', 'tf.compat.v1.WholeFileReader()', 'tf.compat.v1.FIFOQueue(1, [tf.float64])',
                   'tf.nn.fixed_unigram_candidate_sampler(x, 1, 1, True, 1, vocab_file="@PATH@")', 'tf.get_logger()', 'tf.compat.v1.get_logger()',
                   'tf.raw_ops.FixedUnigramCandidateSampler(true_classes=x, num_true=1, num_sampled=1, unique=True, range_max=2, vocab_file="@PATH@")',
                   'tf.raw_ops.SaveV2(prefix="@PATH@", tensor_names=["a"], shape_and_slices=[""], tensors=[x])', 'tf.raw_ops.DebugIdentity(input=x)',
                   'tf.raw_ops.AudioSummary(tag="a", tensor=x, sample_rate=1.0)', 'tf.raw_ops.RpcClient(server_address="a")', 'tf.config.list_physical_devices()',
                   'tf.raw_ops.CollectiveGather(input=x)', 'tf.raw_ops.TFRecordReaderV2()', 'tf.raw_ops.InitializeTableFromTextFileV2(table_handle=x)',
                   'tf.raw_ops.SymbolicGradient(input=[x], Tout=[tf.float64], f="a")', 'tf.raw_ops.PartitionedCall(args=[x], Tout=[tf.float64], f="a")',
                   'tf.raw_ops.If(cond=True, input=[x], Tout=[tf.float64], then_branch="a", else_branch="b")', 'tf.CriticalSection()',
                   'tf.register_tensor_conversion_function(x, tf.sin)', 'tf.compat.v1.distributions.RegisterKL(x, x)', 'tf.compat.v1.app.run()',
                   'tf.test.main()', 'tf.distribute.Server(x)', 'tf.random.Generator(x)', 'tf.DeviceSpec()', 'tf.experimental.numpy.issubdtype(x, x)',
                   'tf.raw_ops.ImmutableConst(dtype=tf.float64, shape=[1], memory_region_name="@PATH@")', 'tf.keras.activations.get("relu")'],
}  # fmt: skip

# What may not be asked for, on what a Program may hold.
STEPS = {
    "torch": ["a = x.numpy()", "a = x.tolist()", 'a = x.tofile("@PATH@")', "a = x.apply_(torch.sin)", "a = x.map_(x, torch.add)", "a = x.storage()",
              "a = x.register_hook(torch.sin)", "a = x.backward()", "a = x.share_memory_()", "a = x.data_ptr()", "a = x.__class__", "a = x.__dict__",
              "a = x.__reduce_ex__(2)", "a = x.__init__.__globals__", "a = x.T.__class__.__mro__", "a = x.data", "a = x.grad_fn", "a = x._backward_hooks",
              "a = x.mT.device", "a = x.module_load(x)", "a = x.cuda()", "a = x._typed_storage()", "a = x.__getattribute__('numpy')",
              "f = torch.sin\na = f.__globals__", "f = torch.sin\na = f.__call__(x)", "f = torch.sin\na = f.__self__", "f = nn.Linear\na = f.mro()",
              "f = nn.Linear\na = f.register_forward_hook(f)", "f = nn.Linear\na = f.load_state_dict(1)", "m = nn.Linear(2, 2)\na = m.apply(torch.sin)",
              "m = nn.Linear(2, 2)\na = m.register_forward_hook(torch.sin)", "m = nn.Linear(2, 2)\na = m.state_dict()", "m = nn.Linear(2, 2)\na = m.compile()",
              "m = nn.Linear(2, 2)\na = m.load_state_dict(x)", 'm = nn.Linear(2, 2)\na = m.get_submodule("a")', "m = nn.Linear(2, 2)\na = m.share_memory()",
              'm = nn.Linear(2, 2)\na = m.add_module("a", m)', "m = nn.Linear(2, 2)\na = m.__call__(x)", "m = nn.Linear(2, 2)\na = m.forward.__globals__",
              's = "a"\na = s.format(x)', 's = "{0.__class__}"\na = s.format(x)', 'a = "%s".join(["a", "b"])', "t = (x, x)\na = t.count(x)",
              "t = [x]\na = t.append(x)", "n = 3\na = n.bit_length()", "n = 3\na = n.real", "d = torch.float64\na = d.to_complex()", "n = 3\na = n(x)",
              "r = torch.max(x, 0)\na = r.index(x)", "r = torch.max(x, 0)\na = r.__reduce__()", "a = torch.sin.__globals__", "a = torch.sin.__self__",
              "a = torch.nn.Linear.__init__.__globals__", "a = torch.Tensor.__base__", "s = torch.UntypedStorage\ns.from_file('@PATH@', True, 16)",
              "p = torch.ops.aten.sin\na = p.overloads()", "a = (torch.sin)(x).numpy()", "a = [torch.importlib]\nb = a[0].import_module('os')",
              "a = (F.np,)[0].save('@PATH@', 1)", "a = torch.stack([x, torch.os])", "a = torch.add(x, alpha=torch.importlib)",
              "a = torch.func.vmap(torch.load)(x)", "a = torch.func.vmap(F.np)(x)"],
    "jax": ["a = x.tobytes()", 'a = x.tofile("@PATH@")', "a = x.__class__", "a = x.at.__class__", "a = x.at[0].apply(jnp.sin)", "a = x.devices()",
            "a = x.addressable_data(0)", "a = x.__array__()", "a = x.block_until_ready()", "a = x.delete()", "a = x.aval", "a = x._value",
            "f = jnp.sin\na = f.lower(x)", "f = jnp.sin\na = f.__wrapped__(x)", "f = jnp.add\na = f.at(x, 0, x)", "f = jnp.add\na = f.reduce(x)",
            "f = jax.vmap(jnp.sin)\na = f.__globals__", "f = nn.relu\na = f.defjvp(jnp.sin)", "p = lax.sin_p\na = p.bind(x)", 's = "a"\na = s.format(x)',
            "d = lax.Precision.HIGH\na = d.mro()", "t = (x, x)\na = t.count(x)", "a = jax.vmap(jnp.savez)(x)", "f = nn.relu\na = f.fun(x)"],
    "tensorflow": ['m = tf.keras.layers.Dense(2)\na = m.save("@PATH@")', 'm = tf.keras.layers.Dense(2)\na = m.save_weights("@PATH@")',
                   'm = tf.keras.layers.Dense(2)\na = m.export("@PATH@")', 'm = tf.keras.layers.Dense(2)\na = m.load_weights("@PATH@")',
                   "m = tf.keras.layers.Dense(2)\na = m.get_config()", "m = tf.keras.layers.Dense(2)\na = m.from_config(x)",
                   "m = tf.keras.layers.Dense(2)\na = m.add_weight()", "m = tf.keras.layers.Dense(2)\na = m.__class__", "a = x.numpy()",
                   "a = tf.identity(x).numpy()", "a = tf.identity(x).eval()", "a = tf.identity(x).__class__", "a = tf.identity(x).graph",
                   'd = tf.data.Dataset.range(3)\na = d.save("@PATH@")', "d = tf.float64\na = d.as_numpy_dtype()", 's = "a"\na = s.format(x)',
                   "f = tf.sin\na = f.__globals__", "f = tf.sin\na = f.__wrapped__(x)", "o = tf.linalg.LinearOperatorDiag(x)\na = o.__class__",
                   "o = tf.linalg.LinearOperatorDiag(x)\na = o.with_name_scope(tf.sin)", "d = tf.compat.v1.distributions.Normal(x, x)\na = d.copy()",
                   "l = tf.keras.losses.Huber()\na = l.from_config(x)", "m = tf.keras.metrics.Mean()\na = m.add_weight()",
                   "p = tf.compat.v1.python_io\na = p.TFRecordWriter('@PATH@')", "k = tf.keras\na = k.models.load_model('@PATH@')",
                   "a = tf.map_fn(tf.io.read_file, x)", "a = tf.map_fn(tf.compat.v1.gfile, x)"],
}  # fmt: skip

# What is not in the language at all, whatever the library.
SYNTAX = [
    "import os", "from os import system", 'exec("1")', 'eval("1")', 'open("@PATH@", "w")', '__import__("os")', 'getattr(x, "numpy")', "globals()",
    "vars()", "a = (lambda: 1)()", "a = [b for b in (1,)]", "a = {b for b in (1,)}", "a = {1: 2}", "a = {1, 2}", "a = f'{x}'", "a = f'{x.__class__}'",
    "a = 1 if x else 2", "a = x and x", "a = not x", "a = x is None", "a = x in (1,)", "a = 1 < 2 < 3", "def f(): pass", "class A: pass",
    "for a in (1,): pass", "while True: pass", "with x: pass", "try:\n    pass\nexcept Exception:\n    pass", "if x: pass", "del x", "assert x",
    "global x", "raise x", "return x", "pass", "a: int = 1", "x += 1", "x[0] = 1", "x.T = 1", "a = b = 1", "*a, b = (1, 2)", "a = (c := 1)",
    "a = b'x'", "yield x", "await x", "async def f(): pass", "@x\ndef f(): pass", "print(x)", "breakpoint()", "a = x[0].__class__", "a = ().__class__",
    "a = ''.__class__.__mro__", "a = (1).__class__", "a = x.__class__.__base__.__subclasses__()", "__builtins__", "__x = 1", "tensor = 1", "float = 1",
    "normal = 1", "a = float('1e5')", "a = complex('1j')", "a = slice(1, 2, 3, 4)", "a = slice(1, x=2)", "t = tensor(x, 'float64', normal())",
    "t = tensor((2,), 'float64', normal(seed=-1))", "t = tensor((2,), 'float64', normal(seed=2**70))", "t = tensor((2,), 'float64', full('a'))",
    "t = tensor((2,), 'float64', full(None))", "t = tensor((-1,), 'float64', normal())", "t = tensor((2,) , 'object', normal())",
    "t = tensor((2,), 'float64', listed([open('@PATH@', 'w')]))", "t = tensor((10**9,), 'float64', normal())", "t = tensor((99999, 99999), 'float64', normal())",
    "t = tensor((2,), 'float64', integers(3, 1))", "t = tensor((2,), 'float64', planted(normal(), 1.0, 0))", "t = tensor(shape=(2,), **x)",
    "t, u = tensor((2,), 'float64', normal())", "t = tensor((2,), 'float64', eval('1'))", "t = tensor((2,), 'float64', full(" + "9" * 400 + "))",
    "a = " + "9" * 400, "a = " + "(" * 100 + "x" + ")" * 100 + "[0]" * 80, "a = " + "-" * 500 + "x", "a = " + "~" * 900 + "x", "a = x" + "[0]" * 300,
    "a = x" + ".T" * 300, "a = " + "[" * 90 + "]" * 90, "a = x" + " + x" * 300, "a = '" + "z" * 5000 + "'", "a = 'a\\x00b'", "a = 'a\\x1b[31mb'",
    "a = 'a\\u202eb'", "a = '\\n'", "a = 1\x00", "a = \x1b[0m", "a\u200b = 1", "х = 1", "ｘ１ = х", "a = ｏｐｅｎ('@PATH@', 'w')", "a = x.ｎumpy()",
    "# coding: utf-7\na = +AG8-pen('@PATH@', 'w')", "a = x;;", "a = (", "\ta = 1", "a = x.nosuchattribute", "a = nosuch.function(x)", "a = nosuch(x)",
]  # fmt: skip


def texts() -> Iterator[dict[str, str]]:
    for target, last in LAST.items():
        for number, path in enumerate(MODULES[target]):
            yield {"target": target, "text": f"{INPUT}m = {path}\n{last}"}
            yield {"target": target, "text": f"{INPUT}m = {path}\na = {USES[number % len(USES)]}\n{last}"}
        for call in CALLS[target]:
            yield {"target": target, "text": f"{INPUT}a = {call}\n{last}"}
        for steps in STEPS[target]:
            yield {"target": target, "text": f"{INPUT}{steps}\n{last}"}
    for line in SYNTAX:
        yield {"target": "torch", "text": f"{INPUT}{line}\n{LAST['torch']}"}


GOOD: dict[str, Any] = {
    "format": 1,
    "statements": [
        {"names": ["x"], "tensor": {"shape": [2], "dtype": "float64", "values": {"kind": "normal", "args": [0.0, 1.0], "seed": 1}}},
        {"names": ["m"], "expr": {"call": "torch.nn.Linear", "args": [2, 2], "kwargs": [["bias", True]]}},
        {"names": ["y"], "expr": {"call": "torch.add", "args": [{"ref": "x"}, {"attr": [{"ref": "x"}, "mT"]}], "kwargs": [["alpha", 2]]}},
        {"names": ["z"], "expr": {"call": "+", "args": [{"item": [{"ref": "y"}, {"slice": [None, 1, None]}]}, {"call": ".sum", "args": [{"ref": "y"}]}]}},
        {"names": [], "expr": {"call": "torch.sum", "args": [{"tuple": [{"ref": "z"}, {"name": "torch.float64"}]}, {"complex": [1.0, 2.0]}]}},
    ],
}  # fmt: skip
# Names as only JSON can bring them: text would not have become these.
NAMES = [
    "__globals__", "__builtins__", "__class__", "__init__", "_x", "numpy", "x y", "x\ny", "x;import os", "x)(", "", "import", "lambda", "None",
    "х", "ｘ", "x\u0000", "x\u202e", "\ud800", "x'", 'x"', "x.y", "x=1", "a" * 2000, "os.system", "torch.load", "__import__('os')", "sys", "np",
]  # fmt: skip
JUNK: list[Any] = [
    None,
    True,
    -1,
    2**200,
    1e308,
    "",
    "__globals__",
    [],
    {},
    [[]],
    {"ref": "nosuch"},
    {"a": 1},
    {"float": "1e5"},
    {"complex": [1]},
]


def data() -> Iterator[tuple[list[Any], Any]]:
    """(place, what is put there): each by itself makes a Program's data hostile."""
    for path, old in _places(GOOD):
        for junk in JUNK + (NAMES if isinstance(old, str) else []):
            if not _harmless(path, old, junk):
                yield path, junk
    chain: Any = {"ref": "x"}
    for name in ("sum", "__globals__", "__getitem__", "exec"):
        chain = {"attr": [chain, name]}
        yield [], _program({"call": "()", "args": [chain, "open('@PATH@', 'w')"]})
    for deep in (70, 200):
        for wrap in (lambda e: [e], lambda e: {"tuple": [e]}, lambda e: {"call": "neg", "args": [e]}, lambda e: {"attr": [e, "T"]}):
            nested: Any = {"ref": "x"}
            for _ in range(deep):
                nested = wrap(nested)
            yield [], _program(nested)


def _harmless(path: list[Any], old: Any, junk: Any) -> bool:
    """A literal where any expression may stand, another number among the numbers, another name, a list that may be empty."""
    slot, literal = path[-1:] in ([0], [1], [2], ["expr"]), not isinstance(junk, dict) and junk != 2**200
    if isinstance(old, str):
        return path[-2:] != ["call", 0] and junk in ("_x", "numpy", "sys", "np") and ("names" in path or "kwargs" in path)
    if path[-1:] in (["args"], ["kwargs"], ["tuple"], ["names"], ["shape"]) and junk in ([], [[]]):
        return not (path[-1] in ("shape", "kwargs", "names") and junk == [[]]) and path != ["statements", 3, "expr", "args"]
    if "values" in path:
        return (path[-1] == "seed" and junk is None) or (len(path) == 6 and type(junk) in (bool, int, float) and junk != 2**200)
    if "complex" in path:
        return type(junk) in (int, float)
    return "expr" in path and slot and literal and path[-2:] not in (["kwargs", 0], ["kwargs", 1])


def _program(expression: Any) -> dict[str, Any]:
    return {"format": 1, "statements": [GOOD["statements"][0], {"names": ["y"], "expr": expression}]}


def _places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[list[Any], Any]]:
    """Every place in the data and what stands there."""
    yield list(path), node
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from _places(child, (*path, key))


def changed(whole: Any, path: list[Any], value: Any) -> Any:
    """A copy with another value at a place."""
    if not path:
        return copy.deepcopy(value)
    made = copy.deepcopy(whole)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = copy.deepcopy(value)
    return made


GOOD_ROW = {"api": "torch.add", "source": "sample", "program": GOOD}


def rows() -> Iterator[str]:
    """Lines of a file of seeds, such as people might send."""
    for key in GOOD_ROW:
        yield json.dumps({k: v for k, v in GOOD_ROW.items() if k != key})
        for junk in (None, 3, True, [], {}, ["torch.add"]):
            yield json.dumps({**GOOD_ROW, key: junk})
    for api in ('x"""\nimport os; os.system("touch @PATH@")\n"""', 'x""" + open("@PATH@", "w").close() + """', "x\\", "torch.sin\nimport os", "torch.sin;",
                "../../etc", "torch..sin", "torch.sin()", "<script>alert(1)</script>", "\x1b[31mtorch", "torch.sin\u202e", "torch.sin " * 300, "", " ", "a b",
                "{{ 7 * 7 }}", "{% import os %}", "torch.import", "тorch.sin", "%s", "'; drop table findings; --"):  # fmt: skip
        yield json.dumps({**GOOD_ROW, "api": api})
    for source in ("a\nb", "\x1b]0;title\x07", "a" * 5000, "\u202e", "\x00"):
        yield json.dumps({**GOOD_ROW, "source": source})
    yield from (
        "{",
        "[]",
        "3",
        "null",
        '"torch.add"',
        "nothing",
        "{'api': 1}",
        '{"api": }',
        "[" * 3000 + "]" * 3000,
        '{"api": NaN',
        "\x00",
        "\ufeff{}",
    )


def write() -> None:
    for name, lines in (("texts", map(json.dumps, texts())), ("data", map(json.dumps, data())), ("rows", map(json.dumps, rows()))):
        (HERE / f"{name}.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    write()
