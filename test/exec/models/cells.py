"""Writes lstm.safetensors and gru.safetensors, the weights from which ../cells.sh
starts, and prints the losses of PyTorch's LSTMCell and GRUCell that it expects.
Not part of the tests: they have its output."""

import json
import struct
import torch

torch.manual_seed(7)
BATCH, SEQ, VOCAB, MODEL, HIDDEN = 4, 7, 6, 3, 4
tokens = torch.tensor([[(5 * b + 3 * s + b * s) % VOCAB for s in range(SEQ + 1)] for b in range(BATCH)])


def write(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        piece = tensor.detach().contiguous().float().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)


def train(name, cell, gates):
    embed = torch.nn.Parameter(torch.randn(VOCAB, MODEL))
    out = torch.nn.Parameter(torch.randn(HIDDEN, VOCAB))
    weights = {"embed": embed, "out": out}
    for parameter in cell.parameters():
        torch.nn.init.normal_(parameter, 0, 0.7)
    if name == "lstm":  # the language's model has one bias
        cell.bias_hh.data.zero_()
        cell.bias_hh.requires_grad = False
    for index, gate in enumerate(gates):
        rows = slice(index * HIDDEN, (index + 1) * HIDDEN)
        weights["wx" + gate] = cell.weight_ih[rows].T
        weights["wh" + gate] = cell.weight_hh[rows].T
        if name == "gru" and gate == "n":
            weights["bxn"] = cell.bias_ih[rows]
            weights["bhn"] = cell.bias_hh[rows]
        else:
            if name == "gru":
                cell.bias_hh.data[rows] = 0
            weights["b" + gate] = cell.bias_ih[rows]
    write(name + ".safetensors", weights)
    parameters = [embed, out] + [p for p in cell.parameters() if p.requires_grad]
    for p in parameters:
        p.data = p.data.float().double()
    cell.double()
    losses = []
    for _ in range(6):
        h = torch.zeros(BATCH, HIDDEN, dtype=torch.double)
        c = torch.zeros(BATCH, HIDDEN, dtype=torch.double)
        logits = []
        for s in range(SEQ):
            x = embed[tokens[:, s]]
            if name == "lstm":
                h, c = cell(x, (h, c))
            else:
                h = cell(x, h)
            logits.append(h @ out)
        loss = torch.nn.functional.cross_entropy(torch.stack(logits, 1).reshape(-1, VOCAB), tokens[:, 1:].reshape(-1))
        losses.append(loss.item())
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for p, g in zip(parameters, gradients):
                if name == "gru" and p is cell.bias_hh:
                    g = g.clone()
                    g[: 2 * HIDDEN] = 0
                p -= g
    print(name, " ".join("%.6f" % loss for loss in losses))


train("lstm", torch.nn.LSTMCell(MODEL, HIDDEN), "ifgo")
train("gru", torch.nn.GRUCell(MODEL, HIDDEN), "rzn")
for what, data in ("tokens", tokens[:, :-1]), ("targets", tokens[:, 1:]):
    print(what, "".join("\\x%02x" % value for value in data.reshape(-1).tolist()))
