"""What training steps send, compute and keep under the layouts of the literature, beside the least (minima.py, rows.py).
Called by test/bench/shardings/run.
"""
import argparse, concurrent.futures, json, os, pathlib, random, shutil, subprocess, sys, tempfile

import rows

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# A machine on which each FLOP of a product takes a second, and a byte 100 seconds: its predicted times of products are FLOPs, and where
# the predicted time of a step decides on a program, both count.
COUNTER = {"name": "counter", "source": "a second for each FLOP of a product, 100 for a byte", "node": {"ranks": 1}, "products": {"f32": 1},
           "kernels": {"f32": 1e30}, "functions": 1e30, "memory": 1e30, "launch": 0, "overlap": 0,
           "links": {name: {"latency": 0, "bandwidth": 0.01} for name in ("node", "network")}}


def find_other_program(meshc, dumps):
    """What is wrong if the dump after the phase partition does not follow from the one before it and from the plans: nothing, or a text."""
    build = [meshc.parent / "mesh-opt", dumps / "02-layout.mlir", f"-meshc-partition-program=plans={dumps / '03-partition.plan'}",
             "-meshc-move-windows", "-cse", "-meshc-verify-partition"]
    texts = []
    for words in (build, [meshc.parent / "mesh-opt", dumps / "03-partition.mlir"]):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            return done.stderr
        texts.append(done.stdout.replace('nd.phase = "layout"', 'nd.phase = "partition"'))
    return "" if texts[0] == texts[1] else "the plans make another program than the phase partition made"


def compile(meshc, row, folder, checks_plan=False):
    """The report of a row's program."""
    stem = folder / row.name.replace(" ", "_")
    dumps = folder / (stem.name + ".dumps")
    words = [meshc, HERE / "models" / f"{row.model.name}.mesh", "--layout", row.layout,
             "--mesh", ",".join(f"{axis}={size}" for axis, size in row.mesh.items()),
             "--set", ",".join(f"{dim}={size}" for dim, size in (row.model.sizes | {"batch": row.batch}).items()),
             "--machine", folder / "counter.json", "--emit=llvm", "-o", f"{stem}.ll",
             "--report=json", "--report-file", f"{stem}.json"]
    if checks_plan:
        words += ["--dump-dir", dumps]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"error: {row.name}: meshc exited with {done.returncode}:\n{done.stderr}")
    if checks_plan:
        if fault := find_other_program(meshc, dumps):
            raise SystemExit(f"error: {row.name}: {fault}")
        shutil.rmtree(dumps)
    return json.loads(pathlib.Path(f"{stem}.json").read_text())


class Found:
    """What a report says of the training step. Without a loop over layers, all collectives count."""

    def __init__(self, report):
        functions = {f["name"]: f for f in report["functions"]}
        step, evaluation = functions["train_step"], functions["eval_step"]
        hasLayers = any(c["calls"] > 1 for c in step["collectives"]) or step["loops"]

        def count(function):
            return sum(c["calls"] > 1 or not hasLayers for c in function["collectives"])

        self.forward = count(evaluation)
        self.backward = count(step) - self.forward
        self.bytes = sum(step["bytes"].values())
        self.flops = step["time"]["products"]
        self.arena = report["memory"]["arenaBytes"]
        self.collectives = step["collectives"]

    def ratio(self, row, what):
        return getattr(self, what) / getattr(row, what)


def describe(collective):
    tensors = ", ".join(f"'{t['name']}' ({t['elements']}) {pathlib.Path(t['location']).name}" for t in collective["tensors"][:4])
    more = len(collective["tensors"]) - 4
    return (f"{collective['kind']} over {'+'.join(collective['axes'])}, {collective['calls']} x {collective['elements']}: "
            f"{sum(collective['bytes'].values()) / 1e6:.2f} MB for {tensors}{f' and {more} more' if more > 0 else ''}")


HEAD = ["model", "layout", "collectives", "MB sent", "least", "ratio", "GFLOP", "least", "ratio", "arena, MB", "least", "ratio"]


def cells(row, found):
    counts = f"{found.forward} + {found.backward} ({row.counts[0]} + {row.counts[1]})"
    figures = [counts]
    for what, unit, digits in (("bytes", 1e6, 1), ("flops", 1e9, 1), ("arena", 1e6, 0)):
        figures += [f"{getattr(found, what) / unit:,.{digits}f}", f"{getattr(row, what) / unit:,.{digits}f}",
                    f"{found.ratio(row, what):.3f}"]
    return [row.model.name, row.title] + figures


def replace_table(page, lines):
    """Puts the table into a page of docs, in place of the one that begins with the same words."""
    text = page.read_text()
    begin = text.index(lines[0][:20])
    end = text.index("\n\n", begin)
    page.write_text(text[:begin] + "\n".join(lines) + text[end:])


def find_faults(row, found, size):
    """What exceeds its bound, or is so far below the least that the least is not one."""
    for what in ("bytes", "flops", "arena"):
        low, high = rows.bounds(row, what, size)
        ratio = found.ratio(row, what)
        if not low <= ratio <= high:
            yield (f"{row.name}: {what} are {ratio:.4f} times the least ({getattr(found, what):.0f}, {getattr(row, what):.0f}), "
                   f"expected {low:.4f} to {high:.4f}")


def find_gains(row, found, size):
    """What has become better than rows.py knows."""
    for what in rows.KNOWN.get(row.name, {}):
        _, known = rows.bounds(row, what, size)
        if max(found.ratio(row, what), 1) < known - 0.01 and known < float("inf"):
            yield f"{row.name}: {what} are {found.ratio(row, what):.3f} times the least; lower the bound in rows.py ({known})"


def draw_sample(chosen):
    """A third of the rows, drawn by the seed of MESHC_RANDOM_SEED; all without it."""
    seed = os.environ.get("MESHC_RANDOM_SEED")
    if not seed:
        return chosen
    drawn = random.Random(int(seed)).sample(range(len(chosen)), (len(chosen) + 2) // 3)
    return [chosen[i] for i in sorted(drawn)]


def main():
    parser = argparse.ArgumentParser(description="What training steps send, compute and keep, beside the least.")
    parser.add_argument("--meshc", type=pathlib.Path, default=ROOT / "build/bin/meshc", help="the compiler")
    parser.add_argument("--only", default="", help="rows with this text in 'MODEL LAYOUT'")
    parser.add_argument("--small", action="store_true", help="smaller sizes")
    parser.add_argument("--sample", action="store_true", help="a third of the rows, drawn by MESHC_RANDOM_SEED")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a row exceeds its bounds (rows.py), or if its plans make another program")
    parser.add_argument("--list", action="store_true", help="each collective, too")
    parser.add_argument("--page", type=pathlib.Path, help="page whose table is replaced")
    parser.add_argument("--jobs", type=int, default=2, help="compilers at a time")
    args = parser.parse_args()
    size = "small" if args.small else "full"
    chosen = [row for row in rows.make(rows.SMALL if args.small else rows.FULL) if args.only in row.name]
    if not chosen:
        raise SystemExit(f"error: no row has '{args.only}'")
    if args.sample:
        chosen = draw_sample(chosen)
    faults, gains = [], []
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * 3 + "---:|" * 9]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        folder = pathlib.Path(folder)
        (folder / "counter.json").write_text(json.dumps(COUNTER))
        for row, report in zip(chosen, pool.map(lambda row: compile(args.meshc, row, folder, args.check), chosen)):
            found = Found(report)
            lines.append("| " + " | ".join(cells(row, found)) + " |")
            print(lines[-1], flush=True)
            if args.list:
                print("\n".join("    " + describe(c) for c in found.collectives), flush=True)
            faults += find_faults(row, found, size)
            gains += find_gains(row, found, size)
    if args.page:
        replace_table(args.page, lines)
    if args.check:
        print("".join(f"note: {gain}\n" for gain in gains), end="", file=sys.stderr)
        print("\n".join(faults) or f"{len(chosen)} rows are within their bounds", file=sys.stderr)
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
