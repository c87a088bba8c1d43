"""What training steps send and compute under the layouts of the literature, beside the least (minima.py). Called by
test/bench/shardings/run.
"""
import argparse, concurrent.futures, json, pathlib, subprocess, sys, tempfile
from dataclasses import dataclass

import minima

HERE = pathlib.Path(__file__).resolve().parent
# A machine on which each FLOP of a product takes a second, and nothing else any time: predicted times are FLOPs.
COUNTER = {"name": "counter", "source": "one second per FLOP of a product", "node": {"ranks": 1}, "products": {"f32": 1},
           "kernels": {"f32": 1e30}, "functions": 1e30, "memory": 1e30, "launch": 0, "overlap": 1,
           "links": {name: {"latency": 0, "bandwidth": 1e30} for name in ("node", "network")}}

MODELS = {
    "gpt2": minima.make("gpt2", 2, 512, 12, 768, 12, 64, 3072, 50257),
    "llama": minima.make("llama", 2, 512, 12, 1024, 16, 64, 2816, 32000, groups=4),
    "moe": minima.make("moe", 2, 512, 6, 512, 8, 64, 2048, 32000, experts=8),
    "cnn": minima.Convolutions(16, 64, 64, 3, 5, 32, 64, 512, 10),
    "large cnn": minima.Convolutions(2, 256, 256, 3, 5, 32, 64, 512, 10),
}


@dataclass
class Row:
    model: str
    title: str
    mesh: dict
    layout: str
    bytes: float  # the least per step and rank
    flops: float  # the least per rank
    counts: tuple  # collectives per layer, forward and backward

    @property
    def data(self):
        return self.mesh.get("data", 1)


def transformer_rows(name, m):
    tensor = ",".join(f"{dim}:tensor" for dim in ("groups" if m.groups else "heads", "ffn", "vocab"))
    cut = lambda k: {"groups" if m.groups else "heads": k, "ffn": k, "vocab": k}
    rows = []

    def add(title, mesh, layout, elements, counts, whole=None):
        work = m.flops(mesh.get("data", 1))
        ranks = 1
        for size in mesh.values():
            ranks *= size
        flops = sum(work.values()) / ranks if whole is None else whole(work)
        rows.append(Row(name, title, mesh, layout, 4 * elements, flops, counts))

    tokens = m.batch * m.seq
    add("data=4", {"data": 4}, "batch:data", minima.reduce_gradients(m, {}, 4), (0, 1))
    add("tensor=4", {"tensor": 4}, tensor, minima.megatron(m, tokens, 4), (2, 2))
    add("data=2, tensor=2", {"data": 2, "tensor": 2}, f"batch:data,{tensor}",
        minima.megatron(m, tokens, 2) + minima.reduce_gradients(m, cut(2), 2), (2, 3))
    if not m.experts:
        add("and seq on a third axis", {"data": 2, "tensor": 2, "ring": 2}, f"batch:data,{tensor},seq:ring",
            minima.megatron(m, tokens / 2, 2) + minima.reduce_gradients(m, cut(2), 2, 2)
            + minima.context(m, tokens // 2, 2, 2), (4, 5))
        add("sequence parallelism, tensor=4", {"tensor": 4}, f"{tensor},seq:~tensor",
            minima.sequence_parallel(m, tokens, 4), (4, 7))
    scopes = ["optimizer.model:data", "gradient.model:data", "parameter.model:data"]
    for stage in (1, 2, 3) if not m.experts else ():
        add(f"ZeRO-{stage}, data=8", {"data": 8}, ",".join(["batch:data"] + scopes[:stage]),
            minima.zero(m, stage, 8), (int(stage == 3), 2 + int(stage == 3)))
    if m.experts:
        add("experts, data=4", {"data": 4}, "batch:data,experts:data",
            minima.experts(m, 4) + minima.reduce_gradients(m, {"experts": 4}, 4), (2, 3))
        add("experts on data=2, tensor=2", {"data": 2, "tensor": 2}, f"batch:data,experts:data,{tensor}",
            minima.experts(m, 2) + minima.megatron(m, tokens, 2)
            + minima.reduce_gradients(m, cut(2) | {"experts": 2}, 2), (4, 5))
    else:
        elements, *plans = minima.model_cut(m, tokens, 4)
        add("model on tensor=4", {"tensor": 4}, "model:tensor", elements, (4, 8))
        print(plans)
        elements, *plans = minima.model_cut(m, tokens, 2, 2)
        print(plans)
        add("rows=2 × cols=2", {"rows": 2, "cols": 2}, "model:rows," + tensor.replace("tensor", "cols"), elements, (4, 8))
    add("vocabulary on tensor=4", {"tensor": 4}, "vocab:tensor",
        minima.reduce(2 * tokens * m.model + 3 * tokens, 4), (0, 0), lambda work: work["layers"] + work["vocab"] / 4)
    return rows


def image_rows(m, large):
    columns = "first:tensor,hidden:tensor"
    every = "row:rows,line:rows,row2:rows,line2:rows,row4:rows"
    flops = sum(m.flops(1).values())
    return [
        Row("cnn", "data=4", {"data": 4}, "batch:data", 4 * minima.reduce(sum(m.weights()), 4), flops, (0, 4)),
        Row("cnn", "tensor=4", {"tensor": 4}, columns, 4 * minima.channels(m, 4), flops / 4, (2, 1)),
        Row("cnn", "data=2, tensor=2", {"data": 2, "tensor": 2}, f"batch:data,{columns}",
            4 * (minima.channels(m, 2) + minima.reduce(sum(m.weights(2)), 2)), flops / 2, (2, 2)),
        Row("cnn", "rows of an image on rows=4", {"rows": 4}, every, 4 * minima.halo(large, 4),
            large.flops(1)["layers"] / 4 + large.flops(1)["vocab"], (3, 2)),
    ]


def compile(meshc, row, m, folder):
    """The report of a row's program."""
    stem = folder / f"{row.model}-{row.title}".replace(" ", "_")
    (folder / "counter.json").write_text(json.dumps(COUNTER))
    words = [meshc, HERE / "models" / f"{row.model}.mesh", "--mesh", ",".join(f"{a}={k}" for a, k in row.mesh.items()),
             "--layout", row.layout, "--machine", folder / "counter.json", "--emit=llvm", "-o", f"{stem}.ll",
             "--report=json", "--report-file", f"{stem}.json"]
    words += [word for size in m.sets(row.data) for word in ("--set", size)]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"error: {row.model}, {row.title}: meshc exited with {done.returncode}:\n{done.stderr}")
    return json.loads(pathlib.Path(f"{stem}.json").read_text())


def read(report):
    step, evaluation = ({f["name"]: f for f in report["functions"]}[name] for name in ("train_step", "eval_step"))
    inLoop = lambda f: sum(c["calls"] > 1 for c in f["collectives"])
    forward = inLoop(evaluation)
    return {"bytes": sum(step["bytes"].values()), "flops": step["time"]["products"], "forward": forward,
            "backward": inLoop(step) - forward, "arena": report["memory"]["arenaBytes"], "collectives": step["collectives"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--meshc", default="build/bin/meshc")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true", help="print each collective")
    args = parser.parse_args()
    rows = [row for name, m in MODELS.items() if 'cnn' not in name for row in transformer_rows(name, m)] + image_rows(MODELS['cnn'], MODELS['large cnn'])
    rows = [row for row in rows if args.only in f"{row.model} {row.title}"]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for row, report in zip(rows, pool.map(lambda row: compile(args.meshc, row, MODELS['large cnn' if 'image' in row.title else row.model], pathlib.Path(folder)), rows)):
            r = read(report)
            print(f"| {row.model} | {row.title} | {r['forward']}+{r['backward']} ({row.counts[0]}+{row.counts[1]}) | {r['bytes']/1e6:.1f} | {row.bytes/1e6:.1f} "
                  f"| {r['bytes']/row.bytes:.3f} | {r['arena']/1e6:.0f} | {r['flops']/1e9:.1f} | {row.flops/1e9:.1f} | {r['flops']/row.flops:.3f} |", flush=True)
            if args.list:
                for c in r["collectives"]:
                    names = ", ".join(f"{t['name'] or '-'} {t['elements']} {t['location'].split('/')[-1]}" for t in c["tensors"][:3])
                    print(f"    {c['kind']} over {'+'.join(c['axes'])} {c['calls']} x {c['elements']} {sum(c['bytes'].values())/1e6:.2f} MB: {names}")


if __name__ == "__main__":
    main()
