"""Training steps of meshc, PyTorch and JAX side by side: one row per model and
resource, the peers' best median over ours. Every row measures all of them in
turn, REPEATS times, and keeps each one's best median, since these machines are
noisy. Called by test/bench/run.
"""
import argparse, json, pathlib, statistics, sys, tempfile, time
import numpy as np

import case

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from machine import CORES, LARGE, attained, bandwidth, describe, floor, peer, run

BUILD = HERE.parents[2] / "build"
BATCH = 512


class Meshc:
    """Programs and data of one benchmark run, in one folder."""

    def __init__(self, folder, steps):
        self.folder, self.steps, self.built = pathlib.Path(folder), steps, {}
        random = np.random.default_rng(0)
        count = 8 * BATCH
        save = lambda name, array: np.save(self.folder / f"{name}.npy", array)
        save("images", random.random((count, 784), dtype=np.float32))
        save("labels", random.integers(0, 10, count, dtype=np.int32))
        save("tokens", random.integers(0, 256, (count, 16), dtype=np.int32))
        save("targets", random.integers(0, 256, count, dtype=np.int32))

    def program(self, model, mesh, layout):
        key = (model, mesh, layout)
        if key not in self.built:
            output = self.folder / f"{model}{len(self.built)}"
            cuts = ["--mesh", mesh, "--layout", layout] if mesh else []
            run([BUILD / "bin/meshc", HERE / f"models/{model}.mesh", *cuts, "-o", output], CORES)
            self.built[key] = output
        return self.built[key]

    def measure(self, model, cores, threads, mesh="", layout="", launcher=(), ranks=1):
        log = self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        inputs = ("images", "labels") if model == "perceptron" else ("tokens", "targets")
        data = [word for name in inputs for word in ("--data", f"{name}={self.folder}/{name}.npy")]
        command = [*launcher, self.program(model, mesh, layout), "train", *data, "--steps", self.steps + 10,
                   "--threads", threads, "--log", log, "--log-every", 1, "--quiet"]
        if ranks > 1 and not launcher:
            command += ["--ranks", ranks]
        run(command, cores)
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        return statistics.median(BATCH / r["examples_per_second"] for r in rows[10:])


MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", 2)


def rows(meshc, steps):
    def seconds(script):
        return lambda model, cores, *more: lambda: peer(
            HERE / script, model, "--steps", steps, *more, cores=cores)["seconds"]

    torch, jax = seconds("torch_step.py"), seconds("jax_step.py")
    one, two = CORES[:1], CORES
    for model in ("perceptron", "char"):
        for cores in (one, two):
            n = len(cores)
            yield (model, f"{n} thread{'s' * (n > 1)}", n, 1.0,
                   {"meshc": lambda: meshc.measure(model, cores, n)},
                   {"torch": torch(model, cores, "--threads", n),
                    "torch compiled": torch(model, cores, "--threads", n, "--compile"),
                    "jax": jax(model, cores)})
        layouts = [("data=2", "batch:data", ())]
        if model == "perceptron":
            layouts.append(("tensor=2", "h1:tensor", ("--tensor",)))
        for mesh, layout, tensor in layouts:
            yield (model, f"2 ranks, {mesh}", 2, 1.2,
                   {"meshc threads": lambda: meshc.measure(model, two, 1, mesh, layout, ranks=2),
                    "meshc mpirun": lambda: meshc.measure(model, two, 1, mesh, layout, MPIRUN, ranks=2)},
                   {"torch DDP": torch(model, two, "--ddp", 2),
                    "torch DDP compiled": torch(model, two, "--ddp", 2, "--compile"),
                    "jax": jax(model, two, "--devices", 2, *tensor)})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    print(describe())
    print(f"{'model':<11}{'resources':<20}{'meshc':>9}{'best peer':>11}{'ratio':>7}{'goal':>6}{'floor':>9}{'x floor':>8}  peers")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        meshc = Meshc(folder, args.steps)
        for model, resources, cores, goal, ours, peers in rows(meshc, args.steps):
            best = {}
            for _ in range(args.repeats):
                for name, measure in {**ours, **peers}.items():
                    best[name] = min(best.get(name, 1e9), measure())
            mine = min(best[name] for name in ours)
            theirs, peer_name = min((best[name], name) for name in peers)
            # Multiply-adds of the products over peak, and the bytes that products
            # alone do not touch (each unfused operand once) over bandwidth.
            least = floor(case.flops(model, BATCH), case.optimizer_size(model), case.optimizer_bytes(model), cores)
            results.append(dict(model=model, resources=resources, seconds=best, ratio=theirs / mine, goal=goal,
                                floor_seconds=least, times_floor=mine / least))
            others = ", ".join(f"{n} {best[n] * 1e3:.1f}" for n in best)
            print(f"{model:<11}{resources:<20}{mine * 1e3:>7.2f}ms{theirs * 1e3:>9.2f}ms{theirs / mine:>7.2f}{goal:>6.1f}"
                  f"{least * 1e3:>7.2f}ms{mine / least:>8.2f}  {others}", flush=True)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(
            dict(date=time.strftime("%Y-%m-%d"), peak_flops=attained(), bandwidth=bandwidth(1, LARGE), rows=results),
            indent=1) + "\n")


if __name__ == "__main__":
    main()
