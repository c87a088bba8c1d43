"""A training step of one of the models under JAX: prints {"seconds": …, "first": loss, "loss": …, "version": …}.

usage: jax_models.py MODEL [--steps N] [--type f32|bf16] [--sparse] [--unroll]

--sparse takes the gradient of the rows that are looked up, and adds it to them in place; --unroll writes out the loop over
layers. Cores are the caller's (taskset).
"""
import argparse, json, os

from shapes import BATCHES, MODELS, add_arguments, time_steps

parser = argparse.ArgumentParser()
add_arguments(parser)
parser.add_argument("--unroll", action="store_true")
args = parser.parse_args()
if len(os.sched_getaffinity(0)) == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp

jax.config.update("jax_default_matmul_precision", "float32")
MODEL = MODELS[args.model]
keys = iter(jax.random.split(jax.random.key(0), 32))
normal = lambda *dims, fan=2500: jax.random.normal(next(keys), dims) * fan**-0.5
zeros, ones = jnp.zeros, jnp.ones


def norm(x, gain=1, bias=0):
    x = x.astype(jnp.float32)
    centered = x - x.mean(-1, keepdims=True)
    return centered * jax.lax.rsqrt(jnp.square(centered).mean(-1, keepdims=True) + 1e-5) * gain + bias


def dot(x, w):
    """A product in the type of --type."""
    type = jnp.bfloat16 if args.type == "bf16" else jnp.float32
    return x.astype(type) @ w.astype(type)


def cross_entropy(logits, targets):
    logits = logits.astype(jnp.float32)
    picked = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return (jax.nn.logsumexp(logits, axis=-1) - picked).mean()


def lstm():
    p = dict(table=normal(256, 256), wx=normal(256, 2048, fan=256), wh=normal(512, 2048, fan=512), b=zeros(2048),
             out=normal(512, 256, fan=512), c=zeros(256))

    def loss(p, tokens, targets):
        inputs = (p["table"][tokens] @ p["wx"] + p["b"]).swapaxes(0, 1)  # of all steps, at once

        def cell(state, x):
            h, c = state
            i, f, g, o = jnp.split(x + h @ p["wh"], 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = zeros((tokens.shape[0], 512))
        _, y = jax.lax.scan(cell, (start, start), inputs)
        return cross_entropy(y @ p["out"] + p["c"], targets.T)

    return p, loss


def gru():
    p = dict(table=normal(256, 256), wx=normal(256, 1536, fan=256), wh=normal(512, 1536, fan=512), bx=zeros(1536),
             bh=zeros(1536), out=normal(512, 256, fan=512), c=zeros(256))

    def loss(p, tokens, targets):
        inputs = (p["table"][tokens] @ p["wx"] + p["bx"]).swapaxes(0, 1)

        def cell(h, x):
            xr, xz, xn = jnp.split(x, 3, axis=-1)
            hr, hz, hn = jnp.split(h @ p["wh"] + p["bh"], 3, axis=-1)
            z = jax.nn.sigmoid(xz + hz)
            h = (1 - z) * jnp.tanh(xn + jax.nn.sigmoid(xr + hr) * hn) + z * h
            return h, h

        _, y = jax.lax.scan(cell, zeros((tokens.shape[0], 512)), inputs)
        return cross_entropy(y @ p["out"] + p["c"], targets.T)

    return p, loss


def vit():
    L, D, H = 6, 192, 3
    blocks = dict(g1=ones((L, D)), b1=zeros((L, D)), wqkv=normal(L, D, 3 * D, fan=D), bqkv=zeros((L, 3 * D)),
                  wo=normal(L, D, D, fan=D), bo=zeros((L, D)), g2=ones((L, D)), b2=zeros((L, D)),
                  up=normal(L, D, 4 * D, fan=D), ub=zeros((L, 4 * D)), down=normal(L, 4 * D, D, fan=4 * D), db=zeros((L, D)))
    p = dict(patch=normal(48, D, fan=48), bias=zeros(D), positions=normal(64, D), blocks=blocks, g=ones(D), b=zeros(D),
             out=normal(D, 10, fan=D), c=zeros(10))

    def block(x, p):
        qkv = dot(norm(x, p["g1"], p["b1"]), p["wqkv"])
        q, k, v = (part.reshape(*x.shape[:2], H, D // H) for part in jnp.split(qkv + p["bqkv"].astype(qkv.dtype), 3, axis=-1))
        y = jax.nn.dot_product_attention(q, k, v).reshape(x.shape)
        x = x + dot(y, p["wo"]) + p["bo"]
        y = jax.nn.gelu(dot(norm(x, p["g2"], p["b2"]), p["up"]) + p["ub"].astype(qkv.dtype), approximate=True)
        return x + dot(y, p["down"]) + p["db"], None

    def loss(p, images, labels):
        patches = images.reshape(-1, 8, 4, 8, 4, 3).swapaxes(2, 3).reshape(-1, 64, 48)
        x, _ = jax.lax.scan(block, dot(patches, p["patch"]) + p["bias"] + p["positions"], p["blocks"], unroll=args.unroll)
        return cross_entropy(dot(norm(x, p["g"], p["b"]).mean(1), p["out"]) + p["c"], labels)

    return p, loss


def cnn():
    p = dict(w1=normal(5, 5, 1, 32, fan=12.5), w2=normal(5, 5, 32, 64, fan=400), w3=normal(3136, 512, fan=1568),
             w4=normal(512, 10, fan=512))

    def convolve(x, w):
        x = jax.nn.relu(jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        return x.reshape(x.shape[0], x.shape[1] // 2, 2, x.shape[2] // 2, 2, -1).max((2, 4))

    def loss(p, images, labels):
        x = convolve(convolve(images, p["w1"]), p["w2"]).reshape(images.shape[0], -1)
        return cross_entropy(jax.nn.relu(x @ p["w3"]) @ p["w4"], labels)

    return p, loss


def score_loss(p, rows, followed):
    x = jax.nn.relu(rows.reshape(rows.shape[0], 512) @ p["w1"] + p["b1"])
    score = jax.nn.relu(x @ p["w2"] + p["b2"]) @ p["w3"] + p["b3"]
    return (jax.nn.softplus(score) - followed * score).mean()


def recommender():
    p = dict(table=normal(MODEL.sizes.get("rows", 200000), 64), w1=normal(512, 512, fan=512), b1=zeros(512),
             w2=normal(512, 128, fan=512), b2=zeros(128), w3=normal(128, fan=128), b3=zeros(()))
    return p, lambda p, ids, followed: score_loss(p, p["table"][ids], followed)


def deep():
    p = dict(first=normal(784, 256, fan=392), layers=dict(w=normal(48, 256, 256, fan=256), b=zeros((48, 256))),
             out=normal(256, 10, fan=256), c=zeros(10))

    def layer(x, p):
        return x + jax.nn.gelu(norm(x) @ p["w"] + p["b"], approximate=True), None

    def loss(p, images, labels):
        x, _ = jax.lax.scan(layer, images @ p["first"], p["layers"], unroll=args.unroll)
        return cross_entropy(norm(x) @ p["out"] + p["c"], labels)

    return p, loss


def experts():
    slots = int(2 * 1.25 * 128 / 8)
    places = 8 * slots
    p = dict(table=normal(256, 256), router=normal(256, 8, fan=256), up=normal(8, 256, 1024, fan=256),
             down=normal(8, 1024, 256, fan=1024), g1=ones(256), b1=zeros(256), g2=ones(256), b2=zeros(256))

    def in_slots(p, x, choice):
        """What the experts have for each choice [pick × seq] of a text x[seq, model]; 0 where there is no slot."""
        chosen = jax.nn.one_hot(choice, 8, dtype=jnp.int32)
        number = ((jnp.cumsum(chosen, 0) - chosen) * chosen).sum(-1)
        place = jnp.where(number < slots, choice * slots + number, places)
        sent = zeros((places, 256)).at[place].set(jnp.tile(x, (2, 1)), mode="drop").reshape(8, slots, 256)
        y = jnp.einsum("esf,efm->esm", jax.nn.relu(jnp.einsum("esm,emf->esf", sent, p["up"])), p["down"])
        return y.reshape(places, 256).at[place].get(mode="fill", fill_value=0)

    def loss(p, tokens, targets):
        x = p["table"][tokens]
        n = norm(x, p["g1"], p["b1"])
        logits = n @ p["router"]
        shares = jax.nn.softmax(logits)
        _, expert = jax.lax.top_k(logits, 2)
        share = jnp.take_along_axis(shares, expert, -1)
        y = jax.vmap(in_slots, (None, 0, 0))(p, n, expert.swapaxes(1, 2).reshape(16, -1)).reshape(16, 2, 128, 256)
        y = (y * share.swapaxes(1, 2)[..., None]).sum(1) / share.sum(-1, keepdims=True)
        balance = 8 * jnp.take_along_axis(shares.mean(1), expert[..., 0], 1).mean()
        z = jnp.square(jax.nn.logsumexp(logits, -1)).mean()
        return cross_entropy(norm(x + y, p["g2"], p["b2"]) @ p["table"].T, targets) + 0.01 * balance + 0.001 * z

    return p, loss


params, loss_of = {"lstm": lstm, "gru": gru, "vit": vit, "cnn": cnn, "recommender": recommender, "deep": deep,
                   "moe": experts}[MODEL.text]()


def adamw(state, *batch):
    p, m, v, t = state
    loss, g = jax.value_and_grad(loss_of)(p, *batch)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    a, b = 1 - 0.9 ** (t + 1), 1 - 0.999 ** (t + 1)
    p = jax.tree.map(lambda p, m, v: p - 1e-3 * ((m / a) / (jnp.sqrt(v / b) + 1e-8) + 0.01 * p), p, m, v)
    return (p, m, v, t + 1), loss


def sgd(p, *batch):
    loss, g = jax.value_and_grad(loss_of)(p, *batch)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, p, g), loss


def sparse_sgd(p, ids, followed):
    table, dense = p["table"], {name: value for name, value in p.items() if name != "table"}
    loss, (g, rows) = jax.value_and_grad(score_loss, (0, 1))(dense, table[ids], followed)
    dense = jax.tree.map(lambda p, g: p - 1e-3 * g, dense, g)
    return {**dense, "table": table.at[ids].add(-1e-3 * rows)}, loss


if MODEL.optimizer == "adamw":
    state, update = (params, *(jax.tree.map(jnp.zeros_like, params) for _ in range(2)), jnp.float32(0)), adamw
else:
    state, update = params, sparse_sgd if args.sparse else sgd
jitted = jax.jit(update, donate_argnums=0)
batches = list(zip(*(jnp.split(jnp.asarray(a), BATCHES) for a in MODEL.arrays().values())))


def step(i):
    global state
    state, loss = jitted(state, *batches[i])
    jax.block_until_ready((state, loss))
    return loss


print(json.dumps({**time_steps(step, args.steps), "version": jax.__version__}))
