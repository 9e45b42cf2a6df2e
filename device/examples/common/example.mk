# SPDX-License-Identifier: Apache-2.0
#
# What the examples' builds have in common: the library, FreeRTOS and lwIP, all unmodified. Included by their Makefiles,
# which say ARCH, PORT (folder in FreeRTOS) with PORT_SOURCES, IMAGE, SCRIPT, OWN (relative to device/examples), FIRMWARE
# (relative to device).

ROOT := $(abspath ../../..)
EXAMPLE := $(notdir $(CURDIR))
OUT ?= $(ROOT)/build/examples/$(EXAMPLE)
FREERTOS ?= $(shell $(ROOT)/tools/c-sources freertos)
LWIP ?= $(shell $(ROOT)/tools/c-sources lwip)
PYTHON ?= $(ROOT)/build/venv/bin/python
CROSS ?= arm-none-eabi-
CC := $(CROSS)gcc
ARCH_PORT ?= $(ARCH)
OPTIMIZE ?= -O2

DEVICE := $(ROOT)/device
EXAMPLES := $(DEVICE)/examples
OPTIONS := $(OPTIMIZE) -g -std=gnu11 -ffunction-sections -fdata-sections -fno-common -fcallgraph-info=su -MD -MP \
  -ffile-prefix-map=$(ROOT)=. -ffile-prefix-map=$(FREERTOS)=freertos -ffile-prefix-map=$(LWIP)=lwip
PATHS := -I$(CURDIR) -I$(EXAMPLES)/common -I$(DEVICE)/weir/include -I$(DEVICE)/port/freertos -I$(DEVICE)/lwip \
  -isystem $(FREERTOS)/include -isystem $(FREERTOS)/$(PORT) \
  -isystem $(LWIP)/src/include -isystem $(LWIP)/contrib/ports/freertos/include $(LAST_INCLUDES)
WARNINGS := -Wall -Wextra -Wconversion -Wmissing-prototypes -Wshadow -Wundef -Werror

LIBRARY := $(patsubst $(DEVICE)/%,%,$(wildcard $(DEVICE)/weir/src/*.c))
GLUE := port/freertos/weir_freertos.c lwip/weir_sockets.c
KERNEL := tasks.c queue.c list.c portable/MemMang/heap_4.c
STACK := $(addprefix src/core/, def.c inet_chksum.c init.c ip.c mem.c memp.c netif.c pbuf.c stats.c sys.c tcp.c \
  tcp_in.c tcp_out.c timeouts.c udp.c ipv4/etharp.c ipv4/icmp.c ipv4/ip4.c ipv4/ip4_addr.c ipv4/ip4_frag.c) \
  $(addprefix src/api/, api_lib.c api_msg.c err.c netbuf.c sockets.c tcpip.c) src/netif/ethernet.c \
  contrib/ports/freertos/sys_arch.c

object = $(addsuffix .o,$(basename $(addprefix $(OUT)/$(1)/,$(2))))
LIBRARY_O := $(call object,device,$(LIBRARY))
GLUE_O := $(call object,device,$(GLUE)) $(call object,own,common/weir_lwip.c)
PORT_O := $(call object,port,$(PORT_SOURCES))
OBJECTS := $(LIBRARY_O) $(GLUE_O) $(PORT_O) $(call object,own,$(OWN) common/app.c) $(call object,device,$(FIRMWARE)) \
  $(call object,freertos,$(KERNEL)) $(call object,lwip,$(STACK))

all: $(OUT)/$(IMAGE)

$(OBJECTS): $(MAKEFILE_LIST)

compile = @mkdir -p $(@D) && $(CC) $(OPTIONS) $(1)

$(OUT)/own/%.o: $(EXAMPLES)/%.c
	$(call compile,$(ARCH) $(PATHS) $(WARNINGS) -c $< -o $@)

$(OUT)/own/%.o: $(EXAMPLES)/%.S
	$(call compile,$(ARCH) $(PATHS) -c $< -o $@)

$(OUT)/device/%.o: $(DEVICE)/%.c
	$(call compile,$(ARCH) $(PATHS) $(WARNINGS) -c $< -o $@)

# Other people's code: as it is, and without our warnings.
$(OUT)/port/%.o: $(FREERTOS)/$(PORT)/%.c
	$(call compile,$(ARCH_PORT) $(PATHS) -w -c $< -o $@)

$(OUT)/port/%.o: $(FREERTOS)/$(PORT)/%.S
	$(call compile,$(ARCH_PORT) $(PATHS) -w -c $< -o $@)

$(OUT)/freertos/%.o: $(FREERTOS)/%.c
	$(call compile,$(ARCH) $(PATHS) -w -c $< -o $@)

$(OUT)/lwip/%.o: $(LWIP)/%.c
	$(call compile,$(ARCH) $(PATHS) -w -c $< -o $@)

$(OUT)/$(IMAGE): $(OBJECTS) $(SCRIPT)
	@$(CC) $(ARCH) -nostartfiles -Wl,--gc-sections -Wl,--no-warn-rwx-segments -T $(SCRIPT) $(OBJECTS) -o $@.tmp
	@mv $@.tmp $@

.PHONY: all
-include $(OBJECTS:.o=.d)
