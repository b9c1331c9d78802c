#!/usr/bin/env python3
"""Draws pictures of the JSON reports of spmv, pagerank and bicgstab, or prints the rows behind them."""
import argparse
import csv
import itertools
import os
import sys

sys.dont_write_bytecode = True
import plot_data  # noqa: E402

KINDS = {
    "profile": (plot_data.profile_rows, "for each backend the share of matrices within a factor of the least time"),
    "heatmap": (plot_data.heatmap_rows, "matrices by backends, time over the least time of the row"),
    "roofline": (plot_data.roofline_rows, "GFLOP/s over operations a byte, and a sector where sectors were counted"),
    "breakeven": (plot_data.breakeven_rows, "(preparation + k multiplies) / k over k, and from which k a backend is the least"),
    "convergence": (plot_data.convergence_rows, "residuals (pagerank: changes) over iterations, multiplies and time"),
    "curves": (None, "times over a knob or a setting (--x), or speed-ups over a backend (--against)"),
}
ENDINGS = (".svg", ".pdf", ".png", ".csv", ".tex")
TEXTS = """\
pictures:
{kinds}

examples:
  plot.py reports/*.json                                  all that the reports allow, into the folder plots
  plot.py profile spmv.json more.jsonl -o profile.pdf     the ending chooses: .svg, .pdf, .png, .csv, .tex
  plot.py heatmap spmv.json --precision f64 --run 'merbit*' --run cusparse
  plot.py roofline sectors.json                           of spmv --sectors --json sectors.json
  plot.py breakeven spmv.json --matrix road --matrix web
  plot.py convergence solve.json                          of bicgstab --history h.csv --json solve.json
  plot.py curves sweep.json --x sigma --against cusparse_coo
  plot.py curves runs.jsonl --x threads --x chunks        a column of panels each
  plot.py profile spmv.json --latex                       rows for a LaTeX table, on standard output

A backend that did not run or that multiplied wrong counts as never in a profile, and so does a solver that did
not converge. Times are hot multiplies of spmv (--cold: cold ones) and whole solves of the solvers. Runs of one
label in reports that differ in device, vectors, threads, method, preconditioner or tolerance are told apart; of
runs that are the same the last one counts. A colour means the same run in all pictures of the same files."""


def options_of(arguments):
    texts = TEXTS.replace("{kinds}", "\n".join(f"  {kind:12} {what}" for kind, (_, what) in KINDS.items()))
    parser = argparse.ArgumentParser(prog="plot.py", description=__doc__, epilog=texts, allow_abbrev=False,
                                     usage="plot.py [KIND] FILE... [-o OUT] [options]",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="[KIND] FILE",
                        help="files of JSON, or of JSON lines, also .xz and .gz; the first word may name a picture (none: all)")
    parser.add_argument("-o", "--output", metavar="OUT", help="the picture's file (KIND.svg), or the folder of all (plots)")
    parser.add_argument("--matrix", action="append", default=[], metavar="NAME",
                        help="only this matrix; a file also without its folder and endings; * and ? stand for letters")
    parser.add_argument("--run", action="append", default=[], metavar="LABEL", help="only this backend, as its label has it")
    parser.add_argument("--precision", action="append", default=[], metavar="P", help="only f32, f64 or mixed")
    parser.add_argument("--cold", action="store_true", help="times of spmv --cold in place of hot ones")
    parser.add_argument("--x", action="append", default=[], metavar="KNOB", help="curves: over this knob or setting")
    parser.add_argument("--against", metavar="LABEL", help="curves: speed-ups over this run")
    parser.add_argument("--csv", action="store_true", help="the rows behind KIND on standard output, comma-separated")
    parser.add_argument("--latex", action="store_true", help="the same as rows of a LaTeX table, in place of --csv")
    options = parser.parse_intermixed_args(arguments)
    options.kind = options.words.pop(0) if options.words and options.words[0] in KINDS else None
    if not options.words:
        parser.error("no file is named")
    for word in options.words:
        if not os.path.exists(word) and not set(word) & set("./"):
            complain(f"{word!r} is no file; one picture is named, before the files" if word in KINDS else
                     f"{word!r} is no file and no picture ({', '.join(KINDS)})")
            sys.exit(1)
    if options.csv and options.latex:
        parser.error("--csv and --latex are two tables: choose one")
    if options.output and (options.csv or options.latex):
        parser.error("--csv and --latex print on standard output; -o FILE.csv or -o FILE.tex writes the same, without them")
    if options.output and not options.kind and os.path.splitext(options.output)[1].lower() in ENDINGS:
        parser.error(f"-o {options.output} is one file for one picture: name the picture ({', '.join(KINDS)}), or a folder")
    if (options.csv or options.latex) and not options.kind:
        parser.error("--csv and --latex need the name of a picture: " + ", ".join(KINDS))
    if options.kind == "curves" and not options.x:
        parser.error("curves need --x KNOB, such as --x threads")
    return options


def complain(sentence):
    print(f"plot.py: {sentence}", file=sys.stderr)


def rows_of(kind, data, options):
    return plot_data.curve_rows(data, options.x, options.against) if kind == "curves" else KINDS[kind][0](data)


def table(kind, data, options, ending):
    rows = list(rows_of(kind, data, options))
    if ending == "tex":
        return plot_data.latex_rows(rows)
    lines = []
    csv.writer(type("Lines", (), {"write": staticmethod(lines.append)}), lineterminator="\n").writerows(
        [["" if value is None else value for value in row] for row in rows])
    return "".join(lines)


def has_rows(kind, data, options):
    """Whether its table has more than a heading, with a sentence where not."""
    if len(list(itertools.islice(rows_of(kind, data, options), 2))) == 2:
        return True
    complain(plot_data.lack(kind, data, options.x, options.against))
    return False


def drawing():
    """The module that draws, or None with a sentence where matplotlib is missing. A system's package is of the system's
    python3, which may be another one than runs here: then that one runs instead."""
    try:
        import plot_pictures
    except ImportError as error:
        if error.name and not error.name.startswith(("matplotlib", "numpy")):
            raise
        other = "/usr/bin/python3"
        is_program = os.path.samefile(sys.argv[0], __file__)
        if is_program and os.path.exists(other) and not os.path.samefile(other, sys.executable):
            os.execv(other, [other, *sys.argv])
        complain("matplotlib is missing, which draws pictures: make deps; --csv and --latex do without it")
        return None
    plot_pictures.set_up()
    return plot_pictures


def write(path, content):
    try:
        with open(path, "wb") as file:
            file.write(content)
    except OSError as error:
        complain(f"{path} cannot be written: {error.strerror}")
        return False
    print(path)
    return True


def draw_one(kind, data, options):
    path = options.output or f"{kind}.svg"
    ending = os.path.splitext(path)[1].lower()
    if ending not in ENDINGS:
        complain(f"{path}: the ending is none of {', '.join(ENDINGS)}")
        return False
    ending = ending[1:]
    if ending in ("csv", "tex"):
        return has_rows(kind, data, options) and write(path, table(kind, data, options, ending).encode())
    pictures = drawing()
    figure = pictures and getattr(pictures, kind)(data, options)
    if pictures and not figure:
        complain(plot_data.lack(kind, data, options.x, options.against))
    return bool(figure) and write(path, pictures.image(figure, ending))


def draw_all(data, options):
    folder = options.output or "plots"
    pictures = drawing()
    if not pictures:
        return False
    figures = {kind: figure for kind in KINDS if (figure := getattr(pictures, kind)(data, options))}
    if not figures:
        complain("no picture can be made of these reports")
        for sentence in dict.fromkeys(plot_data.lack(kind, data) for kind in KINDS if kind != "curves"):
            complain(sentence)
        return False
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        complain(f"the folder {folder} cannot be made: {error.strerror}")
        return False
    return all([write(os.path.join(folder, f"{kind}.svg"), pictures.image(figure, "svg")) for kind, figure in figures.items()])


def main(arguments):
    options = options_of(arguments)
    data = plot_data.Data(options.cold)
    for path in options.words:
        data.read(path)
    data.settle(options.matrix, options.run, options.precision)
    if not data.cases:
        done = False
        data.notes.append("nothing is left to draw")
    elif options.csv or options.latex:
        ending = "tex" if options.latex else "csv"
        done = has_rows(options.kind, data, options)
        sys.stdout.write(table(options.kind, data, options, ending) if done else "")
    else:
        done = draw_one(options.kind, data, options) if options.kind else draw_all(data, options)
    for sentence in data.notes:
        complain(sentence)
    return 0 if done else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
