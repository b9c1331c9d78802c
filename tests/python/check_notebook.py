"""Looks at a notebook as it is kept, and writes its code as a script.

usage: check_notebook.py NOTEBOOK SCRIPT
"""
import json
import os
import sys


def wrong(cells):
    """Sentences on what a reader would miss or stumble over."""
    pictures = 0
    for k, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        if not cell["execution_count"]:
            yield f"cell {k} has not been executed"
        for output in cell["outputs"]:
            pictures += "image/png" in output.get("data", {})
            if output["output_type"] == "error" or output.get("name") == "stderr":
                yield f"cell {k} has a warning or an error among its outputs"
    if pictures < 5:
        yield f"there are {pictures} pictures"


def main(path, script):
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    found = list(wrong(cells))
    if os.path.getsize(path) >= 200_000:
        found.append(f"the file has {os.path.getsize(path)} bytes, of 199999 that it may have")
    with open(script, "w", encoding="utf-8") as file:
        file.write("\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code") + "\n")
    print("\n".join(found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
