"""What tools/plot.py knows: reports of spmv, pagerank and bicgstab as cases with runs, and the tables behind pictures.

A case is one matrix in one precision, with or without values; a run is what one backend (with its knobs, and with
those settings in which the reports differ) needed for it. Nothing here needs matplotlib.
"""
import fnmatch
import gzip
import json
import lzma
import math
import os
import re
import zlib

PROGRAMS = {"spmv": "spmv", "apply_bench": "spmv", "pagerank": "pagerank", "bicgstab": "bicgstab"}
# Settings that make runs of one label different things. Those in which the reports differ become part of a run's name.
TELLING = ("vectors", "threads", "method", "precond", "scale", "tolerance", "damping", "stop", "deterministic")
SECTORS_PER_S = 225e9  # 32-byte sectors that the L2 cache of an H200 delivers, measured (docs/benchmarks/README.md)
OPENED = {".gz": gzip.open, ".xz": lzma.open}  # files by their endings
FACTORS = (1, 1.05, 1.1, 1.2, 1.5, 2, 4, 10)  # columns of the table behind a performance profile


def part(thing, *names):
    """thing[names[0]][names[1]]..., or None where that does not exist."""
    for name in names:
        thing = thing.get(name) if isinstance(thing, dict) else None
    return thing


def positive(value):
    """A number above 0, or None; also None beyond 1e+-100, so that products and quotients of three are finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        value = float(value)
    except OverflowError:
        return None
    return value if 1e-100 <= value <= 1e100 else None


def text(value):
    """One line without what XML forbids; None becomes '?'."""
    value = value if isinstance(value, str) else "?"
    value = value.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() else "?" for c in value) or "?"


class Run:
    """time: seconds that pictures compare, None: it does not count, since it failed, is wrong or was not timed.
    multiply, prepare, solve: seconds. vectors: so many a multiply takes at once. bytes, sectors: of a multiply with all its
    vectors. roof: bytes/s. history: [(iteration, measure)]. tolerance: of these measures. changes: iterations from which on
    another method solved. Each may be None."""

    def __init__(self, label, **facts):
        self.label = self.name = label
        self.knobs = dict(re.findall(r"([\w-]+)=([^:]*)", label.partition(":")[2]))
        self.told = {}
        for name in ("place", "time", "multiply", "prepare", "bytes", "sectors", "roof", "iterations", "multiplies", "solve",
                     "tolerance"):
            setattr(self, name, facts.get(name))
        self.vectors = facts.get("vectors") or 1
        self.history = facts.get("history") or []
        self.changes = facts.get("changes") or []


class Case:
    """program, source, precision, values (True, False), nnz; runs by name."""

    def __init__(self, program, source, precision, values, nnz):
        self.program, self.source, self.precision, self.values, self.nnz = program, source, precision, values, nnz
        self.runs = {}

    def key(self):
        return self.program, self.source, self.precision, self.values

    def group(self):
        return self.program, self.precision, self.values


def documents(words):
    """The JSON values of a text, one or a sequence (JSON lines, or any other), and a sentence on what is no JSON."""
    decoder, found, at, wrong = json.JSONDecoder(), [], 0, None
    while True:
        at = re.compile(r"\s*").match(words, at).end()
        if at == len(words):
            return found, wrong
        try:
            value, at = decoder.raw_decode(words, at)
            found.append(value)
        except (ValueError, RecursionError) as error:
            what = getattr(error, "msg", None) or "nested too deeply, or with a number of too many digits"
            wrong = wrong or f"line {words.count(chr(10), 0, at) + 1} is no JSON ({what})"
            at = words.find("\n", at)
            if at < 0:
                return found, wrong


def reports(value):
    """The reports in a JSON value: itself, elements of an array, or the member `report`. What is none counts as None."""
    if isinstance(value, list):
        for element in value:
            yield from reports(element)
    elif isinstance(value, dict) and isinstance(value.get("program"), str) and value["program"] in PROGRAMS:
        yield value
    elif isinstance(part(value, "report"), dict):
        yield from reports(value["report"])
    else:
        yield None


def told_by(report):
    """The settings of TELLING, and what ran."""
    words = part(report, "settings")
    found = dict(re.findall(r"^([\w-]+) = (.*)$", words, re.M)) if isinstance(words, str) else {}
    told = {name: text(found[name].strip('"')) for name in TELLING if name in found}
    if told.get("threads") == "0":
        del told["threads"]
    return told


def label_of(run):
    label = part(run, "label")
    return text(label if isinstance(label, str) else part(run, "backend"))


def spmv_cases(report, cold):
    roofs = {place["place"]: place for place in part(report, "places") or [] if isinstance(part(place, "place"), str)}
    for matrix in part(report, "matrices") or []:
        if not isinstance(matrix, dict):
            continue
        case = Case("spmv", text(matrix.get("source")), text(matrix.get("precision")), matrix.get("has_values") is not False,
                    positive(matrix.get("nnz")))
        for run in matrix.get("runs") if isinstance(matrix.get("runs"), list) else []:
            time = positive(part(run, "cold" if cold else "hot", "median_s"))
            if part(run, "ran") is not True or part(run, "verification", "multiplied_right") is False:
                time = None
            counted = [positive(part(run, "sectors", name)) for name in ("streams", "x")]
            place = text(part(run, "place"))
            made = Run(label_of(run), place=place, time=time, multiply=time, prepare=part(run, "prepare_s"),
                       vectors=positive(part(run, "vectors")),
                       bytes=positive(part(run, "plan", "apply_bytes")), sectors=sum(counted) if all(counted) else None,
                       roof=positive(part(roofs.get(place), "read_bandwidth")))
            device = part(roofs.get(place), "device") if place == "cuda" else part(report, "machine", "cpu")
            yield case, made, device


def solver_cases(report):
    problem = part(report, "problem")
    case = Case(PROGRAMS[report["program"]], text(part(problem, "source")), text(part(problem, "precision")),
                part(problem, "has_values") is not False, positive(part(problem, "nnz")))
    stop = told_by(report).get("stop")
    compared = stop in (None, "residual") if case.program == "bicgstab" else stop == "change"
    for run in part(report, "runs") or []:
        solve = positive(part(run, "ledger", "phases", "solve", "s"))
        solved = part(run, "result", "outcome") == "converged" and part(run, "verification", "met_tolerance") is not False
        columns = [part(run, "history", name) for name in ("iteration", "measure")]
        pairs = zip(*columns) if all(isinstance(column, list) for column in columns) else []
        history = [(k, m) for k, m in pairs if isinstance(k, int) and 0 <= k < 2**53 and positive(m)]
        wrong = part(run, "verification", "multiplied_right") is False
        made = Run(label_of(run), place=text(part(run, "place")), time=solve if solved and not wrong else None,
                   prepare=part(run, "setup_s"), solve=solve,
                   multiply=None if wrong else positive(part(run, "apply", "median_s")),
                   bytes=positive(part(run, "plan", "apply_bytes")), roof=positive(part(run, "apply", "read_bandwidth")),
                   iterations=positive(part(run, "result", "iterations")), history=history,
                   multiplies=positive(part(run, "result", "multiplies")),
                   tolerance=positive(part(problem, "tolerance")) if compared else None,
                   changes=changes_of(part(run, "result", "method_changes")))
        device = part(run, "device") if made.place == "cuda" else part(report, "machine", "cpu")
        yield case, made, device


def changes_of(words):
    """The iterations in a sentence such as "bicgstab; from iteration 33 on idr, as ..."."""
    return [int(k) for k in re.findall(r"; from iteration (\d{1,15}) on ", words)] if isinstance(words, str) else []


class Data:
    """Everything that was read. `notes` has sentences on what was left out. `places` has a number for the name of each run, by
    which pictures choose its colour: the best is 0. `folder` is what the paths of all matrices begin with."""

    def __init__(self, cold=False):
        self.cases, self.notes, self.cold, self.pending = {}, [], cold, []
        self.places, self.folder = {}, ""

    def read(self, path):
        try:
            with OPENED.get(os.path.splitext(path)[1], open)(path, "rt", encoding="utf-8-sig", errors="replace") as file:
                words = file.read()
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            self.notes.append(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")
            return
        found, wrong = documents(words)
        if wrong:
            self.notes.append(f"{path}: {wrong}; left out")
        all_of_it = [report for value in found for report in reports(value)]
        foreign = all_of_it.count(None)
        if not words.strip():
            self.notes.append(f"{path} is empty")
        elif foreign:
            self.notes.append(f"{path}: {foreign} of {len(all_of_it)} JSON values are left out: none is a report that spmv, "
                              "pagerank or bicgstab writes (--json, --jsonl)")
        for report in all_of_it:
            if report is not None:
                self.add(report)

    def add(self, report):
        for name in ("matrices", "runs", "places"):
            if name in report and not isinstance(report[name], list):
                report[name] = []
        told = told_by(report)
        made = spmv_cases(report, self.cold) if PROGRAMS[report["program"]] == "spmv" else solver_cases(report)
        for case, run, device in made:
            run.told = {**told, "device": text(device)}
            if case.program == "spmv":
                run.told["vectors"] = f"{run.vectors:g}"
            if run.place == "cuda":
                run.told.pop("threads", None)
            self.pending.append((case, run))

    def settle(self, matrices=(), runs=(), precisions=()):
        """Names the runs and sorts them into cases, after the last read; only what the patterns and precisions name. Names and
        places do not depend on what is left out."""
        differ = differences([(case.group() + (run.place,), run) for case, run in self.pending])
        whole = {}
        for case, run in self.pending:
            run.name = full_name(run, differ[case.group() + (run.place,)])
            whole.setdefault(case.key(), Case(*case.key(), case.nnz)).runs[run.name] = run
        self.places = {name: k for k, name in enumerate(ranking(whole.values()))}
        self.folder = common_folder([case.source for case, _ in self.pending])
        kept = self.pending
        for option, patterns, names in (("--matrix", matrices, lambda case, run: matrix_names(case.source)),
                                        ("--run", runs, lambda case, run: {run.label, run.name}),
                                        ("--precision", precisions, lambda case, run: {case.precision})):
            self.note_strangers(option, patterns, [names(case, run) for case, run in self.pending])
            kept = [(case, run) for case, run in kept if not patterns or any(fits(names(case, run), p) for p in patterns)]
        if self.pending and not kept:
            self.notes.append("no run is of the matrices, runs and precisions asked for")
        again = 0
        for case, run in kept:
            case = self.cases.setdefault(case.key(), case)
            again += run.name in case.runs
            case.runs[run.name] = run
        if again:
            self.notes.append(f"{again} {'run was' if again == 1 else 'runs were'} measured again; the last one counts")

    def note_strangers(self, option, patterns, names):
        """A sentence for each pattern that fits nothing, with what there is."""
        for pattern in patterns:
            if names and not any(fits(those, pattern) for those in names):
                known = dict.fromkeys(min(those, key=lambda name: (len(name), name)) for those in names)
                self.notes.append(f"{option} {text(pattern)} fits nothing; there are {listed(known)}")

    def shown(self, name):
        """Of a matrix, or of what begins with its name: without the folder that all have in common."""
        return name[len(self.folder):] if self.folder and name.startswith(self.folder) else name

    def groups(self):
        """{title: cases that are compared}: one program, precision, with values or without."""
        found = {}
        for case in self.cases.values():
            if case.runs:
                found.setdefault(case.group(), []).append(case)
        several = len({key[0] for key in found}) > 1
        patterns = any(not key[2] for key in found)
        titles = {}
        for key in sorted(found, key=lambda key: (key[0], key[1] != "f64", key[1], not key[2])):
            program, precision, values = key
            title = f"{program}, {precision}" if several or program != "spmv" else precision
            titles[title + (("" if values else ", pattern") if patterns else "")] = found[key]
        return titles


def differences(runs):
    """{group: names of what the runs of this group were told differently}."""
    seen = {}
    for group, run in runs:
        values = seen.setdefault(group, {})
        for name in (*TELLING, "device"):
            values.setdefault(name, set()).add(run.told.get(name))
    return {group: [name for name, values in told.items() if len(values) > 1] for group, told in seen.items()}


def full_name(run, names):
    words = [run.told[name] if name in ("device", "method") else f"{name} {run.told[name]}"
             for name in names if name in run.told]
    return f"{run.label} ({', '.join(words)})" if words else run.label


def common_folder(sources):
    """"a/b/" of a/b/c.mtx and a/b/d/e.mtx; sources that are generated do not count."""
    folders = {os.path.dirname(source) for source in sources if not source.startswith("gen:")}
    if not folders or "" in folders or len({os.path.isabs(folder) for folder in folders}) > 1:
        return ""
    shared = os.path.commonpath(sorted(folders))
    return shared if shared.endswith("/") or not shared else shared + "/"


def matrix_names(source):
    """What --matrix may call it: of a file also the last part of its path, with or without endings."""
    if source.startswith("gen:"):
        return {plain(source)}
    base = os.path.basename(source)
    bare = re.sub(r"\.(gz|bz2|xz|zst)$", "", base)
    return {name for name in (source, base, bare, os.path.splitext(bare)[0]) if name}


def fits(names, pattern):
    pattern = plain(pattern)
    return any(name == pattern or fnmatch.fnmatchcase(name, pattern) for name in names)


def listed(names, most=8):
    """The first so many of them in a sentence."""
    names = list(names)
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return ", ".join(names[:most] + more)


def plain(source):
    """The source as pages and tables have it."""
    return source[4:] if source.startswith("gen:") else source


def times_by(seconds):
    """The unit in which these times read well: (name, units a second)."""
    least = min(seconds, default=1)
    return ("us", 1e6) if least < 1e-3 else ("ms", 1e3) if least < 1 else ("s", 1)


# --- Performance profiles -------------------------------------------------------------------------------------------------


def ratios(cases):
    """(cases on which anything counts, {name: [time over the least time of the case, or None]}), the best name first: by
    the area under its profile up to a factor of 10, on a logarithmic scale."""
    cases = [case for case in cases if any(run.time for run in case.runs.values())]
    names = list(dict.fromkeys(name for case in cases for name in case.runs))
    found = {name: [] for name in names}
    for case in cases:
        best = min(run.time for run in case.runs.values() if run.time)
        for name in names:
            run = case.runs.get(name)
            found[name].append(run.time / best if run and run.time else None)

    def area(name):
        return sum(max(0, 1 - math.log10(ratio)) for ratio in found[name] if ratio)
    order = sorted(names, key=lambda name: (-area(name), names.index(name)))
    return cases, {name: found[name] for name in order}


def ranking(cases):
    """The names of all runs, the best first: by their mean place in the ratios of each group."""
    groups, sums = {}, {}
    for case in cases:
        groups.setdefault(case.group(), []).append(case)
    names = dict.fromkeys(name for group in groups.values() for case in group for name in case.runs)
    for group in groups.values():
        table = ratios(group)[1]
        for k, name in enumerate(table):
            sums.setdefault(name, []).append(k / len(table))
    return sorted(names, key=lambda name: (sum(sums[name]) / len(sums[name]), -len(sums[name])) if name in sums else (1, 0))


def share_within(values, factor):
    """Of all matrices, those on which this backend is within the factor of the best (Dolan and More, Mathematical
    Programming 91, 2002, section 2)."""
    return sum(value is not None and value <= factor for value in values) / len(values)


def profile_rows(data):
    yield ["group", "backend", "matrices", "ran", *(f"within {factor:g}" for factor in FACTORS),
           "geometric mean", "worst", "worst on"]
    for title, cases in data.groups().items():
        cases, table = ratios(cases)
        for name, values in table.items():
            known = [(value, plain(case.source)) for value, case in zip(values, cases) if value]
            mean = math.exp(sum(math.log(value) for value, _ in known) / len(known)) if known else None
            worst = max(known) if known else (None, "")
            yield [title, name, len(values), len(known), *(share_within(values, factor) for factor in FACTORS), mean, *worst]


def heatmap_rows(data):
    groups = {title: ratios(cases) for title, cases in data.groups().items()}
    names = list(dict.fromkeys(name for _, table in groups.values() for name in table))
    yield ["group", "matrix", "least time s", *names]
    for title, (cases, table) in groups.items():
        for k, case in enumerate(cases):
            best = min(run.time for run in case.runs.values() if run.time)
            yield [title, plain(case.source), best, *(table[name][k] if name in table else None for name in names)]


# --- Rooflines ------------------------------------------------------------------------------------------------------------


def roofline_points(cases):
    """[(case, run, flop/byte, GFLOP/s, flop/sector or None)]; a multiply has two operations an entry and a vector."""
    found = []
    for case in cases:
        for run in case.runs.values():
            if case.nnz and run.multiply and run.bytes:
                work = 2 * case.nnz * run.vectors
                found.append((case, run, work / run.bytes, 1e-9 * work / run.multiply, run.sectors and work / run.sectors))
    return found


def roofline_rows(data):
    yield ["group", "matrix", "backend", "flop/byte", "GFLOP/s", "GB/s", "share of read bandwidth", "flop/sector",
           "share of sectors"]
    for title, cases in data.groups().items():
        for case, run, by_byte, gflops, by_sector in roofline_points(cases):
            speed = run.bytes / run.multiply
            yield [title, plain(case.source), run.name, by_byte, gflops, speed / 1e9, run.roof and speed / run.roof, by_sector,
                   run.sectors and run.sectors / run.multiply / SECTORS_PER_S]


# --- Break-even -----------------------------------------------------------------------------------------------------------


def prepared(case):
    """{name: (seconds of preparation, of a multiply)}."""
    return {name: (float(run.prepare), run.multiply) for name, run in case.runs.items()
            if run.multiply and (positive(run.prepare) or run.prepare == 0)}


def envelope(lines):
    """[(from so many multiplies, name)]: the least of prepare + k multiplies, for k = 1, 2, ..."""
    def crossing(name):
        """The first whole k from which this flatter line is below that of `best`."""
        (prepare, slope), (high, steep) = lines[name], lines[best]
        return max(at + 1, math.floor((prepare - high) / (steep - slope)) + 1)
    if not lines:
        return []
    at = 1
    best = min(lines, key=lambda name: (sum(lines[name]), lines[name][1]))
    found = [(at, best)]
    while flatter := [name for name in lines if lines[name][1] < lines[best][1]]:
        at = min(crossing(name) for name in flatter)
        best = min(flatter, key=lambda name: (lines[name][0] + at * lines[name][1], lines[name][1]))
        found.append((at, best))
    return found


def breakeven_rows(data):
    yield ["group", "matrix", "backend", "prepare s", "multiply s", "least from", "least until"]
    for title, cases in data.groups().items():
        for case in cases:
            lines = prepared(case)
            steps = envelope(lines)
            for name, (prepare, multiply) in lines.items():
                mine = [k for k, step in enumerate(steps) if step[1] == name]
                first = steps[mine[0]][0] if mine else None
                last = steps[mine[-1] + 1][0] - 1 if mine and mine[-1] + 1 < len(steps) else None
                yield [title, plain(case.source), name, prepare, multiply, first, last]


# --- Convergence ----------------------------------------------------------------------------------------------------------


def convergence(run):
    """[(iteration, multiplies, seconds or None, measure)]; multiplies and seconds of the solve, spread evenly over its
    iterations."""
    last = max([k for k, _ in run.history] + [run.iterations or 0]) or 1
    return [(k, k * (run.multiplies or last) / last, run.solve and k * run.solve / last, measure) for k, measure in run.history]


def convergence_rows(data):
    yield ["group", "matrix", "backend", "iteration", "multiplies", "seconds", "measure"]
    for title, cases in data.groups().items():
        for case in cases:
            for run in case.runs.values():
                for point in convergence(run):
                    yield [title, plain(case.source), run.name, *point]


# --- Times over a knob or a setting ---------------------------------------------------------------------------------------


def value_at(run, knob):
    """Of the knob in the run's label, or of the setting that it was told."""
    words = run.knobs.get(knob, run.told.get(knob))
    try:
        return positive(float(words)) if words is not None else None
    except ValueError:
        return None


def without(run, knob):
    """The run's name without the knob, which then tells one curve from another."""
    head, *knobs = run.name.split(" (")[0].split(":")
    return ":".join([head, *(k for k in knobs if not k.startswith(knob + "="))])


def curves(cases, knob, against=None):
    """{panel: {curve: [(value, seconds or speed-up)]}}. A panel is a case and a curve a backend; against a run, a panel is a
    backend in one precision, a curve is a matrix, and their geometric mean is a curve of its own."""
    found = {}
    for title, group in cases.items():
        for case in group:
            base = case.runs.get(against) if against else None
            for run in case.runs.values():
                value = value_at(run, knob)
                if value is None or not run.multiply or (against and not (base and base.multiply)):
                    continue
                told = {name: words for name, words in run.told.items() if name in TELLING and name != knob}
                series = without(run, knob)
                if against:
                    panel, curve, y = f"{series}, {title}", plain(case.source), base.multiply / run.multiply
                else:
                    panel, curve, y = f"{plain(case.source)}, {title}", (series, tuple(sorted(told.items()))), run.multiply
                found.setdefault(panel, {}).setdefault(curve, {})[value] = y
    panels = {}
    for panel, lines in found.items():
        longest = max(len(points) for points in lines.values())
        lines = {curve: points for curve, points in lines.items() if len(points) > 1 or longest == 1}
        named = {}
        for curve, points in lines.items():
            name = curve if against else curve_name(curve, lines)
            named[name] = sorted(points.items())
        if against and len(named) > 1:
            named["geometric mean"] = mean_curve(named)
        panels[panel] = named
    return panels


def curve_name(curve, lines):
    """The series, and the settings in which the curves differ."""
    series, told = curve
    differ = {name for other, words in lines for name in dict(words) if dict(words)[name] != dict(told).get(name)}
    words = [f"{name} {value}" for name, value in told if name in differ]
    return f"{series} ({', '.join(words)})" if words else series


def mean_curve(lines):
    """The geometric mean at each value that all curves have."""
    shared = sorted(set.intersection(*({x for x, _ in points} for points in lines.values())))
    tables = [dict(points) for points in lines.values()]
    return [(x, math.exp(sum(math.log(table[x]) for table in tables) / len(tables))) for x in shared]


def curve_rows(data, knobs, against=None):
    yield ["panel", "curve", "of", "value", f"speed-up over {against}" if against else "seconds"]
    for knob in knobs:
        for panel, lines in curves(data.groups(), knob, against).items():
            for name, points in lines.items():
                for value, y in points:
                    yield [panel, name, knob, value, y]


# --- What a picture lacks -------------------------------------------------------------------------------------------------


def lack(kind, data, knobs=(), against=None):
    """Why there is no such picture: a sentence."""
    runs = [run for case in data.cases.values() for run in case.runs.values()]
    if data.cold and kind != "convergence" and not any(run.multiply for run in runs):
        return "no cold times: run spmv --cold"
    if kind in ("profile", "heatmap", "breakeven"):
        names = dict.fromkeys(run.name for run in runs if run.time)
        article = "a " if kind != "breakeven" else ""
        if not names:
            return f"{article}{kind} needs times, and no run counts: each failed, multiplied wrong or was not timed"
        if len(names) == 1:
            return f"{article}{kind} needs at least two backends; the only one with times is {list(names)[0]}"
        return f"{article}{kind} needs a matrix that two backends " + (
            "multiplied, with the time of their preparation" if kind == "breakeven" else "ran")
    if kind == "roofline":
        return "a roofline needs the nonzeros of a matrix, the time of a multiply and its bytes; no run has all three"
    if kind == "convergence":
        return "no run has a history: run pagerank or bicgstab with --history FILE --json FILE"
    found = dict.fromkeys(name for run in runs for name in (*run.told, *run.knobs))
    known = [name for name in found if any(value_at(run, name) is not None for run in runs)]
    missing = [knob for knob in knobs if knob not in known]
    if missing:
        return f"--x {text(missing[0])}: the runs have {listed(known, 16) or 'no knob and no setting that is a number'}"
    if against and not any(against in case.runs for case in data.cases.values()):
        return f"--against {text(against)}: the runs are {listed(dict.fromkeys(run.name for run in runs))}"
    return "curves need runs with times of a multiply" + (f" on matrices that {text(against)} multiplied" if against else "")


# --- Tables as text -------------------------------------------------------------------------------------------------------


LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
         ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", **{c: "\\" + c for c in "&%$#_{}"}}


def latex(words):
    return "".join(LATEX.get(c, c) for c in words)


def cell(value, digits):
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return str(value)


def latex_rows(rows):
    """Rows of a LaTeX table, from the cells of one row to the next: `a & b \\\\`."""
    return "".join(" & ".join(latex(cell(value, 3)) for value in row) + r" \\" + "\n" for row in rows)
