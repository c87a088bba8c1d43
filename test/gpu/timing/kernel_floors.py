"""Kernels of a trace against their floors.

A trace is what `NAME train --trace FILE` writes, in the Trace Event format: spans
(`ph` X, in microseconds) of what each stream of a rank did, with `cat` kernel,
product, collective or other, and spans of `cat` step. What the compiler knows of
a call is in `args`: `bytes` that it must move, `flops` that it must compute, its
`location` in the model, the parameter that it `writes`, and `kernel`, the library's
kernel that did a part of it.
"""
import collections, json

ASIDE = "copies of inputs"  # a stream beside the step


class Row:
    """What has one name and place: averages of a step."""

    def __init__(self, event):
        arguments = event.get("args", {})
        self.name, self.kind, self.place = event["name"], event.get("cat", ""), arguments.get("location", "")
        self.writes = arguments.get("writes", "")
        self.bytes, self.flops = arguments.get("bytes", 0), arguments.get("flops", 0)  # of one call
        self.microseconds, self.calls, self.parts = 0.0, 0, collections.Counter()

    def add(self, event):
        self.microseconds += event["dur"]
        self.parts[event.get("args", {}).get("kernel", "")] += 1

    def finish(self, steps):
        # A call that the library does in parts has each of them once.
        self.calls = max(self.parts.values()) / steps
        self.microseconds /= steps

    def floor(self, bandwidth, peak):
        """Microseconds of a step that the calls take at least: they move their
        bytes at `bandwidth` and compute at `peak`, both at once."""
        return 1e6 * self.calls * max(self.bytes / bandwidth, self.flops / peak)


class Trace:
    """Rank 0's steps of a trace, without the first `skip`."""

    def __init__(self, events, skip=0):
        spans = [e for e in events if e.get("ph") == "X" and e.get("pid", 0) == 0]
        aside = {e.get("tid") for e in events if e.get("ph") == "M" and e.get("name") == "thread_name"
                 and e.get("pid", 0) == 0 and e["args"]["name"] == ASIDE}
        begins = sorted(e["ts"] for e in spans if e.get("cat") == "step")[skip:]
        self.steps, rows = len(begins), {}
        if not begins:
            raise ValueError(f"the trace has no more than {skip} steps")
        self.spans = [e for e in spans if e.get("cat") != "step" and e.get("tid") not in aside and e["ts"] >= begins[0]]
        for event in self.spans:
            arguments = event.get("args", {})
            key = (event["name"], event.get("cat"), *(arguments.get(k) for k in ("location", "writes", "bytes", "flops")))
            rows.setdefault(key, Row(event)).add(event)
        self.rows = sorted(rows.values(), key=lambda row: -row.microseconds)
        for row in self.rows:
            row.finish(self.steps)

    def outside(self):
        """Microseconds of a step, and the share of it, in which nothing ran."""
        spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in self.spans)
        if not spans:
            return 0.0, 0.0
        begin, busy, end = spans[0][0], 0.0, spans[0][0]
        for first, last in spans:
            busy += max(0.0, last - max(first, end))
            end = max(end, last)
        idle = end - begin - busy
        return idle / self.steps, idle / (end - begin) if end > begin else 0.0


def read_trace(path, skip=0):
    with open(path) as file:
        content = json.load(file)
    return Trace(content["traceEvents"] if isinstance(content, dict) else content, skip)


def table(trace, bandwidth, peak):
    """Lines: of a step, what each call took, its floor, and the one over the other."""
    total = sum(row.microseconds for row in trace.rows)
    lines = [f"    {'calls':>5}{'µs':>11}{'share':>7}{'floor':>9}{'x floor':>9}{'MB':>10}{'GFLOP':>9}"
             "  call, place in the model"]
    floors = 0.0
    for row in trace.rows:
        floor = row.floor(bandwidth, peak)
        floors += floor
        numbers = (f"{floor:>9.2f}{row.microseconds / floor:>9.2f}{row.bytes / 1e6:>10.3f}{row.flops / 1e9:>9.3f}"
                   if floor > 0 else f"{'-':>9}" * 2 + f"{'-':>10}{'-':>9}")
        share = row.microseconds / total if total > 0 else 0
        lines.append(f"    {row.calls:>5.4g}{row.microseconds:>11.2f}{share:>7.1%}{numbers}"
                     f"  {row.kind} {row.name}{', ' + row.place if row.place else ''}"
                     f"{', writes ' + row.writes if row.writes else ''}")
    lines.append(f"    {'':>5}{total:>11.2f}{'':>7}{floors:>9.2f}{total / floors if floors else 0:>9.2f}"
                 f"  all of a step, mean of {trace.steps}")
    return lines
