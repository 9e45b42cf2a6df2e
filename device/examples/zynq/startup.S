# SPDX-License-Identifier: Apache-2.0
#
# Cortex-A9: vectors; reset sets up stacks, caches, MMU and .bss, then main(). One core.

    .syntax unified
    .fpu neon
    .arm

    .section .vectors, "ax"
    .globl vectors
    .balign 32
vectors:
    b reset
    b stop                          @ undefined instruction
    ldr pc, =FreeRTOS_SWI_Handler   @ FreeRTOS yields by SVC
    b stop                          @ prefetch abort
    b stop                          @ data abort
    b stop
    ldr pc, =FreeRTOS_IRQ_Handler
    b stop                          @ FIQ
    .ltorg

    .text
    .globl reset
reset:
    mrc p15, 0, r0, c0, c0, 5       @ the second core waits for ever
    ands r0, r0, #3
    bne stop
    cps #0x12                       @ IRQ mode: FreeRTOS's handler needs two words of it
    ldr sp, =irq_stack_top
    cps #0x1f                       @ system mode: main(); tasks have stacks of their own
    ldr sp, =main_stack_top
    cps #0x13                       @ supervisor mode: all interrupt handlers
    ldr sp, =svc_stack_top
    cpsid if

    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0      @ VBAR

    mrc p15, 0, r0, c1, c0, 0       @ SCTLR: MMU, caches, branch prediction and high vectors off, whoever booted us
    bic r0, r0, #(1 << 0 | 1 << 2)
    bic r0, r0, #(1 << 11 | 1 << 12 | 1 << 13)
    mcr p15, 0, r0, c1, c0, 0
    isb
    mov r0, #0
    mcr p15, 0, r0, c8, c7, 0       @ TLB
    mcr p15, 0, r0, c7, c5, 0       @ instruction cache
    mcr p15, 0, r0, c7, c5, 6       @ branch predictor

    @ Data cache, 32 KiB: 4 ways (bits 31:30) of 256 sets (bits 12:5). After reset its content is random, and a boot
    @ loader has cleaned it, so invalidating is right in both cases.
    mov r1, #0
1:  mov r2, #0
2:  orr r3, r1, r2
    mcr p15, 0, r3, c7, c6, 2       @ DCISW
    add r2, r2, #(1 << 5)
    cmp r2, #(256 << 5)
    bne 2b
    adds r1, r1, #(1 << 30)
    bcc 1b
    dsb

    ldr r0, =__bss_start
    ldr r1, =__bss_end
    mov r2, #0
3:  cmp r0, r1
    strlo r2, [r0], #4
    blo 3b

    bl mmu_fill
    ldr r0, =mmu_table
    mcr p15, 0, r0, c2, c0, 0       @ TTBR0: table walks uncached
    mov r0, #0
    mcr p15, 0, r0, c2, c0, 2       @ TTBCR: TTBR0 for everything
    mov r0, #1
    mcr p15, 0, r0, c3, c0, 0       @ DACR: domain 0 is client
    dsb
    mrc p15, 0, r0, c1, c0, 0
    orr r0, r0, #(1 << 0 | 1 << 2)  @ MMU, data cache
    orr r0, r0, #(1 << 11 | 1 << 12)
    bic r0, r0, #(1 << 1)           @ unaligned accesses are fine in normal memory: lwIP's headers
    mcr p15, 0, r0, c1, c0, 0
    isb

    mrc p15, 0, r0, c1, c0, 2       @ floating point, for tasks that ask FreeRTOS for it
    orr r0, r0, #(0xf << 20)
    mcr p15, 0, r0, c1, c0, 2
    isb
    mov r0, #(1 << 30)
    fmxr fpexc, r0

    cps #0x1f
    bl main
stop:
    wfi
    b stop
