"""Makes the wheel of the Python package, with libwindrow inside. `pip install ./python` calls build_wheel, too (PEP 517).

usage: make_wheel.py FOLDER. The library is that of WINDROW_LIBRARY, else the newest build of the source tree, else one that
make builds for this machine.
       make_wheel.py --without-library FOLDER puts the package itself there, for a system that has libwindrow apart.
"""
import base64
import glob
import hashlib
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)

METADATA = """Metadata-Version: 2.1
Name: windrow
Version: {version}
Summary: Iterative solvers for sparse linear systems and PageRank, on the CPU or a GPU
License: Apache-2.0
Requires-Python: >=3.8
Requires-Dist: numpy
Provides-Extra: scipy
Requires-Dist: scipy; extra == 'scipy'
Provides-Extra: plot
Requires-Dist: matplotlib; extra == 'plot'
"""
WHEEL = """Wheel-Version: 1.0
Generator: windrow
Root-Is-Purelib: false
Tag: {tag}
"""


def version():
    return runpy.run_path(os.path.join(HERE, "windrow", "version.py"))["__version__"]


def tag():
    return "py3-none-" + re.sub("[-.]", "_", sysconfig.get_platform())


def library():
    named = os.environ.get("WINDROW_LIBRARY")
    if named:
        return named
    built = runpy.run_path(os.path.join(HERE, "windrow", "builds.py"))["newest"](ROOT)
    if built:
        return built[0]
    print("windrow: building libwindrow", file=sys.stderr)
    subprocess.run(["make", "-C", ROOT, "libraries"], check=True, stdout=sys.stderr)
    return os.path.join(ROOT, "build", "libwindrow.so")


def library_bytes():
    """Of the library without what is for debuggers alone, where the tool that strips it is found."""
    source = library()
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "libwindrow.so")
        if not (shutil.which("strip") and subprocess.run(["strip", "--strip-unneeded", "-o", stripped, source]).returncode == 0):
            stripped = source
        with open(stripped, "rb") as file:
            return file.read()


def modules():
    """{path in the wheel: bytes}."""
    files = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(HERE), "windrow", "*.py"))):
        with open(path, "rb") as file:
            files["windrow/" + os.path.basename(path)] = file.read()
    return files


def info(name, texts):
    """{path in the wheel: bytes} of NAME.dist-info."""
    with open(os.path.join(ROOT, "LICENSE"), "rb") as file:
        files = {f"{name}.dist-info/LICENSE": file.read()}
    files.update({f"{name}.dist-info/{path}": text.encode() for path, text in texts.items()})
    return files


def record(files, path):
    """Of each file its digest and its size; of the record itself neither."""
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join(lines + [f"{path},,\n"]).encode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = f"windrow-{version()}"
    files = modules()
    files["windrow/libwindrow.so"] = library_bytes()
    files.update(info(name, {"METADATA": METADATA.format(version=version()), "WHEEL": WHEEL.format(tag=tag())}))
    files[f"{name}.dist-info/RECORD"] = record(files, f"{name}.dist-info/RECORD")
    wheel = f"{name}-{tag()}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():  # with one date, so that the same files make the same wheel
            entry = zipfile.ZipInfo(path)
            entry.external_attr, entry.compress_type = 0o100644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return wheel


def write_without_library(folder):
    files = modules()
    files[f"windrow-{version()}.dist-info/METADATA"] = METADATA.format(version=version()).encode()
    for path, data in files.items():
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        with open(os.path.join(folder, path), "wb") as file:
            file.write(data)


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("windrow: a source package of the Python part alone would lack the library; use windrow's source tree")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--without-library":
        write_without_library(sys.argv[2])
        sys.exit()
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    print(os.path.join(sys.argv[1], build_wheel(sys.argv[1])))
