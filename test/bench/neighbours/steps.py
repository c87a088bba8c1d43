"""Training steps beside no, one and two processes that compute without end. Called by test/bench/neighbours/run.

Of C cores, a run with C threads that compute beside b processes gets the share C / (C + b). A step that takes T alone
would take T (C + b) / C if it always used that share; `of its share` is the time of a step divided by that. Each figure is
the best of several measurements, in turn: other programs on the machine make all of them longer.
"""
import argparse, json, os, pathlib, statistics, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.append(str(HERE.parent))
from machine import CORES, run

MODEL = ROOT / "python-free-examples/05_gpt/gpt.mesh"
BATCH = 8
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
# Ranks with host names of their own use MPI, as they would between hosts.
HOST = ["-n", "1", "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"']


class Neighbours:
    """So many busy processes on the benchmark's cores, while the block runs."""

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        loop = ["taskset", "-c", ",".join(map(str, CORES)), "sh", "-c", "while :; do :; done"]
        self.processes = [subprocess.Popen(loop) for _ in range(self.count)]

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def compile_models(build, folder):
    for name, mesh in (("one", "data=1,tensor=1"), ("two", "data=2,tensor=1")):
        run([build / "bin/meshc", MODEL, "--set", f"batch={BATCH}", "--mesh", mesh, "-o", folder / name], CORES)
    (folder / "tokens").write_bytes(bytes(i * i % 66 for i in range(1 << 16)))


def ways(folder):
    """By name, the commands that start a training, without its options."""
    yield "2 threads", [folder / "one"], ["--threads", "2"]
    yield "2 ranks, threads", [folder / "two"], ["--threads", "1", "--ranks", "2"]
    yield "2 ranks, shm", [*MPIRUN, "-n", "2", folder / "two"], ["--threads", "1"]
    command = [folder / "two", "train"]
    hosts = [*HOST, "first", folder / "two"], [*HOST, "second", folder / "two"]
    yield "2 ranks, mpi", [*MPIRUN, *hosts[0]], ["--threads", "1"], hosts[1]


def measure(folder, way, steps):
    """Milliseconds of a step: the mean and the median."""
    _, start, options, *more = way
    log = folder / "log.jsonl"
    log.unlink(missing_ok=True)
    options = ["train", "--data", folder / "tokens", "--steps", steps + 5, "--log", log, "--log-every", 1, "--quiet", *options]
    command = [*start, *options]
    for other in more:
        command += [":", *other, *options]
    run(command, CORES)
    times = [json.loads(line)["time"] for line in log.read_text().splitlines()][5:]
    passed = [1e3 * (later - earlier) for earlier, later in zip(times, times[1:])]
    return statistics.mean(passed), statistics.median(passed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--steps", default=400, type=int)
    parser.add_argument("--repeats", default=3, type=int)
    parser.add_argument("--only", default="", help="a part of the ways' names")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compile_models(arguments.build, folder)
        print(f"{MODEL.name}, batch {BATCH}, on {len(CORES)} cores: ms per step")
        print(f"{'ranks and threads':18}{'neighbours':>11}{'mean':>9}{'median':>9}{'of its share':>14}")
        for way in ways(folder):
            if arguments.only not in way[0]:
                continue
            best = {}
            for _ in range(arguments.repeats):
                for busy in (0, 1, 2):
                    with Neighbours(busy):
                        figures = measure(folder, way, arguments.steps)
                    best[busy] = min(best.get(busy, figures), figures)
            for busy, (mean, median) in best.items():
                share = best[0][0] * (len(CORES) + busy) / len(CORES)
                print(f"{way[0]:18}{busy:11}{mean:9.2f}{median:9.2f}{mean / share:14.2f}", flush=True)


main()
