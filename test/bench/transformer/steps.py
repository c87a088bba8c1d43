"""Training steps of transformers: meshc beside PyTorch (eager, compiled, DDP, FSDP2) and JAX (layers in a loop, or
unrolled), in one run. Each row measures all of them in turn, REPEATS times, and keeps each one's best median. Called by
test/bench/transformer/run.
"""
import argparse, json, pathlib, statistics, sys, tempfile

from shapes import SHAPES

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from machine import CORES, describe, floor, peer, run

ROOT = HERE.parents[2]
MODELS = {"nano": ROOT / "python-free-examples/05_gpt/gpt.mesh"}
GPT2 = ROOT / "test/accuracy/models/gpt2.mesh"
# Parameters, their gradients and the optimizer's state cut as the batch is.
ZERO = "batch:data,parameter.model:data,gradient.model:data,optimizer.model:data"


class Meshc:
    """Programs and data of one run, in one folder."""

    def __init__(self, folder, steps):
        self.folder, self.steps = pathlib.Path(folder), steps
        (self.folder / "tokens").write_bytes(bytes(i * i % 66 for i in range(1 << 16)))

    def measure(self, name, mesh, ranks, threads, cores, layout=None):
        """Seconds of a step, and bytes of the arenas of all ranks. Without a layout, that of the model's text."""
        shape = SHAPES[name]
        program = self.folder / (name.replace(" ", "_") + "-" + mesh + ("-" + layout if layout else "").replace(":", "_"))
        if not program.exists():
            sizes = [word for dim in ("batch", "seq", "vocab") for word in ("--set", f"{dim}={getattr(shape, dim)}")]
            rules = ["--layout", layout] if layout else []
            run([ROOT / "build/bin/meshc", MODELS.get(name, GPT2), *sizes, *rules, "--mesh", mesh, "-o", program], CORES)
        log = self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        run([program, "train", "--data", self.folder / "tokens", "--steps", self.steps + 2, "--ranks", ranks,
             "--threads", threads, "--log", log, "--log-every", 1, "--quiet"], cores)
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        seconds = statistics.median(shape.batch / row["examples_per_second"] for row in rows[2:])
        info = json.loads(run([program, "info", "--json"], cores))
        return {"seconds": seconds, "memory": ranks * info["memory"]["arenaBytes"]}


def rows(name, meshc, steps):
    """Per row: resources, cores, and by name what measures ours and the peers."""
    torch = lambda cores, *more: lambda: peer(HERE / "torch_gpt.py", name, "--steps", steps, *more, cores=cores)
    jax = lambda cores, *more: lambda: peer(HERE / "jax_gpt.py", name, "--steps", steps, *more, cores=cores)
    ours = lambda mesh, ranks, threads, cores, layout=None: {
        "meshc": lambda: meshc.measure(name, mesh, ranks, threads, cores, layout)}
    for cores in (CORES[:1], CORES):
        n = len(cores)
        yield (f"{n} thread{'s' * (n > 1)}", n, ours("data=1,tensor=1", 1, n, cores),
               {"torch": torch(cores, "--threads", n), "torch compiled": torch(cores, "--threads", n, "--compile"),
                "jax": jax(cores), "jax unrolled": jax(cores, "--unroll")})
    yield ("2 ranks, data", 2, ours("data=2,tensor=1", 2, 1, CORES),
           {"torch DDP": torch(CORES, "--ddp", 2), "torch DDP compiled": torch(CORES, "--ddp", 2, "--compile"),
            "jax": jax(CORES, "--devices", 2)})
    yield ("2 ranks, tensor", 2, ours("data=1,tensor=2", 2, 1, CORES), {"jax": jax(CORES, "--devices", 2, "--tensor")})
    yield ("2 ranks, ZeRO-3", 2, ours("data=2", 2, 1, CORES, ZERO),
           {"torch FSDP2": torch(CORES, "--fsdp", 2), "torch FSDP2 compiled": torch(CORES, "--fsdp", 2, "--compile"),
            "jax": jax(CORES, "--devices", 2, "--zero")})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--only", default="", help="rows whose resources contain this text, such as ZeRO")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=2)
    args = parser.parse_args()
    print(describe())
    print(f"{'model':<12}{'resources':<17}{'meshc':>9}{'best peer':>11}{'ratio':>7}{'floor':>10}{'x floor':>8}"
          f"{'arenas':>9}{'least RSS':>10}  all, ms")
    with tempfile.TemporaryDirectory() as folder:
        meshc = Meshc(folder, args.steps)
        for name in args.shapes:
            for resources, cores, ours, peers in rows(name, meshc, args.steps):
                if args.only not in resources:
                    continue
                best = {}
                for _ in range(args.repeats):
                    for who, measure in {**ours, **peers}.items():
                        got = measure()
                        if who not in best or got["seconds"] < best[who]["seconds"]:
                            best[who] = got
                mine, theirs = best["meshc"]["seconds"], min(best[who]["seconds"] for who in peers)
                shape = SHAPES[name]
                low = floor(shape.flops, 16 * shape.parameters, shape.optimizer_bytes, cores)
                least = min(best[who]["memory"] for who in peers)
                others = ", ".join(f"{who} {best[who]['seconds'] * 1e3:.1f}" for who in best)
                print(f"{name:<12}{resources:<17}{mine * 1e3:>7.1f}ms{theirs * 1e3:>9.1f}ms{theirs / mine:>7.2f}"
                      f"{low * 1e3:>8.1f}ms{mine / low:>8.2f}{best['meshc']['memory'] / 1e9:>7.2f}GB{least / 1e9:>8.2f}GB"
                      f"  {others}", flush=True)


if __name__ == "__main__":
    main()
