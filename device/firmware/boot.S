# SPDX-License-Identifier: Apache-2.0
#
# Reset: registers that never change again, a cleared .bss, main(). And the short way into the receive interrupt.

    .section .text.boot, "ax"
    .globl weir_boot
weir_boot:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la tp, __tls_start              # one set of thread-local variables (errno): FreeRTOS never changes tp
    la sp, __boot_stack_top
    la t0, freertos_risc_v_trap_handler
    csrw mtvec, t0
    la t0, __bss_start
    la t1, __bss_end
1:  bgeu t0, t1, 2f
    sw zero, 0(t0)
    addi t0, t0, 4
    j 1b
2:  call main
3:  j 3b

# Trap entry of variant `driver` (weir_short_trap_install()). Most frames of a flood end in the receive interrupt, without
# any task to wake: then saving all registers for a change of context, as FreeRTOS does, would cost more than the work.
# For everything else FreeRTOS's entry follows, as if nothing had been.

    .section .text.weir_short_trap, "ax"
    .globl weir_short_trap
    .align 5                        # the first steps, which every trap takes, in one cache line
weir_short_trap:
    csrw mscratch, t0
    csrr t0, 0xfc0                  # lines that are high and not masked
    andi t0, t0, 5                  # NIC, poll timer
    bnez t0, 1f
3:  csrr t0, mscratch
    j freertos_risc_v_trap_handler
1:  lb t0, weir_freertos_state + 4     # if the network task waits, it will be woken
    bnez t0, 3b
    csrr t0, mcause                 # a yield or the tick comes first
    bgez t0, 3b
    andi t0, t0, 8                  # external: 11, timer: 7
    beqz t0, 3b
    csrr t0, mscratch
    addi sp, sp, -64
    sw t0, 0(sp)
    sw t1, 4(sp)
    csrr t0, 0xfc0
    sw a0, 8(sp)
    sw a1, 12(sp)
    sw a2, 16(sp)
    sw a3, 20(sp)
    sw a4, 24(sp)
    sw a5, 28(sp)
    sw a6, 32(sp)
    sw a7, 36(sp)
    sw t2, 40(sp)
    sw t3, 44(sp)
    sw t4, 48(sp)
    sw t5, 52(sp)
    sw t6, 56(sp)
    sw ra, 60(sp)
    mv a0, t0
    mv t1, sp                       # the interrupt's own stack: tasks need not have room for it
    lw sp, xISRStackTop
    addi sp, sp, -16
    sw t1, 0(sp)
    call weir_netif_interrupt
    lw sp, 0(sp)
    mv t0, a0                       # 1: a task is to be woken, or another line is high
    lw a0, 8(sp)
    lw a1, 12(sp)
    lw a2, 16(sp)
    lw a3, 20(sp)
    lw a4, 24(sp)
    lw a5, 28(sp)
    lw a6, 32(sp)
    lw a7, 36(sp)
    lw t2, 40(sp)
    lw t3, 44(sp)
    lw t4, 48(sp)
    lw t5, 52(sp)
    lw t6, 56(sp)
    lw ra, 60(sp)
    bnez t0, 2f
    lw t0, 0(sp)
    lw t1, 4(sp)
    addi sp, sp, 64
    mret
2:  lw t0, 0(sp)
    lw t1, 4(sp)
    addi sp, sp, 64
    j freertos_risc_v_trap_handler
