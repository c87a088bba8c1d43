"""Writes models/NAME.expected for models/NAME.mesh: what PyTorch's layers compute, as
LayersTest compares it with library/nn.mesh. Not part of the tests: they have its output.

Each parameter of a model has the values of fill(), each input those of fill_whole(). The
loss is a sum of outputs times parameters called probe and so on, so that a step of SGD
with learning rate 1 subtracts the outputs from the probes, and gradients from the others.
A line of a file is a parameter's name and its gradient, row-major in the order of the
declaration."""

import math
import os
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.double)
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models")


def fill(name, shape):
    start = 0.1 * sum(name.encode())
    count = math.prod(shape)
    return torch.tensor([math.sin(1.3 * i + start) for i in range(count)]).reshape(shape)


def fill_whole(shape):
    return torch.tensor([(7 * i + 3) % 5 % 3 for i in range(math.prod(shape))]).reshape(shape)


def case(name, shapes, loss):
    """shapes: of the parameters by name, whose values loss() takes by name."""
    parameters = {key: fill(key, shape).requires_grad_() for key, shape in shapes.items()}
    gradients = torch.autograd.grad(loss(parameters), list(parameters.values()))
    with open(os.path.join(folder, name + ".expected"), "w") as file:
        for key, gradient in zip(parameters, gradients):
            file.write(key + " " + " ".join("%.9g" % value for value in gradient.flatten().tolist()) + "\n")


def dense(p):
    y = F.linear(p["x"], p["dense.w"].T, p["dense.bias"])
    return (F.linear(y, p["linear.w"].T) * p["probe"]).sum()


case("dense", {"x": (2, 3, 4), "probe": (2, 3, 3), "dense.bias": (5,), "dense.w": (4, 5), "linear.w": (5, 3)}, dense)


def normalization(p):
    y = F.layer_norm(p["x"], (4,), p["layer_norm.gain"], p["layer_norm.bias"], 1e-5)
    z = F.rms_norm(p["x"], (4,), p["rms_norm.gain"], 0.01)
    return (y * p["probe"] + z * p["other"]).sum()


case("normalization", {"x": (2, 3, 4), "probe": (2, 3, 4), "other": (2, 3, 4), "layer_norm.gain": (4,),
                       "layer_norm.bias": (4,), "rms_norm.gain": (4,)}, normalization)


def embedding(p):
    tokens = fill_whole((2, 3))
    x = F.embedding(tokens, p["tied_embedding.table"]) + p["learned_positions.table"]
    y = F.embedding(tokens, p["embedding.table"])
    return (F.linear(x, p["tied_embedding.table"]) * p["probe"]).sum() + (y * p["other"]).sum()


case("embedding", {"probe": (2, 3, 5), "other": (2, 3, 4), "tied_embedding.table": (5, 4),
                   "learned_positions.table": (3, 4), "embedding.table": (5, 4)}, embedding)


def turn_neighbours(x, base):
    """x[..., position, key] as complex numbers, as in Meta's Llama."""
    seq, key = x.shape[-2:]
    frequencies = 1.0 / base ** (torch.arange(0, key, 2) / key)
    turns = torch.polar(torch.ones(seq, key // 2), torch.outer(torch.arange(seq).double(), frequencies))
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], key // 2, 2))
    return torch.view_as_real(pairs * turns).flatten(-2)


def turn_halves(x, base):
    """The same with halves: neighbours of the interleaved tensor."""
    key = x.shape[-1]
    order = torch.arange(key).reshape(2, key // 2).T.flatten()
    turned = turn_neighbours(x[..., order], base)
    return turned[..., order.argsort()]


def alibi_slopes(heads):
    """As the paper's code has them: for numbers of heads that are no powers of 2, those of the power below, and then
    every second one of twice as many heads."""
    power = 2 ** int(math.log2(heads))
    slopes = [2.0 ** (-8 * (h + 1) / power) for h in range(power)]
    return slopes if power == heads else slopes + alibi_slopes(2 * power)[0::2][:heads - power]


def alibi(heads, query, memory):
    slopes = torch.tensor(alibi_slopes(heads))
    distance = (torch.arange(query)[:, None] - torch.arange(memory)).abs()
    return -slopes[:, None, None] * distance


def slopes(p):
    return sum((torch.tensor(alibi_slopes(heads)) * value).sum() for value in p.values() for heads in value.shape)


case("slopes", {"one": (1,), "three": (3,), "six": (6,), "eight": (8,), "twelve": (12,), "many": (40,)}, slopes)


def positions(p):
    added = torch.zeros(5, 6)
    angle = torch.arange(5)[:, None] / 100 ** (torch.arange(0, 6, 2) / 6)
    added[:, 0::2] = angle.sin()
    added[:, 1::2] = angle.cos()
    y = (p["x"] + added) * p["a"] + turn_halves(p["x"], 10000) * p["b"] + turn_neighbours(p["x"], 50) * p["c"]
    return y.sum() + (alibi(4, 5, 3) * p["d"]).sum()


case("positions", {"x": (2, 5, 6), "a": (2, 5, 6), "b": (2, 5, 6), "c": (2, 5, 6), "d": (4, 5, 3)}, positions)


def bucket(relative, bidirectional, count, limit):
    """T5's relative_position_bucket, as the paper's code and transformers have it."""
    result = torch.zeros_like(relative)
    if bidirectional:
        count //= 2
        result += (relative > 0).long() * count
        relative = relative.abs()
    else:
        relative = -torch.min(relative, torch.zeros_like(relative))
    exact = count // 2
    large = exact + (torch.log(relative.float() / exact) / math.log(limit / exact) * (count - exact)).long()
    return result + torch.where(relative < exact, relative, torch.min(large, torch.full_like(large, count - 1)))


def relative(p):
    distance = torch.arange(12) - torch.arange(40)[:, None]
    both = F.embedding(bucket(distance, True, 16, 64), p["t5_bias.table"]).permute(2, 0, 1)
    one = F.embedding(bucket(distance, False, 16, 128), p["t5_causal_bias.table"]).permute(2, 0, 1)
    return (both * p["a"] + one * p["b"]).sum()


case("relative", {"a": (2, 40, 12), "b": (2, 40, 12), "t5_bias.table": (16, 2), "t5_causal_bias.table": (16, 2)},
     relative)


def attend(q, k, v, mask, bias=0.0):
    """q, k, v [batch, heads, position, key]."""
    added = torch.zeros(mask.shape).masked_fill(~mask, -math.inf) + bias
    return F.scaled_dot_product_attention(q, k, v, attn_mask=added)


def project(x, w):
    """x[batch, position, model], w[model, heads, key]"""
    return torch.einsum("bsm,mhk->bhsk", x, w)


position = torch.arange(4)
causal = position[None, :] <= position[:, None]


def attention(p):
    q, k, v = (project(p["x"], p["attention." + w]) for w in ("wq", "wk", "wv"))
    y = attend(turn_halves(q, 10000), turn_halves(k, 10000), v, causal)
    return (torch.einsum("bhsk,hkm->bsm", y, p["attention.wo"]) * p["probe"]).sum()


outer = {"x": (2, 4, 6), "probe": (2, 4, 6)}
weights = {"wq": (6, 2, 4), "wk": (6, 2, 4), "wv": (6, 2, 4), "wo": (2, 4, 6)}
case("attention", outer | {"attention." + name: shape for name, shape in weights.items()}, attention)


def biased_attention(p):
    q, k, v = (project(p["x"], p["biased_attention.w" + w]) + p["biased_attention.b" + w][:, None] for w in "qkv")
    mask = (causal | (position < 2)) & (position < fill_whole((2,))[:, None, None, None] + 2)
    y = attend(q, k, v, mask, alibi(2, 4, 4))
    y = torch.einsum("bhsk,hkm->bsm", y, p["biased_attention.wo"]) + p["biased_attention.bo"]
    return (y * p["probe"]).sum()


biases = {"bq": (2, 4), "bk": (2, 4), "bv": (2, 4), "bo": (6,)}
case("biased_attention", outer | {"biased_attention." + name: shape for name, shape in (weights | biases).items()},
     biased_attention)


def grouped_attention(p):
    at = lambda name: p["grouped_attention." + name]
    q = torch.einsum("bsm,mghk->bghsk", p["x"], at("wq")).flatten(1, 2)
    k, v = (project(p["x"], at(w)) for w in ("wk", "wv"))
    mask = causal & (position[:, None] - position < 2)
    added = torch.zeros(4, 4).masked_fill(~mask, -math.inf)
    y = F.scaled_dot_product_attention(turn_neighbours(q, 10000), turn_neighbours(k, 10000), v, attn_mask=added,
                                       enable_gqa=True)
    return (torch.einsum("bghsk,ghkm->bsm", y.unflatten(1, (3, 2)), at("wo")) * p["probe"]).sum()


case("grouped_attention", outer | {"grouped_attention.wq": (6, 3, 2, 4), "grouped_attention.wk": (6, 3, 4),
                                   "grouped_attention.wv": (6, 3, 4), "grouped_attention.wo": (3, 2, 4, 6)},
     grouped_attention)


def multi_query_attention(p):
    at = lambda name: p["multi_query_attention." + name]
    q = project(p["x"], at("wq"))
    k, v = (project(p["x"], at(w)[:, None]).expand_as(q) for w in ("wk", "wv"))
    y = F.scaled_dot_product_attention(q, k, v)
    return (torch.einsum("bhsk,hkm->bsm", y, at("wo")) * p["probe"]).sum()


case("multi_query_attention",
     outer | {"multi_query_attention.wq": (6, 2, 4), "multi_query_attention.wk": (6, 4),
              "multi_query_attention.wv": (6, 4), "multi_query_attention.wo": (2, 4, 6)}, multi_query_attention)


def cross_attention(p):
    at = lambda name: p["cross_attention." + name]
    y = F.scaled_dot_product_attention(project(p["x"], at("wq")), project(p["source"], at("wk")),
                                       project(p["source"], at("wv")))
    return (torch.einsum("bhsk,hkm->bsm", y, at("wo")) * p["probe"]).sum()


case("cross_attention", outer | {"source": (2, 3, 6)} |
     {"cross_attention." + name: shape for name, shape in weights.items()}, cross_attention)


def feed_forward(p):
    def ordinary(x, name, activation):
        h = activation(x @ p[name + ".up"] + p[name + ".up_bias"])
        return h @ p[name + ".down"] + p[name + ".down_bias"]

    y = ordinary(p["x"], "feed_forward", lambda h: F.gelu(h, approximate="tanh"))
    y = ordinary(y, "feed_forward_2", F.relu)
    at = lambda name: p["gated_feed_forward." + name]
    z = (F.silu(y @ at("gate")) * (y @ at("up"))) @ at("down")
    return (z * p["probe"]).sum()


shapes = {"x": (2, 3, 4), "probe": (2, 3, 4)}
for layer in "feed_forward", "feed_forward_2":
    shapes |= {layer + ".up": (4, 6), layer + ".up_bias": (6,), layer + ".down": (6, 4), layer + ".down_bias": (4,)}
shapes |= {"gated_feed_forward.gate": (4, 6), "gated_feed_forward.up": (4, 6), "gated_feed_forward.down": (6, 4)}
case("feed_forward", shapes, feed_forward)


def recurrent(p, name, gates):
    """The cell's weights, stacked as PyTorch has them: [gates * hidden, in]."""
    at = lambda key: p[name + "." + key]
    stack = lambda w: w.permute(1, 2, 0).reshape(gates * 4, -1)
    return stack(at("wx")), stack(at("wh"))


def lstm(p):
    wx, wh = recurrent(p, "lstm_weights", 4)
    b = p["lstm_weights.b"].flatten()
    state = torch.zeros(2, 4), torch.zeros(2, 4)
    total = 0
    for s in range(3):
        state = torch._VF.lstm_cell(p["x"][:, s], state, wx, wh, b, torch.zeros_like(b))
        total = total + (state[0] * p["probe"][:, s]).sum()
    return total + (state[1] * p["last"]).sum()


case("lstm", {"x": (2, 3, 3), "probe": (2, 3, 4), "last": (2, 4), "lstm_weights.wx": (3, 4, 4),
              "lstm_weights.wh": (4, 4, 4), "lstm_weights.b": (4, 4)}, lstm)


def gru(p):
    wx, wh = recurrent(p, "gru_weights", 3)
    h = torch.zeros(2, 4)
    total = 0
    for s in range(3):
        h = torch._VF.gru_cell(p["x"][:, s], h, wx, wh, p["gru_weights.bx"].flatten(), p["gru_weights.bh"].flatten())
        total = total + (h * p["probe"][:, s]).sum()
    return total


case("gru", {"x": (2, 3, 3), "probe": (2, 3, 4), "gru_weights.wx": (3, 3, 4), "gru_weights.wh": (4, 3, 4),
             "gru_weights.bx": (3, 4), "gru_weights.bh": (3, 4)}, gru)


def experts(p, name, choices, slots):
    """Mixtures of experts token by token: each has a free slot of its experts, or none."""
    x, (router, up, down) = p["x"], (p[name + "." + key] for key in ("router", "up", "down"))
    logits = x @ router
    probabilities = torch.softmax(logits, -1)
    best = logits.topk(choices, -1).indices
    weights = probabilities.gather(-1, best)
    if choices > 1:
        weights = weights / weights.sum(-1, keepdim=True)
    rows = []
    for batch in range(x.shape[0]):
        taken, outputs = [0] * router.shape[1], [0 * token for token in x[batch]]
        for choice in range(choices):
            for token in range(x.shape[1]):
                expert = int(best[batch, token, choice])
                taken[expert] += 1
                if taken[expert] <= slots:
                    hidden = F.gelu(x[batch, token] @ up[expert], approximate="tanh")
                    outputs[token] = outputs[token] + weights[batch, token, choice] * (hidden @ down[expert])
        rows.append(torch.stack(outputs))
    share = F.one_hot(best[..., 0], router.shape[1]).double().mean(1)
    balance = router.shape[1] * (share * probabilities.mean(1)).sum(-1)
    z = (logits.logsumexp(-1) ** 2).mean(1)
    return (torch.stack(rows) * p["probe"]).sum() + (balance * p["others"]).sum() + (z * p["more"]).sum()


for name, choices, slots in (("switch_experts", 1, 2), ("top_k_experts", 2, 4)):
    case(name, {"x": (4, 8, 3), "probe": (4, 8, 3), "others": (4,), "more": (4,), name + ".router": (3, 4),
                name + ".up": (4, 3, 5), name + ".down": (4, 5, 3)},
         lambda p: experts(p, name, choices, slots))


def losses(p):
    logits, targets = p["x"].flatten(0, 1), fill_whole((2, 3)).flatten()
    smoothed = F.cross_entropy(logits, targets, label_smoothing=0.1, reduction="none").reshape(2, 3)
    return (smoothed * p["probe"] + 0.5 * p["x"].logsumexp(-1) ** 2 * p["other"]).sum()


case("losses", {"x": (2, 3, 5), "probe": (2, 3), "other": (2, 3)}, losses)


def states_gradient(forward, backward):
    """A function with a gradient of its own, as fn … gradient(…)."""
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(context, *arguments):
            context.save_for_backward(*arguments)
            return forward(*arguments)

        @staticmethod
        def backward(context, *gradients):
            return backward(*context.saved_tensors, *gradients)

    return Function.apply


def custom_gradients(p):
    rounded = states_gradient(lambda x: torch.floor(4 * x + 0.5) / 4, lambda x, g: g)
    clipped = states_gradient(lambda x: x.clone(), lambda x, g: g.clamp(-0.5, 0.5))
    both = states_gradient(lambda x, y: (x * y, x + y), lambda x, y, g, h: (g * y + h, 2 * (g * x + h)))
    product, total = both(rounded(p["x"]) * p["y"], clipped(p["y"]))
    weights = torch.softmax(p["z"], -1) + torch.softmax(p["same"], -1)
    return ((product + total) * p["probe"]).sum() + (weights * p["other"]).sum()


case("custom_gradients", {"x": (2, 4), "y": (2, 4), "z": (2, 5), "same": (2, 5), "probe": (2, 4), "other": (2, 5)},
     custom_gradients)
