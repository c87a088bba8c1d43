"""Writes optimizers.safetensors, the weights from which ../optimizers.sh starts,
and prints its table: the settings of each training, and the losses that PyTorch has
in double precision. Optimizers that PyTorch lacks are written here by the formulas
of their papers. Rows with `average` are the table of ../average.sh: the losses of the
averaged model after each step. Not part of the tests: they have its output."""

import json
import math
import struct
import torch

torch.manual_seed(5)
BATCH, PIXEL, HIDDEN, CLASS, LAYERS = 4, 6, 8, 4, 2
x = torch.tensor([[(3 * b + 5 * p + b * p) % 9 for p in range(PIXEL)] for b in range(BATCH)]).double() / 4
y = torch.tensor([2, 0, 3, 1])
shapes = {
    "w": (PIXEL, HIDDEN),
    "first_bias": (HIDDEN,),
    "layers.u": (LAYERS, HIDDEN, HIDDEN),
    "layers.bias": (LAYERS, HIDDEN),
    "out": (HIDDEN, CLASS),
}
start = {name: (0.6 * torch.randn(shape)).float() for name, shape in shapes.items()}
start["first_bias"].zero_()  # its norm is 0


def write(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        piece = tensor.numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)


class Lion(torch.optim.Optimizer):
    """arXiv 2302.06675, algorithm 2."""

    def __init__(self, params, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                c = (beta1 * m + (1 - beta1) * p.grad).sign()
                p.data -= group["lr"] * (c + group["weight_decay"] * p.data)
                m.copy_(beta2 * m + (1 - beta2) * p.grad)


class Lars(torch.optim.Optimizer):
    """arXiv 1708.03888, algorithm 1."""

    def __init__(self, params, lr, momentum=0.9, weight_decay=0.0, trust=0.001, adaptive=True):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, trust=trust, adaptive=adaptive))

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                v = self.state[p].setdefault("v", torch.zeros_like(p))
                size, slope = p.data.norm(), p.grad.norm()
                local = 1.0
                if group["adaptive"] and size > 0 and slope > 0:
                    local = group["trust"] * size / (slope + group["weight_decay"] * size)
                v.copy_(group["momentum"] * v + group["lr"] * local * (p.grad + group["weight_decay"] * p.data))
                p.data -= v


class Lamb(torch.optim.Optimizer):
    """arXiv 1904.00962, algorithm 2, with the identity as phi."""

    def __init__(self, params, lr, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0, adaptive=True):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, adaptive=adaptive))

    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                m, v = (state.setdefault(key, torch.zeros_like(p)) for key in "mv")
                state["t"] = t = state.get("t", 0) + 1
                m.copy_(beta1 * m + (1 - beta1) * p.grad)
                v.copy_(beta2 * v + (1 - beta2) * p.grad**2)
                r = m / (1 - beta1**t) / ((v / (1 - beta2**t)).sqrt() + group["eps"]) + group["weight_decay"] * p.data
                size, length = p.data.norm(), r.norm()
                ratio = size / length if group["adaptive"] and size > 0 and length > 0 else 1.0
                p.data -= group["lr"] * ratio * r


def loss_of(named, part=0, parts=1):
    """Of every `parts`-th example."""
    h = torch.tanh(x[part::parts].to(named["w"][0].dtype) @ named["w"][0] + named["first_bias"][0])
    for u, bias in zip(named["layers.u"], named["layers.bias"]):
        h = h + torch.tanh(h @ u + bias)
    return torch.nn.functional.cross_entropy(h @ named["out"][0], y[part::parts]) / parts


def train(make, schedule=None, clip=None, parts=1, short=None, average=None):
    """`make` gets the parameters by name; a stacked one is a list of its entries.
    `average` is the decay of a step; the average begins at the initial values."""
    named = {}
    for name, tensor in start.items():
        pieces = tensor.unbind(0) if name.startswith("layers.") else [tensor]
        named[name] = [torch.nn.Parameter(piece.clone() if short else piece.double()) for piece in pieces]
    optimizer = make(named)
    every = [p for pieces in named.values() for p in pieces]
    base = [group["lr"] for group in optimizer.param_groups]
    losses = []
    model = torch.nn.ParameterDict({name: torch.nn.ParameterList(pieces) for name, pieces in named.items()})
    averaged = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.0))
    averaged.update_parameters(model)
    for step in range(8):
        if schedule:
            for group, rate in zip(optimizer.param_groups, base):
                group["lr"] = rate * schedule(step)
        optimizer.zero_grad()
        total = 0
        for part in range(parts):  # gradients add up
            with torch.autocast("cpu", dtype=short, enabled=short is not None):
                loss = loss_of(named, part, parts)
            loss.backward()
            total += loss.item()
        if clip:
            torch.nn.utils.clip_grad_norm_(every, clip)
        optimizer.step()
        if average:
            averaged.multi_avg_fn = swa_utils.get_ema_multi_avg_fn(average(step))
            averaged.update_parameters(model)
            total = loss_of(averaged.module).item()
        losses.append(total)
    return " ".join(f"{loss:.6f}" for loss in losses)


def everything(named):
    return [p for pieces in named.values() for p in pieces]


def with_all(kind, **settings):
    return lambda named: kind(everything(named), **settings)


def with_biases(kind, weights, biases):
    """Other settings for the parameters whose names end with 'bias'."""

    def make(named):
        split = {True: [], False: []}
        for name, pieces in named.items():
            split[name.endswith("bias")] += pieces
        return kind([dict(params=split[False], **weights), dict(params=split[True], **biases)])

    return make


optim = torch.optim
swa_utils = torch.optim.swa_utils
warmup = lambda step: min((step + 1) / 4, 1) * 0.5 * (1 + math.cos(math.pi * step / 10))
trainings = {
    "sgd(lr = 0.1, weight_decay = 0.1)": (with_all(optim.SGD, lr=0.1, weight_decay=0.1),),
    "momentum(lr = 0.1, nesterov = 1)": (with_all(optim.SGD, lr=0.1, momentum=0.9, nesterov=True),),
    "adam(lr = 0.05, weight_decay = 0.1)": (with_all(optim.Adam, lr=0.05, weight_decay=0.1),),
    "adamw(lr = 0.05 * schedule(), weight_decay = 0.1)": (with_all(optim.AdamW, lr=0.05, weight_decay=0.1), warmup),
    "lion(lr = 0.02, weight_decay = 0.1)": (with_all(Lion, lr=0.02, weight_decay=0.1),),
    "lars(lr = 0.5, trust = 0.1, weight_decay = 0.1)": (with_all(Lars, lr=0.5, trust=0.1, weight_decay=0.1),),
    "lamb(lr = 0.1, weight_decay = 0.1)": (with_all(Lamb, lr=0.1, weight_decay=0.1),),
    # PyTorch factors whatever has two dims, and lr is at most 1 / sqrt(t).
    "adafactor(lr = minimum(0.1, rsqrt(cast(step() + 1, f32))), min_factored = 1)": (
        with_all(optim.Adafactor, lr=0.1, eps=(1e-15, 1e-3)),
    ),
    "adamw(lr = 0.05, weight_decay = 0.2) set *bias -> (weight_decay = 0, lr = 0.2)": (
        with_biases(optim.AdamW, dict(lr=0.05, weight_decay=0.2), dict(lr=0.2, weight_decay=0.0)),
    ),
    "sgd(lr = 0.5) clip 0.3 as norm": (with_all(optim.SGD, lr=0.5), None, 0.3),
    "adamw(lr = 0.05) accumulate 2 clip 0.5": (with_all(optim.AdamW, lr=0.05), None, 0.5, 2),
    # In ../precision.sh, with a larger tolerance.
    "adamw(lr = 0.05) precision bf16": (with_all(optim.AdamW, lr=0.05), None, None, 1, torch.bfloat16),
    "adamw(lr = 0.05) precision f16": (with_all(optim.AdamW, lr=0.05), None, None, 1, torch.float16),
    # In ../average.sh. The second is PyTorch's own rule, whose first update copies the parameters; the third is
    # that of TensorFlow's num_updates.
    "sgd(lr = 0.5) average 0.8": (with_all(optim.SGD, lr=0.5), None, None, 1, None, lambda step: 0.8),
    "adamw(lr = 0.05) clip 0.5 accumulate 2 average minimum(0.9, cast(step(), f32))": (
        with_all(optim.AdamW, lr=0.05), None, 0.5, 2, None, lambda step: min(0.9, step)
    ),
    "adamw(lr = 0.05, weight_decay = 0.2) set *bias -> (weight_decay = 0, lr = 0.2) average warm(0.5)": (
        with_biases(optim.AdamW, dict(lr=0.05, weight_decay=0.2), dict(lr=0.2, weight_decay=0.0)),
        None, None, 1, None, lambda step: min(0.5, (1 + step) / (10 + step))
    ),
}

if __name__ == "__main__":
    write("optimizers.safetensors", start)
    for settings, arguments in trainings.items():
        print(f"{train(*arguments)} {settings}")
