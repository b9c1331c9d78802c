"""Arrays of other packages that lie on a GPU, as CuPy's and PyTorch's: their addresses, by DLPack."""
import ctypes
import sys
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p, py_object

from .library import UsageError

# DLPack's numbers: types of devices, a code of elements, a stream.
_CUDA, _MANAGED = 2, 13
_FLOAT = 2
_DEFAULT_STREAM = 1


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h, the beginning of what a capsule holds. Strides are in elements; NULL: rows one after the other."""

    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


_held_by = ctypes.pythonapi.PyCapsule_GetPointer
_held_by.restype, _held_by.argtypes = c_void_p, [py_object, c_char_p]


def of(array):
    """The device of an array on a GPU, as options name it."""
    return f"cuda:{array.__dlpack_device__()[1]}"


class Address:
    """Where the elements of an array on a GPU are, one after the other; good while this object lives.

    The package of the array makes the default stream wait for what it has begun, and the library waits for that stream.
    """

    def __init__(self, name, array):
        kind, _ = array.__dlpack_device__()
        if kind not in (_CUDA, _MANAGED):
            raise UsageError(f"{name} is on a device of type {kind} by DLPack's numbers; windrow takes arrays of the host and "
                             "of CUDA's GPUs")
        try:
            self._capsule = array.__dlpack__(stream=_DEFAULT_STREAM)  # which frees what it holds at its end
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise UsageError(f"{name}: {error}") from None
        tensor = _Tensor.from_address(_held_by(self._capsule, b"dltensor"))
        if (tensor.code, tensor.bits, tensor.lanes) != (_FLOAT, 64, 1):
            raise UsageError(f"{name} has elements of type {array.dtype}; arrays on a GPU are of float64")
        self.shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
        next_to_it = 1
        for k in reversed(range(tensor.ndim)):
            if tensor.strides and self.shape[k] > 1 and tensor.strides[k] != next_to_it:
                raise UsageError(f"{name} has gaps between its elements")
            next_to_it *= self.shape[k]
        self._as_parameter_ = c_void_p((tensor.data or 0) + tensor.byte_offset)  # what ctypes gives to the library


def to_host(array):
    """A copy of an array on a GPU as one of numpy."""
    return array.get() if hasattr(array, "get") else array.cpu().numpy()


def compact(array):
    """The array itself, or a copy, with its elements one after the other."""
    return array.contiguous() if hasattr(array, "contiguous") else array.copy()


def like(name, array, count=None):
    """An array for results of the same package, place and type, of the same shape or of `count` elements."""
    package = sys.modules.get(type(array).__module__.partition(".")[0])
    if not hasattr(package, "empty_like"):
        raise UsageError(f"{name} is of type {type(array).__module__}.{type(array).__name__}, of which windrow cannot make "
                         "another one; cupy.from_dlpack and torch.from_dlpack take it without a copy")
    if count is not None:
        array = (array if count <= array.shape[0] else array.repeat(-(-count // array.shape[0])))[:count]
    return package.empty_like(array)
