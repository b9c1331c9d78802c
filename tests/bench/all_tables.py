"""The page of all matrices (docs/benchmarks/all.md) from the lines of bench_all.py, or of any spmv --jsonl.

usage: all_tables.py PAGE.md LINES.jsonl...
Beside the page, in a folder of its name without the ending, it writes for each precision, with and without values, a table of
all matrices (.md) and a CSV with every backend. Pictures (.svg) in that folder, and the text of remarks.md, are shown by the
page. LINES may be compressed (.xz, .gz). Of a matrix that was timed again the last line counts. Lines of several vectors (spmv
--vectors) are left out. Standard library alone.
"""
import csv
import glob
import math
import os
import statistics
import sys

import bench_all

SECTORS_A_NS = 225  # of 32 bytes: the most that was seen read from an H200's L2
LOSES = 0.97        # below so much of cuSPARSE's speed
BEST_OURS = 3       # shown on the page; the others are in the CSV
MOST_BYTES = 1_000_000  # of a file
GROUPS = {
    "seen": "matrices, of every generated family in three sizes with three seeds each and of the standard set, with which "
            "backends were developed",
    "unseen": "ones, of which family, size, shape and seed are drawn from a seed on the command line (*unseen 1*: from 1)",
    "given": "other generated ones, named on a command line",
    "real": "ones, from files",
}
DRAWN_BY = range(1, 100)  # seeds of which unseen matrices are told apart
WORDS = {(p, v): f"{p}, {'with' if v else 'without'} values" for p in ("f64", "f32") for v in (True, False)}

# Kernels that others have published, in us: measured on another H200 on 2026-11-20 by their authors' programs, with values, and
# the best of cuSPARSE in that run beside them.
PUBLISHED = ("MERBIT", "merge (CUB)", "CSR5", "DASP", "CB-SpMV")
PUBLISHED_US = {
    "f64": {"gen:road": (257, 289, 296, 333, 253, 783), "gen:web": (266, 330, 361, 344, 360, None),
            "gen:rmat": (343, 339, 363, 326, 301, None), "gen:hubs": (273, 257, 286, 328, None, 4629),
            "gen:stencil:n=200": (237, 293, 299, 286, 283, 1019), "gen:band": (136, 207, 173, 162, 157, 152),
            "gen:fem:n=49": (78, 138, 125, 127, 102, 188), "gen:fem:n=24": (14.2, 18.4, 26.9, 24.3, 13.7, 19.4)},
    "f32": {"gen:road": (185, 225, 196, 251), "gen:web": (183, 237, 244, 230), "gen:rmat": (290, 324, 343, 299),
            "gen:hubs": (175, 178, 197, 207), "gen:stencil:n=200": (133, 232, 191, 219), "gen:band": (117, 164, 122, 121),
            "gen:fem:n=49": (62, 110, 86, 108), "gen:fem:n=24": (11.0, 14.7, 18.6, 19.5)},
}


# ---- What was measured ----

class Run:
    """A backend's multiply of one matrix: us, and what it takes."""

    def __init__(self, run):
        hot, plan = run["hot"], run["plan"]
        self.label, self.us = run["label"], 1e6 * hot["median_s"]
        self.low, self.high = 1e6 * hot["median_low_s"], 1e6 * hot["median_high_s"]
        self.bytes, self.prepare_us, self.memory = plan["apply_bytes"], 1e6 * run["prepare_s"], plan["memory_bytes"]
        self.is_vendor = run["backend"].startswith("cusparse")


class Matrix:
    """One matrix in one precision, with or without values. runs: those with a right product, the fastest first. known: the
    groups of generated matrices by their names."""

    def __init__(self, matrix, bandwidth, known, on_card):
        self.source, self.family, self.kind = matrix["source"], matrix["family"], (matrix["precision"], matrix["has_values"])
        self.name = self.source.removeprefix("gen:")  # of a file: see Figures.name_files
        self.group = ("real" if self.family is None else known.get(self.source) or
                      ("unseen" if bench_all.may_be_drawn(self.source) else "given"))
        self.nrows, self.ncols, self.nnz, self.csr_bytes = (matrix[key] for key in ("nrows", "ncols", "nnz", "csr_bytes"))
        timed = [run for run in matrix["runs"] if run["ran"] and run["hot"]]
        self.wrong = [run["label"] for run in timed if not run["verification"].get("multiplied_right", True)]
        self.runs = sorted((Run(run) for run in timed if run["label"] not in self.wrong), key=lambda run: run.us)
        self.absent = {run["label"]: run["reason"] for run in matrix["runs"] if not run["ran"]}
        self.ours = [run for run in self.runs if not run.is_vendor]
        self.vendor = next((run for run in self.runs if run.is_vendor), None)
        sectors = matrix["sectors"]
        walls = [1e6 * self.csr_bytes / bandwidth] if bandwidth else []
        walls += [1e-3 * (sectors["streams"] + sectors["x"]) / SECTORS_A_NS] if sectors and on_card else []
        self.wall_us = max(walls, default=None)

    def ratio(self, run=None):
        """cuSPARSE's best time over this run's, or over our best."""
        run = run or (self.ours[0] if self.ours else None)
        return self.vendor.us / run.us if run and self.vendor else None


class Figures:
    def __init__(self, paths):
        self.devices, self.versions, self.dates, self.failures, latest = set(), set(), [], {}, {}
        self.several_vectors, self.on_card = 0, False
        known = {name: f"unseen {seed}" for seed in reversed(DRAWN_BY) for name in bench_all.unseen(seed, bench_all.UNSEEN)}
        known.update(dict.fromkeys(bench_all.STANDARD + tuple(bench_all.seen()), "seen"))
        for path in paths:
            for report in bench_all.lines_of(path):
                if bench_all.has_several_vectors(report):
                    self.several_vectors += 1
                    continue
                place = self.place_of(report)
                on_card = place["place"] == "cuda"
                self.on_card = self.on_card or on_card
                self.devices.add(place["device"].split(" (")[0])  # behind it: what else went on
                self.versions.add(report["versions"]["windrow"] + (f", CUDA {report['versions']['cuda']}"))
                self.dates.append(report["date"][:10])
                for matrix in report["matrices"]:
                    source = bench_all.place_of(matrix["source"])
                    if matrix["status"] == "WR_OK":
                        latest[source, matrix["precision"], matrix["has_values"]] = (
                            Matrix(matrix, place["read_bandwidth"], known, on_card))
                        for precision in ("", matrix["precision"]):  # an earlier line
                            self.failures.pop((source, precision), None)
                    else:
                        self.failures[source, matrix["precision"]] = matrix["reason"]
        if self.several_vectors:
            print(f"all_tables.py: left out: {self.several_vectors} lines whose times are of several vectors (spmv --vectors)",
                  file=sys.stderr)
        if not latest:
            sys.exit("all_tables.py: there is no timed matrix in " + " ".join(paths))
        if len(self.devices) > 1:
            sys.exit("all_tables.py: a table is of one machine, and these lines are of " + ", ".join(sorted(self.devices)))
        order = [f"{group} {seed}".strip() for group in GROUPS for seed in ("", *(DRAWN_BY if group == "unseen" else ()))]
        present = {m.group for m in latest.values()}
        self.groups = [group for group in order if group in present]
        self.matrices = sorted(latest.values(), key=lambda m: (order.index(m.group), m.family or "", m.nnz, m.source))
        self.has_vendor = any(m.vendor for m in self.matrices)
        self.name_files([source for source, *_ in (*latest, *self.failures) if not source.startswith("gen:")])

    def name_files(self, paths):
        """Each by its path below the folder that has them all."""
        top = os.path.commonpath([os.path.dirname(path) for path in paths]) if paths else ""
        self.names = {path: os.path.relpath(path, top) for path in paths}
        for m in self.matrices:
            m.name = self.names.get(bench_all.place_of(m.source), m.name)

    @staticmethod
    def place_of(report):
        ran = [run["place"] for matrix in report["matrices"] for run in matrix["runs"] if run["ran"]]
        opened = {place["place"]: place for place in report["places"] if place["status"] == "WR_OK"}
        return opened.get("cuda" if "cuda" in ran else "host") or next(iter(opened.values()))

    def of(self, kind):
        return [matrix for matrix in self.matrices if matrix.kind == kind]


# ---- Texts ----

def figure(value):
    return "-" if value is None else f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def count(value):
    for unit, least in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= least:
            return f"{figure(value / least)} {unit}"
    return str(value)


def error(run):
    return f"{100 * max(run.us - run.low, run.high - run.us) / run.us:.1f}%"


def table(head, rows, left=1):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * left + "---:|" * (len(head) - left)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def gmean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def gmean_error(values):
    """The standard error of their geometric mean, if the matrices are a sample of many."""
    if len(values) < 2:
        return None
    return gmean(values) * statistics.stdev(map(math.log, values)) / math.sqrt(len(values))


# ---- The tables ----

def summary(figures):
    """Geometric mean, least and median of cuSPARSE's best / our best."""
    rows = []
    for kind, words in WORDS.items():
        for group in figures.groups:
            found = [m for m in figures.of(kind) if m.group == group and m.ratio()]
            if not found:
                continue
            ratios, least = [m.ratio() for m in found], min(found, key=Matrix.ratio)
            scatter = gmean_error(ratios) if group.startswith("unseen") else None
            rows.append([words, group, str(len(found)), f"**{gmean(ratios):.3f}**", figure(scatter),
                         f"{statistics.median(ratios):.3f}", f"{min(ratios):.3f}", f"{least.name}",
                         str(sum(r < LOSES for r in ratios))])
    return table(("", "matrices", "number", "geometric mean", "+-", "median", "least", "least on", f"below {LOSES}"), rows, 2)


def order_of(matrices):
    """The backends by the geometric mean of cuSPARSE's best / each of them."""
    found = {}
    for m in matrices:
        for run in m.runs:
            found.setdefault(run.label, []).append(m.ratio(run))
    return sorted(found, key=lambda label: -gmean(found[label]))


def rank_correlation(one, other):
    """Spearman's, of two orders of the same things."""
    differences = sum((one.index(label) - other.index(label)) ** 2 for label in one)
    return 1 - 6 * differences / (len(one) * (len(one) ** 2 - 1))


def seeds(figures):
    """The unseen matrices of one seed beside those of the others; None for one seed alone."""
    drawn, rows = [group for group in figures.groups if group.startswith("unseen ")], []
    for kind, words in WORDS.items():
        by_seed = {group: [m for m in figures.of(kind) if m.group == group and m.ratio()] for group in drawn}
        first = by_seed.pop(drawn[0]) if drawn else []
        for group, found in by_seed.items():
            if min(len(first), len(found)) < 2:
                continue
            one, other = [m.ratio() for m in first], [m.ratio() for m in found]
            orders = [[label for label in order_of(some) if label in order_of(more)]
                      for some, more in ((first, found), (found, first))]
            rows.append([words, f"{drawn[0]} and {group.removeprefix('unseen ')}", f"{gmean(one) - gmean(other):+.3f}",
                         f"{math.hypot(gmean_error(one), gmean_error(other)):.3f}",
                         f"{rank_correlation(*orders):.3f}" if len(orders[0]) > 1 else "-"])
    return table(("", "", "difference", "+-", "rank correlation"), rows, 2) if rows else None


def by_backend(figures, kind):
    """The same for each backend, and how often it is the best of all."""
    matrices = [m for m in figures.of(kind) if m.vendor]
    groups = [group for group in figures.groups if any(m.group == group for m in matrices)]
    best = {}
    for m in figures.of(kind):
        if m.runs:
            best[m.runs[0].label] = best.get(m.runs[0].label, 0) + 1
    found = {}
    for m in matrices:
        for run in m.runs:
            found.setdefault(run.label, []).append((m.ratio(run), m.group))
    rows = []
    for label, ratios in sorted(found.items(), key=lambda item: -gmean([ratio for ratio, _ in item[1]])):
        means = []
        for group in groups:
            values = [ratio for ratio, of in ratios if of == group]
            means.append(f"{gmean(values):.3f}" if values else "-")
        values = [ratio for ratio, _ in ratios]
        rows.append([label, str(len(values)), *means, f"{statistics.median(values):.3f}", f"{min(values):.3f}",
                     str(best.get(label, 0))])
    return table(("", "matrices", *groups, "median", "least", "fastest of all on"), rows)


def losers(figures):
    found = sorted((m for m in figures.matrices if m.ratio() and m.ratio() < LOSES), key=Matrix.ratio)
    rows = [[m.name, WORDS[m.kind], m.group, count(m.nnz), m.ours[0].label, figure(m.ours[0].us), m.vendor.label,
             figure(m.vendor.us), f"{m.ratio():.3f}"] for m in found]
    return table(("", "", "", "nonzeros", "our best", "us", "cuSPARSE's best", "us", "ratio"), rows, 3) if rows else "None."


def cell(run, best):
    """Bold: within the interval of the fastest one, which differs from it by less than could be measured."""
    text = f"{run.label} {figure(run.us)}"
    return f"**{text}**" if best and run.us <= best.high else text


def rows_of(figures, kind):
    rows = []
    for m in figures.of(kind):
        best = m.runs[0] if m.runs else None
        ours = [cell(run, best) for run in m.ours[:BEST_OURS]]
        row = [m.name, m.group, count(m.nrows), count(m.nnz), figure(m.wall_us)] + ours + ["-"] * (BEST_OURS - len(ours))
        if figures.has_vendor:
            row += [cell(m.vendor, best) if m.vendor else "-", f"{m.ratio():.2f}" if m.ratio() else "-"]
        if best:
            rate = 1e-3 / best.us
            row += [error(best), figure(best.bytes * rate), figure(m.csr_bytes * rate),
                    f"{100 * m.wall_us / best.us:.0f}%" if m.wall_us else "-", figure(best.prepare_us), count(best.memory)]
        rows.append(row)
    head = ("", "", "rows", "nonzeros", "wall", "our best", "second", "third",
            *(("cuSPARSE's best", "ratio") if figures.has_vendor else ()),
            "+-", "GB/s", "by CSR's bytes", "of the wall", "prepare", "memory")
    return table(head, [row + ["-"] * (len(head) - len(row)) for row in rows], 2)


def published(figures):
    rows = []
    for precision, known in PUBLISHED_US.items():
        by_source = {m.source: m for m in figures.of((precision, True))}
        for source, (vendor, *others) in known.items():
            m = by_source.get(source)
            if m is None or not m.ours:
                continue
            others += [None] * (len(PUBLISHED) - len(others))
            rows.append([f"{source.removeprefix('gen:')} {precision}", f"{m.ours[0].label} {figure(m.ours[0].us)}",
                         cell(m.vendor, None) if m.vendor else "-", figure(vendor)] + [figure(other) for other in others])
    head = ("us", "our best", "cuSPARSE's best", "cuSPARSE's best then", *(f"{name} then" for name in PUBLISHED))
    return table(head, rows) if rows else None


def missing(figures):
    """Backends without a result, by reason."""
    found = {}
    for m in figures.matrices:
        for label, reason in m.absent.items():
            found.setdefault(label, []).append((m, reason))
    rows = []
    for label, cases in sorted(found.items()):
        first, reason = cases[0]
        rows.append([label, str(len(cases)), f"{first.name} ({first.kind[0]}): {reason or '-'}"[:200].replace("|", "/")])
    return table(("", "matrices", "the first of them"), rows) if rows else None


# ---- The page ----

def write_csv(path, matrices):
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("matrix", "group", "nrows", "ncols", "nnz", "csr_bytes", "wall_us", "label", "hot_us", "low_us",
                      "high_us", "bytes", "prepare_us", "memory_bytes"))
        for m in matrices:
            first = (m.source if m.group != "real" else m.name, m.group, m.nrows, m.ncols, m.nnz, m.csr_bytes, short(m.wall_us))
            for run in m.runs:
                out.writerow(first + (run.label, short(run.us), short(run.low), short(run.high), round(run.bytes),
                                      short(run.prepare_us), run.memory))
    too_long(path)


def too_long(path):
    if os.path.getsize(path) > MOST_BYTES:
        print(f"all_tables.py: {path} has more than {MOST_BYTES} bytes", file=sys.stderr)


def short(value):
    return "" if value is None else f"{value:.4g}"


def wall_text(on_card):
    bandwidth = "its bytes (arrays, x and y once) at the bandwidth that spmv measured for reading memory"
    if not on_card:
        return (f"The *wall* estimates the least time of plain CSR: {bandwidth}. A share of the wall above 100% means that a "
                "backend moves fewer bytes than CSR, or that the matrix lies in a cache.")
    return (f"The *wall* estimates the least time of plain CSR: the larger of {bandwidth}, and of the counted 32-byte sectors "
            f"that it reads from L2 at {SECTORS_A_NS} a nanosecond (the most that was seen on an H200). A share of the wall above "
            "100% means that a backend moves fewer bytes or sectors than CSR, or that the matrix lies in L2. Below some 10 "
            "microseconds launching a kernel counts as much as what it does.")


def file_of(kind, ending):
    return f"{kind[0]}-{'values' if kind[1] else 'pattern'}.{ending}"


def matrices_page(figures, kind, back):
    """The table of all matrices of one kind, on a page of its own."""
    times = "Microseconds of a hot multiply" + ("; *ratio* is cuSPARSE's best / our best" if figures.has_vendor else "")
    return "\n\n".join((
        f"# Every matrix: {WORDS[kind]}",
        f"{times}. [{back}](../{back}) says what is meant by each column. Those from +- on are of the fastest backend; "
        f"preparation in us, memory in bytes. All backends: [{file_of(kind, 'csv')}]({file_of(kind, 'csv')}).",
        rows_of(figures, kind))) + "\n"


def page(figures, folder):
    name = os.path.basename(folder)
    groups = {group: len({m.source for m in figures.matrices if m.group.split()[0] == group}) for group in GROUPS}
    dates = sorted(set(figures.dates))
    kinds = [f"{groups[group]} *{group}* {what}" for group, what in GROUPS.items() if groups[group]]
    days = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    made = f"{', '.join(figures.devices)}, {days}, windrow {'; '.join(sorted(figures.versions))}"
    place = "the GPU" if figures.on_card else "the CPU"
    text = [
        f"# Every backend of {place} on every matrix",
        f"{made}. {'; '.join(kinds)}. Each is timed in f32 and f64, with values (made up for a pattern) and without; every "
        "product is checked in full on the host. Another seed of a grid changes its values alone."
        + ("" if groups["real"] else " No files were timed: all matrices are generated."),
        "The page has all that was ever timed into its lines: the matrices of every seed and of every folder. Of a matrix that "
        "was timed again in the same precision the last line alone counts, so the times of a row were measured in turn. What "
        "the lines have is not timed again, even if a kernel was changed since then."
        + (f" Left out: {figures.several_vectors} lines whose times are of several vectors (`spmv --vectors`)."
           if figures.several_vectors else ""),
        "To make this page again, with other unseen matrices, or with a folder of your own:\n\n"
        "    make bench-all SEED=3 FOLDER=my/matrices GROUPS=real  # or without GROUPS: all; it makes build/bench/all.md\n"
        "    python3 tests/bench/bench_all.py --seed 3 --limit 500 lines.jsonl  # in pieces, until nothing is left\n"
        "    python3 tests/bench/all_tables.py docs/benchmarks/all.md lines.jsonl",
        "Times are microseconds of a hot multiply: medians of batches of a millisecond. Bold are the fastest of the row and each "
        "that lies within its interval. *+-* is of the fastest: the larger distance from its median to an end of the median's "
        "95% interval, in percent. It has the scatter of one process alone; backends that differ by less are not told apart.",
        "A *ratio* is the time of cuSPARSE's best format (CSR and COO by both algorithms, sliced ELLPACK, BSR) divided by that "
        "of our best backend: above 1 ours is faster. Both are chosen afterwards, by their times." if figures.has_vendor else
        "cuSPARSE did not run here.",
        wall_text(figures.on_card),
    ]
    remarks = os.path.join(folder, "remarks.md")
    if os.path.exists(remarks):
        with open(remarks, encoding="utf-8") as file:
            text.append(file.read().strip())
    shown = [f"[{words}]({name}/{file_of(kind, 'md')}) ([CSV]({name}/{file_of(kind, 'csv')}))" for kind, words in WORDS.items()
             if figures.of(kind)]
    text.append("The tables of all matrices: " + ", ".join(shown) + ".")
    for path in sorted(glob.glob(os.path.join(folder, "*.svg"))):
        text.append(f"![{os.path.basename(path)[:-4]}]({name}/{os.path.basename(path)})")
    if figures.has_vendor:
        text += ["## cuSPARSE's best format / our best",
                 "+- is the standard error of the geometric mean of those that were drawn.", summary(figures)]
        shown = seeds(figures)
        if shown:
            text += ["### Matrices of another seed", "The unseen matrices of one seed beside those of another: the difference "
                     "of their geometric means and its standard error, and Spearman's rank correlation of the backends in the "
                     "order of their geometric means (1: both seeds order them alike). The four lines are of the same matrices.",
                     shown]
    wrong = [f"{m.name} in {WORDS[m.kind]}: {', '.join(m.wrong)}" for m in figures.matrices if m.wrong]
    text.append("Wrong products: " + ("; ".join(wrong) if wrong else "none") + ".")
    if figures.has_vendor:
        text += [f"### Where our best has less than {LOSES} of the speed of cuSPARSE's best", losers(figures)]
    for kind, words in WORDS.items():
        if any(m.vendor for m in figures.of(kind)):
            text += [f"### cuSPARSE's best / each backend, {words}: geometric means", by_backend(figures, kind)]
    shown = published(figures) if figures.on_card else None
    if shown:
        text += ["## Published kernels", "Columns with *then*: the authors' programs, of another run on another H200 "
                 "(2026-11-20), with cuSPARSE's best of that run beside them. CUB's SpMV is gone from CUDA 13.", shown]
    shown = missing(figures)
    if shown:
        text += ["## Without a result", shown]
    if figures.failures:
        text += ["## Not timed", table(("", "", "why"), [[figures.names.get(source, source), precision, reason.replace("|", "/")] for
                                                        (source, precision), reason in sorted(figures.failures.items())], 3)]
    return "\n\n".join(text) + "\n"


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-") or not sys.argv[1].endswith(".md"):
        sys.exit(__doc__.strip())
    path, figures = sys.argv[1], Figures(sys.argv[2:])
    folder = path.removesuffix(".md")
    os.makedirs(folder, exist_ok=True)
    texts = {path: page(figures, folder)}
    for kind in WORDS:
        if figures.of(kind):
            write_csv(os.path.join(folder, file_of(kind, "csv")), figures.of(kind))
            texts[os.path.join(folder, file_of(kind, "md"))] = matrices_page(figures, kind, os.path.basename(path))
    for path, text in texts.items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        too_long(path)


if __name__ == "__main__":
    main()
