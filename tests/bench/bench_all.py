"""Times every backend on many matrices by spmv, a line of JSON for each matrix, precision, with and without values.

usage: bench_all.py [options] LINES.jsonl [-- options of spmv]
  --program FILE   spmv (build/spmv)
  --folder DIR     real matrices too: .mtx and .mtx.gz of this folder and those in it, vectors (arrays) left out
  --seed N         draws the unseen matrices; another seed, other ones (1)
  --unseen N       so many of them (60)
  --groups LIST    of standard,seen,unseen,real (all)
  --most ENTRIES   leave out generated matrices that were asked to have more
  --limit SECONDS  stop before: what is not done by then is done by the next call (500)
  --patience S     a matrix that takes longer is given up (120)
  --list           print the names of the matrices and end

LINES.jsonl grows by each call. A matrix is not timed again if its last line in each kind has all backends that this call asks
for; that a kernel was changed since then is not seen. The order mixes all groups, so a table of a part is a fair sample. The
exit code is 0 when nothing is left, 1 for a wrong option (also of spmv), 2 when something is left (said in one line), 130 when
interrupted: the same command goes on. all_tables.py makes the page. Standard library alone.
"""
import argparse
import gzip
import hashlib
import json
import lzma
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import zlib

# What spmv --standard has, at full size: the matrices of most other pages.
STANDARD = ("gen:road", "gen:web", "gen:rmat", "gen:hubs", "gen:stencil:n=200", "gen:fem:n=49", "gen:fem:n=24", "gen:band")
SIZES = (100_000, 1_000_000, 8_000_000)  # entries, about
SEEDS = (1, 2, 3)
AT_ONCE = 12  # matrices for a process of spmv: opening a device takes longer than timing a small matrix
# What backends have knobs for and a fair baseline needs.
FURTHER = {"cusparse": ("cusparse:alg=2",), "cusparse_coo": ("cusparse_coo:alg=2",)}
NOT_TIMED = ("reference",)
UNSEEN = 60  # drawn, if not told
GROUPS = ("standard", "seen", "unseen", "real")
USAGE = 1  # exit code of spmv, and here
TWICE_AT_MOST = ("WR_EDEVICE", "WR_ENOMEM")  # failures that another process may not have


# ---- The matrices ----

def side(points, dims):
    return max(2, round(points ** (1 / dims)))


def log2_of(count):
    return max(4, round(math.log2(count)))


# Family: keys of a matrix with so many entries, about. `draw` is random.Random for an unseen one, which has other shapes,
# too; None for the shapes that backends were developed with.
def pick(draw, usual, *others):
    return usual if draw is None else draw.choice((usual,) + others)


def road(entries, draw):
    keep = 0.57 if draw is None else round(draw.uniform(0.4, 0.9), 2)
    return f"side={side(entries / (4 * keep), 2)},keep={keep}"


def web(entries, draw):
    fewest = pick(draw, 7, 2, 4, 12)
    n = max(100, round(entries / (2.3 * fewest)))
    reach = 3000 if draw is None else draw.choice((100, 1000, 10000, n))
    return f"n={n},dmin={fewest},local={min(reach, n)}" + ("" if draw is None else f",alpha={draw.choice((1.2, 1.6, 2.2))}")


def rmat(entries, draw):
    degree = pick(draw, 48, 8, 16, 32)
    return f"scale={log2_of(1.2 * entries / degree)},degree={degree}"


def hubs(entries, draw):
    n = max(100, entries // 2)
    share = pick(draw, 10000, 300, 1000, 100000)
    return f"n={n},hubs={max(1, n // share)}"


def stencil(entries, draw):
    points = pick(draw, 7, 5, 27)
    return f"n={side(entries / points, 2 if points == 5 else 3)},points={points}"


def stencil27(entries, draw):
    return f"n={side(entries / 27, 3)},points=27" + ("" if draw is None else ",convection=0")


def fem(entries, _):
    return f"n={side(entries / 200, 3)}"


def band(entries, draw):
    density = pick(draw, 0.05, 0.01, 0.002, 0.2)
    return f"n={side(entries / density, 2)},block={pick(draw, 5, 1, 3, 8)},density={density}"


def chain(entries, _):
    return f"scale={log2_of(entries / 2)}"


def uniform(entries, draw):
    degree = pick(draw, 12, 3, 30, 100)
    return f"n={max(100, entries // degree)},degree={degree}"


def density(entries, draw):
    block, share, fill = pick(draw, 16, 4, 8, 32), pick(draw, 0.1, 0.003, 0.02), pick(draw, 1, 0.2, 0.5)
    n = side(entries / (share * fill), 2) // block * block + block
    return f"n={n},block={block},density={share},fill={fill}"


def plane_or_space(entries, draw, usual):
    dims = pick(draw, usual, 5 - usual)
    return f"n={side(entries / (5 if dims == 2 else 7), dims)},dims={dims}"


def aniso(entries, draw):
    return plane_or_space(entries, draw, 2)


def jump(entries, draw):
    return plane_or_space(entries, draw, 3)


def convect(entries, draw):
    return plane_or_space(entries, draw, 3)


def saddle(entries, draw):
    dims = pick(draw, 2, 3)
    return f"n={side(entries / (18 if dims == 2 else 33), dims)},dims={dims}"


def circuit(entries, draw):
    return f"n={max(100, round(entries / 4.7))},rails={pick(draw, 8, 1, 40)},active={pick(draw, 0.2, 0, 0.6)}"


FAMILIES = {"road": road, "web": web, "rmat": rmat, "hubs": hubs, "stencil": stencil, "stencil27": stencil27, "fem": fem,
            "band": band, "chain": chain, "uniform": uniform, "density": density, "aniso": aniso, "jump": jump,
            "convect": convect, "saddle": saddle, "circuit": circuit}


def name_of(family, entries, seed, draw=None):
    word = "stencil" if family == "stencil27" else family
    return f"gen:{word}:{FAMILIES[family](entries, draw)},seed={seed}"


def seen(most=None):
    return [name_of(family, entries, seed) for entries in SIZES if most is None or entries <= most
            for family in FAMILIES for seed in SEEDS]


def unseen(seed, count, most=None):
    """Family, entries, shape and seed of each drawn from one seed. The entries are spread evenly over three decades."""
    draw, names = random.Random(f"unseen matrices {seed}"), []
    families = []
    while len(names) < count:
        if not families:  # each family once before one comes again
            families = sorted(FAMILIES)
            draw.shuffle(families)
        entries = round(10 ** draw.uniform(4.3, 7.2))
        name = name_of(families.pop(), entries if most is None else min(entries, most), draw.randrange(10, 10**6), draw)
        if name not in names:
            names.append(name)
    return names


def form_of(name):
    """Family and keys of a generated matrix, without what they are."""
    return re.sub("=[^,]*", "", name)


def may_be_drawn(name):
    """Whether a generated matrix has family, keys and seed as unseen() makes them, by whatever seed of its own."""
    forms = {form_of(name_of(family, SIZES[0], 10, random.Random(0))) for family in FAMILIES}
    seed = re.search(r",seed=(\d+)$", name)
    return form_of(name) in forms and seed is not None and int(seed.group(1)) >= 10


def is_vector(path):
    """A Matrix Market array. Every other file goes to spmv, which says what is wrong with it."""
    opened = gzip.open if path.endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8", errors="replace") as file:
            first = file.readline(1000).lower()
    except (OSError, EOFError, zlib.error):
        return False
    return first.startswith("%%matrixmarket") and "array" in first.split()


def place_of(source):
    """The same for all names of a file."""
    return source if source.startswith("gen:") else os.path.realpath(source)


def real(folder):
    paths = sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names
                   if name.endswith((".mtx", ".mtx.gz")))
    found = [path for path in paths if not is_vector(path)]
    if not found:
        sys.exit(f"bench_all.py: no .mtx or .mtx.gz in {folder}" + (" but vectors" if paths else ""))
    return found


def mixed(names):
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())


def matrices(options):
    groups, names = options.groups.split(",") if options.groups else list(GROUPS), []
    for group in groups:
        if group not in GROUPS:
            sys.exit(f"bench_all.py: --groups: {group} is none of {','.join(GROUPS)}")
    if options.folder and not os.path.isdir(options.folder):
        sys.exit(f"bench_all.py: --folder: {options.folder} is no folder")
    if options.groups and "real" in groups and not options.folder:
        sys.exit("bench_all.py: --groups real needs --folder DIR (make bench-all: FOLDER=DIR)")
    if "seen" in groups:
        names += seen(options.most)
    if "unseen" in groups:
        names += unseen(options.seed, options.unseen, options.most)
    if "real" in groups and options.folder:
        names += real(options.folder)
    names = mixed(dict.fromkeys(names))
    names = (list(STANDARD) if "standard" in groups and options.most is None else []) + names
    if not names:
        sys.exit("bench_all.py: no matrix is asked for")
    return names


# ---- What is done already ----

def lines_of(path):
    """The reports in the file, which may be compressed. What a killed process has left is no JSON, and no line of ours."""
    if not os.path.exists(path):
        return []
    reports = []
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(os.path.splitext(path)[1], open)
    with opened(path, "rt", encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                reports.append(json.loads(line))
            except json.JSONDecodeError:
                continue
    return [report for report in reports if isinstance(report, dict) and report.get("matrices")]


def is_final(matrix):
    """Whether timing it again would give no more: it was timed, or refused for what it is."""
    statuses = [matrix["status"]] + [run["status"] for run in matrix["runs"]]
    return any(run["ran"] for run in matrix["runs"]) or not any(status in TWICE_AT_MOST for status in statuses)


def has_several_vectors(report):
    """Made by spmv --vectors K with K > 1: its times are of K vectors."""
    settings = re.search(r"^vectors = (\d+)", report.get("settings") or "", re.MULTILINE)
    counts = [run.get("vectors", 1) for matrix in report["matrices"] for run in matrix["runs"]]
    return max(counts + ([int(settings.group(1))] if settings else []), default=1) > 1


def labels_in(report, matrix):
    """The backends that a line has, with or without a result: as they were asked for, and as spmv calls them."""
    asked = re.search(r'^backend = "(.*)"$', report.get("settings") or "", re.MULTILINE)
    return set(asked.group(1).split(",") if asked else ()) | {run.get("label") for run in matrix["runs"]}


def done(reports, kinds, labels):
    """Where the matrices are of which nothing is left. kinds: (precision, has values) that each one needs; labels: the
    backends that the last line of each kind, the one that the page shows, must have."""
    found, refused = {}, set()
    for report in reports:
        if has_several_vectors(report):
            continue
        for matrix in report["matrices"]:
            source = place_of(matrix["source"])
            if matrix["precision"] == "":  # it could not be loaded
                if is_final(matrix):
                    refused.add(source)
                continue
            enough = is_final(matrix) and labels <= labels_in(report, matrix)
            found.setdefault(source, {})[matrix["precision"], matrix["has_values"]] = enough
    return refused | {source for source, last in found.items() if all(last.get(kind) for kind in kinds)}


# ---- Running ----

def asked_for(options):
    """The backends among the options of spmv, in any spelling it knows; None if there are none. The last list counts."""
    found = None
    for at, option in enumerate(options):
        name, equals, value = option.partition("=")
        if name == "-k" and not equals or len(name) > 2 and "--backend".startswith(name):
            value = value if equals else "".join(options[at + 1:at + 2])
        elif option.startswith("-k"):
            value = option[2:]
        else:
            continue
        found = set(value.split(","))
    return found


def backends(program):
    """-d and -k for what runs here: a GPU's backends if there is a GPU, else the CPU's."""
    listed = subprocess.run([program, "--list-backends"], capture_output=True, text=True, check=True).stdout
    by_place = {"GPU": [], "CPU": []}
    for line in listed.split("\n\n", 1)[0].splitlines():
        words = line.split()
        if len(words) > 1 and words[1] in by_place and not line.startswith(" ") and words[0] not in NOT_TIMED:
            by_place[words[1]] += (words[0],) + FURTHER.get(words[0], ())
    place = "GPU" if by_place["GPU"] else "CPU"
    return ["-d", "cuda" if place == "GPU" else "cpu", "-k", ",".join(by_place[place])]


def stop(process):
    """What was measured until then is a line already; a process that does not end by itself is ended."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()


class Progress:
    """How far the file of lines has grown, and when it last did."""

    def __init__(self, path):
        self.path, self.bytes, self.since = path, -1, 0
        self.look()

    def look(self):
        size = os.path.getsize(self.path) if os.path.exists(self.path) else 0
        if size != self.bytes:
            self.bytes, self.since = size, time.monotonic()
        return time.monotonic() - self.since


def run_some(command, names, lines, deadline, patience):
    """Returns why it ended before all were done, or None."""
    with tempfile.NamedTemporaryFile("w", suffix=".list", encoding="utf-8") as listing:
        listing.write("".join(name + "\n" for name in names))
        listing.flush()
        progress = Progress(lines)
        process = subprocess.Popen(command + ["@" + listing.name])
        try:
            while process.poll() is None:
                time.sleep(0.05)
                if progress.look() > patience:
                    stop(process)
                    return f"took longer than {patience:g} s"
                if time.monotonic() > deadline:
                    stop(process)
                    return "limit"
        except BaseException:
            stop(process)
            raise
    if process.returncode < 0:
        return f"ended by signal {-process.returncode}"
    return {130: "interrupted", USAGE: "usage"}.get(process.returncode)


def run_all(command, names, options, kinds, labels):
    """Returns what is left, why matrices were given up, and why it ended early if so."""
    lines, why = options.lines, None
    begun, given_up, tries = time.monotonic(), {}, {}
    deadline = begun + options.limit
    before = os.path.getsize(lines) if os.path.exists(lines) else 0
    finished = done(lines_of(lines), kinds, labels)
    left = [name for name in names if place_of(name) not in finished]
    while left and time.monotonic() < deadline:
        some = [name for name in left if name not in given_up][:AT_ONCE]
        if not some:
            break
        try:
            why = run_some(command, some, lines, deadline, options.patience)
        except KeyboardInterrupt:
            why = "interrupted"
        finished = done(lines_of(lines), kinds, labels)
        left = [name for name in left if place_of(name) not in finished]
        if why in ("limit", "interrupted", "usage"):
            break
        first = next((name for name in some if name in left), None)
        tries[first] = tries.get(first, 0) + 1
        if first and (why or tries[first] > 1):  # the process was at this one when it ended; later ones are tried again
            given_up[first] = why or "no result in two processes"
        took = time.monotonic() - begun
        print(f"{len(names) - len(left)} of {len(names)} matrices, {took:.0f} s", flush=True)
    grown = (os.path.getsize(lines) if os.path.exists(lines) else 0) - before
    print(f"{lines} has grown by {grown / 1e6:.1f} MB in {time.monotonic() - begun:.0f} s")
    return left, given_up, why


class Parser(argparse.ArgumentParser):
    def error(self, message):
        sys.exit(f"bench_all.py: {message}; --help shows the options")


def parse():
    arguments, further = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, further = arguments[:at], arguments[at + 1:]
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--program", default="build/spmv")
    parser.add_argument("--folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--unseen", type=int, default=UNSEEN)
    parser.add_argument("--groups")
    parser.add_argument("--most", type=int)
    parser.add_argument("--limit", type=float, default=500)
    parser.add_argument("--patience", type=float, default=120)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("lines", nargs="?")
    options = parser.parse_args(arguments)
    if options.help:
        print(__doc__.strip())
        sys.exit(0)
    if options.lines is None and not options.list:
        parser.error("no file for the lines of JSON")
    if options.lines and options.lines.endswith((".gz", ".xz")):
        parser.error(f"{options.lines}: lines are appended as text, so to no compressed file")
    return options, further


def main():
    options, further = parse()
    names = matrices(options)
    if options.list:
        print("\n".join(names))
        return 0
    if not os.access(options.program, os.X_OK):
        sys.exit(f"bench_all.py: {options.program} is no program: make it first, or --program FILE")
    kinds = {(precision, values) for precision in ("f32", "f64") for values in (True, False)}
    chosen = further if asked_for(further) else backends(options.program) + further
    command = [options.program, "-q", "-p", "both", "--values", "--pattern", "--sectors", "--batches", "9", "--seconds", "0.05",
               "--jsonl", options.lines] + chosen
    left, given_up, why = run_all(command, names, options, kinds, asked_for(chosen))
    if why == "usage":
        print(f"bench_all.py: {options.program} does not take these options (its message is above)", file=sys.stderr)
        return USAGE
    for name, reason in given_up.items():
        print(f"given up: {name}: {reason}")
    if why == "interrupted":
        print(f"{len(names) - len(left)} of {len(names)} matrices done; the same command goes on")
        return 130
    print(f"left: {len(left)} of {len(names)} matrices" + ("; call it again to go on" if len(left) > len(given_up) else ""))
    return 2 if left else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("bench_all.py: interrupted; the same command goes on", file=sys.stderr)
        sys.exit(130)
