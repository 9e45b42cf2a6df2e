# SPDX-License-Identifier: Apache-2.0
"""The same press in Python.

PYTHONPATH=rte/python python3 rte/examples/press/press.py /dev/shm/weir-io-press
"""

import sys
import time

import weir_io

CYCLE_MS = 10
SPEED_UM_PER_MS = 200
WORKPIECE_UM = 90_000
END_UM = 100_000


def main(path):
    """Runs the press of the device whose memory that is, until the device is started as another."""
    position = strokes = 0
    force = 0.0
    was_closed = False
    with weir_io.Device(path) as press:
        due = time.monotonic()
        while not press.is_replaced:
            press.refresh()
            if not press["close"]:
                position -= SPEED_UM_PER_MS * CYCLE_MS
            elif force < press["force_limit_n"]:
                position += SPEED_UM_PER_MS * CYCLE_MS
            position = min(max(position, 0), END_UM)
            is_closed = position >= WORKPIECE_UM
            strokes += is_closed and not was_closed
            was_closed = is_closed
            force = float(position - WORKPIECE_UM) if is_closed else 0.0
            press["position_um"] = position
            press["force_n"] = force
            press["is_closed"] = is_closed
            press["strokes"] = strokes
            press.publish()
            due += CYCLE_MS / 1000
            time.sleep(max(0, due - time.monotonic()))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: press.py MEMORY, as [application] of the device's configuration names it")
    try:
        main(sys.argv[1])
    except weir_io.Error as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass
