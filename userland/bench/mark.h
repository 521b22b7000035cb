/* Markers for counting guest instructions: tools/kettle run --count counts what every CPU executes from mark_begin(r)
 * on any CPU to mark_end(r) on any CPU, in user mode, in the kernel and in its idle loop. For C and C++, with or
 * without libkettle, on Kettle and on Linux. tools/plugin/README.md says what is counted.
 *
 *     #include "userland/bench/mark.h"
 *
 *     mark_begin(3);
 *     work();
 *     mark_end(3);
 *
 * A region, 0 to 255, may be entered any number of times: the counts add up. Different regions may overlap. A begin of
 * a region that is open, and an end of one that is not, changes nothing and is reported.
 *
 * A marker is an instruction that does nothing, so without --count a program runs as ever. With a constant region and
 * optimization it is that one instruction, and between the two are exactly the instructions between them. With a region
 * known only at run time, or without optimization, it is a jump through a table: a region of nothing then counts the
 * few instructions that leave one table and enter the other. No memory access moves across a marker; the compiler may
 * move plain arithmetic.
 *
 * A region beyond 255 is no marker at all. */
#ifndef USERLAND_MARK_H
#define USERLAND_MARK_H

/* nopl number(%rax,%rax,1), written in bytes so that no assembler shortens it. */
#define MARK_INSTRUCTION(kind, region)                                                                                 \
    __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long %c0"                                                       \
                     :                                                                                                 \
                     : "i"(0x4b540000 | (kind) << 8 | (region))                                                        \
                     : "memory")

#define MARK_CASE(kind, region)                                                                                        \
    case (region):                                                                                                     \
        MARK_INSTRUCTION(kind, region);                                                                                \
        break;
#define MARK_CASES_4(kind, region)                                                                                     \
    MARK_CASE(kind, region) MARK_CASE(kind, (region) + 1) MARK_CASE(kind, (region) + 2) MARK_CASE(kind, (region) + 3)
#define MARK_CASES_16(kind, region)                                                                                    \
    MARK_CASES_4(kind, region)                                                                                         \
    MARK_CASES_4(kind, (region) + 4) MARK_CASES_4(kind, (region) + 8) MARK_CASES_4(kind, (region) + 12)
#define MARK_CASES_64(kind, region)                                                                                    \
    MARK_CASES_16(kind, region)                                                                                        \
    MARK_CASES_16(kind, (region) + 16) MARK_CASES_16(kind, (region) + 32) MARK_CASES_16(kind, (region) + 48)
#define MARK_SWITCH(kind, region)                                                                                      \
    switch (region) {                                                                                                  \
        MARK_CASES_64(kind, 0)                                                                                         \
        MARK_CASES_64(kind, 64)                                                                                        \
        MARK_CASES_64(kind, 128)                                                                                       \
        MARK_CASES_64(kind, 192)                                                                                       \
    default:                                                                                                           \
        break;                                                                                                         \
    }

static __attribute__((noinline, unused)) void mark_begin_by_table(unsigned int region)
{
    MARK_SWITCH(1, region)
}

static __attribute__((noinline, unused)) void mark_end_by_table(unsigned int region)
{
    MARK_SWITCH(2, region)
}

static inline __attribute__((always_inline)) void mark_begin(unsigned int region)
{
    if (__builtin_constant_p(region)) {
        MARK_SWITCH(1, region)
    } else {
        mark_begin_by_table(region);
    }
}

static inline __attribute__((always_inline)) void mark_end(unsigned int region)
{
    if (__builtin_constant_p(region)) {
        MARK_SWITCH(2, region)
    } else {
        mark_end_by_table(region);
    }
}

#endif
