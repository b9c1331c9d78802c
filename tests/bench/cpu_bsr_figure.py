"""The figure of docs/cpu_bsr.md: a multiply by each schedule against threads, and against chunks a thread.

usage: cpu_bsr_figure.py TITLE=TEXT... > docs/cpu_bsr.svg
TEXT: what cpu_bsr_tables.sh has printed for one matrix. A row of panels each. Standard library alone.
"""
import math
import re
import sys
from xml.sax.saxutils import escape

COLOURS = {"sequential": "#777777", "granular_row": "#a07800", "intra_row": "#882255", "intra_row_nowait": "#aa4499",
           "max_task": "#d55e00", "fixed_task": "#009e73", "preprocessed": "#0072b2", "cpu_csr": "#000000"}
LEFT, TOP, WIDE, TALL, STEP_X, STEP_Y = 60, 40, 300, 220, 400, 300


def schedule_of(label):
    """Of a row of the table."""
    if label == "cpu_csr":
        return label
    found = re.search(r"schedule=([a-z_]+)", label)
    if not found:
        return "preprocessed"
    if ".." in label:  # cut short by the table
        return next(name for name in reversed(COLOURS) if name.startswith(found.group(1)))
    return found.group(1)


def read(path):
    """({schedule: {threads: us}}, {schedule: {chunks: us}})."""
    by_threads, by_chunks, place, key = {}, {}, None, 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            if match := re.match(r"== table 1: (\d+) threads", line):
                place, key = by_threads, int(match.group(1))
            elif match := re.match(r"== tables 2 and 3: (\d+) chunks", line):
                place, key = by_chunks, int(match.group(1))
            elif match := re.match(r"(cpu_\S+) +\S+ \S+ +[\d.]+ +([\d.]+) +[\d.]+%", line):
                label = match.group(1)
                if place is by_threads and ":chunks=8" in label:
                    continue
                place.setdefault(schedule_of(label), {})[key] = float(match.group(2))
    return by_threads, by_chunks


def panel(left, top, title, axis, lines):
    """Both axes logarithmic; times in ms."""
    keys = sorted({key for points in lines.values() for key in points})
    times = sorted(us / 1000 for points in lines.values() for us in points.values())
    low, high = times[0] / 1.15, min(times[-1], 8 * times[0]) * 1.15

    def x(key):
        return left + WIDE * (math.log(key / keys[0]) / math.log(keys[-1] / keys[0]))

    def y(ms):
        return top + TALL * (1 - math.log(min(ms, high) / low) / math.log(high / low))

    yield f'<text x="{left}" y="{top - 14}" font-weight="bold">{escape(title)}</text>'
    yield f'<rect x="{left}" y="{top}" width="{WIDE}" height="{TALL}" fill="none" stroke="#999"/>'
    yield f'<text x="{left + WIDE / 2}" y="{top + TALL + 34}" text-anchor="middle">{escape(axis)}</text>'
    for key in keys:
        yield f'<text x="{x(key):.1f}" y="{top + TALL + 16}" text-anchor="middle">{key}</text>'
    for ms in (n * 10.0 ** power for power in range(-1, 4) for n in (1, 2, 3, 5, 7)):
        if low <= ms <= high:
            yield f'<text x="{left - 6}" y="{y(ms) + 4:.1f}" text-anchor="end">{ms:g}</text>'
            yield f'<line x1="{left}" x2="{left + WIDE}" y1="{y(ms):.1f}" y2="{y(ms):.1f}" stroke="#eee"/>'
    for name, points in lines.items():
        path = " ".join(f"{x(key):.1f},{y(us / 1000):.1f}" for key, us in sorted(points.items()))
        yield f'<polyline points="{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>'


def main():
    if len(sys.argv) < 2 or not all("=" in argument for argument in sys.argv[1:]):
        sys.exit(__doc__.strip())
    rows = [argument.split("=", 1) for argument in sys.argv[1:]]
    height = TOP + STEP_Y * len(rows)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + 2 * STEP_X + 130}" height="{height}" '
           'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    for number, (title, path) in enumerate(rows):
        by_threads, by_chunks = read(path)
        top = TOP + number * STEP_Y
        out += panel(LEFT, top, f"{title}: ms of a multiply", "threads", by_threads)
        out += panel(LEFT + STEP_X, top, f"{title}: ms of a multiply", "chunks a thread", by_chunks)
    for number, (name, colour) in enumerate(COLOURS.items()):
        at = LEFT + STEP_X + WIDE + 20
        out.append(f'<line x1="{at}" x2="{at + 18}" y1="{TOP + 20 * number}" y2="{TOP + 20 * number}" stroke="{colour}" '
                   'stroke-width="3"/>')
        out.append(f'<text x="{at + 24}" y="{TOP + 20 * number + 4}">{name}</text>')
    print("\n".join(out + ["</svg>"]))


if __name__ == "__main__":
    main()
