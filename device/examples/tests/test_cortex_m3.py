# SPDX-License-Identifier: Apache-2.0
"""The Cortex-M3 example under QEMU: a MAC and a CPU of another kind, and the same promises."""

import pytest
import raw_peer
from machine import Cable, Machine

MACHINE = "emcraft-sf2"
BUFFERS = 20
FRAMES_PER_BURST = 5


@pytest.fixture
def cable(image):
    """A booted machine's cable and its MAC address."""
    with Cable() as cable, Machine(image, MACHINE, *cable.network):
        yield cable, cable.plug()


def test_answers_ping(cable):
    raw_peer.pings(*cable)


@pytest.mark.parametrize("kind", ["slow reader", "closed port", "ARP broadcast"])
def test_high_priority_flow_survives_flood(cable, kind):
    raw_peer.flood(*cable, kind, FRAMES_PER_BURST)
    raw_peer.books_balance(*cable, BUFFERS)


def test_recovers(cable):
    raw_peer.more_than_the_ring_holds(*cable)
    raw_peer.books_balance(*cable, BUFFERS)
