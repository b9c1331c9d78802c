"""libwindrow: where it is found, its structs and functions, its failures as exceptions, its callbacks."""
import ctypes
import logging
import math
import operator
import os
import re
import signal
import threading
from ctypes import CFUNCTYPE, POINTER, byref, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_void_p

import numpy as np

from . import builds
from .version import __version__

log = logging.getLogger("windrow")
log.addHandler(logging.NullHandler())


# ---- Failures ----


class WindrowError(RuntimeError):
    """A failure of the library, with its sentence. Not converging is none: results have an outcome.

    Attributes
    ----------
    status : str
        ``"WR_EINPUT"`` and the like.
    result : object or None
        What a call with several right-hand sides has found besides.
    """

    status = "WR_EINTERNAL"
    result = None


class UsageError(WindrowError, ValueError):
    """An argument that is not understood, or that does not go with another."""

    status = "WR_EUSAGE"


class InputError(WindrowError, ValueError):
    """A matrix, a vector or a file that cannot be used, such as one with a NaN."""

    status = "WR_EINPUT"


class UnavailableError(WindrowError):
    """A backend or a device that is not here."""

    status = "WR_EUNAVAILABLE"


class OutOfMemoryError(WindrowError, MemoryError):
    """Memory that could not be had."""

    status = "WR_ENOMEM"


_CLASSES = {kind.status: kind for kind in (UsageError, InputError, UnavailableError, OutOfMemoryError)}


def failure(status, sentence):
    """An exception for a status of the library; what it says of C is said as in Python."""
    name = lib.wr_status_name(status).decode()
    sentence = re.sub(r"^wr_\w+: ", "", sentence).replace("options->", "")
    error = _CLASSES.get(name, WindrowError)(sentence or lib.wr_status_sentence(status).decode())
    error.status = name
    return error


def check(status):
    """Raises what a call has returned, unless that is WR_OK."""
    if status != 0:
        raise failure(status, lib.wr_status_message().decode(errors="replace"))


# ---- Structs, member by member as in windrow.h; tests compare their sizes and offsets with the header's ----

PROGRESS = CFUNCTYPE(c_int, c_void_p, c_int64, c_double, c_double)
LOG = CFUNCTYPE(None, c_void_p, c_char_p)
PRECONDITION = CFUNCTYPE(c_uint, c_void_p, c_int64, c_void_p, c_void_p)


def _members(kind, names):
    return [(name, kind) for name in names.split()]


class Struct(ctypes.Structure):
    """A struct that begins with its size; members that are not named are 0, which is their default."""

    def __init__(self, **members):
        super().__init__(size=ctypes.sizeof(self), **members)


class ReadChoice(Struct):
    _fields_ = (_members(c_size_t, "size") + _members(c_char_p, "format columns")
                + _members(c_int, "is_graph counts_once threads") + _members(c_char_p, "ids separator header"))


class SolveOptions(Struct):
    _fields_ = (_members(c_size_t, "size")
                + _members(c_char_p, "backend device precision method precond scale fallback stop verify")
                + _members(c_double, "tolerance atol time_limit") + _members(c_int64, "max_iterations check_every")
                + _members(c_int, "ell threads deterministic") + _members(c_void_p, "x0")
                + [("precondition", PRECONDITION), ("progress", PROGRESS), ("log", LOG)]
                + _members(c_void_p, "context trace"))


class SolveResultStruct(Struct):
    _fields_ = (_members(c_size_t, "size") + _members(c_uint, "status outcome") + _members(c_int, "verified on_host")
                + _members(c_int64, "iterations multiplies checked_rows")
                + _members(c_double, "residual bound attainable backward")
                + _members(c_double, "prepare_seconds transfer_seconds solve_seconds verify_seconds total_seconds")
                + [("method", c_char * 16), ("backend", c_char * 64), ("device", c_char * 128),
                   ("precond", c_char * 128), ("note", c_char * 512), ("doubtful", c_int)])


class RankOptions(Struct):
    _fields_ = (_members(c_size_t, "size") + _members(c_char_p, "backend device precision method stop verify")
                + _members(c_double, "damping tolerance time_limit") + _members(c_int64, "max_iterations check_every")
                + _members(c_int, "threads deterministic links_are_in") + _members(c_void_p, "personalize start")
                + [("progress", PROGRESS), ("log", LOG)] + _members(c_void_p, "context trace"))


class RankResultStruct(Struct):
    _fields_ = (_members(c_size_t, "size") + _members(c_uint, "status outcome") + _members(c_int, "verified")
                + _members(c_int64, "iterations checked_rows dangling") + _members(c_double, "bound change")
                + _members(c_double, "prepare_seconds transfer_seconds solve_seconds verify_seconds total_seconds")
                + [("method", c_char * 16), ("backend", c_char * 64), ("device", c_char * 128),
                   ("note", c_char * 512)])


class OperatorOptions(Struct):
    _fields_ = (_members(c_size_t, "size") + _members(c_char_p, "backend device precision")
                + _members(c_int, "threads deterministic"))


# The structs of the header by their names there.
STRUCTS = {"wr_read_choice": ReadChoice, "wr_solve_options": SolveOptions, "wr_solve_result": SolveResultStruct,
           "wr_rank_options": RankOptions, "wr_rank_result": RankResultStruct, "wr_operator_options": OperatorOptions}

# Name: what it returns, its arguments. Handles and arrays are addresses.
_STATUS, _P, _N = c_uint, c_void_p, c_int64
_FUNCTIONS = {
    "wr_version": (c_char_p, []),
    "wr_status_message": (c_char_p, []),
    "wr_status_name": (c_char_p, [_STATUS]),
    "wr_status_sentence": (c_char_p, [_STATUS]),
    "wr_outcome_title": (c_char_p, [c_uint]),
    "wr_backend_name": (c_char_p, [c_int]),
    "wr_backend_check": (_STATUS, [c_char_p]),
    "wr_built_with": (c_int, [c_char_p]),
    "wr_read_as": (_STATUS, [c_char_p, POINTER(ReadChoice), POINTER(_P)]),
    "wr_matrix_new_csr": (_STATUS, [_N, _N, _P, _P, _P, POINTER(_P)]),
    "wr_matrix_new_csr64": (_STATUS, [_N, _N, _P, _P, _P, POINTER(_P)]),
    "wr_matrix_new_coo": (_STATUS, [_N, _N, _N, _P, _P, _P, c_int, POINTER(_P)]),
    "wr_matrix_new_coo64": (_STATUS, [_N, _N, _N, _P, _P, _P, c_int, POINTER(_P)]),
    "wr_matrix_free": (None, [_P]),
    "wr_matrix_rows": (_N, [_P]),
    "wr_matrix_columns": (_N, [_P]),
    "wr_matrix_entries": (_N, [_P]),
    "wr_matrix_row_ptr": (_P, [_P]),
    "wr_matrix_col": (_P, [_P]),
    "wr_matrix_val": (_P, [_P]),
    "wr_matrix_id": (_STATUS, [_P, _N, c_char_p, c_size_t]),
    "wr_matrix_find": (_STATUS, [_P, c_char_p, POINTER(_N)]),
    "wr_trace_new": (_STATUS, [POINTER(_P)]),
    "wr_trace_free": (None, [_P]),
    "wr_trace_get": (_N, [_P, _N, POINTER(_P), POINTER(_P)]),
    "wr_solve": (_STATUS, [_P, _P, _P, POINTER(SolveOptions), POINTER(SolveResultStruct)]),
    "wr_solver_new": (_STATUS, [_P, POINTER(SolveOptions), POINTER(_P)]),
    "wr_solver_free": (None, [_P]),
    "wr_solver_solve": (_STATUS, [_P, _P, _P, _P, POINTER(SolveResultStruct)]),
    "wr_solver_solve_many": (_STATUS, [_P, _N, _P, _N, _P, _N, POINTER(SolveResultStruct)]),
    "wr_solver_solve_device": (_STATUS, [_P, _P, _P, _P, POINTER(SolveResultStruct)]),
    "wr_solver_solve_many_device": (_STATUS, [_P, _N, _P, _N, _P, _N, POINTER(SolveResultStruct)]),
    "wr_rank": (_STATUS, [_P, _P, POINTER(RankOptions), POINTER(RankResultStruct)]),
    "wr_rank_device": (_STATUS, [_P, _P, POINTER(RankOptions), POINTER(RankResultStruct)]),
    "wr_rank_many": (_STATUS, [_P, _N, _P, _P, _P, _N, _P, _P, _P, POINTER(RankOptions), POINTER(RankResultStruct)]),
    "wr_rank_best": (_STATUS, [_P, _N, _N, _P]),
    "wr_operator_new": (_STATUS, [_P, POINTER(OperatorOptions), POINTER(_P)]),
    "wr_operator_free": (None, [_P]),
    "wr_operator_apply": (_STATUS, [_P, c_double, _P, c_double, _P]),
    "wr_operator_apply_device": (_STATUS, [_P, c_double, _P, c_double, _P]),
}


# ---- The library ----


def _abi(version):
    """The part of a version within which programs and library fit; before 1.0 every minor version may break them."""
    major, minor = version.split(".")[:2]
    return major if major != "0" else f"{major}.{minor}"


def _places():
    """Where the library is looked for, in this order; WINDROW_LIBRARY alone where it is set."""
    named = os.environ.get("WINDROW_LIBRARY")
    if named:
        return [named]
    here = os.path.dirname(os.path.abspath(__file__))
    inside = [place for place in [os.path.join(here, "libwindrow.so")] if os.path.exists(place)]
    built = builds.newest(os.path.dirname(os.path.dirname(here)))
    return inside + built + ["libwindrow.so." + _abi(__version__)]


def _load():
    reasons = []
    for place in _places():
        try:
            found = ctypes.CDLL(place)
        except OSError as error:
            reasons.append(str(error) if place in str(error) else f"{place}: {error}")
            continue
        try:
            for name, (returned, arguments) in _FUNCTIONS.items():
                function = getattr(found, name)
                function.restype, function.argtypes = returned, arguments
        except AttributeError:
            raise ImportError(f"{place} has no {name}: it is no libwindrow {_abi(__version__)}") from None
        version = found.wr_version().decode()
        if _abi(version) != _abi(__version__):
            raise ImportError(f"{place} is windrow {version}, and this Python package is for windrow "
                              f"{_abi(__version__)}: install both from one source")
        return found, place
    raise ImportError("libwindrow was not found. `make libraries` in windrow's source tree builds it, `make install` "
                      "or `pip install ./python` puts it where it is found, and WINDROW_LIBRARY=/path/to/libwindrow.so "
                      "names it. Tried: " + "; ".join(reasons))


lib, path = _load()


def backends():
    """The library's backends: how a matrix is stored and multiplied with.

    Returns
    -------
    list of dict
        Each with ``name``, ``available``, and as ``reason`` why it is not, or ``""``.

    Examples
    --------
    >>> "cpu_csr" in [b["name"] for b in windrow.backends() if b["available"]]
    True
    """
    table = []
    while lib.wr_backend_name(len(table)) is not None:
        name = lib.wr_backend_name(len(table))
        status = lib.wr_backend_check(name)
        reason = "" if status == 0 else str(failure(status, lib.wr_status_message().decode()))
        table.append({"name": name.decode(), "available": status == 0, "reason": reason})
    return table


def built_with():
    """What the library was built with.

    Returns
    -------
    dict
        ``{"cuda": bool, "zlib": bool, "klu": bool}``: GPUs, .gz files, the direct solver.

    Examples
    --------
    >>> sorted(windrow.built_with())
    ['cuda', 'klu', 'zlib']
    """
    return {name: bool(lib.wr_built_with(name.encode())) for name in ("cuda", "zlib", "klu")}


# ---- Arguments ----


def text(name, value):
    """A text for the library; None stays None, which is the default."""
    if value is None:
        return None
    if not isinstance(value, str) or "\0" in value:
        raise UsageError(f"{name} is {value!r}, which is no text such as 'auto'")
    return value.encode()


def whole(name, value, least=0, most=2**63 - 1):
    """A whole number for the library; None is 0, which is the default."""
    if value is None:
        return 0
    try:
        number = operator.index(value)
    except TypeError:
        raise UsageError(f"{name} is {value!r}, which is no whole number") from None
    if not least <= number <= most:
        raise UsageError(f"{name} is {number}; it is from {least} to {most}")
    return number


def threads_of(value):
    return whole("threads", value, most=4096)


def positive(name, value):
    """A positive number for the library, where 0 stands for the default, as None does here."""
    if value is None:
        return 0.0
    number = real(name, value)
    if not number > 0:
        raise UsageError(f"{name} is {value!r}; it is greater than 0")
    return number


def real(name, value):
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{name} is {value!r}, which is no number") from None
    if math.isnan(number):
        raise UsageError(f"{name} is NaN")
    return number


def is_on_gpu(array):
    """Whether an array of another package is on a device, by DLPack's numbers: 1 and 3 are memory of the host."""
    where = getattr(array, "__dlpack_device__", None)
    return where is not None and where()[0] not in (1, 3)


def doubles(name, values):
    """An array of float64; complex numbers, texts and integers that float64 cannot hold are refused."""
    if is_on_gpu(values):
        raise UsageError(f"{name} is on a GPU and has to be an array of the host: .get() of CuPy and .cpu() of PyTorch copy it")
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__") and hasattr(np, "from_dlpack"):
        values = np.from_dlpack(values)
    if np.ma.is_masked(values):
        raise UsageError(f"{name} has masked elements; numpy.ma.filled gives them values")
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise UsageError(f"{name} is complex; windrow computes with real numbers")
    if array.dtype.kind not in "fiub":
        raise UsageError(f"{name} has elements of type {array.dtype}, not numbers")
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        if int(array.max()) > 2**53 or int(array.min()) < -(2**53):
            raise UsageError(f"{name} has integers beyond 2^53, which float64 would round")
    return np.asarray(array, dtype=np.float64)


def vector(name, values, n):
    """A contiguous array of n float64."""
    array = doubles(name, values)
    if array.shape != (n,) and array.shape != (n, 1):
        raise UsageError(f"{name} has shape {array.shape}, not ({n},)")
    return np.ascontiguousarray(array.reshape(n))


# ---- Handles ----

_forks = 0  # that this process has gone through


def _has_forked():
    global _forks
    _forks += 1


# A child of fork (multiprocessing) has no threads but the one that forked. OpenMP's are ended before, so that both processes
# start new ones; those of solvers and operators stay in the parent.
if hasattr(os, "register_at_fork"):
    if hasattr(lib, "omp_pause_resource_all"):
        os.register_at_fork(before=lambda: lib.omp_pause_resource_all(1))  # omp_pause_soft
    os.register_at_fork(after_in_child=_has_forked)


class Handle:
    """An object of the library, freed when nothing refers to it."""

    def __init__(self, kind, address, free, has_threads=True):
        self.kind, self.address, self.free = kind, address, free
        self.forks = _forks if has_threads else None

    def get(self):
        if self.address is None:
            raise UsageError(f"this {self.kind} is closed")
        if self.forks not in (None, _forks):
            raise UsageError(f"this {self.kind} was made before the process forked, and its threads are in the other one: "
                             "make one here, or let multiprocessing spawn")
        return self.address

    def close(self):
        address, self.address = self.address, None
        if address is not None and self.forks in (None, _forks):
            self.free(address)

    __del__ = close


# ---- Callbacks ----


class Watch:
    """What the library calls during a call of it, and what was raised there, which ends the call and is raised after it.

    A Ctrl-C is noted when the library asks for the first time after it. Python would raise KeyboardInterrupt between
    ctypes and the callback, where it is lost; so the handler of the signal is wrapped during a call.
    """

    def __init__(self, progress=None, M=None):
        if progress is not None and not callable(progress):
            raise UsageError(f"progress is {progress!r}, which cannot be called")
        self.user_progress, self.apply_M, self.raised, self.before = progress, M, None, None

    def callbacks(self):
        """Members of an options struct, to be kept as long as the library may call them."""
        made = {"progress": PROGRESS(self.progress)}
        if log.isEnabledFor(logging.INFO):
            made["log"] = LOG(self.say)
        if self.apply_M is not None:
            made["precondition"] = PRECONDITION(self.precondition)
        return made

    def progress(self, _, iteration, residual, target):
        try:
            if self.raised is None and self.user_progress is not None:
                answer = self.user_progress(iteration, residual, target)
                return isinstance(answer, (bool, np.bool_)) and bool(answer) or self.raised is not None
        except BaseException as error:
            self.raised = error
        return self.raised is not None

    def say(self, _, sentence):
        try:
            log.info("%s", sentence.decode(errors="replace"))
        except BaseException as error:
            self.raised = error

    def precondition(self, _, n, r, z):
        try:
            found = doubles("what M returns", self.apply_M(view(r, np.float64, n).copy()))
            if found.shape != (n,) and found.shape != (n, 1):
                raise UsageError(f"M returns an array of shape {found.shape}, not ({n},)")
            view(z, np.float64, n)[:] = found.reshape(n)
        except BaseException as error:
            self.raised = error
        return 0 if self.raised is None else 1

    def on_signal(self, number, frame):
        try:
            self.before(number, frame)
        except BaseException as error:
            self.raised = error

    def __enter__(self):
        self.raised = self.before = None
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self.before = handler
                signal.signal(signal.SIGINT, self.on_signal)
        return self

    def __exit__(self, *_):
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
        if self.raised is not None:
            error, self.raised = self.raised, None
            raise error


class Trace:
    """The residuals of a solve at its checks."""

    def __init__(self):
        handle = c_void_p()
        check(lib.wr_trace_new(byref(handle)))
        self.handle = Handle("Trace", handle.value, lib.wr_trace_free, has_threads=False)

    def get(self, column=0):
        """(iterations, residuals), arrays of their own."""
        iterations, residuals = c_void_p(), c_void_p()
        count = lib.wr_trace_get(self.handle.get(), column, byref(iterations), byref(residuals))
        return view(iterations.value, np.int64, count).copy(), view(residuals.value, np.float64, count).copy()


def view(address, dtype, count):
    """An array over memory of the library."""
    if not address or count == 0:
        return np.empty(0, dtype)
    return np.frombuffer((c_char * (np.dtype(dtype).itemsize * count)).from_address(address), dtype)
