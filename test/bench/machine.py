"""The cores of a benchmark, commands on them, and what they attain."""
import functools, importlib.util, json, os, pathlib, shutil, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build/bench"
CORES = sorted(os.sched_getaffinity(0))[:2]
LARGE = 1 << 28  # bytes beyond most caches


def run(command, cores, environment={}):
    """The standard output of a command on `cores`. Ends this program if the command fails."""
    full = ["taskset", "-c", ",".join(map(str, cores))] + [str(c) for c in command]
    done = subprocess.run(full, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          env={**os.environ, **environment})
    if done.returncode:
        sys.exit(f"error: {' '.join(full)} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


@functools.cache
def peer_environment():
    """The variables with which a peer's process is at its best, and which meshc's never has."""
    printed = subprocess.run([HERE / "peers", "--environment"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(word.split("=", 1) for word in printed.split())


def peer(script, *arguments, cores):
    """The JSON object in the last line that a Python script prints."""
    return json.loads(run([sys.executable, script, *arguments], cores, peer_environment()).strip().splitlines()[-1])


def snippet(script, cores, environment={}):
    """The JSON in the last line that Python code prints; it has `best(f)`, the least seconds of calls of f."""
    best = """
import json, os, time
def best(f):
    times, end = [], time.perf_counter() + 2
    while len(times) < 10 or time.perf_counter() < end:
        start = time.perf_counter(); f(); times.append(time.perf_counter() - start)
    return min(times)
"""
    return json.loads(run([sys.executable, "-c", best + script], cores, environment).strip().splitlines()[-1])


# Seconds of a product of 1536 squared on one core.
PRODUCTS = {
    "NumPy": """
import numpy as np
a, b = np.random.rand(2, 1536, 1536).astype(np.float32)
print(best(lambda: a @ b))
""",
    "JAX": """
os.environ.update(XLA_FLAGS="--xla_cpu_multi_thread_eigen=false", JAX_PLATFORMS="cpu")
import jax, jax.numpy as jnp
a, b = jax.random.uniform(jax.random.key(0), (2, 1536, 1536)).astype(jnp.TYPE)
product = jax.jit(lambda a, b: a @ b)
print(best(lambda: product(a, b).block_until_ready()))
""",
    "PyTorch": """
import torch
torch.set_num_threads(1)
a, b = torch.rand(2, 1536, 1536).to(torch.TYPE)
print(best(lambda: a @ b))
""",
}


def multiply_adds(type):
    """FLOP/s of a loop of multiply-adds on one core (fma.c)."""
    program = BUILD / "fma"
    BUILD.mkdir(parents=True, exist_ok=True)
    compiler = shutil.which("clang-22") or "cc"
    run([compiler, "-O2", "-march=native", "-ffp-contract=fast", HERE / "fma.c", "-o", program], CORES)
    return float(run([program, type], CORES[:1]))


@functools.cache
def rates(type="f32"):
    """FLOP/s of one core by name: of a loop of multiply-adds, and of products under NumPy, JAX and PyTorch. A product of
    bf16 may convert its factors, so f32's loop counts, too. Only the peers that this Python has."""
    found = {"loop": max(multiply_adds("f32"), multiply_adds(type))}
    for name, script in PRODUCTS.items():
        module = {"NumPy": "numpy", "JAX": "jax", "PyTorch": "torch"}[name]
        if importlib.util.find_spec(module) and (type == "f32" or name != "NumPy"):
            script = script.replace("TYPE", {"f32": "float32", "bf16": "bfloat16"}[type])
            found[name] = 2 * 1536**3 / snippet(script, CORES[:1], peer_environment())
    return found


def attained(type="f32"):
    """FLOP/s that one core attains in products: the best of `rates`."""
    return max(rates(type).values())


@functools.cache
def bandwidth(cores, size):
    """B/s that so many cores read and write in arrays of `size` bytes together (512 MB at most): the best of copies and of
    sums in place, in huge pages. Those of an optimizer's state that fits a cache are faster than memory, and neither they nor
    more cores are slower."""
    script = f"""
import torch
torch.set_num_threads({cores})
n = {min(size, 1 << 29)} // 8
a, b = torch.zeros(n), torch.ones(n)
print(json.dumps([8 * n / best(lambda: a.copy_(b)), 12 * n / best(lambda: a.add_(b))]))
"""
    others = [bandwidth(cores - 1, size)] if cores > 1 else []
    others += [bandwidth(cores, LARGE)] if size < LARGE else []
    return max(*others, *snippet(script, CORES[:cores], peer_environment()))


def floor(flops, size, moved, cores, type="f32"):
    """The least seconds of a step on so many cores: `flops` over their peak, and `moved` bytes, within arrays of `size`
    bytes, over their bandwidth."""
    return flops / (cores * attained(type)) + moved / bandwidth(cores, max(size, 1 << 16))


def describe(types=("f32",)):
    """Lines that say what a core attains."""
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    tuned = "; PyTorch's MKL is told that it is on Intel" if "LD_PRELOAD" in peer_environment() else ""
    lines = [f"{cpu}{tuned}; load average {os.getloadavg()[0]:.1f}"]
    for type in types:
        each = ", ".join(f"{name} {rate / 1e9:.0f}" for name, rate in rates(type).items())
        lines.append(f"one core, GFLOP/s in {type}: {each}")
    rates_of = ", ".join(f"{n + 1}: {bandwidth(n + 1, LARGE) / 1e9:.1f}" for n in range(len(CORES)))
    lines.append(f"GB/s in {LARGE >> 20} MB, by cores: {rates_of}")
    return "\n".join(lines)
