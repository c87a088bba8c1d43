"""Who takes part in test/gpu/bench: programs that meshc compiled, and peers,
each a process that serves measurements (test/bench/step/case.py)."""
import array, gzip, json, os, pathlib, statistics, subprocess, threading

from case import INPUTS

CHUNKS = 4  # timed ones, as the peers'


NO_DEVICE = 8  # exit code of programs: no usable GPU


class Failed(Exception):
    """A contestant cannot take part; says why."""

    def __init__(self, text, code=None):
        super().__init__(text)
        self.code = code


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no message"


def save_array(path, code, columns, values):
    """An NPY file: rows of `columns` elements (0: of one, without a dim); code f or i, 32 bits."""
    rows = len(values) // max(columns, 1)
    shape = f"({rows}, {columns})" if columns else f"({rows},)"
    header = f"{{'descr': '<{code}4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    head = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    pathlib.Path(path).write_bytes(head + array.array(code, values).tobytes())


def make_data(bundle, folder, model, batch):
    """One batch of the bundle's images or text: every step then sees the same
    examples, in whatever order, and losses can be compared."""
    if model == "perceptron":
        pixels = gzip.open(bundle / "data/t10k-images-idx3-ubyte.gz").read()[16:]
        labels = gzip.open(bundle / "data/t10k-labels-idx1-ubyte.gz").read()[8:]
        grey = [value / 255 for value in range(256)]
        save_array(folder / "images.npy", "f", 784, [grey[p] for p in pixels[: batch * 784]])
        save_array(folder / "labels.npy", "i", 0, list(labels[:batch]))
        return
    text = (bundle / "data/licences.txt").read_bytes()
    stride = (len(text) - 17) // batch
    save_array(folder / "tokens.npy", "i", 16, [c for i in range(batch) for c in text[i * stride : i * stride + 16]])
    save_array(folder / "targets.npy", "i", 0, [text[i * stride + 16] for i in range(batch)])


def library_path(bundle):
    """cuBLAS and NCCL: the toolkit's, or those that came with PyTorch."""
    import site

    places = [bundle / "lib", pathlib.Path("/usr/local/cuda/lib64"), pathlib.Path("/usr/local/cuda/lib")]
    for packages in site.getsitepackages():
        places += sorted(pathlib.Path(packages).glob("nvidia/*/lib"))
    known = os.environ.get("LD_LIBRARY_PATH", "")
    return ":".join([str(p) for p in places if p.is_dir()] + [known] * bool(known))


class Program:
    """A compiled program on the data of a folder."""

    name = "meshc"

    def __init__(self, bundle, folder, program, model, tf32=False, threads=0):
        self.folder, self.cuda = folder, not program.endswith("-host")
        self.command = [bundle / "programs" / program, "train", "--quiet", "--seed", 1]
        for name in INPUTS[model]:
            self.command += ["--data", f"{name}={folder}/{name}.npy"]
        self.command += ["--matmul", "tf32"] * tf32 + ["--threads", threads] * bool(threads)
        self.environment = {**os.environ, "LD_LIBRARY_PATH": library_path(bundle),
                            "MESHC_PLUGIN_PATH": str(bundle / "lib")}

    def run(self, *arguments):
        command = [str(c) for c in (*self.command, *arguments)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=self.environment, timeout=300)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(str(error)) from None
        if done.returncode:
            raise Failed(f"exit code {done.returncode}: {last_line(done.stderr)}", done.returncode)

    def write_start(self):
        """The initial parameters, for the peers."""
        self.run("--steps", 0, "--checkpoint", self.folder / "start.safetensors")

    def log(self, *arguments):
        path = self.folder / "log.jsonl"
        path.unlink(missing_ok=True)
        self.run("--log", path, *arguments)
        return [json.loads(line) for line in path.read_text().splitlines()]

    def losses(self, mode, count):
        return [row["loss"] for row in self.log("--steps", count, "--log-every", 1, *self.hold(mode))]

    def hold(self, mode):
        return ["--hold-batch"] * (self.cuda and mode == "resident")

    def measure(self, mode, steps):
        """Median seconds a step of chunks of so many, after one of them."""
        rows = self.log("--steps", steps * (CHUNKS + 1), "--log-every", steps, *self.hold(mode))
        times = [row["time"] for row in rows]
        return statistics.median((b - a) / steps for a, b in zip(times, times[1:]))

    def trace(self, path, steps):
        self.run("--steps", steps + 10, *self.hold("resident"), "--trace", path, "--trace-steps", steps)


class Peer:
    """A script that serves. Made at the first answer, after it compiled what it
    compiles. It is ended where an answer takes `limit` seconds."""

    def __init__(self, python, script, *arguments, limit=400):
        self.limit = limit
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.errors = pathlib.Path(arguments[arguments.index("--case") + 1]) / f"{script.stem}.err"
        command = [str(c) for c in (python, script, *arguments)]
        with open(self.errors, "w") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                            text=True, env=environment)
        self.about = self.answer()

    def answer(self):
        """The next line that is JSON; libraries print others."""
        watch = threading.Timer(self.limit, self.process.kill)
        watch.start()
        try:
            for line in self.process.stdout:
                if line.startswith("{"):
                    return json.loads(line)
            self.process.wait()
        finally:
            watch.cancel()
        raise Failed(f"exit code {self.process.returncode}: {last_line(self.errors.read_text())}")

    def measure(self, variant, mode, steps):
        try:
            print(variant, mode, steps, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass
        return self.answer()["seconds"]

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def importable(python, module):
    """The version of a module, or Failed."""
    try:
        done = subprocess.run([python, "-c", f"import {module}; print({module}.__version__)"], capture_output=True,
                              text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(str(error)) from None
    if done.returncode:
        raise Failed(last_line(done.stderr))
    return last_line(done.stdout)
