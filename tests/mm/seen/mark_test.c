/* Marking an entry, and taking the mark off.
 * sources: */
#include "mm/seen/mark.h"
#include "tests/test.h"

#define FRAME 0x1234000ull
#define KEPT                                                                                                           \
    (PAGING_FRAME | PAGING_WRITE | PAGING_USER | PAGING_NO_EXECUTE | PAGING_SOFT_REMOTE | PAGING_SOFT_OWNING |         \
     PAGING_SOFT_COW | PAGING_SOFT_STILL | PAGING_ACCESSED | PAGING_DIRTY)

struct instance instance;

static uint64_t marked(uint64_t entry, bool hides)
{
    return entry ^ mark_changes(entry, hides);
}

TEST(mark_present, "a present entry is hidden, is as it was in all else, and is so again without the mark")
{
    static const uint64_t with[] = {0,
                                    PAGING_SOFT_COW,
                                    PAGING_SOFT_STILL,
                                    PAGING_SOFT_OWNING,
                                    PAGING_SOFT_REMOTE,
                                    PAGING_ACCESSED | PAGING_DIRTY,
                                    PAGING_SOFT_HINT /* left by a question */};

    for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
        uint64_t entry = FRAME | PAGING_PRESENT | PAGING_USER | PAGING_WRITE | with[i], now = marked(entry, true);

        CHECK(mark_possible(entry) && !mark_hidden(entry));
        CHECK((now & PAGING_SOFT_MARKED) != 0 && mark_hidden(now));
        CHECK_EQ(now & KEPT, entry & KEPT);
        CHECK_EQ(mark_removed(now), entry & ~PAGING_SOFT_HINT);
    }
}

TEST(mark_hidden_already, "a hidden entry stays hidden, and a mark is there once")
{
    uint64_t hidden = FRAME | PAGING_USER | PAGING_SOFT_HINT, now = marked(hidden, true);

    CHECK(mark_possible(hidden) && mark_hidden(now));
    CHECK_EQ(now, hidden | PAGING_SOFT_MARKED);
    CHECK_EQ(marked(now, true), now);
    CHECK_EQ(mark_removed(now), FRAME | PAGING_USER | PAGING_PRESENT);
    now = FRAME | PAGING_USER | PAGING_PRESENT | PAGING_SOFT_MARKED; /* shown to who may not move it */
    CHECK(mark_hidden(marked(now, true)));
}

TEST(mark_large, "an entry of a large page's table stays present")
{
    uint64_t entry = FRAME | PAGING_PRESENT | PAGING_USER;

    CHECK_EQ(marked(entry, false), entry | PAGING_SOFT_MARKED);
    CHECK_EQ(mark_removed(marked(entry, false)), entry);
}

TEST(mark_impossible, "what nobody may use is not marked")
{
    CHECK(!mark_possible(0));
    CHECK(!mark_possible(FRAME)); /* PROT_NONE */
    CHECK(!mark_possible(FRAME | PAGING_SOFT_OWNING | PAGING_SOFT_PENDING_FREE));
    CHECK(!mark_possible(FRAME | PAGING_USER | PAGING_SOFT_HINT | PAGING_SOFT_ASKED)); /* a question is under way */
    CHECK_EQ(mark_removed(FRAME | PAGING_USER | PAGING_SOFT_ASKED | PAGING_SOFT_MARKED),
             FRAME | PAGING_USER | PAGING_SOFT_ASKED);
}
