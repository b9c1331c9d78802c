"""Markdown tables from the lines of solver_bench.sh: whole solves by windrow and by the yardstick, a plain solver written with
cuSPARSE and cuBLAS.

usage: solver_tables.py JSONL...
Standard library alone. Cells are f64 / f32. Of several lines for the same thing the last one counts. Ours is the backend with
the least time an iteration among those with a right answer: the difference of two solves, to the default tolerance and to a loose one,
over that in iterations taken; ~ marks one of a first solve (of a run without repeats), which loads code, or of one solve where
both take as many. End to end, cold: this process from its start, generating or reading included; warm: a second solve in it
with its answer on the host. Errors are what was checked on the host: the L1 change of one exact step, or ||b - A x|| / ||b||;
! marks one beyond what the tolerance allows.
"""
import json
import sys

PRECISIONS = ("f64", "f32")
PLAIN, GRAPH, OURS = "plain", "graph", "ours"


# ---- What was measured ----

class Solve:
    """What both kinds of lines have: us of an iteration and of a multiply, iterations, error."""

    def __init__(self, iteration, multiply, iterations, error, met, label="", rough=False, run=None):
        self.iteration, self.multiply, self.iterations = iteration, multiply, iterations
        self.error, self.met, self.label, self.rough, self.run = error, met, label, rough, run

    def time(self):
        return ("~" if self.rough else "") + figure(self.iteration)

    def error_text(self):
        return "-" if self.error is None else f"{self.error:.1e}" + ("" if self.met else " !")


def of_yardstick(line):
    iterations = str(line["iterations"]) if line["converged"] else f"> {line['iterations']}"
    return Solve(line["iteration"]["median_us"], line["multiply"]["median_us"], iterations, line["measure"], line["met"])


def seconds_of(run):
    """Of a solve, and 1 if it is the first."""
    if run.get("warm_solve_s"):
        return run["warm_solve_s"], False
    return run["ledger"]["phases"]["solve"]["s"], True


def taken(run):
    """Iterations that took time: a device goes on to its next check. Older reports do not count these."""
    multiplies = run["result"].get("multiplies")
    if multiplies is None:
        return run["result"]["iterations"]
    return multiplies / run["multiplies_each"]


def of_runs(runs):
    """Of the runs of pagerank or bicgstab by tolerance: the strictest one, with the time an iteration that all imply."""
    run, loose = runs[min(runs)], runs[max(runs)]
    seconds, rough = seconds_of(run)
    each = seconds / taken(run)
    more = taken(run) - taken(loose)
    if more > 0 and seconds > seconds_of(loose)[0]:
        each = (seconds - seconds_of(loose)[0]) / more
    else:
        rough = True
    verdict, median = run["verification"], run["apply"]["median_s"]
    return Solve(1e6 * each, 1e6 * median if median else None, str(run["result"]["iterations"]), verdict.get("measure"),
                 verdict.get("met_tolerance", False), run["label"], rough or seconds_of(loose)[1], run)


def usable(run):
    return run["ran"] and run["verification"].get("multiplied_right", True) and run["result"]["iterations"]


class Figures:
    """solves[method][matrix][kind][precision]: a Solve, or for OURS the runs by label and tolerance, until finish makes a Solve
    of those of a label."""

    def __init__(self):
        self.solves = {}

    def place(self, method, source, kind):
        matrix = self.solves.setdefault(method, {}).setdefault(source.removeprefix("gen:"), {})
        return matrix.setdefault(kind, {})

    def add(self, line):
        if line["program"] == "yardstick":
            kind = GRAPH if line["graph"] else PLAIN
            self.place(line["method"], line["source"], kind)[line["precision"]] = of_yardstick(line)
            return
        problem = line["problem"]
        labels_here = self.place(line["program"], problem["source"], OURS).setdefault(problem["precision"], {})
        for run in filter(usable, line["runs"]):
            run["multiplies_each"] = 2 if line["program"] == "bicgstab" else 1
            labels_here.setdefault(run["label"], {})[problem["tolerance"]] = run

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            for line in filter(str.strip, file):
                self.add(json.loads(line))

    def finish(self):
        for matrices in self.solves.values():
            for matrix in matrices.values():
                for runs in matrix.get(OURS, {}).values():
                    runs.update({label: of_runs(by_tolerance) for label, by_tolerance in runs.items()})


def yardstick(matrix, precision):
    """The faster way of launching."""
    known = [matrix[kind][precision] for kind in (PLAIN, GRAPH) if precision in matrix.get(kind, {})]
    return min(known, key=lambda solve: solve.iteration, default=None)


def best(matrix, precision):
    known = [solve for solve in matrix.get(OURS, {}).get(precision, {}).values() if solve.met]
    return min(known, key=lambda solve: solve.iteration, default=None)


def labels(matrices):
    """In order of their first appearance."""
    return list(dict.fromkeys(label for matrix in matrices.values() for runs in matrix.get(OURS, {}).values()
                              for label in runs))


# ---- Texts ----

def figure(value):
    """Three digits and more, as few as that allows."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def pair(make):
    """make(precision): a text, or None."""
    texts = [make(precision) for precision in PRECISIONS]
    return "-" if texts == [None, None] else " / ".join(text or "-" for text in texts)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def iteration_row(name, matrix):
    def time(kind):
        return pair(lambda precision: (solve := matrix.get(kind, {}).get(precision)) and solve.time())

    def speed_up(precision):
        theirs, ours = yardstick(matrix, precision), best(matrix, precision)
        return f"{theirs.iteration / ours.iteration:.2f}" if theirs and ours else None

    winners = [best(matrix, precision) for precision in PRECISIONS]
    names = dict.fromkeys(solve.label for solve in winners if solve)
    return [name, time(PLAIN), time(GRAPH), pair(lambda p: (solve := best(matrix, p)) and solve.time()),
            " / ".join(names) or "-", pair(speed_up)]


def answer_row(name, matrix):
    ways = (yardstick, best)
    return ([name] + [pair(lambda p, way=way: (solve := way(matrix, p)) and solve.iterations) for way in ways] +
            [pair(lambda p, way=way: (solve := way(matrix, p)) and solve.error_text()) for way in ways])


def backend_row(name, matrix, known):
    def time(label):
        return pair(lambda p: (solve := matrix.get(OURS, {}).get(p, {}).get(label)) and solve.time())

    return [name] + [time(label) for label in known]


def multiply_row(name, matrix, known):
    def text(solve):
        return solve and solve.multiply and figure(solve.multiply)

    theirs = pair(lambda p: text(yardstick(matrix, p)))
    return [name, theirs] + [pair(lambda p, label=label: text(matrix.get(OURS, {}).get(p, {}).get(label)))
                             for label in known]


def soonest(matrix, precision, vendors):
    """The run with the least end-to-end time of this process, of cuSPARSE's backends or of ours."""
    known = [solve.run for solve in matrix.get(OURS, {}).get(precision, {}).values()
             if solve.met and solve.label.startswith("cusparse") == vendors]
    return min(known, key=lambda run: run["ledger"]["end_to_end_s"], default=None)


def end_row(name, matrix, vendors):
    def of_run(make):
        return pair(lambda p: (run := soonest(matrix, p, vendors)) and make(run))

    def longest(run):
        phase, times = max(run["ledger"]["phases"].items(), key=lambda item: item[1]["s"] * item[1]["in_total"])
        return f"{phase} {1e3 * times['s']:.0f}"

    return [name, of_run(lambda run: run["label"]), of_run(lambda run: f"{1e3 * run['ledger']['end_to_end_s']:.0f}"),
            of_run(lambda run: f"{1e3 * run['ledger']['to_verified_s']:.0f}"), of_run(longest),
            of_run(lambda run: f"{1e3 * run['ledger']['phases']['solve']['s']:.1f}"),
            of_run(lambda run: f"{1e3 * run['warm_s']:.1f}" if run.get("warm_s") else None)]


def tables(method, matrices):
    known = labels(matrices)
    for vendors, title in ((False, "windrow"), (True, "cuSPARSE in windrow")):
        rows = [end_row(*item, vendors) for item in matrices.items()]
        if any(row[1] != "-" for row in rows):
            yield table([f"{method}: ms, {title}", "by", "end to end, cold", "to verified answer", "longest phase", "first solve",
                         "warm"], rows)
    yield table([f"{method}: us an iteration", "yardstick", "as a graph", "windrow", "by", "times faster"],
                [iteration_row(*item) for item in matrices.items()])
    yield table([f"{method}: answers", "yardstick: iterations", "windrow", "yardstick: error", "windrow"],
                [answer_row(*item) for item in matrices.items()])
    yield table([f"{method}: us an iteration"] + known, [backend_row(*item, known) for item in matrices.items()])
    yield table([f"{method}: us a multiply", "yardstick"] + known,
                [multiply_row(*item, known) for item in matrices.items()])


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    figures = Figures()
    for path in sys.argv[1:]:
        try:
            figures.read(path)
        except (OSError, json.JSONDecodeError) as error:
            sys.exit(f"{path}: {error}")
    figures.finish()
    for method, matrices in figures.solves.items():
        for made in tables(method, matrices):
            print(made + "\n")


main()
