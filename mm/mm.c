/* The beginning of mm/: each room's, from the bottom up. See the header. */
#include "mm/mm.h"

#include "mm/change/change.h"
#include "mm/fault/cow.h"
#include "mm/fault/get.h"
#include "mm/fault/huge.h"
#include "mm/file/hold.h"
#include "mm/file/page.h"
#include "mm/fork/fork.h"
#include "mm/frame/content.h"
#include "mm/frame/give.h"
#include "mm/frame/reference.h"
#include "mm/lease/lease.h"
#include "mm/lock/lock.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/move/move.h"
#include "mm/retrieve/strategy.h"
#include "mm/seen/seen.h"
#include "mm/space/space.h"

void mm_init(void)
{
    frame_content_init();
    reference_init();
    give_init();
    space_table_init();
    space_events_init();
    file_hold_init();
    file_page_init();
    policy_init();
    lease_init();
    lock_init();
    space_retrieve_init();
    space_get_init();
    space_cow_init();
    huge_init();
    space_change_init();
    space_fence_init();
    space_move_init();
    seen_init();
    space_fork_init();
}
