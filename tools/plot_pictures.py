"""The pictures of tools/plot.py, by matplotlib. Each function makes a figure of the data, or returns None where they lack
what it needs. Sizes are in inches at 72 points each; a legend stands beside the panels, never over curves.
"""
import bisect
import io
import itertools
import math
import warnings

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

import plot_data as data_of

# One grey for all text, as far from white (#ffffff) as from a dark page (#0d1117): 4.35:1 on both. No colour has more on both.
TEXT = "#797979"
# At least 3.3:1 on both pages, and told apart (CIE76 distance above 19) also without red or green cones.
COLOURS = ("#4884b4", "#fc0c00", "#609c24", "#9c0cfc", "#846030", "#009078", "#fc2478", "#6c54c0")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5))) * 2
TOLERANCE = {"color": TEXT, "linewidth": 1, "linestyle": (0, (4, 3)), "zorder": 2}
CHANGE = {"color": TEXT, "linestyle": "", "marker": "|", "markersize": 14, "markeredgewidth": 2, "zorder": 5}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
NAME_ROOM = 44  # letters of a name in a picture; tables have all
CELLS_WITH_NUMBERS = 2500
MOST_POINTS = 1000  # of a panel; more are an image in it
PANELS = 12  # of one picture, where each matrix has a panel
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "windrow", "pdf.fonttype": 42, "font.family": "sans-serif", "font.size": 9,
            "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"], "figure.dpi": 72, "savefig.dpi": 144, "text.color": TEXT,
            "axes.edgecolor": TEXT, "axes.labelcolor": TEXT, "axes.titlecolor": TEXT, "xtick.color": TEXT, "ytick.color": TEXT,
            "axes.facecolor": "none", "figure.facecolor": "none", "savefig.facecolor": "none", "grid.color": TEXT,
            "grid.alpha": 0.3, "grid.linewidth": 0.5, "axes.linewidth": 0.8, "lines.linewidth": 1.6, "lines.markersize": 4.5,
            "axes.titlesize": 10, "axes.labelsize": 9, "legend.frameon": False, "path.simplify": False}


def set_up():
    matplotlib.rcdefaults()
    matplotlib.rcParams.update(SETTINGS)
    warnings.filterwarnings("ignore")  # of letters that its own font lacks: an SVG has text as text


def words(name):
    """matplotlib reads what is between two $ as a formula."""
    return name.replace("$", r"\$")


def cut_in_middle(name, room):
    """At most so many letters; of a path the last part stays, if it fits."""
    if len(name) <= room:
        return name
    base = len(name) - name.rfind("/") if "/" in name else 0
    tail = base if room * 2 // 5 <= base <= room - 3 else room * 2 // 5 - 1
    return name[:room - tail - 1] + "…" + name[-tail:]


def short(names, room=NAME_ROOM):
    """{name: at most so many letters, the middle left out; different for different names}."""
    found, taken = {}, {}
    for name in dict.fromkeys(names):
        cut = cut_in_middle(name, room)
        taken[cut] = taken.get(cut, 0) + 1
        found[name] = cut if taken[cut] == 1 else f"{cut} ({taken[cut]})"
    return found


class Styles:
    """Colour, dashes and marker of names, the best first: they follow from a name's place in the whole report (Data.places), so
    that all pictures of it agree; after eight places the colours come again, with other dashes and markers. The first eight
    names of this picture have them, the rest share a thin grey line."""

    def __init__(self, names, places):
        self.names = list(names)
        self.shown = [name for name in self.names if name != "geometric mean"][:len(COLOURS)]
        taken = {places[name] % len(COLOURS) for name in self.names if name in places}
        free = itertools.chain([k for k in range(len(COLOURS)) if k not in taken], itertools.count(len(places)))
        self.place = {name: places[name] if name in places else next(free) for name in self.names}

    def known(self, name):
        return name in self.shown or name == "geometric mean"

    def look(self, name):
        turns, k = divmod(self.place[name], len(COLOURS))
        return {"color": COLOURS[k], "linestyle": DASHES[(k + turns) % len(DASHES)],
                "marker": MARKERS[(k + 3 * turns) % len(MARKERS)], "zorder": 3}

    def line(self, name):
        if name == "geometric mean":
            return {"color": TEXT, "linewidth": 3.5, "zorder": 4}
        return self.look(name) if self.known(name) else {"color": TEXT, "linewidth": 0.7, "alpha": 0.5, "zorder": 1}

    def points(self, name):
        return {**self.look(name), "linestyle": ""} if self.known(name) else {
            "color": TEXT, "marker": ".", "alpha": 0.5, "zorder": 1, "linestyle": ""}

    def legend(self, figure, left, top, more=(), points=False):
        """Writes it with this upper left corner, in inches; `more` has further (words, look) pairs."""
        shown = [name for name in self.names if self.known(name)]
        names = short(shown)
        def look_of(name):
            return self.points(name) if points else self.line(name)
        entries = [(names[name], look_of(name)) for name in shown]
        rest = [name for name in self.names if not self.known(name)]
        if rest:
            look = look_of(rest[0])
            entries.append((short(rest)[rest[0]] if len(rest) == 1 else f"{len(rest)} more (names by --csv)", look))
        entries += more
        tall = 0.2 * len(entries)
        wide, high = figure.get_size_inches()
        axes = figure.add_axes([left / wide, (top - tall) / high, 1 / wide, max(tall, 0.01) / high])
        axes.set(xlim=(0, 1), ylim=(tall, 0))
        axes.set_axis_off()
        for k, (name, look) in enumerate(entries):
            xs = [0.15] if points else [0, 0.15, 0.3]
            look = look if points else {"markevery": [1], **look}
            axes.add_line(Line2D(xs, [0.2 * k + 0.1] * len(xs), clip_on=False, **look))
            axes.text(0.38, 0.2 * k + 0.1, words(name), va="center")


class Sheet:
    """A figure with panels of one size in rows, left to right; x, y: lengths in inches."""

    def __init__(self, count, across, wide=4.2, tall=3.0, title=""):
        self.across, self.down = across, -(-count // across)
        self.gap_x, self.gap_y, self.wide, self.tall = 0.95, 1.0, wide, tall
        self.size = (self.across * (wide + self.gap_x) + 4, self.down * (tall + self.gap_y) + 0.2)
        self.figure = Figure(figsize=self.size)
        FigureCanvasAgg(self.figure)
        self.figure.windrow_title = title
        self.count = 0

    def panel(self, title="", end="", below=""):
        """Its heading is as wide as it: `title` is cut in its middle where it must be, `end` stays. below: a second line."""
        row, column = divmod(self.count, self.across)
        self.count += 1
        left = self.gap_x - 0.2 + column * (self.wide + self.gap_x)
        bottom = self.size[1] - 0.4 - self.tall - row * (self.tall + self.gap_y)
        width, height = self.size
        axes = self.figure.add_axes([left / width, bottom / height, self.wide / width, self.tall / height])
        label = axes.set_title(words(title + end))
        renderer = self.figure.canvas.get_renderer()
        room = len(title)
        while room > 8 and label.get_window_extent(renderer).width > 72 * (self.wide + self.gap_x / 2):
            room -= 1
            label.set_text(words(cut_in_middle(title, room) + end))
        if below:
            label.set_text(label.get_text() + "\n" + words(below))
        axes.grid(True)
        axes.set_axisbelow(True)
        return axes

    def legend(self, styles, **more):
        styles.legend(self.figure, self.across * (self.wide + self.gap_x), self.size[1] - 0.4, **more)
        return self.figure


def round_number(value):
    """0.01, 50000, 1e-3, 2e5."""
    if 0.009 < value < 99999:
        return f"{value:g}"
    power = math.floor(math.log10(value) + 1e-9)
    return f"{value / 10.0 ** power:.3g}e{power}"


def ticks(low, high, most=9):
    """Round numbers from low to high for a logarithmic axis, as many as `most`."""
    for steps in ((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,)):
        found = [step * 10.0 ** power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
                 for step in steps]
        found = [value for value in found if low * 0.999 <= value <= high * 1.001]
        if len(found) <= most:
            return found
    return found[::-(-len(found) // most)]


def log_axis(axis, low, high, most=9, at=None):
    axes = axis.axes
    if axis is axes.xaxis:
        axes.set_xscale("log")
        axes.set_xlim(low, high)
    else:
        axes.set_yscale("log")
        axes.set_ylim(low, high)
    places = at or ticks(low, high, most)
    axis.set_major_locator(matplotlib.ticker.FixedLocator(places))
    axis.set_minor_locator(matplotlib.ticker.NullLocator())
    axis.set_major_formatter(matplotlib.ticker.FixedFormatter([round_number(place) for place in places]))


def ranked(data, names):
    """These names, the best first, all groups together."""
    names = set(names)
    return [name for name in data_of.ranking(data.cases.values()) if name in names]


def count_of(things, name):
    return f"{len(things)} {name if len(things) == 1 else {'matrix': 'matrices'}[name]}"


def profile(data, options):
    groups = {title: data_of.ratios(cases) for title, cases in data.groups().items()}
    groups = {title: (cases, table) for title, (cases, table) in groups.items() if cases and len(table) > 1}
    if not groups:
        return None
    styles = Styles(ranked(data, [name for _, table in groups.values() for name in table]), data.places)
    worst = max((v for _, table in groups.values() for values in table.values() for v in values if v), default=1)
    right = min(max(worst * 1.05, 2), 20)
    sheet = Sheet(len(groups), min(2, len(groups)), title="Performance profiles")
    for title, (cases, table) in groups.items():
        axes = sheet.panel(f"{title}: {count_of(cases, 'matrix')}")
        for name, values in table.items():
            known = sorted(v for v in values if v)
            steps = sorted({1.0, *(v for v in known if v <= right)})
            shares = [bisect.bisect_right(known, step) / len(values) for step in steps]
            axes.step([*steps, right], [*shares, shares[-1]], where="post", markevery=max(1, len(steps) // 5),
                      **styles.line(name))
        log_axis(axes.xaxis, 1, right)
        axes.set(ylim=(-0.03, 1.03), xlabel="factor of the least time", ylabel="share of the matrices within this factor")
    return sheet.legend(styles)


def contrast_text(colour):
    """Black or white, whichever is easier to read on it."""
    def linear(c):
        return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
    light = 0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2])
    return "#000000" if light + 0.05 > 1.05 * 0.05 / (light + 0.05) else "#ffffff"


def ratio_text(value):
    if value < 10:
        return "1" if value < 1.005 else f"{value:.2f}"
    return f"{value:.0f}" if value < 999.5 else f"{value:.0e}".replace("e+0", "e").replace("e+", "e")


def heatmap(data, options):
    groups = {title: data_of.ratios(cases) for title, cases in data.groups().items()}
    groups = {title: (cases, table) for title, (cases, table) in groups.items() if cases and len(table) > 1}
    if not groups:
        return None
    names = ranked(data, [name for _, table in groups.values() for name in table])
    rows = sum(len(cases) for cases, _ in groups.values())
    pitch = 0.21 if rows <= 80 else 0.12 if rows <= 1000 else 120 / rows
    wide, gap, head = 0.5 * len(names), 0.42, 2.6
    labels = short(names)
    size = (3.5 + wide + 1.6, head + rows * pitch + gap * len(groups) + 0.7)
    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    figure.windrow_title = "Time over the least time of the row"
    colours = matplotlib.colormaps["viridis_r"] if hasattr(matplotlib, "colormaps") else matplotlib.cm.get_cmap("viridis_r")
    scale = matplotlib.colors.LogNorm(1, 10)
    top = size[1] - head
    for k, (title, (cases, table)) in enumerate(groups.items()):
        tall = len(cases) * pitch
        axes = figure.add_axes([3.5 / size[0], (top - tall) / size[1], wide / size[0], tall / size[1]])
        grid = [[table.get(name, [None] * len(cases))[row] or math.nan for name in names] for row in range(len(cases))]
        axes.pcolormesh(range(len(names) + 1), range(len(cases) + 1), grid, cmap=colours, norm=scale, linewidth=0,
                        rasterized=len(cases) * len(names) > CELLS_WITH_NUMBERS)
        axes.set(xlim=(0, len(names)), ylim=(len(cases), 0))
        heat_numbers(axes, grid, colours, scale, pitch)
        heat_names(axes, [data.shown(data_of.plain(case.source)) for case in cases], cases, pitch)
        axes.set_xticks([column + 0.5 for column in range(len(names))])
        axes.set_xticklabels([words(labels[name]) for name in names] if k == 0 else [], rotation=60, ha="left",
                             rotation_mode="anchor")
        axes.tick_params(length=0, top=k == 0, labeltop=k == 0, bottom=False, labelbottom=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.text(-0.1 / wide, 1 + 0.06 / tall, words(title), transform=axes.transAxes, ha="right", va="bottom", weight="bold")
        top -= tall + gap
    place = [3.5 / size[0], (top + gap - 0.3) / size[1], max(min(wide, 4), 2.6) / size[0], 0.12 / size[1]]
    heat_key(figure, colours, scale, place)
    return figure


def heat_numbers(axes, grid, colours, scale, pitch):
    if pitch < 0.2 or sum(len(row) for row in grid) > CELLS_WITH_NUMBERS:
        return
    for row, values in enumerate(grid):
        for column, value in enumerate(values):
            if math.isnan(value):
                axes.text(column + 0.5, row + 0.5, "–", ha="center", va="center", size=8)
            else:
                axes.text(column + 0.5, row + 0.5, ratio_text(value), ha="center", va="center", size=8,
                          color=contrast_text(colours(scale(value))), weight="bold" if value == 1 else "normal")


def heat_names(axes, sources, cases, pitch):
    """Names on the left, the least times on the right."""
    if pitch < 0.1:
        axes.set_yticks([])
        return
    size = 9 if pitch > 0.2 else 6.5
    names = short(sources)
    axes.set_yticks([row + 0.5 for row in range(len(cases))])
    axes.set_yticklabels([words(names[source]) for source in sources], size=size)
    for row, case in enumerate(cases):
        best = min(run.time for run in case.runs.values() if run.time)
        unit, scale = data_of.times_by([best])
        axes.text(1.0 + 0.08 / (axes.get_position().width * axes.figure.get_size_inches()[0]), row + 0.5,
                  f"{best * scale:.3g} {unit}", transform=axes.get_yaxis_transform(), va="center", size=size)


def heat_key(figure, colours, scale, place):
    axes = figure.add_axes(place)
    bar = figure.colorbar(matplotlib.cm.ScalarMappable(scale, colours), cax=axes, orientation="horizontal")
    bar.set_ticks([1, 1.5, 2, 3, 5, 10])
    bar.set_ticklabels(["1", "1.5", "2", "3", "5", "10 and more"])
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)
    bar.set_label("time / least time of the row (on its right); –: no result")


def roofline(data, options):
    groups = {title: points for title, cases in data.groups().items() if (points := data_of.roofline_points(cases))}
    if not groups:
        return None
    styles = Styles(ranked(data, [run.name for points in groups.values() for _, run, *_ in points]), data.places)
    sectors = any(point[4] for points in groups.values() for point in points)
    sheet = Sheet(len(groups) * (1 + sectors), 2 if sectors or len(groups) > 1 else 1, title="Rooflines")
    for title, points in groups.items():
        roofs = sorted({run.roof for _, run, *_ in points if run.roof}, reverse=True)
        draw_roofline(sheet.panel(title), [(run.name, x, y) for _, run, x, y, _ in points], styles, "operations a byte",
                      [(roof / 1e9, f"{roof / 1e9:.4g} GB/s") for roof in roofs[:3]], "above the roof: from a cache")
        by_sector = [(run.name, x, y) for _, run, _, y, x in points if x]
        if by_sector:
            draw_roofline(sheet.panel(f"{title}: L2"), by_sector, styles, "operations a sector of 32 bytes",
                          [(data_of.SECTORS_PER_S / 1e9, f"{data_of.SECTORS_PER_S / 1e9:g} sectors a ns")])
        elif sectors:
            axes = sheet.panel(f"{title}: L2")
            axes.text(0.5, 0.5, "no sectors were counted", ha="center", transform=axes.transAxes)
    return sheet.legend(styles, points=True)


def draw_roofline(axes, points, styles, label, roofs, above=""):
    xs, ys = [x for _, x, _ in points], [y for *_, y in points]
    left, right = min(xs) / 1.25, max(xs) * 1.25
    low, high = min(ys) / 1.4, max([*ys, *(slope * right for slope, _ in roofs)]) * 1.4
    for slope, name in roofs:
        axes.plot([left, right], [slope * left, slope * right], color=TEXT, linewidth=1.2, zorder=2)
    for name in reversed(styles.names):
        mine = [(x, y) for other, x, y in points if other == name]
        if mine:
            axes.plot([x for x, _ in mine], [y for _, y in mine], rasterized=len(points) > MOST_POINTS, **styles.points(name))
    log_axis(axes.xaxis, left, right, most=6)
    log_axis(axes.yaxis, low, high)
    if roofs:
        label += f"; {'roof' if len(roofs) == 1 else 'roofs'}: " + ", ".join(name for _, name in roofs)
        if above and any(y > max(slope for slope, _ in roofs) * x for _, x, y in points):
            label += "\n" + above
    axes.set(xlabel=label, ylabel="GFLOP/s")


def panels_of(data, has, note):
    """The first cases that have what a picture needs, by title; a note if there are more."""
    found = [(title, case) for title, cases in data.groups().items() for case in cases if has(case)]
    if len(found) > PANELS:
        data.notes.append(f"{note}: the first {PANELS} of {len(found)} panels are shown; --matrix chooses others, "
                          "--csv has all")
    return found[:PANELS]


def across(count):
    return 1 if count == 1 else 2 if count <= 4 else 3


def breakeven(data, options):
    shown = panels_of(data, lambda case: len(data_of.prepared(case)) > 1, "break-even")
    if not shown:
        return None
    tables = [data_of.prepared(case) for _, case in shown]
    steps = [data_of.envelope(table) for table in tables]
    on_envelope = [name for step in steps for _, name in step]
    names = dict.fromkeys(name for table in tables for name in table)
    styles = Styles(sorted(ranked(data, names), key=lambda name: name not in on_envelope), data.places)
    labels = short(names, 30)
    last = min(max([10 * k for step in steps for k, _ in step] + [1000]), 10 ** 7)
    ks = [10 ** (k / 24) for k in range(math.ceil(24 * math.log10(last)) + 1)]
    sheet = Sheet(len(shown), across(len(shown)), title="Break-even of preparation and multiplies")
    sheet.gap_y = 1.35
    sheet = resized(sheet)
    for (title, case), table, step in zip(shown, tables, steps):
        unit, scale = data_of.times_by([multiply for _, multiply in table.values()])
        axes = sheet.panel(data.shown(data_of.plain(case.source)), f", {title}", envelope_text(step, labels))
        curves = {name: [(prepare / k + multiply) * scale for k in ks] for name, (prepare, multiply) in table.items()}
        axes.plot(ks, [min(ys) for ys in zip(*curves.values())], color=TEXT, linewidth=6, alpha=0.35, zorder=2)
        for name, ys in curves.items():
            axes.plot(ks, ys, markevery=24, **styles.line(name))
        least = min(min(ys) for ys in curves.values())
        log_axis(axes.yaxis, least / 1.15, min(max(max(ys) for ys in curves.values()), 1000 * least) * 1.15)
        log_axis(axes.xaxis, 1, ks[-1])
        axes.set(xlabel="multiplies", ylabel=f"(preparation + multiplies) / multiplies, {unit}")
    return sheet.legend(styles, more=[("the least", {"color": TEXT, "linewidth": 6, "alpha": 0.35})])


def resized(sheet):
    sheet.size = (sheet.size[0], sheet.down * (sheet.tall + sheet.gap_y) + 0.4)
    sheet.figure.set_size_inches(*sheet.size)
    return sheet


def envelope_text(steps, labels):
    """At most three names in a line."""
    parts = [f"from {k}: {labels[name]}" for k, name in steps[:3]] + (["..."] if len(steps) > 3 else [])
    return "\n".join(parts[:1]) if len(parts) == 1 else "; ".join(parts) if len("; ".join(parts)) < 64 else parts[0] + "; ..."


def convergence(data, options):
    shown = panels_of(data, lambda case: any(run.history for run in case.runs.values()), "convergence")
    if not shown:
        return None
    styles = Styles(ranked(data, [run.name for _, case in shown for run in case.runs.values() if run.history]), data.places)
    points = {(case.key(), name): data_of.convergence(run)
              for _, case in shown for name, run in case.runs.items() if run.history}
    several = any(abs(m - k) > 0.5 for curve in points.values() for k, m, *_ in curve)
    axes_of = [("iterations", 0)] + [("multiplies", 1)] * several + [("seconds", 2)]
    sheet = Sheet(len(shown) * len(axes_of), len(axes_of), wide=3.6, title="Convergence")
    for title, case in shown:
        curves = {name: points[case.key(), name] for name in case.runs if (case.key(), name) in points}
        measures = [point[3] for curve in curves.values() for point in curve]
        tolerances = {run.tolerance for run in case.runs.values() if run.history and run.tolerance}
        unit, scale = data_of.times_by([max([point[2] or 0 for curve in curves.values() for point in curve])])
        for label, column in axes_of:
            by = scale if column == 2 else 1
            axes = sheet.panel(data.shown(data_of.plain(case.source)), f", {title}")
            for name_of_run, curve in curves.items():
                xy = [(point[column], point[3]) for point in curve if point[column] is not None]
                axes.plot([x * by for x, _ in xy], [y for _, y in xy], markevery=max(1, len(xy) // 6),
                          **styles.line(name_of_run))
                for k in case.runs[name_of_run].changes:
                    before = [point for point in curve if point[0] <= k and point[column] is not None][-1:]
                    axes.plot([point[column] * by for point in before], [point[3] for point in before], **CHANGE)
            for tolerance in tolerances:
                axes.axhline(tolerance, **TOLERANCE)
            log_axis(axes.yaxis, min([*measures, *tolerances]) / 1.5, max([*measures, *tolerances]) * 1.5)
            axes.set(xlabel=unit if column == 2 else label,
                     ylabel="L1 change of a step" if case.program == "pagerank" else "||r|| / ||b||")
            axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(6))
    drawn = [run for _, case in shown for run in case.runs.values() if run.history]
    return sheet.legend(styles, more=[("tolerance", TOLERANCE)] * any(run.tolerance for run in drawn)
                        + [("from here on another method", CHANGE)] * any(run.changes for run in drawn))


def curves(data, options):
    if not options.x:
        return None
    columns = [data_of.curves(data.groups(), knob, options.against) for knob in options.x]
    rows = [panel for panel in dict.fromkeys(panel for column in columns for panel in column)]
    if not rows:
        return None
    if len(rows) > PANELS:
        data.notes.append(f"curves: the first {PANELS} of {len(rows)} panels are shown; --matrix chooses others, --csv has all")
    rows = rows[:PANELS]
    styles = Styles(curves_ranked([column[panel] for panel in rows for column in columns if panel in column], options.against),
                    data.places)
    many = len(columns) if len(columns) > 1 else across(len(rows))
    sheet = Sheet(len(rows) * len(columns), many, title="Times over " + ", ".join(options.x))
    for panel in rows:
        for knob, column in zip(options.x, columns):
            draw_curves(sheet.panel(data.shown(panel)), column.get(panel, {}), styles, knob, options.against)
    return sheet.legend(styles)


def curves_ranked(panels, against):
    """The names of curves: the one first that comes nearest to the best curve of its panels, on average; the mean last."""
    found = {}
    for lines in panels:
        best = {name: max(y if against else 1 / y for _, y in points) for name, points in lines.items()}
        for name, value in best.items():
            found.setdefault(name, []).append(value / max(best.values()))
    return sorted(found, key=lambda name: (name == "geometric mean", -sum(found[name]) / len(found[name])))


def draw_curves(axes, lines, styles, knob, against):
    xs = sorted({x for points in lines.values() for x, _ in points})
    ys = [y for points in lines.values() for _, y in points]
    axes.set_xlabel(words(knob))
    if not xs:
        axes.text(0.5, 0.5, f"no run tells its {words(knob)}", ha="center", transform=axes.transAxes)
        return
    unit, scale = ("", 1) if against else data_of.times_by(ys)
    for name, points in lines.items():
        axes.plot([x for x, _ in points], [y * scale for _, y in points], **styles.line(name))
    if len(xs) > 2 and xs[-1] >= 8 * xs[0] or all(math.log2(x) == int(math.log2(x)) for x in xs):
        log_axis(axes.xaxis, xs[0] / 1.1, xs[-1] * 1.1, at=xs[::-(-len(xs) // 12)])
    else:
        axes.set_xticks(xs[::-(-len(xs) // 16)])
        axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
    if against:
        axes.axhline(1, color=TEXT, linewidth=1)
        axes.set_ylabel(words(f"speed-up over {short([against], 32)[against]}"))
    else:  # what takes more than eight times the least leaves the panel at its top
        log_axis(axes.yaxis, min(ys) * scale / 1.15, min(max(ys), 8 * min(ys)) * scale * 1.15)
        axes.set_ylabel(f"{unit} a multiply")


def page(figure):
    """The part of the figure that has something, in inches. matplotlib's own box leaves out labels wider than their axis."""
    renderer = figure.canvas.get_renderer()
    getattr(figure, "draw_without_rendering", figure.canvas.draw)()  # since matplotlib 3.5
    labels = [axis.label.get_window_extent(renderer) for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)
              if axes.axison and axis.label.get_text()]
    inches = figure.dpi_scale_trans.inverted()
    return Bbox.union([figure.get_tightbbox(renderer), *(label.transformed(inches) for label in labels)]).padded(0.1)


def image(figure, ending):
    """The bytes of the picture; the same for the same figure."""
    out = io.BytesIO()
    title = figure.windrow_title
    creator = "windrow tools/plot.py"
    metadata = {"svg": {"Date": None, "Creator": creator, "Title": title}, "png": {"Software": None, "Title": title},
                "pdf": {"CreationDate": None, "Creator": creator, "Producer": None, "Title": title}}[ending]
    figure.savefig(out, format=ending, bbox_inches=page(figure), metadata=metadata)
    return out.getvalue()
