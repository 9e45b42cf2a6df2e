# SPDX-License-Identifier: Apache-2.0
"""The application of an I/O device in Python, over the C library of rte/c, whose header says more.

    cc -std=c11 -O2 -shared -fPIC -I rte/c rte/c/weir_io.c -o rte/python/libweir_io.so

    with weir_io.Device("/dev/shm/weir-io-press") as device:
        while not device.is_replaced:
            device.refresh()
            drive(device["speed"])
            device["pressure"] = measure()
            device.publish()
            time.sleep(0.01)

The library is looked for beside this file, or where the environment's WEIR_IO_LIBRARY says. Python has no atomic
operations on shared memory, therefore the C library does the exchange.
"""

import ctypes
import os
from pathlib import Path

TYPES = ("bool", "u8", "i8", "u16", "i16", "u32", "i32", "f32")
VALID = 1
RUN = 2


class _Point(ctypes.Structure):
    _fields_ = [
        ("exists", ctypes.c_bool),
        ("is_output", ctypes.c_bool),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_uint32),
        ("owner", ctypes.c_int32),
    ]


def _library():
    path = os.environ.get("WEIR_IO_LIBRARY", str(Path(__file__).parent / "libweir_io.so"))
    library = ctypes.CDLL(path)
    io = ctypes.c_void_p
    for name, result, arguments in (
        ("error_text", ctypes.c_char_p, (ctypes.c_int,)),
        ("open", ctypes.c_int, (ctypes.c_char_p, ctypes.POINTER(io))),
        ("close", None, (io,)),
        ("application", ctypes.c_uint32, (ctypes.c_char_p,)),
        ("is_replaced", ctypes.c_bool, (io,)),
        ("protocol_name", ctypes.c_char_p, (io, ctypes.c_size_t)),
        ("input_name", ctypes.c_char_p, (io, ctypes.c_size_t)),
        ("output_name", ctypes.c_char_p, (io, ctypes.c_size_t)),
        ("input", _Point, (io, ctypes.c_char_p)),
        ("output", _Point, (io, ctypes.c_char_p)),
        ("set", ctypes.c_bool, (io, _Point, ctypes.c_double)),
        ("publish", None, (io, ctypes.c_bool)),
        ("refresh", None, (io,)),
        ("get", ctypes.c_double, (io, _Point)),
        ("is_valid", ctypes.c_bool, (io, _Point)),
        ("state", ctypes.c_uint32, (io, ctypes.c_size_t)),
    ):
        function = getattr(library, f"weir_io_{name}")
        function.restype, function.argtypes = result, arguments
    return library


class Error(Exception):
    """The memory cannot be used; the text says why."""


class Device:
    """A device's data points by name: inputs are set, outputs are read."""

    def __init__(self, path):
        self._c = _library()
        self._io = ctypes.c_void_p()
        name = os.fsencode(path)
        error = self._c.weir_io_open(name, ctypes.byref(self._io))
        if error:
            text = self._c.weir_io_error_text(error).decode()
            if application := self._c.weir_io_application(name):
                text += f": process {application}"
            raise Error(f"{os.fspath(path)}: {text}")
        self.protocols = self._names(self._c.weir_io_protocol_name)
        self.inputs = self._points(self._c.weir_io_input_name, self._c.weir_io_input)
        self.outputs = self._points(self._c.weir_io_output_name, self._c.weir_io_output)

    def _names(self, name):
        names = []
        while (one := name(self._io, len(names))) is not None:
            names.append(one.decode())
        return names

    def _points(self, name, find):
        return {name: find(self._io, name.encode()) for name in self._names(name)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Gives the memory back."""
        self._c.weir_io_close(self._io)
        self._io = ctypes.c_void_p()

    def _open(self):
        # The C library would follow a null pointer.
        if not self._io:
            raise Error("the device is closed")
        return self._io

    @property
    def is_replaced(self):
        """Whether the device was started with another configuration: open it again."""
        return self._c.weir_io_is_replaced(self._open())

    def __setitem__(self, name, value):
        """Sets an input; PLCs see it after publish()."""
        point = self.inputs[name]
        if not self._c.weir_io_set(self._open(), point, value):
            raise ValueError(f"{name}: {value} is no {TYPES[point.type]}")

    def __getitem__(self, name):
        """An output as of the last refresh(), or its safe value."""
        point = self.outputs[name]
        value = self._c.weir_io_get(self._open(), point)
        kind = TYPES[point.type]
        return value if kind == "f32" else bool(value) if kind == "bool" else int(value)

    def is_valid(self, output):
        """Whether a PLC sends this output."""
        return self._c.weir_io_is_valid(self._open(), self.outputs[output])

    def state(self, protocol):
        """VALID, RUN or both, of the protocol of that name."""
        return self._c.weir_io_state(self._open(), self.protocols.index(protocol))

    def refresh(self):
        """Takes the newest outputs."""
        self._c.weir_io_refresh(self._open())

    def publish(self, good=True):
        """Hands all inputs to all PLCs; `good` is what they are told of them."""
        self._c.weir_io_publish(self._open(), good)
