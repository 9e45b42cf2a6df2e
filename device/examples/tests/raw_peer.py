# SPDX-License-Identifier: Apache-2.0
"""What every example must do for a peer on its cable, whatever its MAC and CPU."""

import contextlib
import queue
import struct

import frames

ECHO_PORT, SINK_PORT, STATUS_PORT, CLOSED_PORT = 5005, 5006, 5007, 9
BURSTS = 400
FRAMES_AT_ONCE = 50
RETRIES, RETRY_S = 50, 0.2


def echo_reply(frame: bytes) -> bytes | None:
    """The ICMP message, if it is one."""
    packet = frames.parse_ipv4(frame)
    return packet[1] if packet and packet[0] == frames.ICMP and packet[1][:2] == b"\0\0" else None


def pings(cable, mac: bytes) -> None:
    """Short, odd and longest."""
    for sequence, size in enumerate([0, 1, 56, 57, 1000, 1472]):
        data = bytes(i % 251 for i in range(size))
        cable.send(frames.ping(mac, sequence, data))
        message = cable.receive(echo_reply)
        assert frames.checksum(message) == 0
        assert struct.unpack("!H", message[6:8])[0] == sequence and message[8:] == data


def status(cable, mac: bytes) -> dict[str, int]:
    """The library's books."""

    def parse(frame):
        packet = frames.parse_udp(frame)
        return packet[1] if packet and packet[0] == STATUS_PORT else None

    cable.send(frames.udp(mac, STATUS_PORT, b"?"))
    names = ["with_nic", "waiting", "held", "clean", "dirty", "refused", "discarded", "polling"]
    return dict(zip(names, struct.unpack("!8I", cable.receive(parse)), strict=True))


def flood_frame(kind: str, mac: bytes) -> bytes:
    """One frame of a flood."""
    return {
        "slow reader": lambda: frames.udp(mac, SINK_PORT, b"x" * 18),
        "closed port": lambda: frames.udp(mac, CLOSED_PORT, b"x" * 18),
        "ARP broadcast": frames.arp_request,
    }[kind]()


def echoed(frame: bytes) -> bytes | None:
    """What the high-priority port answers."""
    packet = frames.parse_udp(frame)
    return packet[1] if packet and packet[0] == ECHO_PORT else None


def flood(cable, mac: bytes, kind: str, frames_per_burst: int) -> None:
    """Every request to the high-priority port, in the midst of a flood, is answered, once and in order.

    QEMU's wire has no speed: it fills the receive ring in no time, and what does not fit is lost before any software
    can see it. So a burst is as long as the empty part of the ring at worst, and the next one is sent when the last
    frame of this one has been seen; but nobody waits for the flood frames that the device has kept.
    """
    burst = [flood_frame(kind, mac)] * (frames_per_burst - 2)
    for turn in range(BURSTS):
        requests = [struct.pack("!IB", turn, i) for i in range(2)]
        first, last = [frames.udp(mac, ECHO_PORT, request) for request in requests]
        cable.send(first, *burst, last)
        assert [cable.receive(echoed) for _ in requests] == requests


def more_than_the_ring_holds(cable, mac: bytes) -> None:
    """Frames as fast as QEMU can: most are lost on the wire, and afterwards all is as before."""
    for _ in range(BURSTS):
        cable.send(*[flood_frame("slow reader", mac)] * FRAMES_AT_ONCE)
    for turn in range(RETRIES):
        cable.send(frames.udp(mac, ECHO_PORT, bytes([turn])))
        with contextlib.suppress(queue.Empty):
            cable.receive(echoed, RETRY_S)
            break
    else:
        raise AssertionError("the device has stopped receiving")
    pings(cable, mac)


def books_balance(cable, mac: bytes, buffers: int) -> dict[str, int]:
    """No buffer is lost: all are in the ring, waiting, with the stack, or free."""
    now = status(cable, mac)
    assert sum(now[place] for place in ["with_nic", "waiting", "held", "clean", "dirty"]) == buffers, now
    return now
