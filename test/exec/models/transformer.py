"""Writes transformer.safetensors, the weights from which ../precision.sh trains
transformer.mesh, and prints the rows of its table: the losses under PyTorch's
autocast, whose attention is scaled_dot_product_attention in 16 bits. Not part of the
tests: they have its output."""

import torch
from optimizers import write, x, y

torch.manual_seed(6)
MODEL, HEADS, GROUP, KEY, FFN, CLASS, VOCAB, LAYERS = 8, 2, 2, 4, 16, 4, 9, 2
shapes = {
    "embed": (VOCAB, MODEL),
    "positions": (x.shape[1], MODEL),
    "layers.wq": (LAYERS, MODEL, HEADS, GROUP, KEY),
    "layers.wk": (LAYERS, MODEL, HEADS, KEY),
    "layers.wv": (LAYERS, MODEL, HEADS, KEY),
    "layers.wo": (LAYERS, HEADS, GROUP, KEY, MODEL),
    "layers.up": (LAYERS, MODEL, FFN),
    "layers.down": (LAYERS, FFN, MODEL),
    "out": (MODEL, CLASS),
}
start = {name: 0.3 * torch.randn(shape) for name, shape in shapes.items()}
tokens = (x * 4).long()  # as the data file has them


def loss_of(p):
    h = p["embed"][tokens] + p["positions"]
    for layer in range(LAYERS):
        w = {name[7:]: tensor[layer] for name, tensor in p.items() if name.startswith("layers.")}
        heads = lambda name: (h @ w[name].flatten(1)).unflatten(2, (HEADS, -1, KEY)).permute(0, 2, 3, 1, 4)
        q, k, v = heads("wq"), heads("wk"), heads("wv")
        k, v = k.expand_as(q), v.expand_as(q)
        a = torch.nn.functional.scaled_dot_product_attention(q.flatten(1, 2), k.flatten(1, 2), v.flatten(1, 2), is_causal=True)
        assert not torch.is_autocast_enabled("cpu") or a.dtype != torch.float32
        h = h + a.transpose(1, 2).flatten(2) @ w["wo"].flatten(0, 2)
        h = h + torch.nn.functional.gelu(h @ w["up"], approximate="tanh") @ w["down"]
    return torch.nn.functional.cross_entropy(h.mean(1) @ p["out"], y)


def train(short):
    parameters = {name: torch.nn.Parameter(tensor.clone()) for name, tensor in start.items()}
    optimizer = torch.optim.SGD(parameters.values(), lr=0.1)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=short, enabled=short is not None):
            loss = loss_of(parameters)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return " ".join(f"{loss:.6f}" for loss in losses)


write("transformer.safetensors", start)
for name, short in {"f32": None, "bf16": torch.bfloat16, "f16": torch.float16}.items():
    print(f"{train(short)} sgd(lr = 0.1) precision {name}")
