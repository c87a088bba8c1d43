"""Greedy generation of one text under PyTorch: prints {"rate": tokens per second, "first": seconds, "version": …}.

usage: torch_generate.py SHAPE TOKENS [--prompt N] [--threads N] [--compile]
Weights are random. Keys and values stay in caches of the model's length. A step reads the positions so far (compiled:
all of them, under a mask, so that no step has a shape of its own). `first` is the time of a prompt of N tokens at once,
with the first token after it: the best of three, after one that compiles.
"""
import argparse, json, time

import torch
import torch.nn.functional as F
from torch import nn

from shapes import SHAPES


class Attention(nn.Module):
    def __init__(self, s, static):
        super().__init__()
        self.s, self.static = s, static
        width = s.groups * s.key
        self.qkv = nn.Linear(s.model, s.model + 2 * width, bias=not s.is_llama)
        self.out = nn.Linear(s.model, s.model, bias=not s.is_llama)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, s.groups, s.seq, s.key))

    def forward(self, x, positions, turn):
        s, n = self.s, len(x)
        width = s.groups * s.key
        heads = lambda t: t.view(n, -1, s.key).transpose(0, 1)[None]
        q, k, v = (heads(t) for t in self.qkv(x).split([s.model, width, width], -1))
        if turn is not None:
            cos, sin = turn
            half = lambda t: torch.cat([-t[..., s.key // 2 :], t[..., : s.key // 2]], -1)
            q, k = q * cos + half(q) * sin, k * cos + half(k) * sin
        self.keys.index_copy_(2, positions, k)
        self.values.index_copy_(2, positions, v)
        if self.static:
            mask = torch.arange(s.seq) <= positions[:, None]
            y = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask, enable_gqa=s.heads > 1)
        else:  # one position, or all from the first on
            m = int(positions[-1]) + 1
            y = F.scaled_dot_product_attention(q, self.keys[:, :, :m], self.values[:, :, :m], is_causal=n > 1,
                                               enable_gqa=s.heads > 1)
        return self.out(y[0].transpose(0, 1).reshape(n, s.model))


class Block(nn.Module):
    def __init__(self, s, static):
        super().__init__()
        norm = nn.RMSNorm if s.is_llama else nn.LayerNorm
        self.norm_1, self.norm_2 = norm(s.model), norm(s.model)
        self.attention = Attention(s, static)
        self.is_llama = s.is_llama
        self.up = nn.Linear(s.model, s.ffn * (2 if s.is_llama else 1), bias=not s.is_llama)
        self.down = nn.Linear(s.ffn, s.model, bias=not s.is_llama)

    def forward(self, x, position, turn):
        x = x + self.attention(self.norm_1(x), position, turn)
        h = self.up(self.norm_2(x))
        if self.is_llama:
            gate, up = h.chunk(2, -1)
            return x + self.down(F.silu(gate) * up)
        return x + self.down(F.gelu(h, approximate="tanh"))


class Model(nn.Module):
    def __init__(self, s, static):
        super().__init__()
        self.s = s
        self.table = nn.Embedding(s.vocab, s.model)
        self.places = None if s.is_llama else nn.Embedding(s.seq, s.model)
        self.blocks = nn.ModuleList(Block(s, static) for _ in range(s.layers))
        self.norm = nn.RMSNorm(s.model) if s.is_llama else nn.LayerNorm(s.model)
        self.register_buffer("rates", 10000 ** (-torch.arange(s.key // 2) / (s.key // 2)))

    def forward(self, tokens, positions):
        x = self.table(tokens)
        turn = None
        if self.s.is_llama:
            angle = (positions[:, None] * self.rates).repeat(1, 2)
            turn = angle.cos(), angle.sin()
        else:
            x = x + self.places(positions)
        for block in self.blocks:
            x = block(x, positions, turn)
        return (self.norm(x[-1:]) @ self.table.weight.T).argmax(-1)


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("tokens", type=int)
    parser.add_argument("--prompt", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(args.threads)
    model = Model(SHAPES[args.shape], args.compile)
    step = torch.compile(model, dynamic=False) if args.compile else model
    positions = torch.arange(args.tokens)[:, None]
    for _ in range(3):
        step(torch.tensor([97]), positions[0])
    token = torch.tensor([97])
    start = time.perf_counter()
    for position in positions:
        token = step(token, position)
    seconds = time.perf_counter() - start
    tokens, positions, first = torch.full([args.prompt], 97), torch.arange(args.prompt), []
    for _ in range(4):
        start = time.perf_counter()
        step(tokens, positions).item()
        first.append(time.perf_counter() - start)
    print(json.dumps({"rate": args.tokens / seconds, "first": min(first[1:]), "version": torch.__version__}))


if __name__ == "__main__":
    main()
