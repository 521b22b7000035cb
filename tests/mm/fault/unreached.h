/* What mm/fault/answer.c and mm/fault/huge.c call and the test of blocks does not reach, or what says no there: no
 * leases, files, copies or zero page. Included once. */
#ifndef TESTS_MM_FAULT_UNREACHED_H
#define TESTS_MM_FAULT_UNREACHED_H

#include "kernel/arch/x86_64/tlb.h"
#include "mm/fault/around.h"
#include "mm/fault/runs.h"
#include "mm/fault/still.h"
#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/lease/lease.h"
#include "mm/lock/lock.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/install.h"
#include "mm/page/zero_page.h"
#include "msg/request/long_answer.h"
#include "msg/slice.h"
#include "tests/test.h"

void around_map_locked(struct space *space, uint64_t page, const struct area *area, uint32_t pages)
{
    (void)space;
    (void)page;
    (void)area;
    (void)pages;
    CHECK(false);
}

void frame_copy_out(uint64_t to, uint64_t from)
{
    (void)to;
    (void)from;
}

void frame_lend(void)
{
}

uint64_t frame_nodes(void)
{
    return 0;
}

void frame_release(uint64_t frame)
{
    (void)frame;
}

uint32_t frame_spaces(uint64_t frame)
{
    (void)frame;
    return 2;
}

void frame_zero(uint64_t frame)
{
    (void)frame;
    CHECK(false);
}

void lease_clip_locked(const struct space *space, uint64_t page, uint64_t *start, uint64_t *end)
{
    (void)space;
    (void)page;
    (void)start;
    (void)end;
    CHECK(false);
}

bool lease_empty_find_locked(struct space *space, uint32_t kernel, uint64_t page, const struct area *area,
                             const uint64_t *entry, bool first, struct space_range *range)
{
    (void)space;
    (void)kernel;
    (void)page;
    (void)area;
    (void)entry;
    (void)first;
    (void)range;
    CHECK(false);
    return false;
}

bool lease_empty_give_locked(struct space *space, uint32_t kernel, struct space_range range)
{
    (void)space;
    (void)kernel;
    (void)range;
    CHECK(false);
    return false;
}

bool lease_is_of_locked(const struct space *space, uint64_t page, uint32_t kernel)
{
    (void)space;
    (void)page;
    (void)kernel;
    return false;
}

uint64_t lease_lowest_locked(const struct space *space, uint64_t start, uint64_t end)
{
    (void)space;
    (void)start;
    (void)end;
    CHECK(false);
    return 0;
}

void lease_share_locked(struct space *space, uint64_t start, uint64_t end)
{
    (void)space;
    (void)start;
    (void)end;
    CHECK(false);
}

const struct lease *lease_others_locked(const struct space *space, uint64_t start, uint64_t end)
{
    (void)space;
    (void)start;
    (void)end;
    return NULL;
}

void *long_answer_create(uint32_t size)
{
    (void)size;
    CHECK(false);
    return NULL;
}

void long_answer_send(const struct msg *m, struct long_answer *answer, const void *bytes, uint32_t length)
{
    (void)m;
    (void)answer;
    (void)bytes;
    (void)length;
    CHECK(false);
}

uint64_t mempolicy_block(struct space *space, uint32_t prot, uint64_t page)
{
    (void)space;
    (void)prot;
    (void)page;
    CHECK(false);
    return 0;
}

void mempolicy_count_taken_locked(const struct space *space, uint32_t prot, uint64_t frame)
{
    (void)space;
    (void)prot;
    (void)frame;
}

uint32_t mempolicy_own_node(void)
{
    return 0;
}

uint64_t policy_machine_nodes(void)
{
    return 0;
}

uint32_t policy_node_of(uint64_t frame)
{
    (void)frame;
    return 0;
}

uint64_t rdtsc_unordered(void)
{
    return 0;
}

bool slice_pause(void)
{
    return false;
}

int space_install_file_locked(struct space *space, uint64_t page, const struct area *area, uint32_t access,
                              const struct placement *where)
{
    (void)space;
    (void)page;
    (void)area;
    (void)access;
    (void)where;
    CHECK(false);
    return 0;
}

void space_name_frame(uint64_t frame, uint64_t backing)
{
    (void)frame;
    (void)backing;
    CHECK(false);
}

uint32_t space_runs_list_locked(const uint64_t *entry, uint64_t page, uint64_t start, uint64_t end, bool copied,
                                uint64_t *runs, uint32_t most)
{
    (void)entry;
    (void)page;
    (void)start;
    (void)end;
    (void)copied;
    (void)runs;
    (void)most;
    CHECK(false);
    return 0;
}

kernel_set space_sharers_locked(const struct space *space, struct space_range range)
{
    (void)space;
    (void)range;
    return 0;
}

bool space_still_answer_locked(struct space *space, uint64_t page, const struct area *area,
                               const struct msg_space_get *ask, struct msg_space_got *got)
{
    (void)space;
    (void)page;
    (void)area;
    (void)ask;
    (void)got;
    CHECK(false);
    return false;
}

void tlb_flush(uint64_t root, uint64_t start, uint64_t end)
{
    (void)root;
    (void)start;
    (void)end;
}

bool zero_page_compare(uint64_t entry)
{
    (void)entry;
    return false;
}

void zero_page_let_go_locked(struct space *space, uint64_t page, uint64_t *entry)
{
    (void)space;
    (void)page;
    (void)entry;
    CHECK(false);
}

#endif
