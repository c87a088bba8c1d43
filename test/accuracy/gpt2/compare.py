"""GPT-2 in PyTorch, to compare a step of meshc with.

compare.py make DIR LAYERS VOCAB BATCH SEQ: writes DIR/weights.safetensors, random weights with the names and shapes
of GPT-2 on Hugging Face, and DIR/tokens.bin, u16, for one batch of windows that do not overlap.
compare.py check DIR CHECKPOINT LOG LAYERS VOCAB BATCH SEQ: does one step of AdamW on them (lr = 1e-4, weight decay
0.1 on all) and compares its loss, gradients and update with those of meshc. LOG has meshc's loss, CHECKPOINT its
parameters after the step and the first moments of AdamW, which are 0.1 times the gradients.
compare.py losses CHECKPOINT TOKENS LAYERS BATCH SEQ STEPS: prints the losses of so many steps from meshc's parameters,
all on the batch in the file TOKENS. test/exec/gpt2.sh has them.
compare.py step CHECKPOINT TOKENS LAYERS BATCH SEQ: prints sketches of the gradients and of the update of the first of
these steps, tensor by tensor, with meshc's names. test/exec/models/gpt2-step.txt has them, and
test/exec/CompareStep.cpp says what they are.
"""
import json
import struct
import sys

import numpy as np
import torch
import torch.nn.functional as F

MODEL, HEADS, KEY = 768, 12, 64
LIMIT = 1e-4
SUMS = 8  # of a sketch


def shapes(layers, vocab, seq):
    yield "wte.weight", (vocab, MODEL)
    yield "wpe.weight", (seq, MODEL)
    for i in range(layers):
        h = f"h.{i}."
        for norm in ("ln_1", "ln_2"):
            yield h + norm + ".weight", (MODEL,)
            yield h + norm + ".bias", (MODEL,)
        for name, rows, columns in (("attn.c_attn", MODEL, 3 * MODEL), ("attn.c_proj", MODEL, MODEL),
                                    ("mlp.c_fc", MODEL, 4 * MODEL), ("mlp.c_proj", 4 * MODEL, MODEL)):
            yield h + name + ".weight", (rows, columns)
            yield h + name + ".bias", (columns,)
    yield "ln_f.weight", (MODEL,)
    yield "ln_f.bias", (MODEL,)


def make_weights(layers, vocab, seq):
    random = np.random.default_rng(1)
    weights = {}
    for name, shape in shapes(layers, vocab, seq):
        values = 0.02 * random.standard_normal(shape)
        if ".ln_" in "." + name and name.endswith("weight"):
            values += 1
        weights[name] = values.astype(np.float32)
    return weights


def make_tokens(vocab, count):
    # Frequencies as in text: token i about as often as 1 / (i + 1).
    random = np.random.default_rng(2)
    return np.minimum(np.exp(random.uniform(0, np.log(50257), count)).astype(np.int64), min(vocab, 50257) - 1)


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            file.write(values.tobytes())


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            values = np.frombuffer(data[8 + size + begin:8 + size + end], np.float32)
            tensors[name] = values.reshape(entry["shape"])
    return tensors


def loss_of(weights, tokens, targets, layers):
    batch, seq = tokens.shape
    x = weights["wte.weight"][tokens] + weights["wpe.weight"][:seq]

    def norm(x, name):
        return F.layer_norm(x, (MODEL,), weights[name + ".weight"], weights[name + ".bias"])

    def linear(x, name):
        return x @ weights[name + ".weight"] + weights[name + ".bias"]

    for i in range(layers):
        h = f"h.{i}."
        q, k, v = (part.view(batch, seq, HEADS, KEY).transpose(1, 2)
                   for part in linear(norm(x, h + "ln_1"), h + "attn.c_attn").split(MODEL, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, seq, MODEL)
        x = x + linear(y, h + "attn.c_proj")
        y = F.gelu(linear(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate="tanh")
        x = x + linear(y, h + "mlp.c_proj")
    logits = norm(x, "ln_f") @ weights["wte.weight"].T
    return F.cross_entropy(logits.view(batch * seq, -1), targets.reshape(-1))


def as_published(tensors, layers, suffix):
    """meshc's tensors, whose names end with suffix, with the names and shapes of Hugging Face."""
    get = lambda name: tensors[name + suffix]
    result = {"wte.weight": get("tied_embedding.table"), "wpe.weight": get("learned_positions.table"),
              "ln_f.weight": get("layer_norm.gain"), "ln_f.bias": get("layer_norm.bias")}
    for i in range(layers):
        h = f"h.{i}."
        one = lambda name: get("layers.block." + name)[i]
        for norm, name in (("ln_1", "layer_norm"), ("ln_2", "layer_norm_2")):
            result[h + norm + ".weight"], result[h + norm + ".bias"] = one(name + ".gain"), one(name + ".bias")
        a = "biased_attention."
        result[h + "attn.c_attn.weight"] = np.concatenate([one(a + w).reshape(MODEL, MODEL) for w in ("wq", "wk", "wv")],
                                                          axis=1)
        result[h + "attn.c_attn.bias"] = np.concatenate([one(a + b).reshape(MODEL) for b in ("bq", "bk", "bv")])
        result[h + "attn.c_proj.weight"] = one(a + "wo").reshape(MODEL, MODEL)
        result[h + "attn.c_proj.bias"] = one(a + "bo")
        for layer, w, b in (("c_fc", "up", "up_bias"), ("c_proj", "down", "down_bias")):
            result[h + f"mlp.{layer}.weight"] = one("feed_forward." + w)
            result[h + f"mlp.{layer}.bias"] = one("feed_forward." + b)
    return result


def as_stored(published, tensors, layers):
    """The reverse: values with the names and shapes of Hugging Face, with those of meshc's tensors."""
    numbers, count = {}, 0
    for name, values in tensors.items():
        numbers[name] = np.arange(count, count + values.size).reshape(values.shape)
        count += values.size
    result = np.empty(count)
    for name, places in as_published(numbers, layers, "").items():
        result[places] = published[name]
    return {name: result[places] for name, places in numbers.items()}


def distance(got, wanted):
    """Euclidean norm of the difference, relative to the norm of what is wanted."""
    return float(np.linalg.norm((got - wanted).astype(np.float64)) / np.linalg.norm(wanted.astype(np.float64)))


def check(directory, checkpoint, log, layers, vocab, batch, seq):
    start = make_weights(layers, vocab, seq)
    weights = {name: torch.tensor(values, requires_grad=True) for name, values in start.items()}
    data = torch.tensor(make_tokens(vocab, batch * seq + 1))
    optimizer = torch.optim.AdamW(weights.values(), lr=1e-4, weight_decay=0.1)
    loss = loss_of(weights, data[:-1].view(batch, seq), data[1:].view(batch, seq), layers)
    loss.backward()
    optimizer.step()

    tensors = read_safetensors(checkpoint)
    with open(log) as lines:
        got_loss = json.loads(lines.readline())["loss"]
    worst = {"loss": abs(got_loss / loss.item() - 1)}
    moments = as_published(tensors, layers, ".m")
    # Keys' biases have no influence, so that their gradient is rounding alone. It is left out.
    keys = np.s_[MODEL:2 * MODEL]
    gradients = {}
    for name, tensor in weights.items():
        got, wanted = moments[name] * 10, tensor.grad.numpy()
        if name.endswith("c_attn.bias"):
            got, wanted = np.delete(got, keys), np.delete(wanted, keys)
        gradients[name] = distance(got, wanted)
    name = max(gradients, key=gradients.get)
    worst[f"gradient of {name}, the worst of {len(gradients)}"] = gradients[name]
    after = as_published(tensors, layers, "")
    worst["all parameters after the step"] = distance(
        np.concatenate([after[name].ravel() for name in weights]),
        np.concatenate([tensor.detach().numpy().ravel() for tensor in weights.values()]))
    worst["the step itself"] = distance(
        np.concatenate([(after[name] - start[name]).ravel() for name in weights]),
        np.concatenate([(tensor.detach().numpy() - start[name]).ravel() for name, tensor in weights.items()]))
    for what, difference in worst.items():
        print(f"  {what}: {difference:.1e}")
    print(f"  loss {got_loss:.6f}, PyTorch {loss.item():.6f}")
    return max(worst["loss"], gradients[name], worst["all parameters after the step"]) <= LIMIT


def print_losses(checkpoint, tokens, layers, batch, seq, steps):
    start = as_published(read_safetensors(checkpoint), layers, "")
    weights = {name: torch.tensor(values, requires_grad=True) for name, values in start.items()}
    data = torch.tensor(np.fromfile(tokens, np.uint16).astype(np.int64))
    optimizer = torch.optim.AdamW(weights.values(), lr=1e-4, weight_decay=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(weights, data[:-1].view(batch, seq), data[1:].view(batch, seq), layers)
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}")


def sketch(values):
    """The norm, and sums of the values with fixed signs. CompareStep.cpp computes the same."""
    values = values.ravel()
    bits = np.arange(values.size, dtype=np.uint32)
    bits = (bits ^ bits >> 16) * np.uint32(0x85EBCA6B)
    bits = (bits ^ bits >> 13) * np.uint32(0xC2B2AE35)
    bits ^= bits >> 16
    sums = [values @ (1.0 - 2.0 * (bits >> k & 1)) for k in range(SUMS)]
    return " ".join(f"{number:.9e}" for number in (np.linalg.norm(values), *sums))


def print_step(checkpoint, tokens, layers, batch, seq):
    tensors = {name: values for name, values in read_safetensors(checkpoint).items() if name[-2:] not in (".m", ".v")}
    start = as_published(tensors, layers, "")
    # Gradients in double precision, so that the rounding in the file is that of one program, not of two. The step itself
    # is one of floats: a gain near 1 is rounded by more than 1e-4 of its update.
    exact = {name: torch.tensor(values, dtype=torch.double, requires_grad=True) for name, values in start.items()}
    data = torch.tensor(np.fromfile(tokens, np.uint16).astype(np.int64))
    loss_of(exact, data[:-1].view(batch, seq), data[1:].view(batch, seq), layers).backward()
    after = {name: torch.tensor(values) for name, values in start.items()}
    for name, tensor in after.items():
        tensor.grad = exact[name].grad.float()
    torch.optim.AdamW(after.values(), lr=1e-4, weight_decay=0.1).step()

    gradients = as_stored({name: tensor.grad.numpy() for name, tensor in exact.items()}, tensors, layers)
    updates = as_stored({name: tensor.double().numpy() - start[name] for name, tensor in after.items()}, tensors, layers)
    print(f"# PyTorch {torch.__version__.split('+')[0]}, printed by test/accuracy/gpt2/compare.py step")
    for name in tensors:
        for part in range(layers) if name.startswith("layers.") else [...]:
            label = name if part is ... else f"{name}[{part}]"
            gradient, update = gradients[name][part], updates[name][part]
            if name.endswith(".bk"):  # a key's bias: no influence, so that its gradient is rounding alone
                print(label, "none")
                continue
            # The update's sign is the gradient's, and near zero that of rounding (CompareStep.cpp).
            full = 0.01 * np.sqrt(np.mean(gradient**2))
            print(label, "gradient", sketch(gradient))
            print(label, "update", sketch(update * np.minimum(1, abs(gradient) / full)))


command, directory, *rest = sys.argv[1:]
if command == "losses":
    print_losses(directory, rest[0], *map(int, rest[1:]))
elif command == "step":
    print_step(directory, rest[0], *map(int, rest[1:]))
elif command == "make":
    layers, vocab, batch, seq = map(int, rest)
    write_safetensors(directory + "/weights.safetensors", make_weights(layers, vocab, seq))
    make_tokens(vocab, batch * seq + 1).astype(np.uint16).tofile(directory + "/tokens.bin")
else:
    checkpoint, log, *sizes = rest
    sys.exit(not check(directory, checkpoint, log, *map(int, sizes)))
