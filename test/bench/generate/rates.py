"""Tokens per second of one text, and the time to the first token after a prompt: meshc beside PyTorch (eager, compiled), in
one run. Each row measures all of them in turn, REPEATS times, and keeps each one's best. Called by test/bench/generate/run.
"""
import argparse, json, os, pathlib, sys, tempfile

from shapes import SHAPES

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
from machine import CORES, peer, peer_environment, run


def write_model(name):
    """The model's text, which draws its weights with `train --steps 0`."""
    if not SHAPES[name].is_llama:
        text = (ROOT / "test/accuracy/models/gpt2.mesh").read_text()
        return text + "\ngenerate gpt2 from tokens with logits over vocab along seq\n"
    text = (ROOT / "test/exec/models/stories260K.mesh").read_text()
    return text.replace("metric loss", "loss") + "\ntrain stories minimize loss with sgd(0.1)\n"


class Meshc:
    """Programs and weights of one run, in one folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "tokens").write_bytes(b"a" * (1 << 16))

    def prepare(self, name):
        shape, base = SHAPES[name], self.folder / name.replace(" ", "_")
        if not base.exists():
            model = base.with_suffix(".mesh")
            model.write_text(write_model(name))
            sizes = {dim: getattr(shape, dim) for dim in ("seq", "vocab", "layers", "model")}
            sizes["groups" if shape.is_llama else "heads"] = shape.groups
            words = [word for dim, size in sizes.items() for word in ("--set", f"{dim}={size}")]
            run([ROOT / "build/bin/meshc", model, "--set", "batch=1", *words, "-o", base], CORES)
            run([base, "train", "--data", self.folder / "tokens", "--steps", 0, "--checkpoint",
                 base.with_suffix(".safetensors"), "--quiet"], CORES)
        return base

    def generate(self, name, prompt, tokens, threads, cores):
        """The line of the log."""
        base, log = self.prepare(name), self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        run([base, "generate", "--weights", base.with_suffix(".safetensors"), "--prompt", "a" * prompt, "--greedy", "--tokens",
             tokens, "--threads", threads, "--log", log, "--quiet"], cores)
        return json.loads(log.read_text().splitlines()[-1])

    def measure(self, name, tokens, prompt, threads, cores):
        return {"rate": self.generate(name, 1, tokens, threads, cores)["tokens_per_second"],
                "first": min(self.generate(name, prompt, 1, threads, cores)["time_to_first_token"] for _ in range(3))}


def floor(size, cores):
    """Seconds in which all cores read that many bytes once, as one stream each: a sum, by PyTorch."""
    script = f"""
import time, torch
torch.set_num_threads({len(cores)})
a = torch.ones({int(size) // 4})
def seconds():
    start = time.perf_counter(); a.sum()
    return time.perf_counter() - start
print(min(seconds() for _ in range({max(20, int(4e9 / size))})))
"""
    return float(run([sys.executable, "-c", script], cores, peer_environment()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--tokens", type=int, help="of each text (default: 500, 500, 64)")
    parser.add_argument("--prompt", type=int, default=256, help="tokens before the first one that is timed (default: 256)")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    import torch
    print(f"{cpu}; torch {torch.__version__}; load average {os.getloadavg()[0]:.1f}. Tokens per second of one text, greedy")
    print(f"and, on the right, milliseconds to the first token after {args.prompt}, with the rate of the products in GFLOP/s")
    print(f"{'model':<13}{'threads':>8}{'meshc':>10}{'eager':>10}{'compiled':>10}{'ratio':>7}{'MB/token':>10}{'floor ms':>10}{'x floor':>8}"
          f"  |{'meshc':>9}{'eager':>9}{'compiled':>9}{'ratio':>7}{'GFLOP/s':>9}")
    with tempfile.TemporaryDirectory() as folder:
        meshc = Meshc(folder)
        for name in args.shapes:
            shape = SHAPES[name]
            tokens = args.tokens or shape.tokens
            for cores in (CORES[:1], CORES):
                n = len(cores)
                torch_run = lambda *more: peer(HERE / "torch_generate.py", name, tokens, "--prompt", args.prompt, "--threads", n,
                                               *more, cores=cores)
                measures = {
                    "meshc": lambda: meshc.measure(name, tokens, args.prompt, n, cores),
                    "eager": torch_run,
                    "compiled": lambda: torch_run("--compile"),
                }
                best, first = dict.fromkeys(measures, 0.0), dict.fromkeys(measures, float("inf"))
                for _ in range(args.repeats):
                    for who, measure in measures.items():
                        measured = measure()
                        best[who] = max(best[who], measured["rate"])
                        first[who] = min(first[who], measured["first"])
                size = shape.bytes(tokens)
                least = floor(size, cores)
                ratio = best["meshc"] / max(best["eager"], best["compiled"])
                sooner = min(first["eager"], first["compiled"]) / first["meshc"]
                flops = 2 * shape.parameters * args.prompt / first["meshc"]
                print(f"{name:<13}{n:>8}{best['meshc']:>10.1f}{best['eager']:>10.1f}{best['compiled']:>10.1f}{ratio:>7.2f}"
                      f"{size / 1e6:>10.2f}{least * 1e3:>10.3f}{1 / best['meshc'] / least:>8.2f}"
                      f"  |{first['meshc'] * 1e3:>9.1f}{first['eager'] * 1e3:>9.1f}{first['compiled'] * 1e3:>9.1f}{sooner:>7.2f}"
                      f"{flops / 1e9:>9.1f}", flush=True)


if __name__ == "__main__":
    main()
