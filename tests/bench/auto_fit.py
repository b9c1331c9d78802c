"""Fits the cost model of -k auto (docs/auto.md) to lines of spmv and judges it.

usage: auto_fit.py [options] LINES.jsonl...
  --table FILE   write the coefficients there (spmv/choose/cost_table.h)
  --device NAME  a class of the table: lines of devices with this in their name (H100). Given several times, several
                 classes; the first one is also that of devices of no class
  --renew NAME   a backend that was changed since the lines of later classes were made: of the seen matrices it is given its
                 times in the first class, times the ratio in which the other candidates' times are, in the middle
  --page FILE    write the table of the judgement there, in Markdown
  --losers N     also the N worst choices

LINES are of `spmv --sectors --jsonl`, as bench_all.py makes them. Times are taken of those lines that ran on the device, and
features of a matrix of any line that has them; so lines that were made before spmv wrote features are completed by

  spmv @LIST -k cpu_csr -p both --values --pattern --sectors --seconds 0 --verify off --jsonl FEATURES.jsonl

on any machine. Coefficients are fitted on all matrices; none is below 0, and errors count relative to the time. Unseen
matrices of bench_all.py, and real ones, are judged in five parts, each by coefficients that were fitted without it. Of a
backend that was timed with several knobs the default counts. Needs numpy and scipy.
"""
import argparse
import json
import lzma
import os
import sys
import zlib

import numpy
import scipy.optimize

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bench_all  # noqa: E402

# Those of spmv/choose/choose.c, and of LAYOUTS those of wr_cost_layout in spmv/choose/cost_model.c.
CANDIDATES = ("csr_thread_unrolled", "csr_warp", "merge_csr", "merbit", "bsr_unrolled", "lane_csr", "sell",
              "sell_coded", "sliced_dia")
LEAST_HUBS, LEAST_HUB_ENTRIES, LEAST_NARROW, NARROW_BYTES = 0.3, 8e6, 0.75, 60e6
CACHE_BYTES, X_CACHE_BYTES, X_NEAR_BYTES = 30e6, 25e6, 200e3
MULTIPLIES = (1, 50, 200, 1000)
# A group of matrices, small or large, with short, middling or long rows, has coefficients of its own, to which other matrices
# count little. In small ones a warp of lane_csr has one chunk.
FEW_ENTRIES, MIDDLING_ROWS, LONG_ROWS, OTHER_GROUP = 1_080_000, 6, 16, 0.1
GROUPS = 6
LAUNCH = 2  # us that a multiply takes at least
SMALL = 32_000  # entries up to which unseen matrices are judged apart
# So many times as much as another matrix a real one counts, and one with so many entries, as there are few of them.
REAL, MANY_ENTRIES, MANY = 4, 20e6, 8
FOLDS = 5


class Row:
    """A matrix in one precision, with values or without."""

    def __init__(self, matrix, features):
        self.name, self.precision = matrix["source"], matrix["precision"]
        self.valued, self.features = matrix["has_values"], features
        self.rows, self.columns, self.entries = matrix["nrows"], matrix["ncols"], matrix["nnz"]
        self.runs = {run["label"]: run for run in matrix["runs"] if run.get("ran") and run.get("hot")}
        self.is_real = not self.name.startswith("gen:")
        self.is_seen = not self.is_real and not bench_all.may_be_drawn(self.name)
        mean = self.entries / max(1, self.rows)
        self.group = 3 * (self.entries >= FEW_ENTRIES) + (mean >= MIDDLING_ROWS) + (mean >= LONG_ROWS)
        self.often = (REAL if self.is_real else 1) * (MANY if self.entries >= MANY_ENTRIES else 1)

    def times(self, label):
        """Microseconds of a multiply and of preparing."""
        run = self.runs[label]
        return run["hot"]["median_s"] * 1e6, run["prepare_s"] * 1e6

    def total(self, label, multiplies):
        multiply, prepare = self.times(label)
        return prepare + multiplies * multiply

    def layout(self, label):
        plan, width = self.runs[label]["plan"], 8 if self.precision == "f64" else 4
        if label == "bsr_unrolled":
            return "1" if "blocks of 1 x 1" in plan["line"] else "b"
        if label in ("sell_coded", "sliced_dia"):
            return "v" if self.valued and plan["format_bytes"] >= self.entries * width else "c"
        if label == "lane_csr":
            f = self.features
            if f["hubs"] >= LEAST_HUBS and self.entries >= LEAST_HUB_ENTRIES:
                return "h"
            size = width if self.valued else 0
            caches = (2 if size else numpy.inf) if self.precision == "f32" else (0.5 if size else 1)
            is_large = self.entries * (4 + size) > caches * NARROW_BYTES
            return "w" if is_large and f["narrow"] >= LEAST_NARROW else "n"
        return "-"

    def key(self, label):
        """That of the backend's coefficients in a table."""
        return label, self.layout(label), self.precision, self.valued

    def terms(self, label):
        """As cost_terms in spmv/choose/cost_model.c."""
        f, moved = self.features, self.runs[label]["plan"]["apply_bytes"]
        rows, entries = max(1, self.rows), max(1, self.entries)
        mean, x_bytes = entries / rows, max(1, self.columns * (8 if self.precision == "f64" else 4))
        beyond, far = max(0, moved - CACHE_BYTES) / 1e6, max(0, x_bytes - X_CACHE_BYTES) / x_bytes
        tile = f["tile_gather"] * entries / 1e6 * min(1, x_bytes / X_NEAR_BYTES)
        gather, row_gather = f["gather"] * entries / 1e6, f["row_gather"] * entries / 1e6
        hot = (1, min(moved, CACHE_BYTES) / 1e6, beyond, gather, row_gather, gather * far, row_gather * far, rows / 1e6,
               f["most"] / 1e3, f["lockstep"] * mean / 1e3, entries * min(1, mean / 32) / 1e6, f["spread"] * rows / 1e6,
               gather * (1 - f["hubs"]), tile)
        prepare = (1, entries / 1e6, rows / 1e6, f["most"] / 1e3, beyond, numpy.log2(1 + mean))
        return hot, prepare


def least_squares(terms, times):
    """Coefficients >= 0 with the least squares of (sum - time)."""
    scale = numpy.sqrt((terms * terms).sum(0))
    scale[scale == 0] = 1
    return scipy.optimize.nnls(terms / scale, times)[0] / scale


def fit(terms, times, counts):
    """Relative errors; those that are large count less in each of a few rounds, and too little as much as too much. A row
    counts as often as `counts` says."""
    terms, times = numpy.array(terms), numpy.array(times)
    often = numpy.sqrt(counts)
    weights = often / times
    x = least_squares(terms * weights[:, None], times * weights)
    for _ in range(8):
        ratio = numpy.maximum(terms @ x / times, 1e-9)
        weights = often / times / numpy.maximum(0.5, ratio) / numpy.maximum(0.1, abs(numpy.log(ratio))) ** 0.5
        x = least_squares(terms * weights[:, None], times * weights)
    return x


def read(paths, device):
    matrices, features = {}, {}
    for path in paths:
        with (lzma.open(path, "rt") if path.endswith(".xz") else open(path)) as lines:
            for line in lines:
                report = json.loads(line)
                on_device = any(device in (place.get("device") or "") for place in report["places"])
                for matrix in report["matrices"]:
                    if matrix["status"] != "WR_OK":
                        continue
                    if "tile_gather" in (matrix.get("features") or {}):
                        features[matrix["source"], matrix["precision"]] = matrix["features"]
                    if on_device:  # of a backend that was timed twice the later line counts
                        key = matrix["source"], matrix["precision"], matrix["has_values"]
                        before = {run["label"]: run for run in matrices.get(key, {}).get("runs", ())}
                        before.update((run["label"], run) for run in matrix["runs"])
                        matrices[key] = {**matrix, "runs": list(before.values())}
    missing = {key[0] for key in matrices if key[:2] not in features}
    if missing:
        print(f"auto_fit: {len(missing)} matrices have no features in these lines, {min(missing)} among them",
              file=sys.stderr)
    return [Row(matrix, features[key[:2]]) for key, matrix in sorted(matrices.items()) if key[:2] in features]


def fit_all(rows):
    """{Row.key: (hot of each group, prepare)}"""
    members, table = {}, {}
    for row in rows:
        for label in CANDIDATES:
            if label in row.runs:
                members.setdefault(row.key(label), []).append(row)
    for key, mine in members.items():
        hot, prepare = zip(*(row.terms(key[0]) for row in mine))
        multiply, prepared = zip(*(row.times(key[0]) for row in mine))
        groups = []
        for group in range(GROUPS):
            counts = [row.often * (1 if row.group == group else OTHER_GROUP) for row in mine]
            groups.append(fit(hot, numpy.array(multiply) - LAUNCH, counts))
            groups[group][0] += LAUNCH
        table[key] = groups, fit(prepare, prepared, [row.often for row in mine])
    return table


def fold_of(row):
    """Which part of the unseen and real matrices it is in; None: it is a seen one."""
    return None if row.is_seen else zlib.crc32(row.name.encode()) % FOLDS


def expect(table, row, label, multiplies):
    hot, prepare = table[row.key(label)]
    by_hot, by_prepare = row.terms(label)
    return prepare @ by_prepare + multiplies * (hot[row.group] @ by_hot)


def judge(table, rows, multiplies):
    """(ratio to the best of all, ratio of the best candidate to it, row, chosen, best candidate), worst first."""
    found = []
    for row in rows:
        ours = [label for label in row.runs if not label.startswith("cusparse")]
        mine = [label for label in CANDIDATES if label in row.runs]
        least = min(row.total(label, multiplies) for label in ours)
        chosen = min(mine, key=lambda label: expect(table, row, label, multiplies))
        best = min(mine, key=lambda label: row.total(label, multiplies))
        found.append((row.total(chosen, multiplies) / least, row.total(best, multiplies) / least, row, chosen, best))
    return sorted(found, key=lambda one: -one[0])


def share(ratios):
    return sum(ratio <= 1.1 for ratio in ratios) / len(ratios)


def judge_all(tables, rows, multiplies):
    """By the table of each row's fold; tables[None] has been fitted to all rows."""
    found = []
    for fold, table in tables.items():
        mine = [row for row in rows if fold_of(row) == fold]
        known = [row for row in mine if all(row.key(label) in table for label in CANDIDATES if label in row.runs)]
        found += judge(table, known, multiplies)
    return sorted(found, key=lambda one: -one[0])


def page(tables, rows, fixed="merbit"):
    lines = ["| matrices | multiplies | auto within 10% | within 1.5 times | worst | best candidate within 10% | worst "
             f"| always {fixed} within 10% | worst |", "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    unseen = [row for row in rows if not row.is_seen and not row.is_real]
    groups = {"seen": [row for row in rows if row.is_seen], "unseen": [row for row in unseen if row.entries > SMALL],
              f"unseen, up to {SMALL} entries": [row for row in unseen if row.entries <= SMALL],
              "real files": [row for row in rows if row.is_real]}
    for what, group in groups.items():
        for multiplies in MULTIPLIES:
            found = judge_all(tables, group, multiplies)
            if not found:
                continue
            auto, best = [one[0] for one in found], [one[1] for one in found]
            always = [one[2].total(fixed, multiplies) / (one[2].total(one[4], multiplies) / one[1]) for one in found]
            lines.append(f"| {what} ({len(found)} rows) | {multiplies} | {share(auto):.1%} | "
                         f"{sum(ratio <= 1.5 for ratio in auto) / len(auto):.1%} | {max(auto):.2f} | {share(best):.1%} | "
                         f"{max(best):.2f} | {share(always):.1%} | {max(always):.1f} |")
    return "\n".join(lines) + "\n"


def number(x):
    return f"{x:.4g}" if x else "0"


def renew(rows, first, backend):
    """Gives rows of a class the backend's times of the first class; rows that cannot have any lose the backend."""
    by_name = {(row.name, row.precision, row.valued): row for row in first}
    for row in rows:
        other = by_name.get((row.name, row.precision, row.valued))
        both = [label for label in CANDIDATES if label != backend and other and label in row.runs and label in other.runs]
        row.runs.pop(backend, None)
        if not both or backend not in other.runs:
            continue
        ratios = [numpy.median([row.times(label)[k] / other.times(label)[k] for label in both]) for k in (0, 1)]
        times, run = other.times(backend), dict(other.runs[backend])
        run["hot"], run["prepare_s"] = {"median_s": times[0] * ratios[0] * 1e-6}, times[1] * ratios[1] * 1e-6
        row.runs[backend] = run


def source(classes):
    """classes: {device: table}"""
    lines = ["/* Made by tests/bench/auto_fit.py; docs/auto.md says how. Coefficients of cost_model.c: us. */",
             "#ifndef WR_COST_TABLE_H", "#define WR_COST_TABLE_H", "", '#include "spmv/choose/cost_model.h"', "",
             f"#define LEAST_HUBS {LEAST_HUBS} /* share of the entries from which lane_csr keeps hubs, ... */",
             f"#define LEAST_HUB_ENTRIES {LEAST_HUB_ENTRIES:.0f} /* ... of a matrix with so many */",
             f"#define LEAST_NARROW {LEAST_NARROW} /* share of chunks from which it has 16-bit columns, ... */",
             f"#define NARROW_BYTES {NARROW_BYTES:.0f} /* ... in which its entries do not fit: of a second-level cache */",
             f"#define FEW_ENTRIES {FEW_ENTRIES} /* from which on a matrix is large */",
             f"#define MIDDLING_ROWS {MIDDLING_ROWS} /* mean of the entries of a row from which rows are middling, ... */",
             f"#define LONG_ROWS {LONG_ROWS} /* ... and long */",
             f"#define CACHE_BYTES {CACHE_BYTES:.0f} /* of a multiply that the second-level cache holds */",
             f"#define X_CACHE_BYTES {X_CACHE_BYTES:.0f} /* of x */",
             f"#define X_NEAR_BYTES {X_NEAR_BYTES:.0f} /* of x, that a first-level cache holds */", "", "/* clang-format off */"]
    for k, table in enumerate(classes.values(), 1):
        lines.append(f"static const wr_cost_row rows_{k}[] = {{")
        for (label, layout, precision, valued), (hot, prepare) in sorted(table.items()):
            lines.append(f'    {{"{label}", \'{layout}\', WR_{precision.upper()}, {int(valued)}, {{'
                         + ", ".join(map(number, prepare)) + "},")
            lines += ["     " + "{{"[group > 0:] + ", ".join(map(number, group_hot)) + "}" + (",", "}},")[group == GROUPS - 1]
                      for group, group_hot in enumerate(hot)]
        lines.append("};")
    lines += ["/* clang-format on */", "", "typedef struct cost_class {", "  const char *device; /* a part of its name */",
              "  int count;", "  const wr_cost_row *rows;", "} cost_class;", "",
              "/* A device of no class is taken for one of the first. */", "static const cost_class classes[] = {"]
    lines += [f'    {{"{device}", sizeof rows_{k} / sizeof *rows_{k}, rows_{k}}},' for k, device in enumerate(classes, 1)]
    return "\n".join(lines + ["};", "", "#endif"]) + "\n"


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("lines", nargs="+")
    parser.add_argument("--table")
    parser.add_argument("--device", action="append")
    parser.add_argument("--renew", action="append", default=[])
    parser.add_argument("--page")
    parser.add_argument("--losers", type=int, default=0)
    options = parser.parse_args()
    classes, first, text = {}, None, ""
    for device in options.device or ["H100"]:
        rows = read(options.lines, device)
        if not rows:
            sys.exit(f"auto_fit: no line has both times of {device} and features")
        for backend in options.renew if first else ():
            renew(rows, first, backend)
        first = first or rows
        tables = {fold: fit_all([row for row in rows if fold is None or fold_of(row) != fold])
                  for fold in [None, *sorted({fold_of(row) for row in rows} - {None})]}
        classes[device] = tables[None]
        text += f"{device}\n\n{page(tables, rows)}\n"
        for multiplies in MULTIPLIES if options.losers else ():
            for ratio, best, row, chosen, other in judge_all(tables, rows, multiplies)[:options.losers]:
                text += (f"{multiplies:5} {ratio:5.2f} {best:5.2f} {row.name} {row.precision} "
                         f"{'values' if row.valued else 'pattern'}: {chosen}, not {other}\n")
    print(text, end="")
    for path, content in ((options.table, source(classes)), (options.page, text)):
        if path:
            with open(path, "w") as out:
                out.write(content)


if __name__ == "__main__":
    main()
