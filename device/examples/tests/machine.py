# SPDX-License-Identifier: Apache-2.0
"""QEMU with an example's image, and a peer at the other end of its Ethernet cable."""

import contextlib
import queue
import socket
import struct
import subprocess
import threading
import time

import frames

BOOT_S = 20
ANSWER_S = 20


class Machine:
    """Runs an image until the `with` block ends; begins when the image says that it is ready."""

    def __init__(self, image: str, machine: str, *network: str):
        command = ["qemu-system-arm", "-M", machine, "-nographic", "-monitor", "none", "-serial", "stdio"]
        self._command = [*command, "-kernel", image, *network]

    def __enter__(self):
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        watchdog = threading.Timer(BOOT_S, self._process.kill)
        watchdog.start()
        said = []
        for line in self._process.stdout:
            said.append(line)
            if line.strip() == "ready":
                break
        else:
            raise AssertionError(f"the image does not boot; QEMU says: {''.join(said) or 'nothing'}")
        watchdog.cancel()
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()


class Cable:
    """A listening socket that QEMU connects to: four bytes of length before each frame, nothing is lost on it."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.network = ("-nic", f"socket,connect=127.0.0.1:{self._listener.getsockname()[1]}")
        self._received = queue.Queue()
        self._socket = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.close()
        if self._socket is not None:
            self._socket.close()

    def plug(self) -> bytes:
        """Once the machine runs. Returns the device's MAC address."""
        self._listener.settimeout(ANSWER_S)
        self._socket, _ = self._listener.accept()
        threading.Thread(target=self._read, daemon=True).start()
        self.send(frames.arp_request())
        return self.receive(frames.parse_arp_reply)

    def send(self, *several: bytes) -> None:
        """Waits as long as QEMU does not take them."""
        self._socket.sendall(b"".join(struct.pack("!I", len(frame)) + frame for frame in several))

    def receive(self, parse, seconds: float = ANSWER_S):
        """The first frame of which `parse` makes something; raises queue.Empty when there is none in time."""
        end = time.monotonic() + seconds
        while True:
            parsed = parse(self._received.get(timeout=max(0.0, end - time.monotonic())))
            if parsed is not None:
                return parsed

    def _read(self) -> None:
        with contextlib.suppress(ConnectionResetError), self._socket.makefile("rb") as stream:
            while len(head := stream.read(4)) == 4:
                self._received.put(stream.read(struct.unpack("!I", head)[0]))
