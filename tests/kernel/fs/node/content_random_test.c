/* Bytes of files, on frames that the test counts, against a plain array of bytes.
 * sources: kernel/fs/node/content.c kernel/fs/node/page_tree.c */
#include "tests/kernel/fs/node/content_frames.h"

#define SPAN (64 * PAGE_SIZE) /* bytes that the model has */

static uint8_t model[SPAN];
static uint64_t model_size;

static void check_same(struct content *content)
{
    static uint8_t bytes[SPAN];

    CHECK_EQ(content->size, model_size);
    CHECK_EQ(content_read(content, 0, bytes, SPAN), model_size);
    CHECK(memcmp(bytes, model, model_size) == 0);
}

/* The tree knows how many words it has from any page on. */
static void check_count(const struct page_tree *tree, uint64_t from)
{
    uint64_t count = 0, page = from, word;

    for (; page_tree_next(tree, page, &page, &word); page++)
        count++;
    CHECK_EQ(page_tree_count(tree, from), count);
}

/* Holes of the file are zeros, and its data is where it says. */
static void check_seek(const struct content *content, uint64_t at)
{
    int64_t data = content_seek_data(content, at), hole = content_seek_hole(content, at);

    if (at >= model_size) {
        CHECK_EQ(data, -ENXIO);
        CHECK_EQ(hole, -ENXIO);
        return;
    }
    for (uint64_t i = at; i < (data < 0 ? model_size : (uint64_t)data); i++)
        CHECK_EQ(model[i], 0);
    CHECK(hole >= (int64_t)at && hole <= (int64_t)model_size);
    CHECK(data == (int64_t)at || hole == (int64_t)at);
}

/* One operation on both. ALLOWED: -ENOMEM is no mistake. */
static void step(struct content *content, uint64_t *random, bool allowed)
{
    static uint8_t bytes[3 * PAGE_SIZE];
    struct page_tree cut = {0};
    uint64_t at = test_below(random, SPAN - sizeof(bytes)), size = test_below(random, sizeof(bytes));
    uint64_t frame;
    int64_t result;

    switch (test_below(random, 10)) {
    case 0:
    case 1:
    case 2:
        if (test_below(random, 2) == 0)
            at &= ~(PAGE_SIZE - 1);
        memset(bytes, (int)(1 + test_below(random, 255)), size);
        result = content_write(content, at, bytes, size);
        CHECK(result == (int64_t)size || allowed);
        if (result > 0)
            memcpy(model + at, bytes, (size_t)result);
        if (result > 0 && at + (uint64_t)result > model_size)
            model_size = at + (uint64_t)result;
        break;
    case 3:
        result = content_resize(content, at, &cut);
        CHECK(result == 0 || allowed);
        if (result == 0 && at < model_size)
            memset(model + at, 0, model_size - at);
        if (result == 0)
            model_size = at;
        break;
    case 4:
        result = content_punch(content, at, at + size, &cut);
        CHECK(result == 0 || allowed);
        if (result == 0)
            memset(model + at, 0, size);
        break;
    case 5:
        result = content_fill(content, at, at + size);
        CHECK(result == 0 || allowed);
        break;
    case 6:
    case 7:
        result = content_page(content, at / PAGE_SIZE, test_below(random, 2) == 0, true, &frame);
        CHECK(result >= 0 || (result == -ENXIO && at / PAGE_SIZE * PAGE_SIZE >= model_size) || allowed);
        if (result == 0)
            frame_release(frame);
        if (result >= 0 && test_below(random, 2) == 0) {
            if (content_move_begin(content, at / PAGE_SIZE, frame))
                CHECK(move(content, at / PAGE_SIZE, frame, new_frame(test_below(random, 2) == 0)));
            else
                CHECK(allowed);
        }
        break;
    default:
        content_drop_idle(content);
        check_seek(content, at);
    }
    check_count(&cut, 0);
    check_count(&content->tree, 0);
    check_count(&content->tree, test_below(random, SPAN / PAGE_SIZE));
    content_free(&cut, NULL);
}

static uint64_t counted;

static void count_frame(uint64_t frame, void *context)
{
    (void)context;
    CHECK_EQ(frame_spaces(frame), 1);
    counted++;
}

static void run(uint64_t seed, bool from_archive, bool short_of_memory)
{
    struct content content = {0};
    uint64_t random = seed, page;
    uint32_t left;

    begin();
    memset(model, 0, sizeof(model));
    model_size = 0;
    if (from_archive) {
        content_init(&content, archive, sizeof(archive));
        memcpy(model, archive, sizeof(archive));
        model_size = sizeof(archive);
    }
    for (uint32_t i = 0; i < 400; i++) {
        if (short_of_memory)
            heap_left = (uint32_t)test_below(&random, 12);
        step(&content, &random, short_of_memory);
        check_same(&content);
        CHECK_EQ(quota_counts[QUOTA_FILE_PAGES], content_charged(&content));
        CHECK_EQ(quota_counts[QUOTA_FILE_BYTES], content_table_bytes(&content));
        CHECK_EQ(page_tree_nodes(), content.tree.nodes);
    }
    counted = 0;
    page = 0;
    for (left = 1 + (uint32_t)(seed % 40); content_some(&content, &page, &left, count_frame, NULL);)
        left = 1 + (uint32_t)(seed % 40);
    CHECK_EQ(counted, frames_used());
    CHECK(content.pages >= counted);
    end(&content);
}

TEST(content_random,
     "a thousand histories of writes, truncations, holes and mappings leave the bytes that an array has")
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        run(seed, false, false);
        run(seed, true, false);
    }
}

TEST(content_random_short, "the same when memory runs out anywhere: what was refused has changed nothing")
{
    for (uint64_t seed = 1; seed <= 500; seed++)
        run(seed, seed % 2 == 0, true);
}
