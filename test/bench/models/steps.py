"""Training steps of small models of many kinds, and tokens of a text: meshc beside PyTorch and JAX in one run. Each row
measures all of them in turn, REPEATS times, and keeps each one's best median. Called by test/bench/models/run.
"""
import argparse, json, math, pathlib, statistics, subprocess, sys, tempfile

from shapes import MODELS

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.append(str(HERE.parent))
from machine import CORES, describe, floor, peer, run


class Meshc:
    """Programs and data of one run, in one folder."""

    def __init__(self, folder, steps):
        self.folder, self.steps = pathlib.Path(folder), steps

    def prepare(self, name, type):
        """The program, and the options that name its data."""
        import numpy as np

        model, base = MODELS[name], self.folder / f"{name.replace(' ', '_')}_{type}"
        files = {key: self.folder / f"{base.name}_{key}.npy" for key in model.inputs}
        if not base.exists():
            text = (HERE / f"models/{model.text}.mesh").read_text()
            text = text.replace("adamw(", model.optimizer + "(").rstrip() + f" precision {type}\n"
            base.with_suffix(".mesh").write_text(text)
            sizes = [word for dim, size in model.sizes.items() for word in ("--set", f"{dim}={size}")]
            run([ROOT / "build/bin/meshc", base.with_suffix(".mesh"), *sizes, "-o", base], CORES)
            for key, array in model.arrays().items():
                np.save(files[key], array)
        return base, [word for key, file in files.items() for word in ("--data", f"{key}={file}")]

    def measure(self, name, type, threads, cores):
        program, data = self.prepare(name, type)
        log = self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        run([program, "train", *data, "--steps", self.steps + 2, "--threads", threads, "--log", log, "--log-every", 1,
             "--quiet"], cores)
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        seconds = statistics.median(MODELS[name].batch / row["examples_per_second"] for row in rows[2:])
        return {"seconds": seconds, "first": rows[0]["loss"], "loss": rows[-1]["loss"]}


def rows(meshc, steps, types):
    """Per row: model, type, cores, the floor, and by name what measures meshc and the peers."""
    for name, model in MODELS.items():
        for type in (t for t in model.types if t in types):
            for cores in (CORES[:1], CORES):
                n = len(cores)
                options = [name, "--type", type, "--steps", steps]
                torch = lambda *more: lambda: peer(HERE / "torch_models.py", *options, "--threads", n, *more, cores=cores)
                jax = lambda *more: lambda: peer(HERE / "jax_models.py", *options, *more, cores=cores)
                measures = {"meshc": lambda: meshc.measure(name, type, n, cores), "torch": torch(),
                            "torch compiled": torch("--compile"), "jax": jax()}
                if name in ("ViT", "deep"):
                    measures["jax unrolled"] = jax("--unroll")
                if name == "CNN":
                    measures |= {"torch channels last": torch("--channels-last"),
                                 "torch channels last compiled": torch("--channels-last", "--compile")}
                if model.optimizer == "sgd":
                    measures |= {"torch sparse": torch("--sparse"), "jax sparse": jax("--sparse")}
                if name == "experts":
                    measures["torch dropless"] = torch("--dropless")
                yield name, type, n, floor(model.flops, model.bytes, model.moved, n, type), measures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="rows whose model contains this text, such as SGD")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--types", default="f32,bf16")
    args = parser.parse_args()
    types = args.types.split(",")
    print(describe(types))
    print(f"{'model':<14}{'type':<6}{'threads':>7}{'meshc':>10}{'best peer':>12}{'ratio':>7}{'floor':>10}{'x floor':>8}"
          "  all, ms")
    with tempfile.TemporaryDirectory() as folder:
        meshc = Meshc(folder, args.steps)
        for name, type, threads, lowest, measures in rows(meshc, args.steps, types):
            if args.only not in name:
                continue
            best = {}
            for _ in range(args.repeats):
                for who, measure in measures.items():
                    got = measure()
                    if not math.isfinite(got["first"] + got["loss"]):
                        sys.exit(f"error: {name}, {who}: the loss is {got['loss']}")
                    best[who] = min(best.get(who, math.inf), got["seconds"])
            mine, theirs = best["meshc"], min(best[who] for who in best if who != "meshc")
            others = ", ".join(f"{who} {seconds * 1e3:.1f}" for who, seconds in best.items())
            print(f"{name:<14}{type:<6}{threads:>7}{mine * 1e3:>8.1f}ms{theirs * 1e3:>10.1f}ms{theirs / mine:>7.2f}"
                  f"{lowest * 1e3:>8.1f}ms{mine / lowest:>8.2f}  {others}", flush=True)
    if args.only in "generation" and "f32" in types:
        print("generation, 4 layers of 256, by test/bench/generate:", flush=True)
        sys.exit(subprocess.run([sys.executable, HERE.parent / "generate/rates.py", "--shapes", "gpt 4x256",
                                 "--repeats", str(args.repeats)]).returncode)


if __name__ == "__main__":
    main()
