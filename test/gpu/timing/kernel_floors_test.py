"""Tests of kernel_floors.py: a trace made by hand."""
import json, pathlib, sys, tempfile, unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from kernel_floors import Trace, read_trace, table

BANDWIDTH, PEAK = 1e12, 1e12  # 1 MB and 1 MFLOP take 1 µs


def span(name, category, thread, begin, duration, **arguments):
    event = dict(ph="X", name=name, cat=category, pid=0, tid=thread, ts=begin, dur=duration)
    return {**event, "args": arguments} if arguments else event


def one_step(at):
    """11 µs, 10 of them busy: a kernel of 2 µs; a product in two parts and, of the
    same shape and place, another one, of 2 + 1 µs each; then a copy of 1 µs
    beside a collective of 2 µs, which begins half a µs after it."""
    product = dict(location="m.mesh:3:4", bytes=1_000_000, flops=2_000_000)
    return [
        span("step", "step", 3, at, 11),
        span("k0", "kernel", 0, at, 2, location="m.mesh:2:1", writes="w1", bytes=1_500_000),
        span("4 x 5 x 6 f32", "product", 0, at + 2.5, 2, kernel="gemm", **product),
        span("4 x 5 x 6 f32", "product", 0, at + 4.5, 1, kernel="splitK", **product),
        span("4 x 5 x 6 f32", "product", 0, at + 5.5, 2, kernel="gemm", **product),
        span("4 x 5 x 6 f32", "product", 0, at + 7.5, 1, kernel="splitK", **product),
        span("copies of inputs and metrics", "other", 0, at + 8.5, 1),
        span("all_reduce", "collective", 1, at + 9, 2, location="m.mesh:5:6", bytes=1_000_000),
        span("copies of inputs from the host, beside the step", "other", 2, at + 0.1, 10.9),
    ]


def thread(number, name, rank=0):
    return dict(ph="M", name="thread_name", pid=rank, tid=number, args={"name": name})


EVENTS = [thread(0, "compute"), thread(1, "communication"), thread(2, "copies of inputs"), thread(3, "steps"),
          span("k0", "kernel", 0, 0, 500, location="m.mesh:2:1", bytes=1_500_000), span("step", "step", 3, 0, 500),
          *one_step(1000), *one_step(1011.5), thread(2, "compute", rank=1),
          {**span("k0", "kernel", 2, 1000, 9000, bytes=1), "pid": 1}]


class KernelFloors(unittest.TestCase):
    def setUp(self):
        self.trace = Trace(EVENTS, skip=1)
        self.rows = {row.name: row for row in self.trace.rows}

    def test_averages_of_a_step(self):
        self.assertEqual(self.trace.steps, 2)
        times = {name: (row.calls, row.microseconds) for name, row in self.rows.items()}
        self.assertEqual(times, {"k0": (1, 2), "4 x 5 x 6 f32": (2, 6), "copies of inputs and metrics": (1, 1),
                                 "all_reduce": (1, 2)})
        self.assertEqual(self.trace.rows[0].name, "4 x 5 x 6 f32")
        self.assertEqual(self.rows["k0"].place, "m.mesh:2:1")

    def test_floors(self):
        floors = {name: row.floor(BANDWIDTH, PEAK) for name, row in self.rows.items()}
        self.assertAlmostEqual(floors["k0"], 1.5)
        self.assertAlmostEqual(floors["4 x 5 x 6 f32"], 4)  # two calls, by their operations
        self.assertAlmostEqual(self.rows["4 x 5 x 6 f32"].floor(BANDWIDTH / 10, PEAK), 20)  # by their bytes
        self.assertEqual(floors["copies of inputs and metrics"], 0)

    def test_time_outside(self):
        # Half a µs within each step, half a one between the two.
        idle, share = self.trace.outside()
        self.assertAlmostEqual(idle, 0.75)
        self.assertAlmostEqual(share, 1.5 / 22.5)

    def test_table(self):
        lines = table(self.trace, BANDWIDTH, PEAK)
        self.assertEqual(lines[1].split()[:7], ["2", "6.00", "54.5%", "4.00", "1.50", "1.000", "0.002"])
        copies = next(line for line in lines if "copies" in line)
        self.assertEqual(copies.split()[3:7], ["-"] * 4)
        self.assertTrue(any(line.endswith("kernel k0, m.mesh:2:1, writes w1") for line in lines))
        self.assertEqual(lines[-1].split()[:3], ["11.00", "6.50", "1.69"])

    def test_a_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"displayTimeUnit": "ms", "traceEvents": EVENTS}, file)
            file.flush()
            self.assertEqual(len(read_trace(file.name, skip=1).rows), 4)
            with self.assertRaisesRegex(ValueError, "no more than 3 steps"):
                read_trace(file.name, skip=3)


if __name__ == "__main__":
    unittest.main()
