// SPDX-License-Identifier: Apache-2.0
//
// Runs soc/harness/train_firmware.c on the device for as long as the compiler needs to learn from: see soc/Makefile.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "device.h"

int main(int, char **arguments)
{
    constexpr uint64_t kCycles = 400'000;
    std::ifstream file(arguments[1], std::ios::binary);
    std::vector<char> image((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    weir_config config = {};
    config.byte_cycles_numerator = config.byte_cycles_denominator = 1;
    config.hang_cycles = kCycles;
    config.current_tcb = 0x40000000; // no kernel here, but there has to be a word to look at
    config.shortcuts = 1;
    weir_device *device = weir_device_new(&config);
    weir_device_write(device, 0x40000000, image.data(), static_cast<uint32_t>(image.size()));
    weir_stop stop = weir_device_run(device, kCycles);
    if (image.empty() || stop != WEIR_STOP_CYCLE) {
        std::fprintf(stderr, "train: the training program does not run: stop %d at %#x, fault at %#x\n", stop,
                     weir_device_pc(device), weir_device_fault_address(device));
        return 1;
    }
    weir_device_free(device);
    return 0;
}
