# SPDX-License-Identifier: Apache-2.0
#
# What is changed in VexRiscv's Verilog (sed --regexp-extended) so that Verilator has less to do. No instruction and no
# cycle changes; it takes a tenth less time.

# "May be written from outside": costs a quarter of the speed.
s|/\* verilator public \*/||

# A register between two stages of the pipeline is only looked at together with the next stage's `isValid`, but is
# loaded in every cycle; more than half of the cycles put a bubble through the stages. The program counter is another
# matter: bubbles carry the one that an interrupt returns to.
/^ *(decode_to_execute|execute_to_memory|memory_to_writeBack)_PC <=/ b
s/^( *)(decode_to_execute_\w+ <=)/\1if(decode_arbitration_isValid) \2/
s/^( *)(execute_to_memory_\w+ <=)/\1if(execute_arbitration_isValid) \2/
s/^( *)(memory_to_writeBack_\w+ <=)/\1if(memory_arbitration_isValid) \2/

# The same inside the data cache, where only loads and stores count.
s/^( *)((stageA_\w+|stage0_dataColisions_regNextWhen) <=)/\1if(io_cpu_execute_isValid) \2/
/^ *stageB_(flusher|lrSc)_/ b
s/^( *)(stageB_\w+ <=)/\1if(io_cpu_memory_isValid) \2/

# Which control register an instruction means, and what is in it, matters for the instructions that access one. When
# none does, any value is as good, except zero: for zero, Verilator evaluates all and masks it.
s/^( *)(execute_CsrPlugin_csr_\w+ <=)/\1if(decode_arbitration_isValid \&\& decode_IS_CSR) \2/
s/^( *assign CsrPlugin_csrMapping_readDataInit = )(.*);/\1execute_IS_CSR ? \2 : CsrPlugin_mtval;/
