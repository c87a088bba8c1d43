"""Prints the held-out losses that PyTorch's LSTMCell and GRUCell reach in the setting
of ../text.sh, from which it has its bounds: python3 text.py FOLDER, where FOLDER
has tinyshakespeare.txt and names.txt. Not part of the tests."""

import sys
import torch

BATCH, SEQ, VOCAB, MODEL, HIDDEN, STEPS, HELD_OUT = 32, 24, 128, 24, 64, 300, 4000
torch.set_num_threads(1)


def get_loss(cell, embed, out, windows):
    state = torch.zeros(len(windows), HIDDEN)
    state = (state, state) if isinstance(cell, torch.nn.LSTMCell) else state
    logits = []
    for s in range(SEQ):
        state = cell(embed[windows[:, s]], state)
        logits.append((state[0] if isinstance(state, tuple) else state) @ out)
    return torch.nn.functional.cross_entropy(torch.stack(logits, 1).reshape(-1, VOCAB), windows[:, 1:].reshape(-1))


def train(cell, file, seed):
    torch.manual_seed(seed)
    text = torch.frombuffer(bytearray(open(file, "rb").read()), dtype=torch.uint8).long()
    windows, held_out = (part.unfold(0, SEQ + 1, 1) for part in (text[:-HELD_OUT], text[-HELD_OUT:]))
    cell = cell(MODEL, HIDDEN)
    embed = torch.nn.Parameter(torch.empty(VOCAB, MODEL))
    out = torch.nn.Parameter(torch.empty(HIDDEN, VOCAB))
    for parameter in embed, out, cell.weight_ih, cell.weight_hh:
        torch.nn.init.normal_(parameter, 0, 0.2)
    cell.bias_ih.data.zero_()
    cell.bias_hh.data.zero_()
    # The language's models have one bias, but for one gate of the GRU.
    first = 2 * HIDDEN if isinstance(cell, torch.nn.GRUCell) else 4 * HIDDEN
    cell.bias_hh.register_hook(lambda g: torch.cat([torch.zeros(first), g[first:]]))
    optimizer = torch.optim.AdamW([embed, out, *cell.parameters()], lr=1e-2, weight_decay=0)
    order = torch.randperm(len(windows))
    for step in range(STEPS):
        optimizer.zero_grad()
        get_loss(cell, embed, out, windows[order[step * BATCH : (step + 1) * BATCH]]).backward()
        optimizer.step()
    with torch.no_grad():
        return get_loss(cell, embed, out, held_out).item()


for cell, name in (torch.nn.LSTMCell, "tinyshakespeare"), (torch.nn.GRUCell, "names"):
    losses = [train(cell, sys.argv[1] + "/" + name + ".txt", seed) for seed in range(5)]
    print(cell.__name__, name, " ".join("%.4f" % loss for loss in losses))
