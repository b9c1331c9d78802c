#!/usr/bin/env python3
"""Pages of --report in a folder: NAME.html, compared with NAME.json of the same run, and all of them in a browser if one is here."""
import glob
import html.parser
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

passed = failed = skipped = 0
at = ""


def check(condition, what):
    global passed, failed
    if condition:
        passed += 1
    else:
        failed += 1
        print(f"[page] {at}: {what}", file=sys.stderr)


# ---- numbers as reports round them, written anew ----

def exponent(text):
    mantissa, e, power = text.partition("e")
    return f"{mantissa}e{int(power)}" if e else text


def real(value):
    return exponent(f"{value:.3g}")


def unit(value, units):
    size, name = units[0]
    for size, name in units:
        if abs(value) / size < 999.5:
            break
    scaled = value / size
    decimals = 2 if abs(scaled) < 9.995 else 1 if abs(scaled) < 99.95 else 0
    return f"{scaled:.{decimals}f} {name}"


def seconds(value):
    return "0 s" if abs(value) < 1e-11 else unit(value, [(1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1, "s")])


def size(value):
    return f"{value:.0f} B" if value < 999.5 else unit(value, [(10.0 ** (3 * k), n + "B") for k, n in enumerate("kMGTPE", 1)])


def count(value):
    return str(value) if abs(value) < 10**6 else unit(value, [(10.0 ** (3 * k), n) for k, n in enumerate("MGTPE", 2)])


def microseconds(value):
    us = 1e6 * value
    return f"{us:.{2 if us < 99.995 else 1 if us < 9999.95 else 0}f}"


# ---- the page as a tree ----

def words(element):
    return " ".join("".join(element.itertext()).split())


def all_of(root, tag, kind=None):
    return [e for e in root.iter(tag) if kind is None or kind in e.get("class", "").split()]


class Tags(html.parser.HTMLParser):
    """What an HTML reader sees: tags that do not nest are found, and what a page must not have."""
    VOID = {"meta"}

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.outside = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        self.see(tag, attributes)

    def handle_startendtag(self, tag, attributes):
        self.see(tag, attributes)

    def see(self, tag, attributes):
        if tag in ("script", "link", "img", "iframe", "object", "embed", "image", "use", "base", "form", "a"):
            self.outside.append(tag)
        self.outside += [f"{tag} {name}" for name, _ in attributes
                         if name in ("src", "href", "xlink:href", "style", "srcset", "action") or name.startswith("on")]

    def handle_endtag(self, tag):
        if tag not in self.VOID and (not self.open or self.open.pop() != tag):
            self.wrong.append(tag)


def check_structure(text):
    tags = Tags()
    tags.feed(text)
    check(not tags.wrong and not tags.open, f"tags do not nest: {tags.wrong} {tags.open}")
    check(not tags.outside, f"not allowed in a page: {tags.outside}")
    check("url(" not in text and "@import" not in text, "the style fetches something")
    try:
        root = tree.fromstring(text)
    except tree.ParseError as error:
        check(False, f"no well-formed XML: {error}")
        return None
    check(root.get("lang") == "en" and root.find("head/title").text, "no language or no title")
    check(not re.search("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]", text), "control characters")
    for picture in all_of(root, "svg"):
        if picture.get("role") == "img":
            check(picture.find("title") is not None and words(picture.find("title")), "a picture without a title")
    check(all(p.get("role") == "img" or p.get("aria-hidden") or p.get("viewBox") for p in all_of(root, "svg")),
          "a picture without a role")
    for table in all_of(root, "table"):
        heads = table.findall("thead/tr/th")
        check(heads and all(h.get("scope") == "col" for h in heads), "a table without headings")
        for row in table.findall("tbody/tr"):
            cells = sum(int(c.get("colspan", "1")) for c in row)
            check(cells == len(heads), f"{cells} cells below {len(heads)} headings")
            check(row[0].tag == "th" and row[0].get("scope") == "row", "a row without a heading")
    levels = [int(e.tag[1]) for e in root.iter() if re.fullmatch("h[1-6]", e.tag)]
    check(levels[0] == 1 and all(b - a <= 1 for a, b in zip(levels, levels[1:])), f"levels of headings: {levels}")
    return root


def table_rows(table):
    heads = [words(h) for h in table.findall("thead/tr/th")]
    return [dict(zip(heads, [words(c) for c in row])) for row in table.findall("tbody/tr")]


def tables_with(root, head):
    return [table for table in all_of(root, "table") if head in [words(h) for h in table.findall("thead/tr/th")]]


# ---- charts: from ticks to axes, from paths to values ----

def axis(chart, is_y):
    """value = f(percent), from the ticks. Logarithmic if a label is a power of ten that a linear axis would not have there."""
    ticks = []
    for text in chart.findall("text"):
        if text.get("class") == "tick" and (text.get("text-anchor") == "end") == is_y:
            percent = float(text.get("y" if is_y else "x").rstrip("%"))
            number, _, letter = text.text.partition(" ")
            ticks.append((100 - percent if is_y else percent, float(number) * {"": 1, "M": 1e6, "G": 1e9}[letter]))
    return sorted(ticks)


def place(ticks, is_log, value):
    """In percent."""
    scale = math.log10 if is_log else float
    (p, a), (q, b) = ticks[0], ticks[-1]
    return p + (scale(value) - scale(a)) / (scale(b) - scale(a)) * (q - p)


def points(path):
    """[(x, y)] in percent, y upwards; pieces between gaps are joined."""
    found, x, y = [], 0, 0
    for command, first, second in re.findall(r"([Ml])(-?\d+) (-?\d+)", path):
        x, y = (int(first), int(second)) if command == "M" else (x + int(first), y + int(second))
        found.append((x / 100, 100 - y / 100))
    return found


def charts(root):
    return [s for s in all_of(root, "svg", "chart")]


def check_convergence(root, report):
    runs = [run for run in report["runs"] if run.get("history") and run["history"]["iteration"]]
    found = [c for c in charts(root) if any(t.text == "iteration" for t in c.findall("text"))]
    check(len(found) == (1 if runs else 0), f"{len(found)} charts of convergence")
    if not runs or not found:
        return
    chart = found[0]
    curves = [p.get("d") for p in all_of(chart, "path", "curve")]
    check(len(curves) == len(runs), f"{len(curves)} curves of {len(runs)} histories")
    ys, xs = axis(chart, True), axis(chart, False)
    for run, path in zip(runs, curves):
        history = [(i, m) for i, m in zip(run["history"]["iteration"], run["history"]["measure"]) if m is not None]
        drawn = points(path)
        if len(run["history"]["iteration"]) > 4000 // len(runs):
            check(len(drawn) <= 4000 // len(runs), f"{len(drawn)} points")
            values = [m for _, m in history if m > 0]
            for value in (min(values), max(values), values[0], values[-1]):
                check(any(abs(y - place(ys, True, value)) < 0.03 for _, y in drawn), f"{value} is not drawn")
            continue
        check(len(drawn) == len(history), f"{len(drawn)} points of {len(history)}")
        for (x, y), (i, m) in zip(drawn, history):
            to = place(ys, True, m) if m > 0 else 0
            check(abs(y - to) < 0.03 and (len(xs) < 2 or abs(x - place(xs, False, i)) < 0.03),
                  f"iteration {i}, {m}: at {x} {y} and not at height {to}")
    caption = words(all_of(root, "figcaption")[0])
    first = runs[0]["history"]["measure"]
    check(f"from {real(first[0])} to {real(first[-1])} " in caption, f"first and last value are not in '{caption}'")


def check_times(root, report):
    tables = tables_with(root, "end to end")
    runs = [run for run in report["runs"] if run["ran"]]
    check(len(tables) == 1, f"{len(tables)} tables of times")
    rows = table_rows(tables[0]) if tables else []
    check(len(rows) == len(runs), f"{len(rows)} rows of times")
    for row, run in zip(rows, runs):
        checked = run["verification"]["level"] != "off"
        check(row["backend"] == run["label"], f"{row['backend']} is not {run['label']}")
        for phase, facts in run["ledger"]["phases"].items():
            value = facts["s"] if checked or phase != "verify" else 0
            text = seconds(value) if value > 0 else "-"
            if facts["hidden_s"] > 0:
                text += f" (and {seconds(facts['hidden_s'])} hidden)"
            check(row.get(phase, "-") == text, f"{phase} is {row.get(phase)} and not {text}")
        check(row["end to end"] == seconds(run["ledger"]["end_to_end_s"]), f"end to end is {row['end to end']}")
        if checked:
            check(row["to verified answer"] == seconds(run["ledger"]["to_verified_s"]), "the time to the verified answer")
        if run["warm_s"]:
            check(row["second solve, warm"] == seconds(run["warm_s"]), "the warm time")
    for bar, run in zip(all_of(root, "svg", "bar"), runs):
        phases = run["ledger"]["phases"]
        longest = max(r["ledger"]["to_verified_s" if r["verification"]["level"] != "off" else "end_to_end_s"] for r in runs)
        end = 0
        for part in bar.findall("g"):
            name = words(part.find("title")).split()[0]
            left, width = (float(part.find("rect").get(key).rstrip("%")) for key in ("x", "width"))
            check(abs(left - end) < 0.05 and abs(width - 100 * phases[name]["s"] / longest) < 0.05, f"the bar's {name}")
            end = left + width


def check_break_even(root, runs):
    """runs: [(preparation, first multiply, median)]"""
    found = [c for c in charts(root) if any(t.text == "multiplies" for t in c.findall("text"))]
    check(len(found) == (1 if len(runs) > 1 else 0), f"{len(found)} charts of break-even")
    for chart in found:
        ys, xs = axis(chart, True), axis(chart, False)
        curves = [points(p.get("d")) for p in all_of(chart, "path", "curve")]
        check(len(curves) == len(runs), f"{len(curves)} curves of break-even")
        for curve, (prepare, first, median) in zip(curves, runs):
            for k in (1, 10, 1000):
                x, value = place(xs, True, k), 1e3 * (prepare + first + (k - 1) * median) / k
                near = [y for at_x, y in curve if abs(at_x - x) < 0.02]
                check(near and abs(near[0] - place(ys, True, value)) < 0.05, f"break-even at {k}")


# ---- parts ----

def check_outcome(root, report):
    outcome = all_of(root, "section", "outcome")[0]
    verified = all(not run["ran"] or run["verification"]["level"] != "off" for run in report["runs"])
    doubtful = any(run["ran"] and run["verification"].get("doubtful") for run in report["runs"])
    kind = "bad" if report["exit_code"] else "good" if verified and not doubtful else "doubt"
    check(kind in outcome.get("class").split(), f"the outcome is {outcome.get('class')} with exit code {report['exit_code']}")
    said = words(outcome)
    if len(report["runs"]) == 1:
        run = report["runs"][0]
        result, problem = run["result"], report["problem"]
        check(f" {result['iterations']} iteration" in said, "the iterations")
        check(f"asked for {real(problem['tolerance'])}" in said, "the tolerance")
        check(f"{problem['nrows']} x {problem['ncols']}, {count(problem['nnz'])} nonzero" in said, "the size")
        check(run["label"] in said and (run["device"] or "") in said, "the backend")
        if problem["tolerance"] and report["program"] == "bicgstab":
            measure = run["verification"]["measure"] if run["verification"].get("on_host") else result["measure"]
            check(f"||b - A x|| = {real(measure)} ||b||" in said, f"the residual {measure}")
        for advice in ("seen", "remedy", "command", "other"):
            check(" ".join(run.get("advice", {}).get(advice, "").split()) in said, f"advice: {advice}")
        check(result["note"] in said, "the note")
        return
    rows = {row["backend"]: row for row in table_rows(all_of(outcome, "table")[0])}
    for run in report["runs"]:
        row = rows[run["label"]]
        if not run["ran"]:
            check(run["reason"] in " ".join(row.values()), "why a backend did not run")
            continue
        check(row["prepare"] == seconds(run["setup_s"]), f"{run['label']}: prepare {row['prepare']}")
        check(row["iter"] == count(run["result"]["iterations"]), f"{run['label']}: iterations {row['iter']}")
        check(row["solve"] == seconds(run["ledger"]["phases"]["solve"]["s"]), f"{run['label']}: solve {row['solve']}")
        check(row["total"].rstrip("!*") == seconds(run["ledger"]["end_to_end_s"]), f"{run['label']}: total {row['total']}")
        if run["comparison"]["break_even"] is not None and not run["comparison"]["is_baseline"]:
            check(row["pays at"].startswith(count(run["comparison"]["break_even"])), f"pays at {row['pays at']}")


def entries_of(path):
    """(rows, columns, entries from 0) of a Matrix Market file with general coordinates."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file if not line.startswith("%")]
    return int(lines[0][0]), int(lines[0][1]), [(int(i) - 1, int(j) - 1) for i, j, *_ in lines[1:]]


def check_cells(levels, rows, columns, path):
    """levels: by (row, column) of the grid; those of the file's entries, and higher where there are more."""
    nrows, ncols, entries = entries_of(path)
    counts = {}
    for i, j in entries:
        cell = i * rows // nrows, j * columns // ncols
        counts[cell] = counts.get(cell, 0) + 1
    check(set(counts) == set(levels), f"cells {sorted(levels)[:9]} and not {sorted(counts)[:9]}")
    ordered = sorted((counts[cell], levels[cell]) for cell in set(counts) & set(levels))
    check(all(a[1] <= b[1] for a, b in zip(ordered, ordered[1:])), "a cell with more nonzeros is weaker")
    check(len(set(counts.values())) < 2 or len(set(levels.values())) > 1, "all cells look alike")


def check_matrix(root, nrows, nnz, path=None):
    for table in all_of(root, "table", "lengths"):
        rows, least, most = 0, 0, 0
        for row in table_rows(table):
            low, _, high = row["nonzeros in a row"].partition(" to ")
            rows += int(row["rows"])
            least += int(row["rows"]) * int(low)
            most += int(row["rows"]) * int(high or low)
        check(rows == nrows and least <= nnz <= most, f"{rows} rows with {least} to {most} nonzeros")
    pictures = all_of(root, "svg", "spy")
    check(len(pictures) == (1 if nnz else 0), f"{len(pictures)} pictures of the matrix")
    for picture in pictures:
        width, height = (int(n) - 1 for n in picture.get("viewBox").split()[2:])
        cells, levels = set(), {}
        for path_of in picture.findall("path"):
            x = y = 0
            for dx, dy, length in re.findall(r"m(-?\d+) (-?\d+)h(\d+)v1h-\d+z", path_of.get("d")):
                x, y = x + int(dx), y + int(dy)
                strip = {(y, column) for column in range(x, x + int(length))}
                check(not strip & cells, "a cell is drawn twice")
                cells |= strip
                levels.update(dict.fromkeys(strip, int(path_of.get("class")[1:])))
        check(all(0 <= r < height and 0 <= c < width for r, c in cells) and 0 < len(cells) <= min(nnz, 96 * 96), "cells")
        told = re.search(r"([\d.e+-]+)% of the cells are empty", words(picture.find("title")))
        if told:
            check(told[1] == f"{100 * (width * height - len(cells)) / (width * height):.3g}", f"{told[1]}% are empty")
        else:
            check(len(cells) == nnz, f"{len(cells)} elements of {nnz}")
        if path:
            check_cells(levels, height, width, path)


def check_end(root, report):
    settings = words(all_of(root, "pre")[0])
    check(settings == page_text(" ".join(report["settings"].split())), "the settings")
    said = words(root)
    check(report["machine"]["cpu"] in said and report["versions"]["windrow"] in said, "machine or version")


def page_text(text):
    """As a page shows it: control characters as pictures."""
    harmful = "[\u0080-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
    text = "".join(chr(0x2400 + ord(c)) if ord(c) < 32 else "\u2421" if c == "\x7f" else c for c in text)
    return re.sub(harmful, "\ufffd", text)


def check_nodes(root, scores):
    """Against the written scores, in lines of id and score."""
    with open(scores, encoding="utf-8") as file:
        pairs = [line.split("\t") for line in file if not line.startswith("#")]
    best = sorted(((float(score), node) for node, score in pairs), reverse=True)
    rows = table_rows(all_of(root, "table", "nodes")[0])
    check(len(rows) == 10, f"{len(rows)} best nodes")
    for row, (score, node) in zip(rows, best):
        check(row["node"] == node and abs(float(row["score"]) - score) <= 1e-11 * score, f"node {row['node']}")


def check_solve(root, report):
    check(words(root.find("body/header/h1")) == f"{report['program']}: {page_text(report['problem']['source'])}", "the title")
    check_outcome(root, report)
    check_convergence(root, report)
    check_times(root, report)
    check_break_even(root, [(run["setup_s"], run["apply"]["first_s"] or 0, run["apply"]["median_s"]) for run in report["runs"]
                            if run["ran"] and run["apply"]["median_s"]])
    check_matrix(root, report["problem"]["nrows"], report["problem"]["nnz"])


def check_spmv(root, report, path):
    right = [m for m in report["matrices"] if m["status"] == "WR_OK"]
    tables = tables_with(root, "hot us")
    check(len(tables) == len(right), f"{len(tables)} tables of {len(right)} matrices")
    outcome = words(all_of(root, "section", "outcome")[0])
    for matrix in report["matrices"]:
        if matrix["status"] != "WR_OK":
            check(page_text(matrix["reason"]) in outcome, "why a matrix could not be read")
    for table, matrix in zip(tables, right):
        for row, run in zip(table_rows(table), matrix["runs"]):
            check(row["backend"] == run["label"], f"{row['backend']} is not {run['label']}")
            if not run["ran"]:
                check(run["reason"] in " ".join(row.values()), "why a backend did not run")
                continue
            check(row["prepare"] == seconds(run["prepare_s"]), f"prepare {row['prepare']}")
            check(row["first us"] == microseconds(run["first_s"]), f"first {row['first us']}")
            check(row["hot us"] == microseconds(run["hot"]["median_s"]), f"hot {row['hot us']}")
            check(row["bytes"] == size(run["plan"]["apply_bytes"]), f"bytes {row['bytes']}")
    if len(report["matrices"]) == 1 and right:
        check_matrix(root, right[0]["nrows"], right[0]["nnz"], path)
    for matrix, section in zip(right, sections(root)):
        check_break_even(section, [(r["prepare_s"], r["first_s"], r["hot"]["median_s"]) for r in matrix["runs"]
                                   if r["ran"] and r["hot"]])


def sections(root):
    """What follows each h3 of a table."""
    found = []
    for element in root.find("body/main"):
        if element.tag == "h3" and words(element) != "Matrix":
            found.append(tree.Element("div"))
        elif element.tag in ("h2", "h3"):
            found.append(None) if found and found[-1] is not None else None
        if found and found[-1] is not None:
            found[-1].append(element)
    return [section for section in found if section is not None]


# ---- in a browser ----

MEASURE = """
<!DOCTYPE html><meta charset="utf-8"><body><script>
const pages = PAGES, lines = [];
function channel(colour) { return colour.match(/[\\d.]+/g).map(Number); }
function luminance(c) {
  const l = c.slice(0, 3).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * l[0] + .7152 * l[1] + .0722 * l[2];
}
function contrast(a, b) { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); }
function behind(window, element) {
  const bar = element.closest('.bar g');
  if (bar) return channel(window.getComputedStyle(bar.querySelector('rect')).fill);
  for (; element; element = element.parentElement) {
    const c = channel(window.getComputedStyle(element).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c;
  }
  return [255, 255, 255];
}
function measure(frame, name, width) {
  const window = frame.contentWindow, page = frame.contentDocument, root = page.documentElement;
  const scheme = window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  let least = 99, least_of = '', outside = '';
  for (const e of page.body.querySelectorAll('*')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own || e.tagName === 'title' || e.tagName === 'TITLE') continue;
    const style = window.getComputedStyle(e);
    const found = contrast(channel(e.closest('svg') ? style.fill : style.color), behind(window, e));
    if (found < least) least = found, least_of = e.textContent.slice(0, 40);
    const box = e.getBoundingClientRect();
    if (box.width && !e.closest('thead') && (box.right > width + 1 || box.left < -1)) outside += e.textContent.slice(0, 30) + '; ';
  }
  const requests = window.performance.getEntriesByType('resource').length;
  lines.push({name, width, scheme, scroll: root.scrollWidth, least, least_of, outside, requests, height: root.scrollHeight,
              scripts: page.querySelectorAll('script').length});
}
for (const [name, source] of pages)
  for (const width of [360, 1000]) {
    const frame = document.createElement('iframe');
    frame.style = `width:${width}px;height:800px;border:0`;
    frame.addEventListener('load', () => measure(frame, name, width));
    frame.srcdoc = source;
    document.body.append(frame);
  }
addEventListener('load', () => { document.body.innerHTML = ''; const pre = document.createElement('pre');
  pre.textContent = 'RESULT' + JSON.stringify(lines) + 'END'; document.body.append(pre); });
</script></body>
"""


def find_browser():
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"):
        if shutil.which(name):
            return shutil.which(name)
    found = glob.glob(os.path.expanduser("~/.cache/ms-playwright/chromium*/chrome-linux*/chrome"))
    return found[0] if found else None


def browse(browser, folder, pages, scheme):
    """What a browser measured of each page, and what it wrote on its console; None if it does not run here."""
    wrapper = os.path.join(folder, "wrapper.html")
    with open(wrapper, "w", encoding="utf-8") as file:
        file.write(MEASURE.replace("PAGES", json.dumps(list(pages.items())).replace("</", "<\\/").replace("<!--", "<\\!--")))
    dark = 0 if scheme == "dark" else 1
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
               f"--user-data-dir={folder}/profile", f"--blink-settings=preferredColorScheme={dark}", "--enable-logging=stderr",
               "--virtual-time-budget=20000", "--dump-dom", "file://" + wrapper]
    try:
        done = subprocess.run(command, capture_output=True, timeout=240, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    result = re.search("RESULT(.*)END", done.stdout.decode("utf-8", "replace"), re.S)
    logged = done.stderr.decode("utf-8", "replace")
    if not result:
        return None, logged[-300:]
    import html as entities
    return json.loads(entities.unescape(result[1])), [line for line in logged.splitlines() if "CONSOLE" in line]


def check_in_browser(pages):
    global at, skipped
    at, browser = "in a browser", find_browser()
    if browser is None:
        skipped += 1
        print("[page] skipped: no Chromium is found that could show pages", file=sys.stderr)
        return
    for scheme in ("light", "dark"):
        with tempfile.TemporaryDirectory() as folder:
            measured, console = browse(browser, folder, pages, scheme)
        if measured is None:
            skipped += 1
            print(f"[page] skipped: {browser} does not run here: {console}", file=sys.stderr)
            return
        check(not console, f"the console has: {console[:3]}")
        check(len(measured) == 2 * len(pages), f"{len(measured)} views of {len(pages)} pages")
        for view in measured:
            at = f"{view['name']} at {view['width']} px, {scheme}"
            check(view["scheme"] == scheme, f"the scheme is {view['scheme']}")
            check(view["scroll"] <= view["width"] and not view["outside"], f"{view['scroll']} px wide: {view['outside']}")
            check(view["least"] >= 4.5, f"contrast {view['least']:.2f} of '{view['least_of']}'")
            check(view["requests"] == 0 and view["scripts"] == 0, f"{view['requests']} requests, {view['scripts']} scripts")
            check(view["height"] > 500, f"{view['height']} px high")


def main(folder):
    global at
    pages = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.html"))):
        at = os.path.basename(path)[:-5]
        with open(path, "rb") as file:
            raw = file.read()
        try:
            pages[at] = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            check(False, f"no UTF-8: {error}")
            continue
        root = check_structure(pages[at])
        if root is None or not os.path.exists(path[:-5] + ".json"):
            continue
        with open(path[:-5] + ".json", encoding="utf-8") as file:
            report = json.load(file)
        check_end(root, report)
        if report["program"] == "spmv":
            check_spmv(root, report, path[:-5] + ".mtx" if os.path.exists(path[:-5] + ".mtx") else None)
        else:
            check_solve(root, report)
        if os.path.exists(path[:-5] + ".tsv"):
            check_nodes(root, path[:-5] + ".tsv")
    at = "all"
    check(len(pages) > 0, "no page")
    check_in_browser(pages)
    print(f"check_page: {passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
