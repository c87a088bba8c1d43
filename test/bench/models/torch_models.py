"""A training step of one of the models under PyTorch: prints {"seconds": …, "first": loss, "loss": …, "version": …}.

usage: torch_models.py MODEL [--threads N] [--steps N] [--type f32|bf16] [--compile] [--sparse] [--channels-last] [--dropless]

--channels-last lays images out as [batch, row, col, channel]; --sparse makes the gradient of the recommender's table a list of
rows; with --dropless, each expert computes its own tokens, however many there are, and not its slots.
"""
import argparse, contextlib, json

import torch
import torch.nn.functional as F
from torch import nn

from shapes import BATCHES, MODELS, add_arguments, time_steps


def matrix(*dims, fan):
    return nn.Parameter(torch.randn(*dims) * fan**-0.5)


class Recurrent(nn.Module):
    """PyTorch's cells have the equations of nn.lstm_cell and nn.gru_cell. The LSTM's second bias, which the former lacks, is 0."""

    def __init__(self, kind):
        super().__init__()
        self.table, self.cells, self.out = nn.Embedding(256, 256), kind(256, 512, batch_first=True), nn.Linear(512, 256)
        nn.init.normal_(self.table.weight, std=0.02)
        if kind is nn.LSTM:
            nn.init.zeros_(self.cells.bias_hh_l0).requires_grad_(False)

    def forward(self, tokens, targets):
        y, _ = self.cells(self.table(tokens))
        return F.cross_entropy(self.out(y).flatten(0, 1), targets.flatten())


class Block(nn.Module):
    def __init__(self, model, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(model), nn.LayerNorm(model)
        self.qkv, self.out = nn.Linear(model, 3 * model), nn.Linear(model, model)
        self.up, self.down = nn.Linear(model, 4 * model), nn.Linear(4 * model, model)

    def forward(self, x):
        batch, seq, model = x.shape
        q, k, v = (part.view(batch, seq, self.heads, -1).transpose(1, 2) for part in self.qkv(self.ln_1(x)).split(model, 2))
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(batch, seq, model))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.positions = nn.Linear(48, 192), nn.Parameter(0.02 * torch.randn(64, 192))
        self.blocks = nn.Sequential(*[Block(192, 3) for _ in range(6)])
        self.norm, self.out = nn.LayerNorm(192), nn.Linear(192, 10)

    def forward(self, images, labels):
        patches = images.view(-1, 8, 4, 8, 4, 3).transpose(2, 3).reshape(-1, 64, 48)
        x = self.blocks(self.patch(patches) + self.positions)
        return F.cross_entropy(self.out(self.norm(x).mean(1)), labels)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w2 = nn.Conv2d(1, 32, 5, padding=2, bias=False), nn.Conv2d(32, 64, 5, padding=2, bias=False)
        self.w3, self.w4 = nn.Linear(7 * 7 * 64, 512, bias=False), nn.Linear(512, 10, bias=False)

    def forward(self, images, labels):
        x = F.max_pool2d(F.relu(self.w1(images)), 2)
        x = F.max_pool2d(F.relu(self.w2(x)), 2)
        return F.cross_entropy(self.w4(F.relu(self.w3(x.flatten(1)))), labels)


class Recommender(nn.Module):
    def __init__(self, rows, sparse):
        super().__init__()
        self.table = nn.Embedding(rows, 64, sparse=sparse)
        self.layers = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 1))
        nn.init.normal_(self.table.weight, std=0.02)

    def forward(self, ids, followed):
        score = self.layers(self.table(ids).flatten(1))[:, 0]
        return F.binary_cross_entropy_with_logits(score, followed)


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.out = nn.Linear(784, 256, bias=False), nn.Linear(256, 10)
        self.layers = nn.ModuleList(nn.Linear(256, 256) for _ in range(48))

    def forward(self, images, labels):
        x = self.first(images)
        for layer in self.layers:
            x = x + F.gelu(layer(F.layer_norm(x, (256,))), approximate="tanh")
        return F.cross_entropy(self.out(F.layer_norm(x, (256,))), labels)


class Experts(nn.Module):
    """nn.top_k_experts with two experts for each token, in 40 slots of each expert for a text of 128."""

    def __init__(self, dropless):
        super().__init__()
        self.dropless, self.slots = dropless, int(2 * 1.25 * 128 / 8)
        self.table, self.router = nn.Embedding(256, 256), matrix(256, 8, fan=256)
        self.norm_1, self.norm_2 = nn.LayerNorm(256), nn.LayerNorm(256)
        self.up, self.down = matrix(8, 256, 1024, fan=256), matrix(8, 1024, 256, fan=1024)
        nn.init.normal_(self.table.weight, std=0.02)

    def in_slots(self, x, expert, share):
        """Each text gives its tokens' first choices slots before their second ones; a token that finds none gets 0."""
        batch, seq, model = x.shape
        places = 8 * self.slots
        choice = expert.transpose(1, 2).flatten(1)  # [batch, pick × seq]
        chosen = F.one_hot(choice, 8)
        number = ((chosen.cumsum(1) - chosen) * chosen).sum(-1)
        place = torch.where(number < self.slots, choice * self.slots + number, places)
        place = (place + torch.arange(batch)[:, None] * (places + 1)).flatten()
        sent = x.new_zeros(batch * (places + 1), model).index_copy(0, place, x.repeat(1, 2, 1).flatten(0, 1))
        sent = sent.view(batch, places + 1, model)[:, :-1].view(batch, 8, self.slots, model).transpose(0, 1).flatten(1, 2)
        y = torch.bmm(F.relu(torch.bmm(sent, self.up)), self.down)
        y = y.view(8, batch, self.slots, model).transpose(0, 1).reshape(batch, places, model)
        y = F.pad(y, (0, 0, 0, 1)).flatten(0, 1).index_select(0, place).view(batch, 2, seq, model)
        return (y * share.transpose(1, 2)[..., None]).sum(1)

    def by_expert(self, x, expert, share):
        tokens, expert, share = x.flatten(0, 1), expert.flatten(0, 1), share.flatten(0, 1)
        result = torch.zeros_like(tokens)
        for e in range(8):
            token, pick = torch.where(expert == e)
            y = F.relu(tokens[token] @ self.up[e]) @ self.down[e]
            result = result.index_add(0, token, y * share[token, pick][:, None])
        return result.view_as(x)

    def forward(self, tokens, targets):
        x = self.table(tokens)
        n = self.norm_1(x)
        logits = n @ self.router
        p = logits.softmax(-1)
        expert = logits.topk(2).indices
        share = p.gather(-1, expert)
        y = (self.by_expert if self.dropless else self.in_slots)(n, expert, share)
        x = self.norm_2(x + y / share.sum(-1, keepdim=True))
        loss = F.cross_entropy((x @ self.table.weight.T).flatten(0, 1), targets.flatten())
        balance = 8 * p.mean(1).gather(1, expert[..., 0]).mean()
        return loss + 0.01 * balance + 0.001 * logits.logsumexp(-1).square().mean()


def make(args, model):
    if args.model.startswith("table"):
        return Recommender(model.sizes.get("rows", 200000), args.sparse)
    return {"LSTM": lambda: Recurrent(nn.LSTM), "GRU": lambda: Recurrent(nn.GRU), "ViT": Vit, "CNN": Cnn, "deep": Deep,
            "experts": lambda: Experts(args.dropless)}[args.model]()


def main():
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--dropless", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(args.threads)
    shape = MODELS[args.model]
    model = make(args, shape)
    data = [torch.from_numpy(a) for a in shape.arrays().values()]
    data = [t if t.is_floating_point() else t.long() for t in data]
    if args.model == "CNN":
        data[0] = data[0].permute(0, 3, 1, 2).contiguous()
        if args.channels_last:
            model, data[0] = (x.to(memory_format=torch.channels_last) for x in (model, data[0]))
    batches = list(zip(*(t.chunk(BATCHES) for t in data)))
    if shape.optimizer == "adamw":
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=not args.sparse)
    forward = torch.compile(model) if args.compile else model
    precision = torch.autocast("cpu", torch.bfloat16) if args.type == "bf16" else contextlib.nullcontext()

    def step(i):
        optimizer.zero_grad(set_to_none=True)
        with precision:
            loss = forward(*batches[i])
        loss.backward()
        optimizer.step()
        return loss.item()

    print(json.dumps({**time_steps(step, args.steps), "version": torch.__version__}))


if __name__ == "__main__":
    main()
