#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the library costs: `size_table.py FOLDER COMPILER`, of a build's objects. Fails above the limits below."""

import re
import subprocess
import sys
from pathlib import Path

TEXT_BYTES_MAX = 8 * 1024
FLOW_BYTES_MAX = 95
# The compiler's own functions, by their disassembly: 64-bit division pushes 8 words and its frame has 6.
OUTSIDE = {"__aeabi_uldivmod": 56}
PREFIX = "arm-none-eabi-"


def sizes(objects: list[Path]) -> tuple[int, int, int]:
    """Sum of text, data and bss."""
    lines = subprocess.run([PREFIX + "size", *objects], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [[int(field) for field in line.split()[:3]] for line in lines[1:]]
    return tuple(sum(column) for column in zip(*rows, strict=True))


def symbols(file: Path) -> dict[str, int]:
    """Sizes of an object's symbols."""
    lines = subprocess.run([PREFIX + "nm", "-S", file], check=True, capture_output=True, text=True).stdout.splitlines()
    fields = [line.split() for line in lines]
    return {f[3]: int(f[1], 16) for f in fields if len(f) == 4}


def deepest(graphs: list[Path], function: str) -> tuple[int, list[str]]:
    """Most stack that a function and what it calls use, by the compiler's call graphs, and the path."""
    own = dict(OUTSIDE)
    calls: dict[str, set[str]] = {}
    for graph in graphs:
        text = graph.read_text()
        for name, size in re.findall(r'node: \{ title: "([^"]+)" label: "[^"]*?(\d+) bytes \(static\)', text):
            own[name] = int(size)
        for caller, called in re.findall(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', text):
            calls.setdefault(caller, set()).add(called)

    def walk(name: str, above: tuple[str, ...]) -> tuple[int, list[str]]:
        assert name not in above, f"{name} is recursive: no bound"
        assert name in own, f"{name} is called, and its use of stack is not known"
        below = max((walk(called, (*above, name)) for called in calls.get(name, ())), default=(0, []))
        return own[name] + below[0], [name.split(":")[-1], *below[1]]

    return walk(function, ())


def main() -> None:
    """Prints the table."""
    out = Path(sys.argv[1])
    library = sorted((out / "device/weir/src").glob("*.o"))
    parts = {
        "library (weir/src)": library,
        "FreeRTOS port": [out / "device/port/freertos/weir_freertos.o"],
        "lwIP sockets": [out / "device/lwip/weir_sockets.o"],
        "lwIP input": [out / "own/common/weir_lwip.o"],
    }
    print(f"{sys.argv[2]}\n\n{'bytes':28}{'text':>8}{'data':>8}{'bss':>8}")
    for file in library:
        print(f"{'  ' + file.name:28}{''.join(f'{n:8}' for n in sizes([file]))}")
    for part, objects in parts.items():
        print(f"{part:28}{''.join(f'{n:8}' for n in sizes(objects))}")
    size = symbols(out / "own/cortex-m3/sizes.o")
    of_socket = symbols(out / "device/lwip/weir_sockets.o")["sockets"] // size["count_flows"]
    print(f"\nRAM per flow                {size['size_flow']:8}   and {of_socket} for its socket's options")
    print(f"RAM per buffer              {size['size_slot']:8}   and {size['size_pbuf']} for its pbuf, and the frame")
    print(f"RAM per priority            {size['size_level']:8}")
    stack, path = deepest([*(out / "device").rglob("*.ci"), *(out / "own").rglob("*.ci")], "weir_rx_interrupt")
    print(f"stack of the eager half     {stack:8}   {' > '.join(path)}")
    text = sizes(library)[0]
    if text >= TEXT_BYTES_MAX or size["size_flow"] > FLOW_BYTES_MAX:
        raise SystemExit(f"size table: more than {TEXT_BYTES_MAX} bytes of text or {FLOW_BYTES_MAX} per flow")


if __name__ == "__main__":
    main()
