/* Where pages are: what is answered to a peer whatever it asks, and what an asker takes from peers, and how often.
 * sources: mm/change/resident.c mm/lease/map.c mm/area/area.c mm/area/tree.c kernel/lib/ordered.c */
#include <stdlib.h>

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "mm/change/change.h"
#include "mm/file/page.h"
#include "mm/frame/reference.h"
#include "mm/lease/lease.h"
#include "mm/lock/lock.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/zero_page.h"
#include "mm/space/entry.h"
#include "mm/space/question.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/request/long_answer.h"
#include "msg/slice.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define KERNELS 4u
#define NODES 2u
#define BASE (6 * LEAF_SIZE) /* two tables from here on have entries */
#define PAGE(number) (BASE + (number)*PAGE_SIZE)
#define ZERO ((1ull << 30) | PAGING_SOFT_COW)

struct instance instance;
static struct space space;
static const struct space_retrieval strategy = {.home_knows = true};
static _Alignas(PAGE_SIZE) uint64_t leaf[2][LEAF_ENTRIES];
static msg_handler handler;

/* --- the answer of this kernel --- */

static uint8_t reply[SPACE_ASK_PAGES];
static int reply_length; /* bytes, or a negative errno; -1000: none */
static bool long_memory;

void msg_register(enum msg_type type, msg_handler registered, uint32_t size, uint32_t reply_size)
{
    CHECK(type == MSG_SPACE_RESIDENT && size == sizeof(struct msg_space_resident) && reply_size == 0);
    handler = registered;
}

static void answered(const void *bytes, uint32_t length)
{
    CHECK_EQ(reply_length, -1000);
    CHECK(length <= sizeof(reply));
    if (bytes != NULL)
        memcpy(reply, bytes, length);
    reply_length = (int)length;
}

void msg_reply(const struct msg_ticket *ticket, const void *data, uint32_t length)
{
    (void)ticket;
    CHECK(length <= MSG_SHORT);
    answered(data, length);
}

void msg_reply_error(const struct msg_ticket *ticket, int error)
{
    (void)ticket;
    CHECK_EQ(reply_length, -1000);
    reply_length = error;
}

void *long_answer_create(uint32_t size)
{
    return long_memory ? heap_alloc_unset(size) : NULL;
}

void long_answer_send(const struct msg *m, struct long_answer *answer, const void *bytes, uint32_t length)
{
    (void)m;
    answered(bytes, length);
    heap_free(answer, sizeof(*answer) + (SPACE_ASK_PAGES + 7) / 8 * 8);
}

/* --- what the code under test calls --- */

struct space *space_get(uint64_t id)
{
    if (id != space.id)
        return NULL;
    space.references++;
    return &space;
}

void space_put(struct space *of)
{
    of->references--;
}

const uint64_t *paging_look(const struct page_tables *tables, uint64_t va)
{
    (void)tables;
    return va - BASE < 2 * LEAF_SIZE ? &leaf[(va - BASE) / LEAF_SIZE][paging_index(va)] : NULL;
}

bool zero_page_compare(uint64_t entry)
{
    return entry == ZERO;
}

uint32_t policy_node_of(uint64_t frame)
{
    return (uint32_t)(frame / PAGE_SIZE % NODES);
}

const struct lease *lease_others_locked(const struct space *of, uint64_t start, uint64_t end)
{
    const struct lease *lease = lease_map_next(&of->leases.map, start);

    while (lease != NULL && lease->kernel == instance.kernel)
        lease = lease_map_after(&of->leases.map, lease);
    return of->home == instance.kernel && lease != NULL && lease->start < end ? lease : NULL;
}

uint64_t rdtsc_unordered(void)
{
    return 0;
}

bool slice_pause(void)
{
    return false;
}

/* --- peers --- */

static uint8_t (*peer)(uint32_t kernel, uint64_t page); /* what it answers of a page */
static uint32_t peer_most;                              /* pages in one answer */
static int peer_error;                                  /* of kernel 3 */
static uint32_t asked, reclaims;

int msg_call(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *answers, uint32_t room,
             const char *why, uint64_t key)
{
    const struct msg_space_resident *ask = data;
    uint32_t runs = (length - (uint32_t)sizeof(*ask)) / 8, done = 0;
    const uint64_t *run = (const uint64_t *)(ask + 1);

    (void)why;
    (void)key;
    CHECK(type == MSG_SPACE_RESIDENT && ask->space == space.id && kernel != instance.kernel);
    CHECK(runs > 0 && runs <= SPACE_ASK_RUNS && room <= SPACE_ASK_PAGES);
    CHECK(asked++ < 2000);
    if (kernel == 3 && peer_error != 0)
        return peer_error;
    for (uint32_t r = 0; r < runs; r++) {
        for (uint64_t i = 0; i <= run[r] % PAGE_SIZE && done < peer_most; i++)
            ((uint8_t *)answers)[done++] = peer(kernel, (run[r] & ~(PAGE_SIZE - 1)) + i * PAGE_SIZE);
    }
    CHECK(done <= room);
    return (int)done;
}

int64_t space_ask_home(struct space *of, const struct msg_space_change *change)
{
    (void)of;
    CHECK(change->operation == MSG_SPACE_RECLAIM && change->length == PAGE_SIZE);
    reclaims++;
    return 0;
}

#define NEVER(type, name, ...)                                                                                         \
    type name(__VA_ARGS__)                                                                                             \
    {                                                                                                                  \
        abort();                                                                                                       \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"
NEVER(uint32_t, frame_owner, uint64_t frame)
NEVER(int, file_pages_resident, uint64_t backing, uint32_t count, uint64_t *pages)
NEVER(void, msg_gather, kernel_set set, enum msg_type type, const void *data, uint32_t length, msg_answer each,
      void *context, const char *why, uint64_t key)
NEVER(int, space_acquire, struct space *of, struct space_range range, struct space_lock *lock)
NEVER(void, space_release, struct space *of, struct space_lock *lock)
NEVER(void, space_gets_await, struct space *of, struct space_range range)
NEVER(kernel_set, space_others, struct space *of)

/* --- the tests --- */

/* Pages 0 to 599 are a private area of which each even page has a frame, on the node that its number's half says; 600
 * to 699 are shared, without frames; 700 is private, and the page of zeros; 701 is nothing. */
static void begin_test(uint32_t own, uint32_t home)
{
    heap_objects = 0;
    instance.kernel = own;
    instance.kernels = KERNELS;
    instance.plan.node_count = NODES;
    space = (struct space){.id = 7, .home = home, .references = 1, .retrieval = &strategy};
    area_list_init(&space.areas);
    lease_map_init(&space.leases.map);
    memset(leaf, 0, sizeof(leaf));
    for (uint64_t i = 0; i < 600; i += 2)
        leaf[i / LEAF_ENTRIES][i % LEAF_ENTRIES] = (i / 2 + 512) * PAGE_SIZE | 1;
    leaf[1][700 - LEAF_ENTRIES] = ZERO;
    CHECK_EQ(area_append(&space.areas, PAGE(0), PAGE(600), AREA_READ), 0);
    CHECK_EQ(area_append(&space.areas, PAGE(600), PAGE(700), AREA_READ | AREA_SHARED), 0);
    CHECK_EQ(area_append(&space.areas, PAGE(700), PAGE(701), AREA_READ), 0);
    asked = reclaims = 0;
    peer_most = SPACE_ASK_PAGES;
    peer_error = 0;
    long_memory = true;
    space_resident_init();
}

static void end_test(void)
{
    CHECK_EQ(space.references, 1);
    CHECK(lease_map_clear_some(&space.leases.map, UINT32_MAX));
    CHECK_EQ(area_remove(&space.areas, PAGE(0), PAGE(701)), 0);
    CHECK_EQ(heap_objects, 0);
}

static uint8_t expected(uint64_t page)
{
    uint64_t number = (page - BASE) / PAGE_SIZE;

    if (number < 600)
        return number % 2 == 0 ? (uint8_t)(number / 2 % NODES) : SPACE_WHERE_FAULT;
    return number < 700 ? SPACE_WHERE_NONE : number == 700 ? SPACE_WHERE_ZERO : SPACE_WHERE_FAULT;
}

/* A peer asks; the RUNS words at RUN, and SHORT bytes fewer. */
static int ask(uint64_t id, const uint64_t *run, uint32_t runs, uint32_t less)
{
    struct {
        struct msg_space_resident head;
        uint64_t run[SPACE_ASK_RUNS + 1];
    } message = {{id}, {0}};
    struct msg m = {.data = &message, .length = (uint32_t)sizeof(message.head) + runs * 8 - less};

    memcpy(message.run, run, runs * 8);
    reply_length = -1000;
    handler(&m);
    return reply_length;
}

TEST(resident_refuses, "a list of no pages, of too many, or of what is no user memory is refused")
{
    uint64_t run[SPACE_ASK_RUNS + 1];

    for (uint32_t i = 0; i <= SPACE_ASK_RUNS; i++)
        run[i] = PAGE(i * 2);
    begin_test(0, 0);
    CHECK_EQ(ask(8, run, 1, 0), -ESRCH);
    CHECK_EQ(ask(7, run, 0, 0), -EPROTO);
    CHECK_EQ(ask(7, run, 2, 4), -EPROTO);
    CHECK_EQ(ask(7, run, SPACE_ASK_RUNS + 1, 0), -EPROTO);
    CHECK_EQ(ask(7, run, SPACE_ASK_RUNS, 0), SPACE_ASK_RUNS);
    CHECK_EQ(ask(7, &(uint64_t){PAGE(0) | SPACE_ASK_PAGES}, 1, 0), -EPROTO);
    CHECK_EQ(ask(7, (uint64_t[]){PAGE(0) | (SPACE_ASK_PAGES - 1), PAGE(0)}, 2, 0), -EPROTO);
    CHECK_EQ(ask(7, &(uint64_t){USER_END}, 1, 0), -EPROTO);
    CHECK_EQ(ask(7, &(uint64_t){(USER_END - PAGE_SIZE) | 1}, 1, 0), -EPROTO);
    CHECK_EQ(ask(7, &(uint64_t){UINT64_MAX}, 1, 0), -EPROTO);
    CHECK_EQ(ask(7, &(uint64_t){USER_END - PAGE_SIZE}, 1, 0), 1);
    end_test();
}

TEST(resident_answers, "the home says of each page where it is, in the order of the question")
{
    uint64_t run[] = {PAGE(598) | 4, PAGE(699) | 3, PAGE(0) | (SPACE_ASK_PAGES - 20)};
    uint32_t i = 0;

    begin_test(0, 0);
    CHECK_EQ(ask(7, run, 3, 0), 5 + 4 + SPACE_ASK_PAGES - 19);
    for (uint32_t r = 0; r < 3; r++) {
        for (uint64_t k = 0; k <= run[r] % PAGE_SIZE; k++)
            CHECK_EQ(reply[i++], expected((run[r] & ~(PAGE_SIZE - 1)) + k * PAGE_SIZE));
    }
    long_memory = false;
    CHECK_EQ(ask(7, run, 3, 0), MSG_SHORT);
    end_test();
}

TEST(resident_leases, "the home names the kernel that has leased a page, and a member knows only what is leased to it")
{
    begin_test(0, 0);
    CHECK_EQ(lease_map_set(&space.leases.map, PAGE(2), PAGE(4), 3), 0);
    CHECK_EQ(lease_map_set(&space.leases.map, PAGE(4), PAGE(5), 0), 0);
    CHECK_EQ(ask(7, &(uint64_t){PAGE(0) | 7}, 1, 0), 8);
    for (uint32_t i = 0; i < 8; i++)
        CHECK_EQ(reply[i], i == 2 || i == 3 ? SPACE_WHERE_LEASED | 3 : expected(PAGE(i)));
    end_test();
    begin_test(1, 0);
    CHECK_EQ(lease_map_set(&space.leases.map, PAGE(2), PAGE(4), 1), 0);
    CHECK_EQ(ask(7, &(uint64_t){PAGE(0) | 7}, 1, 0), 8);
    for (uint32_t i = 0; i < 8; i++)
        CHECK_EQ(reply[i], i == 2 || i == 3 ? expected(PAGE(i)) : SPACE_WHERE_AGAIN);
    end_test();
}

TEST(resident_slice, "one look ends after a bounded number of leases, and is answered as far as it came")
{
    begin_test(0, 0);
    for (uint32_t i = 0; i < 400; i++)
        CHECK_EQ(lease_map_set(&space.leases.map, PAGE(i), PAGE(i + 1), 1 + i % 2), 0);
    CHECK_EQ(ask(7, &(uint64_t){PAGE(0) | 399}, 1, 0), SPACE_ASK_RUNS);
    end_test();
}

/* --- the asker --- */

static uint8_t as_home(uint32_t kernel, uint64_t page)
{
    CHECK_EQ(kernel, 0);
    return expected(page);
}

/* The home says that every third page is leased to kernel 3, until that has been recalled. */
static uint8_t leased(uint32_t kernel, uint64_t page)
{
    bool third = (page - BASE) / PAGE_SIZE % 3 == 0;

    if (kernel == 0)
        return third && reclaims == 0 ? SPACE_WHERE_LEASED | 3 : expected(page);
    CHECK(kernel == 3 && third);
    return expected(page);
}

static uint8_t holds_nothing(uint32_t kernel, uint64_t page)
{
    return kernel == 3 ? SPACE_WHERE_AGAIN : leased(kernel, page);
}

static uint8_t names_asker(uint32_t kernel, uint64_t page)
{
    CHECK_EQ(kernel, 0);
    return reclaims == 0 ? SPACE_WHERE_LEASED | 1 : expected(page);
}

static uint8_t wrong;

static uint8_t answers_wrong(uint32_t kernel, uint64_t page)
{
    (void)kernel;
    (void)page;
    return wrong;
}

static uint8_t holder_wrong(uint32_t kernel, uint64_t page)
{
    return kernel == 3 ? wrong : leased(kernel, page);
}

/* Asks for the COUNT pages that are STEP pages apart, and checks the results. Returns the error. */
static int where(uint64_t count, uint64_t step, uint8_t (*answers)(uint32_t kernel, uint64_t page))
{
    struct space_pages list;
    uint8_t found[SPACE_ASK_PAGES];
    int error;

    peer = answers;
    space_pages_clear(&list);
    for (uint64_t i = 0; i < count; i++)
        CHECK(space_pages_add(&list, PAGE(i * step)));
    error = space_where(&space, &list, found);
    for (uint64_t i = 0; i < count && error == 0; i++)
        CHECK_EQ(found[i], expected(PAGE(i * step)));
    return error;
}

TEST(resident_one_question, "a list is one question to the home, and none at the home")
{
    begin_test(1, 0);
    CHECK_EQ(where(SPACE_ASK_PAGES, 1, as_home), 0);
    CHECK_EQ(asked, 1);
    CHECK_EQ(where(SPACE_ASK_RUNS, 5, as_home), 0);
    CHECK_EQ(asked, 2);
    end_test();
    begin_test(0, 0);
    CHECK_EQ(where(SPACE_ASK_PAGES, 1, as_home), 0);
    CHECK_EQ(asked, 0);
    end_test();
}

TEST(resident_holder, "a holder is asked once about its pages; one that has no lease has it recalled")
{
    begin_test(1, 0);
    CHECK_EQ(where(120, 1, leased), 0);
    CHECK(asked == 2 && reclaims == 0);
    CHECK_EQ(where(120, 1, holds_nothing), 0);
    CHECK(asked == 5 && reclaims == 1);
    reclaims = 0;
    peer_error = -ESRCH;
    CHECK_EQ(where(120, 1, leased), 0);
    CHECK(asked == 8 && reclaims == 1);
    peer_error = -ENOMEM;
    reclaims = 0;
    CHECK_EQ(where(120, 1, leased), -ENOMEM);
    end_test();
}

TEST(resident_short, "answers to some of the pages only are taken, and the rest asked about anew")
{
    begin_test(1, 0);
    peer_most = 1;
    CHECK_EQ(where(100, 1, as_home), 0);
    CHECK_EQ(asked, 100);
    peer_most = 48;
    CHECK_EQ(where(SPACE_ASK_PAGES, 1, as_home), 0);
    CHECK_EQ(where(SPACE_ASK_PAGES, 1, leased), 0); /* some are the holder's, while others are not asked about yet */
    peer_most = 0;
    CHECK_EQ(where(1, 1, as_home), -EPROTO);
    end_test();
}

TEST(resident_own_lease, "what is leased here is answered here, also if the home names this kernel")
{
    begin_test(1, 0);
    CHECK_EQ(lease_map_set(&space.leases.map, PAGE(0), PAGE(64), 1), 0);
    CHECK_EQ(where(64, 1, answers_wrong), 0);
    CHECK_EQ(asked, 0);
    CHECK_EQ(where(100, 1, as_home), 0);
    CHECK_EQ(asked, 1);
    CHECK_EQ(where(100, 1, names_asker), 0); /* of what has been leased, but is not here yet */
    CHECK(asked == 3 && reclaims == 1);
    end_test();
}

TEST(resident_wrong_answer, "answers that no correct kernel gives end the question")
{
    static const uint8_t home[] = {NODES,
                                   NODES_MAX - 1,
                                   SPACE_WHERE_NONE + 1,
                                   127,
                                   SPACE_WHERE_LEASED,
                                   SPACE_WHERE_LEASED | KERNELS,
                                   SPACE_WHERE_LEASED | (KERNELS_MAX - 1),
                                   SPACE_WHERE_AGAIN,
                                   SPACE_WHERE_AGAIN + 1,
                                   255};
    static const uint8_t holder[] = {NODES, SPACE_WHERE_LEASED | 2, SPACE_WHERE_LEASED, 255};

    begin_test(1, 0);
    for (uint32_t i = 0; i < sizeof(home); i++) {
        wrong = home[i];
        CHECK_EQ(where(5, 1, answers_wrong), -EPROTO);
    }
    for (uint32_t i = 0; i < sizeof(holder); i++) {
        wrong = holder[i];
        CHECK_EQ(where(5, 1, holder_wrong), -EPROTO);
    }
    end_test();
}

TEST(resident_list, "a list takes 512 pages in 64 runs, and puts neighbours into one run")
{
    struct space_pages list;

    space_pages_clear(&list);
    for (uint64_t i = 0; i < SPACE_ASK_PAGES; i++)
        CHECK(space_pages_add(&list, PAGE(i)));
    CHECK(list.runs == 1 && !space_pages_add(&list, PAGE(SPACE_ASK_PAGES)));
    space_pages_clear(&list);
    for (uint64_t i = 0; i < SPACE_ASK_RUNS; i++)
        CHECK(space_pages_add(&list, PAGE(0)));
    CHECK(!space_pages_add(&list, PAGE(0)) && list.runs == SPACE_ASK_RUNS);
    CHECK(space_pages_add(&list, PAGE(1)) && list.pages == SPACE_ASK_RUNS + 1);
}
