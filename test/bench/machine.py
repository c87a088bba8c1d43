"""The cores of a benchmark, commands on them, and what one core attains."""
import json, os, subprocess, sys

CORES = sorted(os.sched_getaffinity(0))[:2]


def run(command, cores):
    """The standard output of a command on `cores`. Ends this program if the command fails."""
    full = ["taskset", "-c", ",".join(map(str, cores))] + [str(c) for c in command]
    done = subprocess.run(full, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"error: {' '.join(full)} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def peer(script, *arguments, cores):
    """The JSON object in the last line that a Python script prints."""
    return json.loads(run([sys.executable, script, *arguments], cores).strip().splitlines()[-1])


def attained():
    """Attainable rate of one core in products (FLOP/s) and bandwidth (B/s): the best of several products of 1536
    squared under PyTorch, and of copies of 256 MB (read and written)."""
    script = """
import time, json, torch
torch.set_num_threads(1)
a = torch.rand(1536, 1536); b = torch.rand(1536, 1536); s = torch.zeros(1 << 26); d = torch.ones(1 << 26)
def best(f, n=6):
    t = []
    for _ in range(n):
        x = time.perf_counter(); f(); t.append(time.perf_counter() - x)
    return min(t)
print(json.dumps([2 * 1536**3 / best(lambda: a @ b), 2 * 4 * (1 << 26) / best(lambda: d.copy_(s))]))
"""
    return json.loads(run([sys.executable, "-c", script], CORES[:1]))
