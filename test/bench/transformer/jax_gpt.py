"""A training step of a transformer under JAX, its layers as a scan: prints {"seconds": …, "memory": peak bytes, …}.

usage: jax_gpt.py SHAPE [--steps N] [--unroll] [--devices N] [--tensor | --zero]

--unroll writes out all layers of the scan. --devices cuts the batch over N host devices; with --tensor heads, feed-forward
layers and vocabulary instead; with --zero the parameters and Adam's state along the model, too. Cores are the caller's
(taskset).
"""
import argparse, os, statistics, time

from shapes import SHAPES, add_arguments, report

parser = argparse.ArgumentParser()
add_arguments(parser)
parser.add_argument("--unroll", action="store_true")
parser.add_argument("--devices", type=int, default=1)
parser.add_argument("--tensor", action="store_true")
parser.add_argument("--zero", action="store_true")
args = parser.parse_args()
flags = [f"--xla_force_host_platform_device_count={args.devices}"]
if len(os.sched_getaffinity(0)) == 1:
    flags.append("--xla_cpu_multi_thread_eigen=false")
os.environ["XLA_FLAGS"] = " ".join(flags)
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

jax.config.update("jax_default_matmul_precision", "float32")
shape = SHAPES[args.shape]
L, D, H, K, V = shape.layers, shape.model, shape.heads, shape.model // shape.heads, shape.vocab
keys = iter(jax.random.split(jax.random.key(0), 16))
normal = lambda *dims: 0.02 * jax.random.normal(next(keys), dims)
blocks = dict(g1=jnp.ones((L, D)), b1=jnp.zeros((L, D)), wqkv=normal(L, 3, D, H, K), bqkv=jnp.zeros((L, 3, H, K)),
              wo=normal(L, H, K, D), bo=jnp.zeros((L, D)), g2=jnp.ones((L, D)), b2=jnp.zeros((L, D)),
              up=normal(L, D, 4 * D), ub=jnp.zeros((L, 4 * D)), down=normal(L, 4 * D, D), db=jnp.zeros((L, D)))
params = dict(tokens=normal(V, D), positions=normal(shape.seq, D), g=jnp.ones(D), b=jnp.zeros(D), blocks=blocks)
whole = jax.tree.map(lambda _: P(), params)
cut = dict(whole, tokens=P("d"),
           blocks=dict(whole["blocks"], wqkv=P(None, None, None, "d"), bqkv=P(None, None, "d"), wo=P(None, "d"),
                       up=P(None, None, "d"), ub=P(None, "d"), down=P(None, "d")))
# ZeRO-3: every dim of size D that is a parameter's first one of this size.
zero = jax.tree.map(lambda a: P(*["d" if i == a.shape.index(D) else None for i in range(a.ndim)]) if D in a.shape else P(),
                    params)


def norm(x, gain, bias):
    centered = x - x.mean(-1, keepdims=True)
    return centered * jax.lax.rsqrt(jnp.square(centered).mean(-1, keepdims=True) + 1e-5) * gain + bias


def block(x, p):
    q, k, v = jnp.einsum("bsd,cdhk->cbshk", norm(x, p["g1"], p["b1"]), p["wqkv"]) + p["bqkv"][:, None, None]
    y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + jnp.einsum("bshk,hkd->bsd", y, p["wo"]) + p["bo"]
    y = jax.nn.gelu(norm(x, p["g2"], p["b2"]) @ p["up"] + p["ub"], approximate=True)
    return x + y @ p["down"] + p["db"], None


def loss_of(p, tokens, targets):
    x = p["tokens"][tokens] + p["positions"]
    x, _ = jax.lax.scan(block, x, p["blocks"], unroll=args.unroll)
    logits = norm(x, p["g"], p["b"]) @ p["tokens"].T
    picked = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return (jax.nn.logsumexp(logits, axis=-1) - picked).mean()


def step(p, m, v, t, tokens, targets):
    loss, g = jax.value_and_grad(loss_of)(p, tokens, targets)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    a, b = 1 - 0.9 ** (t + 1), 1 - 0.999 ** (t + 1)
    p = jax.tree.map(lambda p, m, v: p - 1e-4 * ((m / a) / (jnp.sqrt(v / b) + 1e-8) + 0.1 * p), p, m, v)
    return p, m, v, t + 1, loss


tokens, targets = (jax.random.randint(next(keys), (shape.batch, shape.seq), 0, V) for _ in range(2))
if args.devices > 1:
    mesh = Mesh(np.array(jax.devices()), ("d",))
    put = lambda value, spec: jax.device_put(value, NamedSharding(mesh, spec))
    params = jax.tree.map(put, params, cut if args.tensor else zero if args.zero else whole)
    tokens, targets = (put(value, P() if args.tensor else P("d")) for value in (tokens, targets))
zeros = lambda: jax.tree.map(jnp.zeros_like, params)
state = (params, zeros(), zeros(), jnp.float32(0))
jitted = jax.jit(step, donate_argnums=(0, 1, 2, 3))
times = []
for _ in range(args.steps + 2):
    start = time.perf_counter()
    *state, loss = jitted(*state, tokens, targets)
    jax.block_until_ready((state, loss))
    times.append(time.perf_counter() - start)
report(statistics.median(times[2:]), float(loss), jax.__version__)
