# SPDX-License-Identifier: Apache-2.0
"""A commissioning tool (pnio-dcp) at work on one station: finds, names, addresses, blinks, resets. Prints it."""

import sys

from pnio_dcp import DCP

own, station = sys.argv[1:]
dcp = DCP(own)
for device in dcp.identify_all(timeout=2):
    print("found", device.MAC, device.name_of_station, device.IP, device.family)
print("named", bool(dcp.set_name_of_station(station, "golden-dev")), dcp.get_name_of_station(station))
print("identified", dcp.identify(station).name_of_station)
print("addressed", bool(dcp.set_ip_address(station, ["192.168.3.60", "255.255.255.0", "0.0.0.0"])))
print("address", dcp.get_ip_address(station))
print("broadcast address", bool(dcp.set_ip_address(station, ["192.168.3.255", "255.255.255.0", "0.0.0.0"])))
print("blinked", bool(dcp.blink(station)))
print("reset", bool(dcp.reset_to_factory(station)), repr(dcp.get_name_of_station(station)), dcp.get_ip_address(station))
