# SPDX-License-Identifier: Apache-2.0
"""Test cases of weir_nic; run by test_weir_nic.py."""

import functools
import os

import cocotb
import weir_nic_tb as t
from scapy.all import (
    ARP,
    ICMP,
    IP,
    TCP,
    UDP,
    Dot1AD,
    Dot1Q,
    Ether,
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    Raw,
)
from weir_nic_model import classify, moderated
from weir_nic_tb import CAUSES, MAC, PEER, REG, Tb, udp

QUEUES = int(os.environ["QUEUES"])
FIFO_WORDS = int(os.environ["FIFO_WORDS"])
USUAL = QUEUES == 8  # the others run fewer seeds
MOST = QUEUES > 32  # slow: only the cases in which the number of queues matters, and shorter ones
ALL = range(7)


async def bring_up(dut, seed=1, ctrl=t.ENABLE):
    tb = Tb(dut, QUEUES, FIFO_WORDS, seed)
    tb.classes = {}
    await tb.start(ctrl)
    return tb


def fits(size):
    return min(size, 4 * FIFO_WORDS)


async def irqs_of(tb, queue):
    await tb.step(20 * QUEUES)  # counted in the background
    return {cause: await tb.read(f"IRQS_{cause.upper()}", queue) for cause in CAUSES}


@cocotb.test()
async def registers(dut):
    """Reset values, masks, byte lanes, read-only and unmapped registers of the NIC and of each queue."""
    tb = Tb(dut, QUEUES, FIFO_WORDS)
    await tb.start(ctrl=0)
    await tb.write("IRQ_ENABLE", 0)
    masks = {"CTRL": 7, "MAC_LO": 0xFFFFFFFF, "MAC_HI": 0xFFFF, "IRQ_ENABLE": 1, "THRESHOLD": 31}
    fixed = {"ID": 0x574E4943, "VERSION": 1, "QUEUES": QUEUES, "HEADROOM": 4}
    for name, mask in masks.items():
        for _ in range(4):
            value = tb.rng.getrandbits(32)
            await tb.write(name, value)
            assert await tb.read(name) == value & mask
            await tb.write(name, ~value & 0xFFFFFFFF, sel=tb.rng.randrange(15))
            assert await tb.read(name) == value & mask
        await tb.write(name, 0)
    for word in range(32):
        name = next((n for n, w in REG.items() if w == word), None)
        if name not in ("TIME", "HEADROOM", *masks):
            await tb._access(word, 1, 0xFFFFFFFF)
            assert await tb._access(word, 0) == fixed.get(name, 0), name
    for value, then in ((12, 12), (0, 12), (3, 12), (19, 16), (4, 4)):
        await tb.write("HEADROOM", value)
        assert await tb.read("HEADROOM") == then
    first = await tb.read("TIME")
    cycle = tb.cycle
    await tb.step(10)
    assert (await tb.read("TIME") - first) % 2**32 == tb.cycle - cycle
    for queue in {0, 1, QUEUES - 1}:
        for word in range(1, 32):
            adr = 0x800 + 32 * queue + word
            mask = {1: 0x7FFFFF, 4: 15, 5: 0x3FFFFFFC, 6: 0xFFFC, 9: 1, 11: 0x3FFF, 12: 255}.get(word, 0xFFFFFFFF)
            mask = mask if word <= 13 else 0
            assert await tb._access(adr, 0) == 0
            await tb._access(adr, 1, 0xFFFFFFFF)
            assert await tb._access(adr, 0) == mask, (queue, word)
            await tb._access(adr, 1, 0, sel=7)
            assert await tb._access(adr, 0) == mask
    if QUEUES < 64:
        await tb._access(0x800 + 32 * QUEUES + 1, 1, 0xFFFFFFFF)
        assert await tb._access(0x800 + 32 * QUEUES + 1, 0) == 0
    for adr in (0x20, 0x7FF):
        await tb._access(adr, 1, 0xFFFFFFFF)
        assert await tb._access(adr, 0) == 0


@cocotb.test()
async def delivery(dut):
    """Frames of all lengths modulo 16 and extreme contents, at once, with their metadata; only their bytes written."""
    tb = await bring_up(dut)
    await tb.setup(0, BASE=64, SIZE=528, PRIORITY=9)
    tb.memory.data[:] = b"\xa5" * len(tb.memory.data)
    sizes = [*range(60, 77), 128, 1514, 2047, 2048]
    for size in sizes:
        if size > 4 * FIFO_WORDS:
            continue
        tb.send(udp(5, size, rng=tb.rng), class_id=t.UDP)
        await tb.until(lambda: tb.irq)
        await tb.drain()
        (frame, meta), *rest = await tb.take(0)
        assert not rest and meta[3] == 0x0A000001 and meta[0] >> 16 == t.UDP
        at = 4 * tb.queues[0].base + (size + 16 if tb.queues[0].handed % 2 else 4 * 528 + size + 16)
        assert tb.memory.data[at] in (0xA5, frame[-1]) or size % 4 == 0
    assert (await irqs_of(tb, 0))["at_once"] == tb.count["done"] > 15
    await tb.balance()


@cocotb.test(skip=MOST)
async def last_word(dut):
    """Nothing is written behind a frame's last byte."""
    tb = await bring_up(dut)
    await tb.setup(0, BASE=0, SIZE=64, FRAMES=100)
    for size in (61, 62, 63, 64):
        tb.memory.data[:] = b"\xa5" * len(tb.memory.data)
        tb.send(udp(1, size, rng=tb.rng))
        await tb.drain()
        adr = int(dut.ev_rx_addr_o.value)
        assert tb.memory.data[adr + size : adr + 80] == b"\xa5" * (80 - size)
        await tb.setup(0, port=None, enable=0)
        await tb.setup(0, port=None, enable=1)
    assert await tb.read("DISCARDED", 0) == 4


@cocotb.test()
async def latency(dut):
    """What the head of weir_nic says of its cycles: tlast to done, last answer to interrupt."""
    tb = await bring_up(dut)
    await tb.setup(0, BASE=0, SIZE=512)
    for size in (60, 64, 252, 1514):
        if size > 4 * FIFO_WORDS:
            continue
        await tb.step(50)
        tb.send(udp(1, size, rng=tb.rng))
        await tb.until(lambda: not tb.stream)
        start, words = tb.last_word_cycle, (size + 3) // 4
        await tb.until(lambda: tb.irq)
        await tb.drain()
        taken, answer = tb.done[-1][2] - start, tb.irqs[-1] - tb.last_done_cycle
        dut._log.info("LATENCY %d bytes: done after %d, irq %d after the last answer", size, taken, answer)
        assert taken == words + QUEUES + DONE_CYCLES and tb.irqs[-1] - start == taken + IRQ_CYCLES and answer <= 8
        await tb.take(0)
    # While the queue manager is busy with other queues, too
    await tb.setup(1, port=77, BASE=1024, SIZE=64, PACKET_TIMER=10)
    worst = 0
    for wait in range(0, 60, 10 if MOST else 1):
        await tb.setup(0, port=1, SIZE=512)
        await tb.setup(1, port=77, PACKET_TIMER=40 + wait)
        tb.send(udp(77, 60, rng=tb.rng))
        tb.send(udp(1, 60, rng=tb.rng))
        await tb.drain()
        commit = tb.last_done_cycle
        await tb.until(lambda: int(dut.ready.value) == 3)
        worst = max(worst, *(irq - commit for irq in tb.irqs[-1:] if irq >= commit), 0)
        await tb.take(0)
        await tb.take(1)
    assert 0 < worst <= 8, worst
    await tb.balance()


DONE_CYCLES, IRQ_CYCLES = 22, 1


@functools.cache
def samples():
    """Frames by scapy of every kind."""
    ether, ip, ip6 = Ether(dst=MAC, src=PEER), IP(src="10.1.2.3", dst="10.0.0.2"), IPv6(src="fe80::1:2", dst="fe80::2")
    udp_, tcp, data = UDP(sport=9, dport=4711), TCP(sport=9, dport=502), Raw(b"x" * 30)
    hop, dest, route = IPv6ExtHdrHopByHop(), IPv6ExtHdrDestOpt(), IPv6ExtHdrRouting(addresses=["::1"])
    frames = [
        ether / ip / udp_ / data,
        ether / ip / tcp / data,
        ether / ip / ICMP() / data,
        ether / ARP(),
        ether / data,
    ]
    frames += [ether / ip6 / udp_ / data, ether / ip6 / tcp / data, ether / ip6 / ICMPv6EchoRequest() / data]
    frames += [ether / Dot1Q(vlan=5) / ip / udp_ / data, ether / Dot1AD(vlan=5) / Dot1Q(vlan=6) / ip / tcp / data]
    frames += [ether / Dot1Q() / Dot1Q() / Dot1Q() / ip / udp_ / data, ether / Dot1AD() / Dot1Q() / ARP()]
    frames += [ether / Dot1Q() / ip6 / hop / udp_ / data]
    for options in (1, 4, 9, 10):
        frames.append(ether / IP(options=[b"\x01" * 4 * options], src="1.2.3.4") / udp_ / data)
    frames += [ether / IP(flags="MF") / udp_ / data, ether / IP(frag=9) / data, ether / IP(proto=50) / data]
    frames += [ether / IP(flags="DF") / udp_, ether / IP(len=8) / udp_, ether / IP(ihl=4) / udp_, ether / IP(version=5)]
    frames += [ether / IP(len=500) / udp_, ether / IP(len=24) / udp_ / data, ether / IP(len=36) / tcp / data]
    frames += [ether / ip6 / hop / route / dest / udp_ / data, ether / ip6 / IPv6ExtHdrFragment() / udp_ / data]
    frames += [ether / ip6 / IPv6ExtHdrFragment(offset=7) / data, ether / ip6 / IPv6ExtHdrFragment(m=1) / udp_ / data]
    for depth in (5, 6, 7):
        packet = ether / ip6
        for _ in range(depth):
            packet /= IPv6ExtHdrDestOpt()
        frames.append(packet / udp_ / data)
    frames += [ether / IPv6(nh=59) / data, ether / IPv6(version=4) / udp_, ether / IPv6(plen=4) / udp_ / data]
    frames += [ether / IPv6(plen=300) / udp_ / data, ether / IPv6(nh=1) / data, ether / IP(proto=58) / data]
    frames += [
        ether / ip6 / IPv6ExtHdrDestOpt(len=200) / udp_ / data,
        ether / ip6 / IPv6ExtHdrHopByHop(nh=0, len=3) / data,
    ]
    return [bytes(f) for f in frames]


async def classify_all(tb, frames):
    """Each frame must arrive with the class and sender of the model, and in the queue of its class and port."""
    for frame in frames:
        kind, port, sender = classify(frame)
        tb.send(frame, class_id=kind)
        await tb.drain()
        if tb.done[-1][0] != "done":
            raise AssertionError(f"{tb.done[-1][0]}: {frame.hex()}")
        index = 0 if port == 4711 else 1 if port == 502 else 2
        got = await tb.take(index)
        assert got and got[0][1][3] == sender, (index, kind, port, frame.hex())


@cocotb.test(skip=MOST)
async def classes(dut):
    """Frames by scapy of every kind, and every beginning of them: class, port, sender as in the model."""
    tb = await bring_up(dut)
    for index, port in enumerate((4711, 502, 0)):
        await tb.setup(index, port=port, classes=ALL, BASE=1024 * index, SIZE=64)
    seen = set()
    frames = samples()
    for frame in frames:
        seen.add(classify(frame)[0])
    assert seen == set(ALL)
    await classify_all(tb, [f for f in frames if len(f) <= 4 * min(FIFO_WORDS, 59)])
    if USUAL:
        await classify_all(tb, [f[:n] for f in frames[::2] for n in range(14, len(f), 3)])
    await tb.balance()


@cocotb.test(skip=MOST)
@cocotb.parametrize(seed=range(4 if USUAL else 1))
async def classes_random(dut, seed):
    """Frames with bytes changed at random, among them lengths and types."""
    tb = await bring_up(dut, seed)
    for index, port in enumerate((4711, 502, 0)):
        await tb.setup(index, port=port, classes=ALL, BASE=1024 * index, SIZE=64)
    frames = []
    for _ in range(150):
        frame = bytearray(tb.rng.choice(samples())[: 4 * min(FIFO_WORDS, 59)])
        for _ in range(tb.rng.randint(1, 4)):
            at = tb.rng.choice((12, 13, 16, 17, 14, 20, 23, tb.rng.randrange(12, len(frame)), tb.rng.randrange(12, 60)))
            if at < len(frame):
                frame[at] = tb.rng.choice(
                    (0, 1, 6, 17, 44, 43, 60, 58, 0x45, 0x46, 0x60, 0x81, 8, 255, tb.rng.randrange(256))
                )
        frames.append(bytes(frame))
    await classify_all(tb, frames)
    await tb.balance()


@cocotb.test(skip=MOST)
async def addresses(dut):
    """Own, broadcast, multicast and other addresses, in all four modes."""
    for mode in range(4):
        tb = await bring_up(dut, ctrl=t.ENABLE | mode << 1)
        await tb.setup(0, classes=ALL, BASE=0, SIZE=512, FRAMES=1000)
        wanted = 0
        for dst, passes in (
            (MAC, True),
            (b"\xff" * 6, True),
            (bytes.fromhex("333300000001"), mode & 2),
            (bytes.fromhex("01005e000001"), mode & 2),
            (b"\xff" * 5 + b"\xfd", mode & 2),
            (PEER, mode & 1),
            (MAC[:5] + b"\x03", mode & 1),
            (b"\x06" + MAC[1:], mode & 1),
            (MAC[:4] + b"\x80\x01", mode & 1),
        ):
            tb.send(udp(1, 60, dst=dst, rng=tb.rng))
            await tb.drain()
            wanted += bool(passes)
        await tb.drain()
        assert tb.count["done"] == wanted and tb.count["filtered"] == 9 - wanted
        await tb.balance()


@cocotb.test()
async def matching(dut):
    """Port, class, sender and mask; the lowest index wins; no entry: filtered."""
    tb = await bring_up(dut)
    entries = [
        dict(port=7, classes=(t.UDP,), SENDER=0x0A000000, MASK=0xFFFFFF00),
        dict(port=7, classes=(t.UDP, t.TCP)),
        dict(port=0, classes=(t.UDP,), SENDER=0x0B000001, MASK=0xFFFFFFFF),
        dict(port=9, classes=ALL),
    ]
    for index, entry in enumerate(entries):
        await tb.setup(QUEUES - 5 + index, BASE=1024 * index, SIZE=256, FRAMES=99, PRIORITY=index, **entry)
    wanted = [0] * 4
    for port, sender, index in (
        (7, 0x0A000001, 0),
        (7, 0x0A0000FF, 0),
        (7, 0x0A000100, 1),
        (8, 0x0A000001, None),
        (8, 0x0B000001, 2),
        (8, 0x0B000002, None),
        (9, 0x0B000001, 2),
        (9, 0, 3),
    ):
        before = [len(q.expected) for q in tb.queues]
        tb.send(udp(port, sender=sender, rng=tb.rng))
        await tb.drain()
        after = [len(q.expected) for q in tb.queues]
        got = [i - QUEUES + 5 for i in range(QUEUES) if after[i] > before[i]]
        assert got == ([] if index is None else [index]), (port, sender, got)
        if index is not None:
            wanted[index] += 1
    # What is written to an entry has no effect before CTRL
    await tb.write("MATCH", 1 << 17 | 8, QUEUES - 2)
    for port in (9, 8):
        tb.send(udp(port, sender=1, rng=tb.rng))
    await tb.drain()
    assert len(tb.queues[QUEUES - 2].expected) == 2
    await tb.write("CTRL", 1, QUEUES - 2)
    await tb.until_loaded()
    for port in (9, 8):
        tb.send(udp(port, sender=1, rng=tb.rng))
    await tb.drain()
    assert len(tb.queues[QUEUES - 2].expected) == 3
    await tb.balance()


@cocotb.test(skip=MOST)
async def malformed(dut):
    """Runts, giants, streams without last, damaged, all-zero and all-one frames, back to back with good ones."""
    tb = await bring_up(dut, ctrl=7)
    await tb.setup(0, port=0, classes=ALL, BASE=0, SIZE=4096, FRAMES=10000)
    good = 0
    for length in (*range(14), 2049, 2050, 2052, 2053, 4000):
        tb.send(tb.rng.randbytes(length))
        tb.send(b"\x02" + tb.rng.randbytes(13 + length % 5))
        good += 1
        await tb.drain()
    for length in (13, 14, 60, 1000, 2049):
        tb.send(tb.rng.randbytes(length), damaged=True)
    for content in (b"\0", b"\xff"):
        for length in (14, 60, fits(2048)):
            tb.send(content * length)
            good += 1
            await tb.drain()
    tb.send_words(t.words_of(tb.rng.randbytes(9000), tail=False))
    tb.send(b"\x02" * 60)
    tb.send(b"\x02" * 60)
    good += 1
    for length in (8, 12, 16, 60):  # a last word without bytes
        tb.send_words(t.words_of(b"\x02" * length, tail=False) + [(7, 0, True, False)])
        good += length >= 14
    await tb.drain()
    assert tb.count["done"] == good, (tb.count, good)
    for size in (14, 15, 16, 17, 60):
        for _ in range(min(10, FIFO_WORDS // ((size + 3) // 4))):
            tb.send(b"\x02" * size)
            good += 1
        await tb.drain()
    assert tb.count["done"] == good and tb.count["overrun"] == 0
    await tb.balance()


def changed(frame, at, value):
    """The frame with other bytes from `at` on."""
    return frame[:at] + bytes(value) + frame[at + len(value) :]


def bad_input(rng):
    """Name, stream words, and the one counter in which the frame must be found."""
    good = udp(5, 60, rng=rng)
    v6 = bytes(Ether(dst=MAC, src=PEER) / IPv6() / UDP(dport=5) / Raw(b"x" * 20))
    tags = b"\x81\x00\x00\x01" * 3
    headers = {
        "all zero": bytes(60),
        "all one": b"\xff" * 60,
        "IPv4 longer than the frame": changed(good, 16, (0, 47)),
        "IPv4 longer than any frame": changed(good, 16, (255, 255)),
        "IPv4 shorter than its header": changed(good, 16, (0, 19)),
        "IPv4 of no length": changed(good, 16, (0, 0)),
        "IPv4 without room for UDP": changed(good, 16, (0, 27)),
        "IPv4 header too short": changed(good, 14, (0x44,)),
        "IPv4 header longer than the packet": changed(changed(good, 14, (0x4F,)), 16, (0, 46)),
        "IPv4 of another version": changed(good, 14, (0x65,)),
        "IPv4 header cut": good[:30],
        "EtherType cut behind a tag": good[:12] + tags[:3],
        "third VLAN tag": good[:12] + tags + good[12:],
        "IPv6 longer than the frame": changed(v6, 18, (0, 29)),
        "IPv6 of the longest length": changed(v6, 18, (255, 255)),
        "IPv6 without room for UDP": changed(v6, 18, (0, 7)),
        "IPv6 extension header beyond the packet": changed(changed(v6, 20, (0,)), 54, (17, 9)),
    }
    for name, frame in headers.items():
        yield name, t.words_of(frame), "FILTERED"
    for size in (0, 1, 3, 4, 12, 13):
        yield f"runt of {size} bytes", t.words_of(good[:size]), "BAD"
    for size in (2049, 2052, 9000):
        yield f"giant of {size} bytes", t.words_of(good + rng.randbytes(size - 60)), "BAD"
    yield "a stream without last", t.words_of(rng.randbytes(4 * 20_000), tail=False) + t.words_of(good), "BAD"
    for size in (13, 60, 2049):
        yield f"damaged, {size} bytes", t.words_of((good + bytes(2000))[:size], damaged=True), "BAD"
    # No fault of the header that the NIC reads: for software to judge
    for name, frame in {
        "IPv4 shorter than the frame": changed(good, 16, (0, 28)),
        "UDP length beyond the packet": changed(good, 38, (255, 255)),
        "UDP length 0": changed(good, 38, (0, 0)),
        "IPv4 checksum wrong": changed(good, 24, (1, 2)),
    }.items():
        yield name, t.words_of(frame), "FRAMES_IN"


@cocotb.test(skip=MOST)
@cocotb.parametrize(gaps=(False, True))
async def bad_inputs(dut, gaps):
    """Each kind of bad input costs its frame only, in one counter; the good ones before and behind it arrive, whole."""
    tb = await bring_up(dut, seed=int(gaps))
    rng = tb.rng
    await tb.setup(0, port=5, BASE=256, SIZE=128, FRAMES=100)
    tb.memory.data[:] = b"\xa5" * len(tb.memory.data)
    pause = (lambda: rng.choice((0, 0, 1, 5))) if gaps else (lambda: 0)
    lost = ("BAD", "OVERRUN", "FILTERED", "BUS_ERRORS")

    async def counted():
        await tb.step(20)
        count = {name: await tb.read(name) for name in lost}
        return count | {name: await tb.read(name, 0) for name in ("FULL", "FRAMES_IN", "DISCARDED")}

    async def check(name, words, counter, number=1):
        before = await counted()
        for part in (t.words_of(udp(5, 60, rng=rng)), words, t.words_of(udp(5, 61, rng=rng))):
            tb.send_words(part, pause)
        await tb.drain()
        memory = bytes(tb.memory.data)
        assert memory[: 4 * 256] + memory[4 * 512 :] == b"\xa5" * (len(memory) - 4 * 256), name
        await tb.setup(0, port=None, FRAMES=1)  # what is there, with the next frame
        tb.send(udp(5, 62, rng=rng))
        await tb.drain()
        taken = await tb.take(0)
        await tb.setup(0, port=None, FRAMES=100)
        here = 3 + number * (counter == "FRAMES_IN")
        assert [len(data) for data, _ in taken][-2:] == [61, 62] and len(taken) == here, (name, len(taken))
        after = await counted()
        difference = {n: after[n] - before[n] for n in after if after[n] != before[n]}
        wanted = {"FRAMES_IN": here} | ({} if counter == "FRAMES_IN" else {counter: number})
        assert difference == wanted, (name, difference)

    for name, words, counter in bad_input(rng):
        await check(name, words, counter)
    # The memory's side
    good = t.words_of(udp(5, 60, rng=rng))
    for at in (0, 14, 18):  # the first word, the last one, the last of the metadata
        first = tb.memory.writes
        tb.memory.fail = lambda adr, at=at, first=first: tb.memory.writes == first + 19 + at + 1
        await check(f"word {at} fails", good, "BUS_ERRORS")
        tb.memory.fail = lambda adr: False
    tb.memory.wait = lambda: rng.choice((0, 3, 400))
    tb.memory.delay = lambda: rng.choice((1, 30, 500))
    await check("memory that stalls", good, "FRAMES_IN")
    tb.memory.wait, tb.memory.delay = (lambda: 0), (lambda: 1)
    await check("longer than a buffer", t.words_of(udp(5, 600, rng=rng)), "FULL" if FIFO_WORDS > 150 else "OVERRUN")
    await check("shortest frames back to back", t.words_of(good_mac(rng)) * 3, "FILTERED", number=3)
    await tb.balance()


def good_mac(rng):
    """An Ethernet header and no more."""
    return MAC + PEER + rng.randbytes(1) + b"\x01"


@cocotb.test(skip=MOST)
async def headroom(dut):
    """Room before each frame, of which only the metadata are written."""
    tb = await bring_up(dut, ctrl=0)
    for words in (12, 16, 8):
        await tb.write("CTRL", 0)
        await tb.write("HEADROOM", words)
        tb.headroom = words
        await tb.setup(0, BASE=32, SIZE=192, FRAMES=3)
        tb.memory.data[:] = b"\xa5" * len(tb.memory.data)
        await tb.write("CTRL", t.ENABLE)
        for size in (60, 61, 77):
            tb.send(udp(1, size, rng=tb.rng))
        await tb.drain()
        await tb.step(10)
        at = 4 * (32 + (await tb.read("READY", 0) >> 30 & 1) * 192)
        for frame, _, _ in list(tb.queues[0].expected):
            assert tb.memory.data[at : at + 4 * (words - 4)] == b"\xa5" * (4 * (words - 4))
            used = 4 * words + len(frame)
            assert tb.memory.data[at + 4 * words : at + used] == frame
            at += (used + 15) // 16 * 16
        assert len(await tb.take(0)) == 3
        await tb.setup(0, port=None, enable=0)
    await tb.balance()


@cocotb.test()
async def buffers(dut):
    """Two buffers: filled and handed over in turn; both full: dropped and counted; never too long for a buffer."""
    tb = await bring_up(dut)
    await tb.setup(0, BASE=128, SIZE=60, FRAMES=1000, ABSOLUTE_TIMER=0)
    size = 60  # 4 + 15 words, 20 of room: three a buffer
    for number in range(8):
        tb.send(udp(1, size, rng=tb.rng))
        await tb.drain()
        assert bool(tb.irq) == (number >= 3)
    assert tb.count["done"] == 6 and tb.count["full"] == 2
    assert (await tb.read("READY", 0)) == 1 << 31 | 3 << 16 | 60
    assert len(await tb.take(0)) == 3
    await tb.step(20)
    assert not tb.irq  # nothing due: no timer, three below the threshold
    tb.send(udp(1, size, rng=tb.rng))
    await tb.drain()
    assert tb.irq and (await tb.read("READY", 0)) == 1 << 31 | 1 << 30 | 3 << 16 | 60
    assert len(await tb.take(0)) == 3
    tb.send(udp(1, 60 * 4, rng=tb.rng))  # longer than a buffer: full, and no hand-over for it
    await tb.drain()
    await tb.step(20)
    assert not tb.irq and tb.count["full"] == 3 and await tb.read("FULL", 0) == 3
    assert (await irqs_of(tb, 0)) == {"at_once": 0, "frames": 0, "packet": 0, "absolute": 0, "full": 2}
    tb.send(udp(1, 224, rng=tb.rng))  # exactly a buffer
    await tb.drain()
    assert len(await tb.take(0)) == 1 and tb.count["done"] == 8
    await tb.balance()


@cocotb.test(skip=MOST)
async def due_while_held(dut):
    """A hand-over that is due while software has the other buffer comes with the release, with all that came since."""
    for settings, cause in (
        (dict(PACKET_TIMER=100), "packet"),
        (dict(ABSOLUTE_TIMER=100), "absolute"),
        (dict(FRAMES=2), "frames"),
        (dict(), "at_once"),
    ):
        tb = await bring_up(dut)
        await tb.setup(0, BASE=0, SIZE=512, **settings)
        for _ in range(2):
            tb.send(udp(1, rng=tb.rng))
        await tb.drain()
        await tb.until(lambda tb=tb: tb.irq)
        await tb.step(200)
        held = len(tb.queues[0].expected)
        for _ in range(3):
            tb.send(udp(1, rng=tb.rng))
        await tb.drain()
        await tb.step(400)
        first = await tb.take(0)
        cycle = tb.cycle
        await tb.step(10)
        assert tb.irq and tb.irqs[-1] - cycle <= 8, cause
        rest = await tb.take(0)
        assert len(first) + len(rest) == held + 3
        assert (await irqs_of(tb, 0))[cause] == 2
        await tb.step(300)
        assert not tb.irq
        await tb.balance()


class Steps:
    """Commits and hand-overs as the queue manager makes them, with their time."""

    def __init__(self, tb):
        self.tb, self.dut, self.commits, self.handovers = tb, tb.dut, {}, []
        self.frames = {}

    def look(self):
        step = int(self.dut.step.value)
        if not step & 0x122:
            return
        # The counter may wrap; the model's time does not.
        now, queue = self.tb.cycle, step >> 9 & 63
        if step & 2:
            self.opened = now
        if step & 0x100:
            self.commits.setdefault(queue, []).append(now)
            self.frames[queue] = self.frames.get(queue, 0) + 1
        if step & 0x20:
            self.handovers.append((queue, now, step >> 2 & 7, self.frames.pop(queue, 0)))


@cocotb.test()
@cocotb.parametrize(seed=range(12 if USUAL else 1 if MOST else 2))
async def moderation_random(dut, seed):
    """Random timers and thresholds on several queues: the interrupts of the model, with the same frames in them."""
    tb = await bring_up(dut, seed)
    rng = tb.rng
    steps = Steps(tb)
    plain_step = tb._events

    def events():
        plain_step()
        steps.look()

    tb._events = events
    settings, begins, count = {}, {}, min(QUEUES - 1, 6)
    for index in range(count):
        kind = rng.randrange(5)
        s = dict(packet=0, absolute=0, frames=0, periodic=0, offset=0)
        if kind in (1, 4):
            s["packet"] = rng.choice((3, rng.randint(3, 300), rng.randint(100, 2000)))
        if kind in (2, 4):
            s["absolute"] = rng.choice((rng.randint(40, 400), rng.randint(100, 4000)))
            s["periodic"] = rng.getrandbits(1)
            s["offset"] = rng.randint(0, 500)
        if kind in (3, 4):
            s["frames"] = rng.randint(1, 6)
        await tb.setup(
            index,
            port=100 + index,
            BASE=2048 * index,
            SIZE=1020,
            PACKET_TIMER=s["packet"],
            ABSOLUTE_TIMER=s["absolute"],
            MODE=s["periodic"],
            OFFSET=s["offset"],
            FRAMES=s["frames"],
        )
        settings[index] = s
        begins[index] = steps.opened
    # A periodic timer runs from the CTRL write on.
    for index, s in settings.items():
        s["begin"] = begins.get(index, 0) + s["offset"]
    # Software releases at once, by force of the test, so that both have room as the model does.
    taken = 0
    for _ in range(120 if USUAL else 50):
        index = rng.randrange(count)
        tb.send(udp(100 + index, rng.randint(60, 90), rng=rng), after=rng.choice((0, 20, 200, rng.randint(0, 1500))))
    while tb.stream or tb.accepted or tb.ended:
        await tb.step()
        if tb.irq:
            value = await tb.read("NEXT")
            if value >> 31:
                index = value & 63
                got = await tb.read("READY", index)
                for _ in range(got >> 16 & 0x3FFF):
                    data, _, _ = tb.queues[index].expected.popleft()
                    tb.queues[index].handed_bytes += len(data)
                    tb.queues[index].handed += 1
                await tb.write("RELEASE", 0, index)
                taken += 1
    until = tb.cycle
    for index, s in settings.items():
        want = moderated(s, steps.commits.get(index, []), until)
        got = [(now, cause, frames) for queue, now, cause, frames in steps.handovers if queue == index]
        # What software held back (a queue interrupts again within its handler) leaves the model; say how often.
        for (due, cause, frames), (now, cause_got, frames_got) in zip(want, got, strict=False):
            assert (cause, frames) == (cause_got, frames_got), (index, s, want[:9], got[:9])
            assert 0 <= now - due <= (0 if cause < 2 else 40), (index, cause, due, now)
        assert len(want) - 1 <= len(got) <= len(want)
    assert taken > 5
    await tb.drain()
    tb._events = plain_step
    await tb.balance()


@cocotb.test()
async def restart(dut):
    """A timer that is due while a frame is written: what was there before goes, the frame to the other buffer."""
    tb = await bring_up(dut)
    for wait in range(5, 60, 3):
        await tb.setup(0, BASE=0, SIZE=512, PACKET_TIMER=0, ABSOLUTE_TIMER=20 + QUEUES + wait)
        tb.send(udp(1, rng=tb.rng), after=QUEUES)
        tb.send(udp(1, fits(200), rng=tb.rng))
        await tb.drain()
        await tb.step(20)
        first = await tb.take(0)
        await tb.step(120)
        second = await tb.take(0) or []
        assert len(first) + len(second) == 2, wait
        tb.rewritten = getattr(tb, "rewritten", 0) + (len(second) == 1)
    assert tb.rewritten > 3
    await tb.balance()


@cocotb.test(skip=MOST)
async def credits(dut):
    """A queue without moderation interrupts CREDITS times, then once per INTERVAL; other queues are not held back."""
    tb = await bring_up(dut)
    await tb.setup(0, port=1, BASE=0, SIZE=1024, CREDITS=3, INTERVAL=2000)
    await tb.setup(1, port=2, BASE=4096, SIZE=1024)
    irqs, start = [], tb.cycle
    for _ in range(30):
        tb.send(udp(1, rng=tb.rng), after=100)
        tb.send(udp(2, rng=tb.rng), after=100)
    seen = [0, 0]
    while tb.stream or tb.accepted or tb.ended:
        await tb.step()
        for index in await tb.handle() if tb.irq else ():
            seen[index] += 1
            irqs += [tb.cycle - start] if index == 0 else []
    assert seen[1] == 30
    length = irqs[-1] - irqs[0]
    assert 3 + length // 2000 - 1 <= seen[0] <= 3 + length // 2000 + 1 < 15, (irqs, seen)
    gaps = [b - a for a, b in zip(irqs[3:], irqs[4:], strict=False)]
    assert all(abs(gap - 2000) < 300 for gap in gaps), irqs
    await tb.step(2100)
    await tb.handle()
    assert tb.queues[0].handed == 30  # what waited for a credit came with it
    await tb.balance()


@cocotb.test()
async def priorities(dut):
    """THRESHOLD holds back, NEXT gives the highest priority, TAKE acknowledges, IRQ_ENABLE masks."""
    tb = await bring_up(dut)
    levels = [tb.rng.randrange(16) for _ in range(QUEUES)]
    for index, level in enumerate(levels):
        await tb.setup(index, port=100 + index, BASE=128 * index, SIZE=64, PRIORITY=level)
    for threshold in (16, 8, 0) if MOST else (16, *range(15, -1, -5), 0):
        await tb.write("THRESHOLD", threshold)
        for index in range(QUEUES):
            tb.send(udp(100 + index, rng=tb.rng))
        await tb.drain()
        await tb.step(10)
        passing = [i for i in range(QUEUES) if levels[i] >= threshold]
        ready = await tb.read("READY_LO") | await tb.read("READY_HI") << 32
        active = await tb.read("ACTIVE_LO") | await tb.read("ACTIVE_HI") << 32
        assert ready == (1 << QUEUES) - 1 and active == sum(1 << i for i in passing)
        assert tb.irq == bool(passing)
        await tb.write("IRQ_ENABLE", 0)
        assert not tb.irq
        await tb.write("IRQ_ENABLE", 1)
        order = await tb.acknowledge()
        assert order == sorted(passing, key=lambda i: (-levels[i], i))
        await tb.step(5)
        assert not tb.irq and await tb.read("ACTIVE_LO") == 0
        assert (await tb.read("READY_LO") | await tb.read("READY_HI") << 32) == ready
        if passing:  # the next buffer of a queue that was acknowledged interrupts again
            tb.send(udp(100 + passing[0], rng=tb.rng))
            await tb.drain()
            await tb.step(10)
            assert not tb.irq
            await tb.take(passing[0])
            await tb.step(10)
            assert tb.irq and await tb.acknowledge() == passing[:1]
        for index in range(QUEUES):
            while await tb.take(index):
                await tb.step(40)
    await tb.balance()


@cocotb.test(skip=MOST)
async def memory_errors(dut):
    """A failed write, whichever it is, costs its frame only; nothing of the queue advances."""
    tb = await bring_up(dut)
    await tb.setup(0, BASE=0, SIZE=1024, FRAMES=1000)
    for at in range(15 + 4):
        first = tb.memory.writes
        tb.memory.fail = lambda adr, at=at, first=first: tb.memory.writes == first + at + 1
        tb.send(udp(1, rng=tb.rng))
        tb.send(udp(1, rng=tb.rng))
        await tb.drain()
        tb.memory.fail = lambda adr: False
        assert tb.count["error"] == tb.count["done"] == at + 1
    value = await tb.balance()
    assert value["BUS_ERRORS"] == 19


@cocotb.test(skip=MOST)
async def overrun(dut):
    """A memory that does not answer fills the FIFO: whole frames are lost and counted, what was taken arrives."""
    tb = await bring_up(dut)
    await tb.setup(0, BASE=0, SIZE=4096, FRAMES=10000)
    for size in (60, 200, 61):
        tb.memory.hold = True
        for _ in range(2 * FIFO_WORDS // ((size + 3) // 4)):
            tb.send(udp(1, size, rng=tb.rng))
        await tb.until(lambda: not tb.stream)
        tb.memory.hold = False
        await tb.drain()
    assert tb.count["overrun"] > 5 and tb.count["done"] > 3
    await tb.balance()


def send_at_line_rate(tb, ports):
    """1 Gbit/s of 64-byte frames at 100 MHz."""
    debt = 0.0
    for port in ports:
        for word in t.words_of(udp(port, 60, rng=tb.rng)):
            tb.stream.append(word)
            debt += 2.2
            while debt >= 1:
                tb.stream.append(t.IDLE)
                debt -= 1
        tb.stream.extend([t.IDLE] * 19)  # FCS, gap, preamble


@cocotb.test()
async def line_rate(dut):
    """1 Gbit/s of 64-byte frames at 100 MHz, to all queues and to none, software slow: no frame is lost in the FIFO."""
    tb = await bring_up(dut)
    for index in range(QUEUES):
        await tb.setup(index, port=100 + index, BASE=128 * index, SIZE=64, FRAMES=2)
    send_at_line_rate(tb, [100 + tb.rng.randrange(QUEUES + 2) for _ in range(max(150, 6 * QUEUES))])
    while tb.stream or tb.accepted:
        await tb.step(200)
        await tb.handle()
    await tb.drain()
    assert tb.count["overrun"] == 0 and tb.count["filtered"] > 1
    await tb.balance()


@cocotb.test(skip=MOST)
async def reconfiguration_at_line_rate(dut):
    """Each queue in turn gets other settings, and is turned off and on; nobody else loses a frame, none goes astray."""
    tb = await bring_up(dut)
    take = tb.take

    async def checked(index):
        frames = await take(index)
        assert all(data[36:38] == (100 + index).to_bytes(2, "big") for data, _ in frames or ())
        return frames

    async def handle_for(frames):
        end = len(tb.done) + frames
        while len(tb.done) < end:
            await tb.handle()
            await tb.step(10)

    tb.take = checked
    size = 512 if QUEUES < 16 else 256
    for index in range(QUEUES):
        await tb.setup(index, port=100 + index, BASE=2 * size * index, SIZE=size)
    lost = 0
    for index in range(QUEUES):
        send_at_line_rate(tb, [100 + tb.rng.randrange(QUEUES) for _ in range(60)])
        await handle_for(10)
        first = len(tb.done)
        await tb.setup(index, port=None, FRAMES=2, PACKET_TIMER=500)
        await handle_for(5)
        await tb.setup(index, port=None, enable=0)
        await handle_for(15)
        await tb.setup(index, port=100 + index, BASE=2 * size * index, SIZE=size - 4, PRIORITY=9, FRAMES=0)
        while tb.stream:
            await tb.handle()
            await tb.step(10)
        await tb.drain()
        for verdict, data, _ in tb.done[first:]:
            own = data[36:38] == (100 + index).to_bytes(2, "big")
            assert verdict == "done" or (own and verdict == "filtered"), (index, verdict, data[36:38])
            lost += verdict != "done"
    assert lost > QUEUES / 2 and tb.count["overrun"] == 0
    await tb.balance()


@cocotb.test()
@cocotb.parametrize(seed=range(6 if USUAL else 1 if MOST else 2))
async def everything_random(dut, seed):
    """Reconfiguration, turning off and on, releases, errors and stalls under full load: the accounts balance."""
    tb = await bring_up(dut, seed, ctrl=7)
    rng, used = tb.rng, min(QUEUES, 7)
    slow = rng.choice((0, 0, 2, 5))
    tb.memory.wait = lambda: rng.choice((0, 0, rng.randint(0, slow)))
    tb.memory.delay = lambda: rng.choice((1, 1, rng.randint(1, 20)))
    tb.memory.fail = lambda adr: rng.random() < 0.002
    off = 0

    def frames(number):
        for _ in range(number):
            size = rng.choice((42, 60, 61, fits(rng.randint(42, 400)), fits(1514)))
            data = udp(100 + rng.randrange(used + 1), size, rng=rng)
            data = rng.choice((data, data, data, data, bytes(size), b"\xff" * size, data[: rng.randint(1, 40)]))
            tb.send(data, damaged=rng.random() < 0.05, after=rng.choice((0, 0, 0, rng.randint(0, 300))))

    async def some_settings(index):
        await tb.setup(
            index,
            port=100 + index,
            BASE=2048 * index,
            SIZE=4 * rng.randint(16, 250),
            PRIORITY=rng.randrange(16),
            PACKET_TIMER=rng.choice((0, rng.randint(1, 500))),
            ABSOLUTE_TIMER=rng.choice((0, rng.randint(1, 2000))),
            MODE=rng.getrandbits(1),
            OFFSET=rng.randint(0, 300),
            FRAMES=rng.choice((0, rng.randint(1, 5))),
            CREDITS=rng.randint(0, 3),
            INTERVAL=rng.randint(0, 500),
        )

    for index in range(used):
        await some_settings(index)
    for _ in range(200):
        if len(tb.stream) < 500:
            frames(8)
        await tb.step(rng.randint(1, 150))
        what = rng.randrange(6)
        if what < 3 and tb.irq:
            await tb.handle()
        elif what == 3:
            index = rng.randrange(used)
            await tb.setup(index, port=None, enable=0)
            await tb.step(rng.randint(0, 50))
            await some_settings(index)
        elif what == 4:  # a new timer while the queue is on
            await tb.setup(rng.randrange(used), port=None, PACKET_TIMER=rng.randint(0, 200))
        elif what == 5 and rng.random() < 0.3:
            off += 1
            await tb.write("CTRL", 6)
            await tb.step(rng.randint(1, 60))
            await tb.write("CTRL", 7)
    await tb.balance()
    dut._log.info("RANDOM seed %d: %s, turned off %d times", seed, tb.count, off)
    assert tb.count["done"] > 30


class Watch:
    """Compares quiescent_o of a cycle with what the registers of the NIC do in the next."""

    def __init__(self, tb):
        self.tb = tb
        self.signals = []
        for scope in (tb.dut, *(h for h in tb.dut if h._name.startswith("u_"))):
            self._find(scope)
        self.state = None
        self.seen = {True: 0, False: 0}

    def _find(self, scope):
        for handle in scope:
            name = handle._name
            if name.startswith(("u_", "gen_")) and scope is not self.tb.dut:
                parts = [handle] if name.startswith("u_") else list(handle)
                for part in parts:
                    self._find(part)
            elif name.endswith("_q") and name not in ("now_q", "acted_q", "begin_q"):
                is_array = isinstance(handle, cocotb.handle.ArrayObject)
                self.signals.extend(handle if is_array else [handle])

    def now(self):
        return [int(s.value) for s in self.signals if s is not None]

    def settled(self):
        dut = self.tb.dut
        self.quiet = bool(int(dut.quiescent_o.value))
        self.state = self.now() if self.quiet else None
        due = int(dut.next_due_o.value) if int(dut.next_due_valid_o.value) else None
        self.due = due
        # At the due time itself the NIC works.
        if due is not None and (self.tb.time - due) % 2**32 < 2**31:
            self.state = None
        self.seen[self.quiet] += 1

    def next_cycle(self):
        if self.state is None:
            return
        now = self.now()
        if now != self.state:
            changed = [s._path for s, a, b in zip(self.signals, self.state, now, strict=True) if a != b]
            raise AssertionError(f"quiescent, but changed: {changed}")


@cocotb.test()
async def quiescence(dut):
    """While quiescent_o is high, no register changes before next_due_o; and time may then skip to it."""
    tb = await bring_up(dut, seed=3)
    rng = tb.rng
    await tb.setup(0, port=1, BASE=0, SIZE=512, PACKET_TIMER=300, ABSOLUTE_TIMER=700)
    await tb.setup(1, port=2, BASE=2048, SIZE=512, CREDITS=1, INTERVAL=900)
    await tb.setup(2, port=3, BASE=4096, SIZE=512, ABSOLUTE_TIMER=1500, MODE=1)
    watch = Watch(tb)
    assert len(watch.signals) > 150
    skipped = 0
    for _ in range(40):
        tb.watch, watch.state = watch, None
        tb.send(udp(rng.randint(1, 4), rng=rng))
        await tb.step(rng.randint(100, 400))
        tb.watch = None
        if watch.quiet and watch.due is not None and not tb.stream and rng.random() < 0.7:
            # The clock stood still until then.
            tb.time = watch.due - 1
            due = watch.due
            await tb.step(12 + 3 * QUEUES + 10)
            skipped += 1
            later = int(dut.next_due_o.value) if int(dut.next_due_valid_o.value) else None
            assert later is None or later != due, "nothing happened at the due time"
        if tb.irq:
            await tb.handle()
    dut._log.info("QUIESCENCE: %s, skipped %d times", watch.seen, skipped)
    assert watch.seen[True] > 500 and watch.seen[False] > 500 and skipped > 10
    await tb.balance()
