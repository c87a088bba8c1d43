"""What a device attains at best: prints one line of JSON.

usage: ceilings.py cpu|cuda

copy, upload: bytes a second that a large copy on the device moves (read and
written), and one from pinned memory to it (bytes that arrive). f32, tf32:
operations a second of a large product of random numbers, f32 exactly and with
factors rounded.
"""
import json, sys, time

import torch


def best(action, device, repeats=5, times=4):
    """Least seconds of an action, of several groups."""
    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    action()
    wait()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(times):
            action()
        wait()
        found.append((time.perf_counter() - start) / times)
    return min(found)


def main(device):
    cuda = device == "cuda"
    size, n = (1 << 28, 8192) if cuda else (1 << 24, 1024)
    source = torch.rand(size, device=device)
    target = torch.empty_like(source)
    results = {"copy": 2 * 4 * size / best(lambda: target.copy_(source), device)}
    host = torch.rand(size // 4)
    host = host.pin_memory() if cuda else host
    part = target[: size // 4]
    results["upload"] = size / best(lambda: part.copy_(host, non_blocking=True), device)
    a, b = torch.rand(n, n, device=device), torch.rand(n, n, device=device)
    for name in ("f32", "tf32"):
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        results[name] = 2 * n**3 / best(lambda: torch.mm(a, b), device)
    name = torch.cuda.get_device_name() if cuda else "CPU"
    print(json.dumps(dict(name=name, **results)))


if __name__ == "__main__":
    main(sys.argv[1])
