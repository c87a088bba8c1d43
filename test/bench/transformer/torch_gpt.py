"""A training step of a transformer under PyTorch: prints {"seconds": …, "memory": peak bytes, …}.

usage: torch_gpt.py SHAPE [--threads N] [--steps N] [--compile] [--ddp N | --fsdp N]

--ddp copies the model to N processes over gloo; --fsdp shards parameters, gradients and optimizer state over them (FSDP2,
torch.distributed.fsdp.fully_shard): of each block, and of what is outside of blocks.
"""
import argparse, os, socket, statistics, time

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard

from shapes import SHAPES, add_arguments, report


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.heads = shape.heads
        self.ln_1, self.ln_2 = nn.LayerNorm(shape.model), nn.LayerNorm(shape.model)
        self.qkv, self.out = nn.Linear(shape.model, 3 * shape.model), nn.Linear(shape.model, shape.model)
        self.up, self.down = nn.Linear(shape.model, 4 * shape.model), nn.Linear(4 * shape.model, shape.model)

    def forward(self, x):
        batch, seq, model = x.shape
        q, k, v = (part.view(batch, seq, self.heads, -1).transpose(1, 2) for part in self.qkv(self.ln_1(x)).split(model, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, seq, model))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(shape.vocab, shape.model), nn.Embedding(shape.seq, shape.model)
        self.blocks = nn.Sequential(*[Block(shape) for _ in range(shape.layers)])
        self.norm = nn.LayerNorm(shape.model)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.blocks(self.tokens(tokens) + self.positions.weight)
        logits = self.norm(x) @ self.tokens.weight.T
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def measure(args, rank=0):
    torch.manual_seed(0)
    torch.set_num_threads(args.threads)
    shape = SHAPES[args.shape]
    model = Gpt(shape)
    batch = shape.batch // args.processes
    tokens, targets = (torch.randint(shape.vocab, (batch, shape.seq)) for _ in range(2))
    if args.processes > 1:
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
    if args.fsdp:
        mesh = torch.distributed.init_device_mesh("cpu", (args.fsdp,))
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, fused=True)
    if args.ddp:
        model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    forward = torch.compile(model) if args.compile else model
    times = []
    for _ in range(args.steps + 2):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = forward(tokens, targets)
        loss.backward()
        optimizer.step()
        loss = loss.item()
        times.append(time.perf_counter() - start)
    return statistics.median(times[2:]), loss


def run_rank(rank, args, port, result):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=args.processes)
    measured = measure(args, rank)
    if rank == 0:
        result[:] = measured
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--ddp", type=int, default=0)
    parser.add_argument("--fsdp", type=int, default=0)
    args = parser.parse_args()
    args.processes = max(args.ddp, args.fsdp, 1)
    alone = args.processes == 1
    result = measure(args) if alone else torch.multiprocessing.get_context("spawn").Array("d", 2)
    if not alone:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        torch.multiprocessing.spawn(run_rank, (args, port, result), nprocs=args.processes)
    report(*result, torch.__version__, args.processes)


if __name__ == "__main__":
    main()
