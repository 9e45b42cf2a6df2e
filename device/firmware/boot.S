# SPDX-License-Identifier: Apache-2.0
#
# Reset: registers that never change again, a cleared .bss, main().

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
