# SPDX-License-Identifier: Apache-2.0
"""The recorded plant's controller: a Modbus/TCP server with 128 registers, some of them moving."""

import asyncio
import math
import sys

from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

UNIT = 1
REGISTERS = 128


async def main(address: str, seconds: float) -> None:
    """Serves on port 502 of `address` for that long."""
    loop = asyncio.get_running_loop()
    begin = loop.time()

    async def measure(_function, _start, first, count, registers, new) -> None:
        # Registers 0 to 59 are measurements: slow sines, each with a phase of its own.
        if new is None:
            for index in range(count):
                if first + index < 60:
                    phase = (loop.time() - begin) / (2 + (first + index) % 7) + first + index
                    registers[index] = 2000 + round(300 * math.sin(phase))

    data = SimData(0, count=REGISTERS, values=0, datatype=DataType.REGISTERS)
    server = ModbusTcpServer(SimDevice(UNIT, simdata=[data], action=measure), address=(address, 502))
    await server.serve_forever(background=True)
    await asyncio.sleep(seconds)
    await server.shutdown()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
