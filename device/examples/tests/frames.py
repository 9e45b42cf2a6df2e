# SPDX-License-Identifier: Apache-2.0
"""Frames, byte by byte: what the peer on the other end of QEMU's cable sends, and how it reads the answers."""

import struct
from ipaddress import IPv4Address

OWN_MAC = bytes.fromhex("025765697202")
BROADCAST = b"\xff" * 6
OWN_IP = IPv4Address("10.0.2.99").packed
DEVICE_IP = IPv4Address("10.0.2.15").packed

ARP, IPV4 = 0x0806, 0x0800
ICMP, UDP = 1, 17


def checksum(data: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ethernet(destination: bytes, ethertype: int, payload: bytes) -> bytes:
    """Padded to the shortest frame, without frame check sequence."""
    return (destination + OWN_MAC + struct.pack("!H", ethertype) + payload).ljust(60, b"\0")


def arp_request() -> bytes:
    """Who has the device's address?"""
    body = struct.pack("!HHBBH", 1, IPV4, 6, 4, 1) + OWN_MAC + OWN_IP + bytes(6) + DEVICE_IP
    return ethernet(BROADCAST, ARP, body)


def parse_arp_reply(frame: bytes) -> bytes | None:
    """The device's MAC address."""
    if frame[12:14] != struct.pack("!H", ARP) or frame[20:22] != b"\0\2":
        return None
    assert frame[28:32] == DEVICE_IP and frame[22:28] == frame[6:12]
    return frame[22:28]


def ipv4(mac: bytes, protocol: int, payload: bytes) -> bytes:
    """To the device."""
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0) + OWN_IP + DEVICE_IP
    header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
    return ethernet(mac, IPV4, header + payload)


def ping(mac: bytes, sequence: int, data: bytes) -> bytes:
    """ICMP echo request."""
    message = struct.pack("!BBHHH", 8, 0, 0, 0x5745, sequence) + data
    return ipv4(mac, ICMP, message[:2] + struct.pack("!H", checksum(message)) + message[4:])


def udp(mac: bytes, port: int, data: bytes) -> bytes:
    """From port 40000, without checksum, which IPv4 allows."""
    return ipv4(mac, UDP, struct.pack("!HHHH", 40000, port, 8 + len(data), 0) + data)


def parse_ipv4(frame: bytes) -> tuple[int, bytes] | None:
    """Protocol and payload of an IPv4 frame from the device, whose header must be right."""
    if struct.unpack("!H", frame[12:14])[0] != IPV4:
        return None
    header = frame[14:34]
    assert header[0] == 0x45 and checksum(header) == 0 and header[12:20] == DEVICE_IP + OWN_IP
    return header[9], frame[34 : 14 + struct.unpack("!H", header[2:4])[0]]


def parse_udp(frame: bytes) -> tuple[int, bytes] | None:
    """Source port and data."""
    packet = parse_ipv4(frame)
    if packet is None or packet[0] != UDP:
        return None
    return struct.unpack("!H", packet[1][:2])[0], packet[1][8:]
