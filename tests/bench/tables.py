"""The tables of docs/merbit.md from the JSON of merbit_bench.sh: reports of spmv, and of pagerank and bicgstab
(one object a file, or one a line).

usage: tables.py JSON...                  prints every table that the files have the figures of
       tables.py --update PAGE JSON...    refills PAGE between <!-- table: NAME --> and <!-- end -->; others stay
Standard library alone. What a file is for is told from what it has: a sweep over sigma, the switches, or else the
multiplies.
"""
import json
import math
import re
import statistics
import sys

BASE = "cusparse_coo"
OURS = "merbit"
SIGMA = {"f32": 19, "f64": 14}  # defaults where columns are not scattered: they part low from high mean degrees
COMMIT = {"f32": "merbit:commit=ordered", "f64": "merbit:commit=dual"}  # what commit=auto is
WORDS = {"f32": "single", "f64": "double"}
PRECISIONS = ("f32", "f64")
PROGRAMS = ("pagerank", "bicgstab")
ITERATIONS = (50, 100, 150, 200)
# The authors' own kernel, with which merbit is compared: hot us with values, on another card of the same kind.
AUTHORS = {
    "f64": {"road": 289, "web": 330, "rmat": 339, "hubs": 257, "stencil:n=200": 293, "band": 207, "fem:n=49": 138},
    "f32": {"road": 225, "web": 237, "rmat": 324, "hubs": 178, "stencil:n=200": 232, "band": 164, "fem:n=49": 110},
}


# ---- What was measured ----

class Time:
    """Of a multiply, in us: the median, and the interval that it is in."""

    def __init__(self, measured):
        self.us, self.low, self.high = (1e6 * measured[key] for key in ("median_s", "median_low_s", "median_high_s"))

    def text(self, bold=False):
        error = max(self.us - self.low, self.high - self.us)
        return f"{'**' * bold}{figure(self.us)} +- {figure(error)}{'**' * bold}"


def usable(run):
    """Whether there is a result that is not known to be wrong."""
    return run["ran"] and run["verification"].get("multiplied_right", True)


class Matrix:
    """One matrix in one precision, and the runs of it that have a time, by label."""

    def __init__(self, report):
        self.precision, self.degree, self.nnz = report["precision"], report["nnz"] / report["nrows"], report["nnz"]
        self.source = report["source"].removeprefix("gen:")
        self.name = self.source + ("" if report["has_values"] else " (p)")
        self.runs = {run["label"]: run for run in report.get("runs") or [] if usable(run) and run["hot"]}
        self.time = {label: Time(run["hot"]) for label, run in self.runs.items()}

    def prepare(self, label):
        return 1e6 * self.runs[label]["prepare_s"]

    def speed_up(self, label):
        return self.time[BASE].us / self.time[label].us


class Solve:
    """A run of a solver, in ms. What the first multiply takes longer, since code is loaded then, is paid once."""

    def __init__(self, report, run):
        self.program, self.precision = report["program"], report["problem"]["precision"]
        self.source, self.label = report["problem"]["source"].removeprefix("gen:"), run["label"]
        self.prepare, self.solve = (1e3 * run["ledger"]["phases"][key]["s"] for key in ("prepare", "solve"))
        self.total = 1e3 * run["ledger"]["end_to_end_s"]
        self.iterations, self.outcome = run["result"]["iterations"], run["result"]["outcome"]
        self.time = Time(run["apply"])
        self.loading = max(0, 1e3 * (run["apply"]["first_s"] - run["apply"]["median_s"]))
        self.iteration = (self.solve - self.loading) / self.iterations

    def after(self, iterations):
        return self.prepare + self.loading + iterations * self.iteration


class Figures:
    def __init__(self):
        self.multiply, self.sigma, self.switches, self.solves = [], [], [], []

    def add(self, report):
        if report["program"] not in ("spmv", "apply_bench"):  # the latter is what it was called at first
            runs = [run for run in report["runs"] if usable(run) and run["apply"]["median_s"]]
            self.solves += [Solve(report, run) for run in runs if run["result"]["iterations"]]
            return
        matrices = [matrix for matrix in map(Matrix, report["matrices"]) if matrix.runs]
        labels = {label for matrix in matrices for label in matrix.runs}
        if sum("sigma=" in label for label in labels) > 2:
            self.sigma += matrices
        elif any("=off" in label for label in labels):
            self.switches += matrices
        else:
            self.multiply += matrices

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            content = file.read()
        try:
            self.add(json.loads(content))
        except json.JSONDecodeError:
            for line in filter(str.strip, content.splitlines()):
                self.add(json.loads(line))


# ---- Texts ----

def figure(value):
    """Three digits and more, as few as that allows."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(value):
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def table(head, rows):
    if not rows:
        return None
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def gmean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def labels_of(things):
    """In order of their first appearance."""
    return list(dict.fromkeys(label for thing in things for label in thing.runs))


def of(precision, things):
    return [thing for thing in things if thing.precision == precision]


def change(time, base):
    """How much longer than base, or = where the intervals meet."""
    more = f"{100 * (time.us / base.us - 1):+.1f}%"
    return "=" if time.low <= base.high and base.low <= time.high or more[1:] == "0.0%" else more


# ---- A multiply ----

def hot(figures, precision):
    matrices = of(precision, figures.multiply)
    labels = labels_of(matrices)
    rows = []
    for matrix in matrices:
        least = min(time.us for time in matrix.time.values())
        cells = [matrix.time[label].text(matrix.time[label].us == least) if label in matrix.time else "-"
                 for label in labels]
        rows.append([matrix.name] + cells)
    return table([f"{precision}: us"] + labels, rows)


def prepare(figures):
    rows = []
    for matrix in figures.multiply:
        if OURS not in matrix.runs:
            continue
        ours, pays = matrix.prepare(OURS), matrix.runs[OURS]["comparison"]["break_even"]
        others = [figure(matrix.prepare(label)) if label in matrix.runs else "-" for label in ("cusparse", BASE)]
        rows.append([matrix.name, matrix.precision, f"{matrix.nnz / 1e6:.1f} M", figure(ours),
                     f"{ours / matrix.time[OURS].us:.1f}"] + others + ["never" if pays is None else str(pays)])
    return table(["", "", "nonzeros", "merbit us", "multiplies", "cusparse us", f"{BASE} us",
                  "paid against cusparse after"], rows)


def versus_base(figures, precision):
    return [matrix for matrix in of(precision, figures.multiply) if BASE in matrix.runs]


def speedups(figures):
    rows = []
    for label in labels_of(figures.multiply):
        if label == BASE:
            continue
        row = [label]
        for precision in PRECISIONS:
            values = [matrix.speed_up(label) for matrix in versus_base(figures, precision) if label in matrix.runs]
            kinds = (min, max, statistics.median, gmean)
            row += [ratio(kind(values)) for kind in kinds] if values else ["-"] * 4
        rows.append(row)
    kinds = ("min", "max", "median", "mean")
    return table([""] + [f"{precision} {kind}" for precision in PRECISIONS for kind in kinds], rows)


def contenders(figures):
    """One merbit, as it is by default."""
    return [label for label in labels_of(figures.multiply) if "commit=" not in label]


def fastest(figures):
    rows = []
    for precision in PRECISIONS:
        matrices, won, clear = of(precision, figures.multiply), {}, {}
        for matrix in matrices:
            order = sorted((matrix.time[label].us, label) for label in contenders(figures) if label in matrix.time)
            won[order[0][1]] = won.get(order[0][1], 0) + 1
            if len(order) < 2 or matrix.time[order[0][1]].high * 1.02 < matrix.time[order[1][1]].low:
                clear[order[0][1]] = clear.get(order[0][1], 0) + 1
        cells = [f"{won[label]} ({clear.get(label, 0)})" if label in won else "0" for label in contenders(figures)]
        if matrices:
            rows.append([f"{WORDS[precision]}, {len(matrices)} matrices"] + cells)
    return table([""] + contenders(figures), rows)


def degrees(figures):
    groups = []
    for precision in PRECISIONS:
        matrices, least = versus_base(figures, precision), SIGMA[precision]
        groups.append((f"{precision}, at most {least}", [matrix for matrix in matrices if matrix.degree <= least]))
        groups.append((f"{precision}, above {least}", [matrix for matrix in matrices if matrix.degree > least]))
    groups = [(words, matrices) for words, matrices in groups if matrices]
    rows = []
    for label in contenders(figures):
        row = [label]
        for _, matrices in groups:
            having = [matrix for matrix in matrices if label in matrix.runs]
            beats = sum(matrix.time[label].us < matrix.time[OURS].us for matrix in having if OURS in matrix.runs)
            mean = ratio(gmean([matrix.speed_up(label) for matrix in having])) if having else "-"
            row.append(mean if label == OURS else f"{mean} ({beats})")
        rows.append(row)
    return table(["mean degree"] + [f"{words}: {len(matrices)}" for words, matrices in groups], rows if groups else [])


def authors(figures, precision):
    """Matrices with values; merbit's times come from the switches, those of BASE from the sweep."""
    base = {matrix.name: matrix.time[BASE] for matrix in of(precision, figures.sigma) if BASE in matrix.time}
    rows = []
    for matrix in of(precision, figures.switches):
        theirs = AUTHORS[precision].get(matrix.source)
        if COMMIT[precision] not in matrix.time or theirs is None or matrix.name not in base:
            continue
        ours = matrix.time[COMMIT[precision]]
        rows.append([matrix.name, str(theirs), base[matrix.name].text(), ours.text(), theirs / ours.us,
                     base[matrix.name].us / ours.us])
    means = [f"**{gmean([row[k] for row in rows]):.2f}**" for k in (4, 5)] if rows else []
    rows = [row[:4] + [ratio(value) for value in row[4:]] for row in rows]
    return table([f"{precision}, with values: us", "authors", BASE, "merbit", "authors / merbit", f"{BASE} / merbit"],
                 rows + [["geometric mean", "", "", ""] + means] if rows else [])


# ---- Sigma and the switches ----

def sweep(figures, precision):
    matrices = of(precision, figures.sigma)
    sigmas = ((re.search(r"sigma=(\d+)", label), label) for label in labels_of(matrices))
    labels = {int(sigma.group(1)): label for sigma, label in sigmas if sigma}
    rows = []
    for matrix in matrices:
        least = min(matrix.time[label].us for label in labels.values() if label in matrix.time)
        cells = [figure(matrix.time[label].us) if label in matrix.time else "-" for label in labels.values()]
        rows.append([matrix.name, figure(matrix.time[BASE].us)] +
                    [f"**{cell}**" if cell == figure(least) else cell for cell in cells])
    if rows:
        means = [[matrix.speed_up(label) for matrix in matrices if label in matrix.runs] for label in labels.values()]
        rows.append(["speed-up, geometric mean", "1.00"] + [f"{gmean(values):.2f}" for values in means])
    return table([f"{precision}: us", BASE] + [f"sigma {sigma}" for sigma in labels], rows)


def switches(figures, precision):
    """What each makes of the time; those that leave commit as it is are compared with what it is by default."""
    matrices, dual = of(precision, figures.switches), "merbit:commit=dual"
    labels = [label for label in labels_of(matrices) if label != dual]
    rows = []
    for matrix in matrices:
        cells = []
        for label in labels:
            base = dual if "commit=" in label else COMMIT[precision]
            cells.append(change(matrix.time[label], matrix.time[base]) if label in matrix.time else "-")
        rows.append([matrix.name, matrix.time[dual].text()] + cells)
    heads = [label.removeprefix("merbit:").removeprefix("commit=dual:") for label in labels]
    return table([f"{precision}: us", "commit=dual"] + heads, rows)


def determinism(figures):
    names, cells = [], {}
    for matrix in figures.multiply:
        if {"merbit:commit=dual", "merbit:commit=ordered"} <= matrix.runs.keys():
            dual, ordered = matrix.time["merbit:commit=dual"], matrix.time["merbit:commit=ordered"]
            names.append(matrix.name)
            cells[matrix.name, matrix.precision] = [dual.text(), ordered.text(), change(ordered, dual)]
    rows = [[name] + [cell for precision in PRECISIONS for cell in cells.get((name, precision), ["-"] * 3)]
            for name in dict.fromkeys(names)]
    kinds = ("dual", "ordered", "cost")
    return table(["us"] + [f"{precision} {kind}" for precision in PRECISIONS for kind in kinds], rows)


# ---- Whole solves ----

def solves(figures, program):
    rows = []
    for run in figures.solves:
        if run.program == program:
            rows.append([f"{run.source} {run.precision}", run.label, run.time.text(), str(run.iterations),
                         f"{figure(run.prepare + run.solve)} ({figure(run.prepare)})", figure(1e3 * run.iteration),
                         f"{run.total:.0f}", run.outcome])
    return table(["", "", "multiply us", "iterations", "prepare + solve ms", "an iteration us", "end to end ms",
                  "outcome"], rows)


def means_over_base(runs, label, cost):
    """Geometric mean of BASE's cost / label's over what both solved, and how often label's is less than merbit's."""
    by = {(run.source, run.precision, run.label): run for run in runs}
    ratios, beats = [], 0
    for (source, precision, other), run in by.items():
        base, ours = by.get((source, precision, BASE)), by.get((source, precision, COMMIT[precision]))
        if other != label or base is None:
            continue
        ratios.append(cost(base) / cost(run))
        beats += ours is not None and cost(run) < cost(ours)
    if not ratios:
        return "-"
    return f"{gmean(ratios):.3f}" + ("" if label.startswith(OURS) else f" ({beats} of {len(ratios)})")


def iterations(figures, program):
    runs = [run for run in figures.solves if run.program == program]
    labels = [label for label in dict.fromkeys(run.label for run in runs) if label != BASE]
    rows = []
    for precision in PRECISIONS:
        chosen = of(precision, runs)
        if not any(run.label == BASE for run in chosen):
            continue
        for n in ITERATIONS:
            cells = [means_over_base(chosen, label, lambda run, n=n: run.after(n)) for label in labels]
            rows.append([f"{precision}, {n}"] + cells)
        cells = [means_over_base(chosen, label, lambda run: run.iteration) for label in labels]
        rows.append([f"{precision}, an iteration"] + cells)
    return table(["iterations"] + labels, rows)


# ---- The page ----

def makers():
    """What makes a table, by its name."""
    made = {make.__name__: make for make in (prepare, speedups, fastest, degrees, determinism)}
    for make, kinds in ((hot, PRECISIONS), (authors, PRECISIONS), (sweep, PRECISIONS), (switches, PRECISIONS),
                        (solves, PROGRAMS), (iterations, PROGRAMS)):
        for kind in kinds:
            made[f"{make.__name__}-{kind}"] = (lambda figures, make=make, kind=kind: make(figures, kind))
    return made


def update(path, figures):
    known = makers()
    with open(path, encoding="utf-8") as file:
        page = file.read()

    def refill(match):
        name = match.group(1)
        if name not in known:
            sys.exit(f"{path}: no table is called {name}; there are {' '.join(known)}")
        made = known[name](figures)
        if made is None:
            print(f"{path}: table {name} stays: no figures of it in the files given", file=sys.stderr)
        return match.group(0) if made is None else f"<!-- table: {name} -->\n{made}\n<!-- end -->"

    page = re.sub(r"<!-- table: (\S+) -->\n.*?<!-- end -->", refill, page, flags=re.DOTALL)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


def main():
    arguments, page = sys.argv[1:], None
    if arguments[:1] == ["--update"] and len(arguments) > 1:
        page, arguments = arguments[1], arguments[2:]
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__.strip())
    figures = Figures()
    for path in arguments:
        try:
            figures.read(path)
        except (OSError, json.JSONDecodeError) as error:
            sys.exit(f"{path}: {error}")
    if page:
        update(page, figures)
        return
    for name, make in makers().items():
        made = make(figures)
        if made:
            print(f"<!-- table: {name} -->\n{made}\n<!-- end -->\n")


main()
