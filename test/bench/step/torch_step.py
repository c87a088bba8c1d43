"""A training step under PyTorch: prints {"seconds": median seconds a step}.

usage: torch_step.py perceptron|char --threads N --steps N [--compile] [--ddp N]
       torch_step.py perceptron|char --case FOLDER [--device cuda] [--batch N] [--tf32] [--autotune]

The second form serves measurements of a case (case.py).
"""
import argparse, json, os, statistics, time
import torch
import torch.nn.functional as F

import case


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


def make(name, batch, device="cpu"):
    if name == "perceptron":
        model = Perceptron().to(device)
        x, y = torch.rand(batch, 784), torch.randint(10, (batch,))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)
    else:
        model = Char().to(device)
        x, y = torch.randint(256, (batch, 16)), torch.randint(256, (batch,))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True,
                                      capturable=device == "cuda")
    return model, optimizer, x, y


def measure(args, rank=0):
    torch.manual_seed(rank)
    torch.set_num_threads(args.threads)
    model, optimizer, x, y = make(args.model, args.batch // max(args.ddp, 1))
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


PARAMETERS = {"perceptron": ["w1", "b1", "w2", "b2", "w3", "b3"], "char": ["embed", "w1", "b1", "w2", "b2"]}


class Trainer:
    """A case's model, optimizer and batch: `step` is one call for each step."""

    modes = ("resident", "fed")

    def __init__(self, args, **compile_options):
        self.model, self.optimizer, _, _ = make(args.model, 1, args.device)
        parameters, arrays = case.read_case(args.case, args.model)
        start = [torch.from_numpy(parameters[name].copy()) for name in PARAMETERS[args.model]]
        # Linear keeps its weights as [out, in].
        self.start = [(s.t() if name.startswith("w") else s).to(args.device)
                      for name, s in zip(PARAMETERS[args.model], start)]
        # Labels are 64 bits wide here; indices need not be.
        self.host = [torch.from_numpy(arrays[0]), torch.from_numpy(arrays[1]).long()]
        self.host = [t.pin_memory() for t in self.host] if args.device == "cuda" else self.host
        self.batch = [t.to(args.device) for t in self.host]
        self.forward = lambda x, y: F.cross_entropy(self.model(x), y)
        if compile_options:
            if compile_options["mode"] in ("reduce-overhead", "max-autotune"):
                for t in self.batch:
                    torch._dynamo.mark_static_address(t)  # else its graphs copy it once more
            self.forward = torch.compile(self.forward, **compile_options)
        self.reset()

    def reset(self):
        """In place: a captured graph knows addresses."""
        with torch.no_grad():
            for parameter, start in zip(self.model.parameters(), self.start):
                parameter.copy_(start)
            for state in self.optimizer.state.values():
                for value in state.values():
                    if torch.is_tensor(value):
                        value.zero_()

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.forward(x, y)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def enqueue(self, mode):
        """Begins a step; returns its loss, valid until the next."""
        if mode == "fed":
            for there, here in zip(self.batch, self.host):
                there.copy_(here, non_blocking=True)
        return self.step(*self.batch)

    def losses(self, mode, count):
        self.reset()
        return [self.enqueue(mode).item() for _ in range(count)]

    def run(self, mode, steps):
        for _ in range(steps):
            loss = self.enqueue(mode)
        loss.item()  # waits for all
        return steps


class Captured(Trainer):
    """The whole step in a CUDA graph, one for each of two batches: the copy to
    one goes on beside the step on the other."""

    def __init__(self, args, **compile_options):
        super().__init__(args, **compile_options)
        self.slots, self.turn, self.copies = [], 0, torch.cuda.Stream()
        batches = [[t.clone() for t in self.batch] for _ in range(2)]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # what a capture may not do: compile, choose, make state
            for _ in range(3):
                for batch in batches:
                    self.step(*batch)
        torch.cuda.current_stream().wait_stream(side)
        for batch in batches:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                loss = self.step(*batch)
            self.slots.append((batch, graph, loss, torch.cuda.Event(), torch.cuda.Event()))
        torch.cuda.synchronize()

    def enqueue(self, mode):
        batch, graph, loss, copied, done = self.slots[self.turn]
        self.turn = 1 - self.turn
        if mode == "fed":
            self.copies.wait_event(done)
            with torch.cuda.stream(self.copies):
                for there, here in zip(batch, self.host):
                    there.copy_(here, non_blocking=True)
                copied.record()
            torch.cuda.current_stream().wait_event(copied)
        graph.replay()
        done.record()
        return loss


def serve(args):
    torch.set_num_threads(args.threads)
    torch.backends.cuda.matmul.allow_tf32 = args.tf32
    tuned = dict(mode="max-autotune-no-cudagraphs") if args.autotune else dict(mode="default")
    if args.device == "cpu":
        make = {"torch": lambda: Trainer(args), "torch compiled": lambda: Trainer(args, **tuned)}
    else:
        make = {"torch graph": lambda: Captured(args),
                "torch compiled": lambda: Trainer(args, mode="max-autotune" if args.autotune else "reduce-overhead"),
                "torch compiled graph": lambda: Captured(args, **tuned)}
    a = torch.rand(512, 512, dtype=torch.float64)
    product = (a.float().to(args.device) @ a.float().to(args.device)).double().cpu()
    case.serve(make, args.losses, rounding=case.rounding(product.numpy(), a.numpy()), version=torch.__version__)


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
    parser.add_argument("--autotune", action="store_true", help="of a case: have torch.compile try many kernels")
    case.add_arguments(parser)
    args = parser.parse_args()
    if args.case:
        return serve(args)
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
