"""What a training step is given, and how long it takes at least: shared by the
scripts that measure one. Needs numpy only where data are read.

A case is a folder: the examples of one batch as NPY files, and the initial
parameters as the compiled program wrote them.
"""
import json, pathlib, statistics, struct, sys, time

INPUTS = {"perceptron": ("images", "labels"), "char": ("tokens", "targets")}

# Multiply-adds of an example's products (forward; weights' and inputs' gradients
# each as much again), and parameters.
#   perceptron: 784x512, 512x512, 512x10; the first has no input gradient.
_PERCEPTRON = 784 * 512 + 512 * 512 + 512 * 10
_CHAR = 512 * 512 + 512 * 256
PRODUCTS = {"perceptron": 3 * _PERCEPTRON - 784 * 512, "char": 3 * _CHAR}
_PARAMETERS = {"perceptron": _PERCEPTRON, "char": _CHAR + 256 * 32}
# Parameters, gradients and state: read and written once by the optimizer.
_PASSES = {"perceptron": 5, "char": 7}
_INPUT_BYTES = {"perceptron": 4 * 785, "char": 4 * 17}


def flops(model, batch):
    return 2 * batch * PRODUCTS[model]


def optimizer_bytes(model):
    return 4 * _PASSES[model] * _PARAMETERS[model]


def optimizer_size(model):
    """Bytes of what the optimizer reads: of its passes, one fewer writes than reads."""
    return 4 * (_PASSES[model] + 1) // 2 * _PARAMETERS[model]


def input_bytes(model, batch):
    return batch * _INPUT_BYTES[model]


def add_arguments(parser):
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--tf32", action="store_true", help="products of f32 may round their factors")
    parser.add_argument("--case", help="folder of a case: measure on request (serve)")
    parser.add_argument("--losses", type=int, default=20, help="of a case: steps whose losses are told")


def read_tensors(path):
    """The tensors of a safetensors file, by name."""
    import numpy as np

    data = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    types = {"F32": np.float32, "I32": np.int32, "I64": np.int64}
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] in types:
            begin, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(body[begin:end], types[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def read_case(folder, model):
    """Initial parameters by name, and the arrays of the batch."""
    import numpy as np

    folder = pathlib.Path(folder)
    return read_tensors(folder / "start.safetensors"), [np.load(folder / f"{name}.npy") for name in INPUTS[model]]


def rounding(product, a):
    """How far a product of f32 factors, a·a, is from the exact one: tells f32 from tf32."""
    import numpy as np

    b = a.astype(np.float32).astype(np.float64)
    return float(np.linalg.norm(product - b @ b) / np.linalg.norm(b @ b))


def median_of_chunks(run, steps, chunks=4):
    """Median seconds a step: `run(steps)` begins that many or some more, ends when
    they are done and returns their number."""
    run(steps)  # what is made at first, and clocks
    times = []
    for _ in range(chunks):
        start = time.perf_counter()
        done = run(steps)
        times.append((time.perf_counter() - start) / done)
    return statistics.median(times)


def serve(make, count, **about):
    """Says what there is on one line of JSON, then answers each line
    `VARIANT MODE STEPS` of stdin with {"seconds": a step}.

    `make`: by name, functions that make a variant: an object with
    `modes`, `losses(mode, count)` of the first steps from the initial
    parameters, and `run(mode, steps)` (median_of_chunks). A variant that cannot be made is said to
    have failed, and why.
    """
    variants, losses, failed = {}, {}, {}
    for name, function in make.items():
        try:
            variant = function()
            losses[name] = {mode: variant.losses(mode, count) for mode in variant.modes}
            variants[name] = variant
        except Exception as error:  # whatever a library throws
            failed[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
    print(json.dumps(dict(losses=losses, failed=failed, **about)), flush=True)
    for line in sys.stdin:
        name, mode, steps = line.rsplit(maxsplit=2)
        seconds = median_of_chunks(lambda n: variants[name].run(mode, n), int(steps))
        print(json.dumps({"seconds": seconds}), flush=True)
