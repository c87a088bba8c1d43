"""A training step under JAX: prints {"seconds": median seconds a step}.

usage: jax_step.py perceptron|char --steps N [--devices N] [--tensor]
       jax_step.py perceptron|char --case FOLDER [--device cuda] [--batch N] [--tf32]

--devices cuts the batch over N host devices; with --tensor the first hidden dim
instead. Cores are the caller's (taskset). The second form serves measurements of
a case (case.py).
"""
import argparse, collections, json, os, statistics, time

import case


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=["perceptron", "char"])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--tensor", action="store_true")
    case.add_arguments(parser)
    return parser.parse_args()


args = parse()
flags = [f"--xla_force_host_platform_device_count={args.devices}"]
if len(os.sched_getaffinity(0)) == 1:
    flags.append("--xla_cpu_multi_thread_eigen=false")
os.environ["XLA_FLAGS"] = " ".join(flags)
os.environ["JAX_PLATFORMS"] = args.device
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import numpy as np

BATCH = args.batch
# JAX's own default on a GPU is tf32.
jax.config.update("jax_default_matmul_precision", "tensorfloat32" if args.tf32 else "float32")


def cross_entropy(logits, labels):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
    return -picked.mean()


def perceptron():
    k = jax.random.split(jax.random.key(0), 5)
    w = lambda key, *shape: 0.05 * jax.random.normal(key, shape)
    params = dict(w1=w(k[0], 784, 512), b1=jnp.zeros(512), w2=w(k[1], 512, 512), b2=jnp.zeros(512),
                  w3=w(k[2], 512, 10), b3=jnp.zeros(10))
    specs = dict(w1=P(None, "d"), b1=P("d"), w2=P("d", None), b2=P(), w3=P(), b3=P())
    x = jax.random.uniform(k[3], (BATCH, 784))
    y = jax.random.randint(k[4], (BATCH,), 0, 10)

    def loss(p, x, y):
        h = jax.nn.relu(x @ p["w1"] + p["b1"])
        h = jax.nn.relu(h @ p["w2"] + p["b2"])
        return cross_entropy(h @ p["w3"] + p["b3"], y)

    def update(p, g, state):
        v = jax.tree.map(lambda v, g: 0.9 * v + g, state, g)
        return jax.tree.map(lambda p, v: p - 0.01 * v, p, v), v

    return params, specs, jax.tree.map(jnp.zeros_like, params), x, y, loss, update


def char():
    k = jax.random.split(jax.random.key(0), 5)
    w = lambda key, *shape: 0.05 * jax.random.normal(key, shape)
    params = dict(e=w(k[0], 256, 32), w1=w(k[1], 512, 512), b1=jnp.zeros(512), w2=w(k[2], 512, 256), b2=jnp.zeros(256))
    specs = dict(e=P(), w1=P(None, "d"), b1=P("d"), w2=P("d", None), b2=P())
    x = jax.random.randint(k[3], (BATCH, 16), 0, 256)
    y = jax.random.randint(k[4], (BATCH,), 0, 256)
    zeros = lambda: jax.tree.map(jnp.zeros_like, params)

    def loss(p, x, y):
        h = p["e"][x].reshape(x.shape[0], 512)
        h = jnp.tanh(h @ p["w1"] + p["b1"])
        return cross_entropy(h @ p["w2"] + p["b2"], y)

    def update(p, g, state):
        t, m, v = state
        t = t + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        a, b = 1 - 0.9 ** t, 1 - 0.999 ** t
        step = lambda p, m, v: p - 1e-3 * ((m / a) / (jnp.sqrt(v / b) + 1e-8) + 0.01 * p)
        return jax.tree.map(step, p, m, v), (t, m, v)

    return params, specs, (jnp.float32(0), zeros(), zeros()), x, y, loss, update


params, specs, state, x, y, loss, update = {"perceptron": perceptron, "char": char}[args.model]()
if args.devices > 1:
    mesh = Mesh(np.array(jax.devices()), ("d",))
    put = lambda a, spec: jax.device_put(a, NamedSharding(mesh, spec))
    specs = specs if args.tensor else jax.tree.map(lambda _: P(), params)
    params = {k: put(v, specs[k]) for k, v in params.items()}
    like = lambda tree: {k: put(v, specs[k]) for k, v in tree.items()} if isinstance(tree, dict) else put(tree, P())
    state = tuple(map(like, state)) if isinstance(state, tuple) else like(state)
    x, y = (put(a, P() if args.tensor else P("d")) for a in (x, y))


def step(params, state, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    params, state = update(params, grads, state)
    return params, state, value


jitted = jax.jit(step, donate_argnums=(0, 1))


def measure():
    global params, state
    for _ in range(10):
        params, state, value = jitted(params, state, x, y)
        value.block_until_ready()
    times = []
    for _ in range(args.steps):
        start = time.perf_counter()
        params, state, value = jitted(params, state, x, y)
        jax.block_until_ready((params, value))
        times.append(time.perf_counter() - start)
    print(json.dumps({"seconds": statistics.median(times), "version": jax.__version__}))


class Steps:
    """A case's parameters and batch: a call for each step."""

    modes = ("resident", "fed")

    def __init__(self):
        parameters, arrays = case.read_case(args.case, args.model)
        self.start = {name[:1] if name == "embed" else name: parameters[name] for name in parameters}
        self.device = jax.devices()[0]
        self.host = self.pin([np.array(a) for a in arrays])
        self.batch = self.bring()
        self.reset()

    def pin(self, arrays):
        """Memory of the host that the device reads at full speed."""
        if "pinned_host" not in {m.kind for m in self.device.addressable_memories()}:
            return arrays
        return jax.device_put(arrays, jax.sharding.SingleDeviceSharding(self.device, memory_kind="pinned_host"))

    def bring(self):
        """A new copy of the batch on the device."""
        memory = self.device.default_memory().kind
        return jax.device_put(self.host, jax.sharding.SingleDeviceSharding(self.device, memory_kind=memory))

    def reset(self):
        self.values = jax.tree.map(lambda p: jnp.array(self.start[p]), {name: name for name in params})
        self.state = jax.tree.map(jnp.zeros_like, state)

    def enqueue(self, mode):
        """Begins a step; returns its loss."""
        batch = self.bring() if mode == "fed" else self.batch
        self.values, self.state, loss = jitted(self.values, self.state, *batch)
        return loss

    def losses(self, mode, count):
        self.reset()
        return [float(self.enqueue(mode)) for _ in range(count)]

    def run(self, mode, steps):
        open_losses = collections.deque()
        for _ in range(steps):
            open_losses.append(self.enqueue(mode))
            if mode == "fed" and len(open_losses) > 8:  # each open step holds a batch
                open_losses.popleft().block_until_ready()
        jax.block_until_ready((self.values, self.state))
        return steps


class Scan(Steps):
    """Many steps in one call."""

    modes = ("resident",)
    length = args.losses

    def __init__(self):
        def steps(values, state, x, y):
            def body(carry, _):
                values, state, loss = step(*carry, x, y)
                return (values, state), loss

            (values, state), losses = jax.lax.scan(body, (values, state), None, self.length)
            return values, state, losses

        self.steps = jax.jit(steps, donate_argnums=(0, 1))
        super().__init__()

    def losses(self, mode, count):
        self.reset()
        self.values, self.state, losses = self.steps(self.values, self.state, *self.batch)
        return [float(loss) for loss in losses[:count]]

    def run(self, mode, steps):
        calls = -(-steps // self.length)
        for _ in range(calls):
            self.values, self.state, _ = self.steps(self.values, self.state, *self.batch)
        jax.block_until_ready((self.values, self.state))
        return calls * self.length


def serve():
    a = np.random.default_rng(0).random((512, 512))
    product = np.asarray(jnp.float32(a) @ jnp.float32(a), dtype=np.float64)
    case.serve({"jax": Steps, "jax scan": Scan}, args.losses, rounding=case.rounding(product, a),
               version=jax.__version__)


serve() if args.case else measure()
