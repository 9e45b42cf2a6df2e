# SPDX-License-Identifier: Apache-2.0
"""The classifier beside scapy, a dissector that knows nothing of it: same protocol, same port, every time."""

import random
import struct
import subprocess
from pathlib import Path

from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP, IPOption_RR
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6ND_NS,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import RawPcapReader

CAPTURE = Path(__file__).resolve().parents[3] / "scenarios/demo/plant-modbus.pcap"
EXTENSIONS = (IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, IPv6ExtHdrDestOpt)
EXTENSIONS_MAX = 6  # WEIR_EXTENSIONS_MAX
DEPTH_MAX = 160  # WEIR_HEADER_BYTES
IGMP, OSPF = 2, 89


def classified(program: Path, frames: list[bytes]) -> list[str]:
    """What the library says of each frame."""
    stream = b"".join(struct.pack("<H", len(frame)) + frame for frame in frames)
    done = subprocess.run([program], input=stream, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode().splitlines()


def transport(layer: Packet, protocol: int) -> str:
    """What follows an IP header."""
    if isinstance(layer, (UDP, TCP)):
        return f"{protocol} {layer.dport}"
    return "background"


def expected(frame: bytes) -> str:
    """What scapy makes of a well-formed frame."""
    layer = Ether(frame)
    tags = 0
    while isinstance(layer.payload, (Dot1Q, Dot1AD)):
        layer = layer.payload
        tags += 1
    layer = layer.payload
    if tags > 2:
        return "background"
    if isinstance(layer, ARP):
        return "address"
    if isinstance(layer, IP):
        if layer.flags.MF or layer.frag:
            return "background"
        return "control" if layer.proto in (1, IGMP) else transport(layer.payload, layer.proto)
    if not isinstance(layer, IPv6):
        return "background"
    following = layer.nh
    layer = layer.payload
    extensions = 0
    while isinstance(layer, EXTENSIONS):
        following = layer.nh
        layer = layer.payload
        extensions += 1
    if extensions > EXTENSIONS_MAX or isinstance(layer, IPv6ExtHdrFragment):
        return "background"
    return "address" if following == 58 else transport(layer, following)


def extension(rng: random.Random) -> Packet:
    """An IPv6 extension header of 8 or 16 bytes."""
    kind = rng.choice(EXTENSIONS)
    if kind is IPv6ExtHdrRouting:
        return IPv6ExtHdrRouting(addresses=[])
    return kind(options=[PadN(optdata=bytes(rng.choice((4, 12))))])


def network(rng: random.Random, body: Packet, proto: int) -> Packet:
    """IPv4 or IPv6 around a body."""
    if rng.random() < 0.6:
        options = [IPOption_NOP()] * rng.randrange(0, 8) if rng.random() < 0.3 else []
        if rng.random() < 0.1:
            options = [IPOption_RR(routers=["10.0.0.9"] * rng.randrange(1, 9))]
        fragment = rng.choice([{"flags": "MF"}, {"frag": rng.randrange(1, 100)}] + [{}] * 30)
        return IP(dst="10.0.0.1", proto=proto, options=options, **fragment) / body
    packet: Packet = IPv6(dst="fe80::1")
    count = rng.choice((0, 0, 0, 1, 2, 3, 5, 6, 7))
    for _ in range(count):
        packet = packet / extension(rng)
    if rng.random() < 0.05:
        packet = packet / IPv6ExtHdrFragment(m=1)
    packet.lastlayer().nh = 58 if proto == 1 else proto
    return packet / body


def generated(rng: random.Random) -> bytes:
    """A well-formed frame of any kind."""
    frame: Packet = Ether(dst="02:57:0a:00:00:01", src="02:00:00:00:00:02")
    for _ in range(rng.choice((0, 0, 0, 1, 2, 3))):
        frame = frame / rng.choice((Dot1Q, Dot1AD))(vlan=rng.randrange(4095), prio=rng.randrange(8))
    kind = rng.randrange(8)
    data = Raw(rng.randbytes(rng.randrange(64)))
    port = rng.randrange(65536)
    if kind == 0:
        return bytes(frame / ARP(pdst="10.0.0.1"))
    if kind == 1:
        frame.lastlayer().type = rng.choice((0x88CC, 0x8892, 0x88A4, 0x0842))
        return bytes(frame / data)
    body, proto = (
        (UDP(dport=port) / data, 17),
        (TCP(dport=port, options=[("MSS", 1460)]) / data, 6),
        (ICMP() / data, 1),
        (data, IGMP),
        (data, OSPF),
        (UDP(dport=port) / data, 17),
    )[kind - 2]
    packet = network(rng, body, proto)
    if proto == 1 and isinstance(packet, IPv6):
        packet[ICMP].underlayer.remove_payload()
        packet = packet / rng.choice((ICMPv6EchoRequest(), ICMPv6ND_NS(tgt="fe80::1")))
    return bytes(frame / packet)


def transport_offset(frame: bytes) -> int:
    """Where the UDP or TCP header begins."""
    packet = Ether(frame)
    return len(frame) - len(next(packet[kind] for kind in (UDP, TCP) if kind in packet))


def test_generated_frames(program: Path) -> None:
    """Well-formed ones: the same verdict."""
    rng = random.Random(1)
    frames = [generated(rng) for _ in range(3000)]
    kinds: dict[str, int] = {}
    for frame, verdict in zip(frames, classified(program, frames), strict=True):
        right = expected(frame)
        if verdict != right and verdict == "background":
            # Ports that lie deeper than anyone needs.
            assert transport_offset(frame) + 4 > DEPTH_MAX, f"{frame.hex()}: {verdict}, scapy: {right}"
            continue
        assert verdict == right, f"{frame.hex()}: {verdict}, scapy: {right}"
        kinds[right.split()[0]] = kinds.get(right.split()[0], 0) + 1
    assert set(kinds) == {"background", "address", "control", "6", "17"} and min(kinds.values()) > 100, kinds


def test_changed_frames(program: Path) -> None:
    """Whatever is wrong with a frame: if the library finds a port, scapy finds the same one."""
    rng = random.Random(2)
    frames = []
    for _ in range(3000):
        frame = bytearray(generated(rng))
        for _ in range(rng.randrange(1, 4)):
            frame[rng.randrange(12, min(len(frame), 80))] = rng.randrange(256)
        frames.append(bytes(frame[: rng.randrange(14, len(frame) + 1)] if rng.random() < 0.3 else frame))
    found = 0
    for frame, verdict in zip(frames, classified(program, frames), strict=True):
        if verdict[0].isdigit():
            found += 1
            assert verdict == expected(frame), f"{frame.hex()}: {verdict}, scapy: {expected(frame)}"
    assert found > 250, found


def test_captured_frames(program: Path) -> None:
    """What real devices say to one another."""
    frames = [frame for frame, _ in RawPcapReader(str(CAPTURE))]
    assert len(frames) > 100
    assert classified(program, frames) == [expected(frame) for frame in frames]
