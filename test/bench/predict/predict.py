"""Predicted and measured step times, their errors, and whether predictions rank layouts as measurements do.
Called by test/bench/predict/run.
"""
import argparse, array, bisect, datetime, json, os, pathlib, resource, statistics, struct, subprocess, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parents[3]
MESHC = ROOT / "build/bin/meshc"
MODELS = {
    "perceptron": (ROOT / "test/bench/step/models/perceptron.mesh", [],
                   {"images": ("f", (512, 784), 1), "labels": ("i", (512,), 10)}),
    "char": (ROOT / "test/bench/step/models/char.mesh", [], {"tokens": ("i", (512, 16), 256), "targets": ("i", (512,), 256)}),
    # Small batches: the layouts differ, since updates and sums of gradients take the most time.
    "perceptron 64": (ROOT / "test/bench/step/models/perceptron.mesh", ["batch=64"],
                      {"images": ("f", (64, 784), 1), "labels": ("i", (64,), 10)}),
    "char 64": (ROOT / "test/bench/step/models/char.mesh", ["batch=64"],
                {"tokens": ("i", (64, 16), 256), "targets": ("i", (64,), 256)}),
    "gpt": (ROOT / "python-free-examples/05_gpt/gpt.mesh", ["vocab=66"], None),
    "gpt wide": (ROOT / "python-free-examples/05_gpt/gpt.mesh", ["vocab=66", "model=256", "batch=8"], None),
    "llama": (ROOT / "python-free-examples/06_llama/llama.mesh", ["vocab=66"], None),
    "deep": (ROOT / "python-free-examples/04_deep/deep.mesh", ["layers=12"],
             {"images": ("f", (500, 784), 1), "labels": ("i", (500,), 10)}),
}
BATCHES = {"perceptron": 512, "char": 512, "perceptron 64": 64, "char 64": 64, "gpt": 12, "gpt wide": 8, "llama": 12, "deep": 500}
TRANSFORMER = [("1 rank", "data=1,tensor=1", None), ("2, data", "data=2,tensor=1", None), ("2, tensor", "data=1,tensor=2", None)]
# Layers that the axis of the vocabulary cuts, too, as meshc chooses, and layers that rules keep whole: twice the time.
VOCAB = [("2, vocab", "data=1,tensor=2", "vocab:tensor"),
         ("2, whole", "data=1,tensor=2", "vocab:tensor,batch:(),seq:(),model:()")]
LAYOUTS = {
    "perceptron": [("1 rank", "data=1", ""), ("2, data", "data=2", "batch:data"), ("2, tensor", "tensor=2", "h1:tensor")],
    "char": [("1 rank", "data=1", ""), ("2, data", "data=2", "batch:data"), ("2, tensor", "tensor=2", "hidden:tensor")],
    "perceptron 64": [("1 rank", "data=1", ""), ("2, data", "data=2", "batch:data"), ("2, tensor", "tensor=2", "h1:tensor")],
    "char 64": [("1 rank", "data=1", ""), ("2, data", "data=2", "batch:data"), ("2, tensor", "tensor=2", "hidden:tensor")],
    "gpt": TRANSFORMER + VOCAB,
    "gpt wide": TRANSFORMER,
    "llama": TRANSFORMER + VOCAB,
    "deep": [("1 rank", "data=1,tensor=1", None), ("2, data", "data=2,tensor=1", None), ("2, tensor", "data=1,tensor=2", None)],
}


def write_npy(path, kind, shape, limit):
    """An array in NPY's format: small floats, or integers below a limit."""
    count = 1
    for size in shape:
        count *= size
    values = array.array(kind, ((i * 37 % limit if kind == "i" else (i * 37 % 97) / 97) for i in range(count)))
    text = f"{{'descr': '<{kind}4', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + values.tobytes())


class Programs:
    def __init__(self, folder, machine, steps):
        self.folder, self.machine, self.steps = pathlib.Path(folder), machine, steps
        (self.folder / "tokens").write_bytes(bytes(i * i % 66 for i in range(1 << 16)))

    def data(self, model):
        inputs = MODELS[model][2]
        if inputs is None:
            return ["--data", self.folder / "tokens"]
        words = []
        for name, (kind, shape, limit) in inputs.items():
            path = self.folder / f"{model}-{name}.npy"
            if not path.exists():
                write_npy(path, kind, shape, limit)
            words += ["--data", f"{name}={path}"]
        return words

    def compile(self, model, row):
        """Compiles a program, and returns the report of its training step."""
        source, sizes, _ = MODELS[model]
        _, mesh, layout = LAYOUTS[model][row]
        program = self.folder / f"{model}{row}".replace(" ", "_")
        words = [MESHC, source, "--mesh", mesh, "--machine", self.machine, "--report=json", "-o", program]
        words += [word for size in sizes for word in ("--set", size)]
        words += ["--layout", layout] if layout is not None else []
        report = json.loads(run(words))
        return program, next(f for f in report["functions"] if f["name"] == "train_step")

    def measure(self, model, program):
        """Seconds of the fastest step of a run: other programs may disturb most of them."""
        log = self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        run([program, "train", *self.data(model), "--steps", self.steps + 5, "--comm", "threads", "--log", log,
             "--log-every", 1, "--quiet"])
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        return min(BATCHES[model] / row["examples_per_second"] for row in rows[5:])

    def add_calls(self, model, program):
        """Seconds of a step's calls: the sum of each one's least time in all steps of a trace. Of a collective, each time
        counts from when the last rank begins it."""
        trace = self.folder / "trace.json"
        run([program, "train", *self.data(model), "--steps", self.steps + 20, "--comm", "threads", "--trace", trace,
             "--trace-steps", self.steps, "--quiet"])
        events = json.loads(trace.read_text())["traceEvents"]
        least = {}
        for rank in {event["pid"] for event in events}:
            steps = sorted(event["ts"] for event in events if event["pid"] == rank and event.get("cat") == "step")
            calls = sorted((event["ts"], event["cat"], event["dur"]) for event in events
                           if event["pid"] == rank and event.get("cat") in ("kernel", "product", "collective"))
            counts = [0] * len(steps)
            for start, kind, duration in calls:
                step = bisect.bisect(steps, start) - 1
                key = (counts[step], kind) if kind == "collective" or rank == 0 else None
                counts[step] += 1
                if key:
                    least[key] = min(least.get(key, duration), duration)
        return 1e-6 * sum(least.values())


def run(words):
    """What a command prints."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"error: {words} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def busy():
    """Seconds in which the host's cores have computed, all together."""
    numbers = list(map(int, open("/proc/stat").readline().split()[1:9]))
    return (sum(numbers) - numbers[3] - numbers[4]) / os.sysconf("SC_CLK_TCK")


def alone(work, patience):
    """The result of `work`, and whether other programs left the cores to it: it runs when they rest, and again while they
    take more than a twentieth of a core, for `patience` seconds at most."""
    end = time.time() + patience
    while True:
        before, start = busy(), time.time()
        time.sleep(0.3)
        rests = busy() - before < 0.03
        if not rests and time.time() < end:
            continue
        own = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        before, start, ours = busy(), time.time(), own()
        result = work()
        others = busy() - before - (own() - ours)
        isAlone = others < 0.05 * (time.time() - start) + 0.05
        if isAlone or time.time() > end:
            return result, isAlone


def compare(args, cpu, folder):
    machine = args.machine
    if machine is None:
        machine = pathlib.Path(folder) / "machine.json"
        _, isAlone = alone(lambda: run([MESHC, "--calibrate", "-o", machine]), args.patience)
        print(machine.read_text() + ("" if isAlone else "other programs disturbed the calibration"))
    programs = Programs(folder, machine, args.steps)
    print(f"{datetime.date.today()}, {cpu}, {os.cpu_count()} cores; ms per step{', sums of calls' if args.calls else ''}, the "
          f"least of {args.repeats} runs; ~: other programs ran, too")
    print(f"{'model':<15}{'layout':<11}{'predicted':>10}{'products':>10}{'kernels':>9}{'exposed':>9}{'measured':>10}{'error':>8}")
    errors, pairs, wrong = [], 0, []
    built_of = {model: [programs.compile(model, row) for row in range(len(LAYOUTS[model]))] for model in args.models}
    how = programs.add_calls if args.calls else programs.measure
    # In turns, of layouts and of models, so that what disturbs the machine for a while disturbs all layouts, and not
    # all runs of a program.
    turns = [{model: [alone(lambda: how(model, program), args.patience) for program, _ in built_of[model]]
              for model in args.models} for _ in range(args.repeats)]
    for model, built in built_of.items():
        measured = []
        for row, (program, function) in enumerate(built):
            runs = [turn[model][row] for turn in turns]
            isAlone = any(alone for _, alone in runs)
            seconds = min(seconds for seconds, alone in runs if alone or not isAlone)
            measured.append(seconds)
            step = function["time"]
            error = step["seconds"] / seconds - 1
            errors.append(abs(error))
            parts = "".join(f"{1e3 * step[part]:>{width}.2f}" for part, width in
                            (("seconds", 10), ("products", 10), ("kernels", 9), ("exposed", 9)))
            print(f"{model:<15}{LAYOUTS[model][row][0]:<11}{parts}{1e3 * seconds:>10.2f}{100 * error:>+7.1f}%"
                  f"{'' if isAlone else ' ~'}", flush=True)
        predicted = [function["time"]["seconds"] for _, function in built]
        for a in range(len(built)):
            for b in range(a):
                if max(measured[a], measured[b]) > 1.2 * min(measured[a], measured[b]):
                    pairs += 1
                    if (predicted[a] < predicted[b]) != (measured[a] < measured[b]):
                        wrong.append(f"{model}: {LAYOUTS[model][a][0]} and {LAYOUTS[model][b][0]}")
    print(f"{len(errors)} pairs of model and layout: median error {100 * statistics.median(errors):.1f} %, "
          f"largest {100 * max(errors):.1f} %")
    print(f"{pairs} pairs of layouts differ by more than 20 %; ranked wrongly: {', '.join(wrong) or 'none'}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--machine")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--calls", action="store_true", help="compare with the sum of the least times of all calls, in "
                        "traces: other programs disturb them less than whole steps")
    parser.add_argument("--patience", type=float, default=60, help="seconds that a run waits for other programs to rest")
    args = parser.parse_args()
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    with tempfile.TemporaryDirectory() as folder:
        compare(args, cpu, folder)


if __name__ == "__main__":
    main()
