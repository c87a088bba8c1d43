"""A training step under PyTorch: prints {"seconds": median seconds a step}.

usage: torch_step.py perceptron|char --threads N --steps N [--compile] [--ddp N]
"""
import argparse, json, os, statistics, time
import torch
import torch.nn.functional as F

BATCH = 512


class Perceptron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(784, 512), torch.nn.ReLU(),
            torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))

    def forward(self, x):
        return self.layers(x)


class Char(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(256, 32)
        self.hidden = torch.nn.Linear(512, 512)
        self.out = torch.nn.Linear(512, 256)

    def forward(self, tokens):
        return self.out(torch.tanh(self.hidden(self.embed(tokens).flatten(1))))


def make(name, batch):
    if name == "perceptron":
        model = Perceptron()
        x, y = torch.rand(batch, 784), torch.randint(10, (batch,))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)
    else:
        model = Char()
        x, y = torch.randint(256, (batch, 16)), torch.randint(256, (batch,))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True)
    return model, optimizer, x, y


def measure(args, rank=0):
    torch.manual_seed(rank)
    torch.set_num_threads(args.threads)
    model, optimizer, x, y = make(args.model, BATCH // max(args.ddp, 1))
    if args.ddp:
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
        model = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)

    def forward(x, y):
        return F.cross_entropy(model(x), y)

    if args.compile:
        forward = torch.compile(forward)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = forward(x, y)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(10):
        step()
    times = []
    for _ in range(args.steps):
        start = time.perf_counter()
        step().item()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def ddp_rank(rank, args, port, result):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=args.ddp)
    seconds = measure(args, rank)
    if rank == 0:
        result.value = seconds
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=["perceptron", "char"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--ddp", type=int, default=0)
    args = parser.parse_args()
    if args.ddp:
        import socket
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        result = torch.multiprocessing.get_context("spawn").Value("d", 0.0)
        torch.multiprocessing.spawn(ddp_rank, (args, port, result), nprocs=args.ddp)
        seconds = result.value
    else:
        seconds = measure(args)
    print(json.dumps({"seconds": seconds, "version": torch.__version__}))


if __name__ == "__main__":
    main()
