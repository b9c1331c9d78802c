"""The figure of docs/merbit.md: speed-up of merbit over cusparse_coo against sigma, from the sweep of merbit_bench.sh.

usage: sigma_figure.py merbit_sigma.json [docs/merbit_sigma.svg]
Without the second argument the SVG goes to standard output. Standard library alone.
"""
import json
import math
import re
import sys
from xml.sax.saxutils import escape

BASE = "cusparse_coo"
DEFAULTS = {"f32": 19, "f64": 14}  # spmv/backends/merbit/merbit_kernel.h, columns not scattered
TITLES = {"f32": "single precision (f32)", "f64": "double precision (f64)"}
LARGEST_32 = 22  # lanes of more steps have words of 64 bits
MEAN = "geom. mean"
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#aa4499", "#a07800", "#3d85c6", "#882255", "#556b2f", "#777777", "#44aa99"]

WIDTH, HEIGHT = 960, 450
LEFT, TOP, PANEL, TALL = 58, 36, 322, 360  # of the first panel
STEP = 470  # from panel to panel; what is between is for names
NAME_GAP = 13  # least distance of two names


def speed_ups(report):
    """{precision: {matrix: [(sigma, speed-up), ...]}}, from the medians of hot multiplies."""
    found = {}
    for matrix in report["matrices"]:
        time = {run["label"]: run["hot"]["median_s"] for run in matrix["runs"] if run["ran"] and run["hot"]}
        if BASE not in time:
            continue
        points = []
        for label, seconds in time.items():
            sigma = re.search(r"(?:^|:)sigma=(\d+)", label)
            if label.startswith("merbit") and sigma:
                points.append((int(sigma.group(1)), time[BASE] / seconds))
        name = matrix["source"].removeprefix("gen:")
        found.setdefault(matrix["precision"], {})[name] = sorted(points)
    return found


def geometric_mean(lines):
    """Of the sigmas that every matrix has."""
    tables = [dict(points) for points in lines.values()]
    shared = sorted(set.intersection(*(set(table) for table in tables)))
    return [(s, math.exp(sum(math.log(table[s]) for table in tables) / len(tables))) for s in shared]


class Panel:
    def __init__(self, left, sigmas, low, high):
        self.left, self.low, self.high = left, low, high
        self.first, self.last = min(sigmas) - 1, max(sigmas) + 1

    def x(self, sigma):
        return self.left + PANEL * (sigma - self.first) / (self.last - self.first)

    def y(self, speed_up):
        return TOP + TALL * (self.high - speed_up) / (self.high - self.low)


def text(x, y, words, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}"{" " if more else ""}{more}>{escape(words)}</text>'


def line(x0, y0, x1, y1, more):
    return f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" {more}/>'


def axes(panel, precision, sigmas):
    right, bottom = panel.left + PANEL, TOP + TALL
    title = TITLES.get(precision, precision)
    out = [text(panel.left + PANEL / 2, TOP - 14, title, 'text-anchor="middle" font-size="14"')]
    if max(sigmas) > LARGEST_32:
        x = panel.x(LARGEST_32 + 0.5)
        out.append(f'<rect x="{x:.1f}" y="{TOP}" width="{right - x:.1f}" height="{TALL}" fill="#f1f1f1"/>')
        out.append(text((x + right) / 2, bottom - 6, "64-bit words", 'text-anchor="middle" font-size="10" fill="#666"'))
    for k in range(math.ceil(panel.low * 10 - 1e-9), math.floor(panel.high * 10 + 1e-9) + 1):
        y = panel.y(k / 10)
        out.append(line(panel.left, y, right, y, 'stroke="#555"' if k == 10 else 'stroke="#ddd"'))
        out.append(text(panel.left - 6, y + 4, f"{k / 10:.1f}", 'text-anchor="end"'))
    for sigma in sigmas:
        x = panel.x(sigma)
        out.append(line(x, bottom, x, bottom + 5, 'stroke="#222"'))
        out.append(text(x, bottom + 18, str(sigma), 'text-anchor="middle"'))
    if precision in DEFAULTS:
        x = panel.x(DEFAULTS[precision])
        out.append(line(x, TOP, x, bottom, 'stroke="#222" stroke-dasharray="3 4"'))
        out.append(text(x + 4, TOP + 12, "default", 'font-size="10"'))
    out.append(f'<rect x="{panel.left}" y="{TOP}" width="{PANEL}" height="{TALL}" fill="none" stroke="#222"/>')
    out.append(text(panel.left + PANEL / 2, bottom + 38, "sigma: steps of a lane", 'text-anchor="middle"'))
    return out


def spread(wanted):
    """Names at these heights, in order, moved apart as little as a pass down and a pass up need."""
    places = []
    for y in wanted:
        places.append(max(y, places[-1] + NAME_GAP) if places else y)
    floor = TOP + TALL
    for k in reversed(range(len(places))):
        places[k] = min(places[k], floor)
        floor = places[k] - NAME_GAP
    return places


def draw(panel, lines, colours):
    out = []
    for name, points in lines.items():
        way = " ".join(f"{panel.x(s):.1f},{panel.y(v):.1f}" for s, v in points)
        thick = "3.5" if name == MEAN else "1.3"
        out.append(f'<polyline points="{way}" fill="none" stroke="{colours[name]}" stroke-width="{thick}"/>')
        radius = 3.5 if name == MEAN else 2
        out += [f'<circle cx="{panel.x(s):.1f}" cy="{panel.y(v):.1f}" r="{radius}" fill="{colours[name]}"/>'
                for s, v in points]
    ends = sorted((panel.y(points[-1][1]), name, panel.x(points[-1][0])) for name, points in lines.items() if points)
    right = panel.left + PANEL
    for (y, name, x), place in zip(ends, spread([end[0] for end in ends])):
        colour = colours[name]
        out.append(f'<polyline points="{x:.1f},{y:.1f} {right:.1f},{y:.1f} {right + 12},{place:.1f}" fill="none" '
                   f'stroke="{colour}" stroke-width="0.6"/>')
        bold = ' font-weight="bold"' if name == MEAN else ""
        out.append(text(right + 15, place + 4, name, f'fill="{colour}"{bold}'))
    return out


def figure(found):
    names = sorted({name for lines in found.values() for name in lines})
    colours = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)} | {MEAN: "#000000"}
    for lines in found.values():
        lines[MEAN] = geometric_mean(lines)
    values = [v for lines in found.values() for points in lines.values() for _, v in points]
    low, high = math.floor(min(values) * 10) / 10, math.ceil(max(values) * 10) / 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222">',
           "<title>Speed-up of merbit over cusparse_coo against sigma</title>",
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           text(15, TOP + TALL / 2, f"speed-up over {BASE}",
                f'text-anchor="middle" transform="rotate(-90 15 {TOP + TALL / 2:.0f})"')]
    for k, precision in enumerate(sorted(found)):
        lines = found[precision]
        sigmas = sorted({s for points in lines.values() for s, _ in points})
        panel = Panel(LEFT + STEP * k, sigmas, low, high)
        out += axes(panel, precision, sigmas) + draw(panel, lines, colours)
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.strip())
    with open(sys.argv[1], encoding="utf-8") as file:
        found = speed_ups(json.load(file))
    if not any(points for lines in found.values() for points in lines.values()):
        sys.exit(f"{sys.argv[1]}: no matrix has times of {BASE} and of merbit:sigma=N")
    svg = figure(found)
    if len(sys.argv) == 2:
        sys.stdout.write(svg)
    else:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(svg)


main()
