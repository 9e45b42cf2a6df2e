# SPDX-License-Identifier: Apache-2.0
"""What weir_nic has to do, told independently: the classes of frames, and moderation as in host/src/nic/model.rs."""

TCP, UDP, ARP, ICMP, FRAGMENT, IP, OTHER = range(7)
NEVER = 1 << 62
NONE = (OTHER, 0, 0)


def classify(frame):
    """(class, port, sender) of a frame of 14 bytes or more."""
    at = 12
    kind = int.from_bytes(frame[at : at + 2], "big")
    for _ in range(2):
        if kind in (0x8100, 0x88A8):
            at += 4
            if len(frame) < at + 2:
                return NONE
            kind = int.from_bytes(frame[at : at + 2], "big")
    packet = frame[at + 2 :]
    if kind == 0x0806:
        return ARP, 0, 0
    if kind == 0x0800:
        return ipv4(packet)
    if kind == 0x86DD:
        return ipv6(packet)
    return NONE


def ipv4(p):
    if len(p) < 20:
        return NONE
    header, total = (p[0] & 15) * 4, int.from_bytes(p[2:4], "big")
    if p[0] >> 4 != 4 or header < 20 or total < header or total > len(p):
        return NONE
    sender = int.from_bytes(p[12:16], "big")
    if int.from_bytes(p[6:8], "big") & 0x3FFF:
        return FRAGMENT, 0, sender
    if p[9] == 1:
        return ICMP, 0, sender
    return transport(p[9], p[header:total], sender)


def ipv6(p):
    if len(p) < 40 or p[0] >> 4 != 6 or 40 + int.from_bytes(p[4:6], "big") > len(p):
        return NONE
    end, following, at = 40 + int.from_bytes(p[4:6], "big"), p[6], 40
    sender = int.from_bytes(p[20:24], "big")
    for _ in range(6):
        if following not in (0, 43, 44, 60):
            break
        if at + 8 > end:
            return NONE
        if following == 44:
            if int.from_bytes(p[at + 2 : at + 4], "big") & 0xFFF9:
                return FRAGMENT, 0, sender
            size = 8
        else:
            size = 8 * (p[at + 1] + 1)
        if at + size > end:
            return NONE
        following, at = p[at], at + size
    if following == 58:
        return ICMP, 0, sender
    return transport(following, p[at:end], sender)


def transport(protocol, data, sender):
    if protocol in (6, 17):
        if len(data) < (20 if protocol == 6 else 8):
            return NONE
        return (TCP if protocol == 6 else UDP), int.from_bytes(data[2:4], "big"), sender
    return IP, 0, sender


def moderated(settings, events, until):
    """Interrupts (time, cause, frames) of one queue with frames at the times in `events`.

    settings: packet, absolute, periodic, begin (of the first period), frames.
    """
    packet, absolute, threshold = settings["packet"], settings["absolute"], settings["frames"]
    periodic = settings["periodic"] and absolute
    at_once = not (packet or absolute or threshold)
    packet_due, absolute_due = NEVER, settings["begin"] + absolute if periodic else NEVER
    waiting, out = 0, []

    def interrupt(time, cause):
        nonlocal waiting, packet_due, absolute_due
        out.append((time, cause, waiting))
        waiting, packet_due = 0, NEVER
        if not periodic:
            absolute_due = NEVER

    def advance(time):
        nonlocal packet_due, absolute_due
        while min(packet_due, absolute_due) <= time:
            now = min(packet_due, absolute_due)
            if absolute_due == now:
                if periodic:
                    absolute_due = now + absolute
                if packet_due == now:
                    packet_due = NEVER
                if waiting:
                    interrupt(now, 3)
            elif waiting:
                interrupt(now, 2)
            else:
                packet_due = NEVER

    for time in events:
        advance(time)
        waiting += 1
        if at_once:
            interrupt(time, 0)
            continue
        if waiting == 1 and absolute and not periodic:
            absolute_due = time + absolute
        if waiting == threshold:
            interrupt(time, 1)
        elif packet:
            packet_due = time + packet
    advance(until)
    return out
