/* Bytes of files, on frames that the test counts: what is written, mapped, cut, moved and refused.
 * sources: kernel/fs/node/content.c kernel/fs/node/page_tree.c */
#include "tests/kernel/fs/node/content_frames.h"

TEST(content_archive,
     "a file of the boot image is read from there, and its frames are made when it is written or mapped")
{
    struct content content;
    uint8_t bytes[300];
    uint64_t frame = 0;

    begin();
    content_init(&content, archive, sizeof(archive));
    CHECK_EQ(content_read(&content, PAGE_SIZE - 100, bytes, 300), 300);
    CHECK(memcmp(bytes, archive + PAGE_SIZE - 100, 300) == 0);
    CHECK_EQ(content_read(&content, ARCHIVE - 10, bytes, 300), 10);
    CHECK_EQ(frames_used(), 0);
    CHECK_EQ(content.pages, 6);
    CHECK_EQ(content_page(&content, 5, false, true, &frame), 0);
    CHECK_EQ(memory[number_of(frame)][99], archive[ARCHIVE - 1]);
    CHECK_EQ(memory[number_of(frame)][100], 0);
    CHECK_EQ(frame_spaces(frame), 2);
    CHECK_EQ(content_page(&content, 6, false, true, &frame), -ENXIO);
    CHECK(!content_drop_idle(&content));
    frame_release(frame);
    CHECK(content_drop_idle(&content));
    CHECK_EQ(frames_used(), 0);
    CHECK_EQ(content_write(&content, 10, "x", 1), 1);
    CHECK_EQ(content_read(&content, 9, bytes, 3), 3);
    CHECK_EQ(bytes[0], archive[9]);
    CHECK_EQ(bytes[1], 'x');
    CHECK_EQ(bytes[2], archive[11]);
    CHECK(!content_drop_idle(&content));
    CHECK_EQ(content.pages, 6);
    end(&content);
}

TEST(content_mapped_written, "a frame that was given for writing stays, whoever lets go of it")
{
    struct content content;
    uint64_t frame = 0;

    begin();
    content_init(&content, archive, sizeof(archive));
    CHECK_EQ(content_page(&content, 1, false, true, &frame), 0);
    frame_release(frame);
    CHECK_EQ(content_page(&content, 1, true, true, &frame), 0);
    frame_release(frame);
    CHECK(!content_drop_idle(&content));
    end(&content);
}

TEST(content_sparse, "a file of many TiB costs the pages that it has, and no hole")
{
    struct content content = {0};
    uint8_t byte = 1;

    begin();
    CHECK_EQ(content_write(&content, 1ull << 49, "a", 1), 1);
    CHECK_EQ(content_write(&content, 5, "b", 1), 1);
    CHECK_EQ(content.pages, 2);
    CHECK_EQ(frames_used(), 2);
    CHECK_EQ(content_read(&content, 1ull << 40, &byte, 1), 1);
    CHECK_EQ(byte, 0);
    CHECK_EQ(content_seek_data(&content, PAGE_SIZE), 1ll << 49);
    CHECK_EQ(content_seek_hole(&content, 0), PAGE_SIZE);
    CHECK(content_has_page(&content, 0));
    CHECK(!content_has_page(&content, 1));
    CHECK_EQ(content_seek_hole(&content, 1ull << 49), (1ll << 49) + 1);
    CHECK_EQ(content_seek_data(&content, (1ull << 49) + 1), -ENXIO);
    CHECK_EQ(content_write(&content, CONTENT_MAX, "c", 1), -EFBIG);
    CHECK_EQ(content_write(&content, CONTENT_MAX - 1, "cd", 2), 1);
    resize(&content, 6);
    CHECK_EQ(content.pages, 1);
    end(&content);
}

TEST(content_tail, "bytes that a mapping wrote behind the end are zeros when the file gets longer")
{
    struct content content = {0};
    uint64_t frame = 0;
    uint8_t byte = 1;

    begin();
    CHECK_EQ(content_write(&content, 0, "abc", 3), 3);
    CHECK_EQ(content_page(&content, 0, true, true, &frame), 0);
    memory[number_of(frame)][3] = 'd';
    resize(&content, 10);
    CHECK_EQ(content_read(&content, 3, &byte, 1), 1);
    CHECK_EQ(byte, 0);
    memory[number_of(frame)][10] = 'd';
    CHECK_EQ(content_write(&content, 20, "e", 1), 1);
    CHECK_EQ(content_read(&content, 10, &byte, 1), 1);
    CHECK_EQ(byte, 0);
    memory[number_of(frame)][30] = 'd';
    memory[number_of(frame)][40] = 'd';
    CHECK_EQ(content_write(&content, 21, "fg", 2), 2); /* appended: both are behind the end still */
    CHECK_EQ(content_write(&content, 35, "h", 1), 1);
    resize(&content, 50);
    CHECK_EQ(content_read(&content, 30, &byte, 1), 1);
    CHECK_EQ(byte, 0);
    CHECK_EQ(content_read(&content, 40, &byte, 1), 1);
    CHECK_EQ(byte, 0);
    frame_release(frame);
    end(&content);
}

TEST(content_cut_stays, "a frame that is cut off stays the caller's until it gives it back")
{
    struct content content = {0};
    struct page_tree cut = {0};
    uint64_t frame = 0;

    begin();
    CHECK_EQ(content_write(&content, 3 * PAGE_SIZE, "abc", 3), 3);
    CHECK_EQ(content_page(&content, 3, true, true, &frame), 0);
    CHECK_EQ(content_resize(&content, 0, &cut), 0);
    CHECK_EQ(frame_spaces(frame), 2);
    frame_release(frame);
    CHECK_EQ(frame_spaces(frame), 1);
    spaces[number_of(frame)]++;
    names[number_of(frame)] = 77;
    content_free(&cut, NULL);
    CHECK_EQ(frame_object_page(frame), 0); /* whoever keeps it has it for itself */
    frame_release(frame);
    end(&content);
}

TEST(content_here, "frames that a file has are counted for who asks, and no others are made")
{
    struct content content = {0};
    uint64_t found[5], frame = 0;

    begin();
    CHECK_EQ(content_write(&content, PAGE_SIZE, "abc", 3), 3);
    CHECK_EQ(content_write(&content, 3 * PAGE_SIZE, "def", 3), 3);
    content_frames_here(&content, 0, 5, found);
    CHECK_EQ(found[0], 0);
    CHECK_EQ(found[2], 0); /* a hole */
    CHECK_EQ(found[4], 0); /* behind the end */
    CHECK_EQ(content.pages, 2);
    CHECK(memory[number_of(found[1])][0] == 'a' && memory[number_of(found[3])][0] == 'd');
    CHECK_EQ(frame_spaces(found[1]), 2);
    CHECK(content_move_begin(&content, 1, found[1]));
    content_frames_here(&content, 1, 1, &frame);
    CHECK_EQ(frame, 0); /* it moves */
    CHECK(content_move_end(&content, 1, found[1], reference_to(0)));
    frame_release(found[1]);
    frame_release(found[3]);
    end(&content);
}

TEST(content_takes, "a page without a frame takes one of any kernel, once, and gives it back")
{
    for (int foreign = 0; foreign < 2; foreign++) {
        struct content content;
        struct page_tree cut = {0};
        struct frame_reference *reference;
        uint64_t frame, got = 0;
        char bytes[5] = "";

        begin();
        heap_left = 1000;
        content_init(&content, archive, sizeof(archive));
        resize(&content, 9 * PAGE_SIZE);
        CHECK(!content_lacks_frame(&content, 5)); /* the boot image has a part of it */
        CHECK_EQ(content_page(&content, 5, true, false, &got), 0);
        frame_release(got);
        CHECK_EQ(content_page(&content, 7, true, false, &got), -EXDEV);
        CHECK_EQ(content_page(&content, 9, true, false, &got), -ENXIO);
        CHECK(content_lacks_frame(&content, 7) && content_lacks_frame(&content, 70));
        CHECK(!content_ends_before(&content, 8) && content_ends_before(&content, 9));
        frame = new_frame(foreign != 0);
        memset(memory[number_of(frame)], 0, PAGE_SIZE);
        reference = reference_to(frame);
        CHECK_EQ(content_take(&content, 5, reference), -EEXIST);
        CHECK_EQ(content_take(&content, 7, reference), 0);
        CHECK_EQ(content.pages, 7);
        CHECK(!content_lacks_frame(&content, 7));
        CHECK_EQ(content_write(&content, 7 * PAGE_SIZE, "page", 4), 4);
        CHECK_EQ(memcmp(memory[number_of(frame)], "page", 4), 0);
        CHECK_EQ(content_page(&content, 7, true, false, &got), foreign);
        CHECK_EQ(got, frame);
        if (foreign == 0)
            frame_release(frame);
        frame = new_frame(foreign == 0); /* of the other kernel */
        reference = reference_to(frame);
        CHECK_EQ(content_take(&content, 7, reference), -EEXIST);
        CHECK_EQ(frame_spaces(frame), 1); /* it stays the caller's */
        CHECK_EQ(content_resize(&content, 7 * PAGE_SIZE, &cut), 0);
        content_free(&cut, NULL);
        CHECK_EQ(content.pages, 6);
        resize(&content, 9 * PAGE_SIZE);
        CHECK_EQ(content_take(&content, 7, reference), 0); /* the page is new again */
        CHECK_EQ(content_read(&content, 7 * PAGE_SIZE, bytes, 4), 4);
        end(&content);
    }
}

TEST(content_takes_own, "a frame of this kernel is taken like one that the file makes")
{
    struct content content = {0};
    uint64_t frame, got = 0;

    begin();
    resize(&content, 2 * PAGE_SIZE);
    frame = mempolicy_frame_near(true);
    CHECK_EQ(content_take_own(&content, 1, frame), 0);
    CHECK_EQ(frame_spaces(frame), 1);
    CHECK_EQ(content_take_own(&content, 1, frame), -EEXIST);
    CHECK_EQ(content_page(&content, 1, true, true, &got), 0);
    CHECK(got == frame && frame_spaces(frame) == 2);
    frame_release(frame);
    heap_left = 0; /* no memory for the tree, which has to grow */
    frame = mempolicy_frame_near(true);
    CHECK_EQ(content_take_own(&content, 1ull << 20, frame), -ENOMEM);
    CHECK_EQ(frame_spaces(frame), 0);
    frame_share(frame);
    frame_release(frame);
    end(&content);
}

TEST(content_moves, "a page that moves is read as ever, neither written nor handed out, and then has its new frame")
{
    for (int foreign = 0; foreign < 2; foreign++) {
        struct content content = {0};
        struct page_tree cut = {0};
        uint64_t old = 0, new, got = 0;
        char bytes[5] = "";

        begin();
        CHECK_EQ(content_write(&content, PAGE_SIZE, "page", 4), 4);
        CHECK_EQ(content_page(&content, 1, true, true, &old), 0);
        CHECK(!content_move_begin(&content, 0, old));
        CHECK(!content_move_begin(&content, 1, old + PAGE_SIZE));
        CHECK(content_move_begin(&content, 1, old));
        CHECK(!content_move_begin(&content, 1, old));
        CHECK_EQ(content_read(&content, PAGE_SIZE, bytes, 4), 4);
        CHECK_EQ(memcmp(bytes, "page", 4), 0);
        CHECK_EQ(content_page(&content, 1, false, true, &got), -EAGAIN);
        CHECK_EQ(content_write(&content, PAGE_SIZE + 9, "x", 1), -EAGAIN);
        CHECK_EQ(content_write(&content, 3 * PAGE_SIZE, "x", 1), -EAGAIN); /* the end of the file is cleared */
        CHECK_EQ(content_resize(&content, PAGE_SIZE + 2, &cut), -EAGAIN);
        CHECK_EQ(content_resize(&content, 4 * PAGE_SIZE, &cut), -EAGAIN);
        CHECK_EQ(content_punch(&content, PAGE_SIZE + 1, 3 * PAGE_SIZE, &cut), -EAGAIN);
        CHECK_EQ(content_punch(&content, 0, PAGE_SIZE + 1, &cut), -EAGAIN);
        CHECK_EQ(content_write(&content, 7, "other", 5), 5);
        new = new_frame(foreign != 0);
        CHECK(move(&content, 1, old, new));
        CHECK_EQ(frame_spaces(old), 1);
        frame_release(old);
        CHECK_EQ(content_read(&content, PAGE_SIZE, bytes, 4), 4);
        CHECK_EQ(memcmp(bytes, "page", 4), 0);
        CHECK_EQ(content_page(&content, 1, true, true, &got), foreign);
        CHECK_EQ(got, new);
        CHECK_EQ(frame_spaces(new), foreign != 0 ? 1 : 2);
        CHECK_EQ(content_write(&content, PAGE_SIZE, "P", 1), 1);
        CHECK_EQ(memory[number_of(new)][0], 'P');
        if (foreign == 0)
            frame_release(new);
        resize(&content, PAGE_SIZE + 2);
        CHECK_EQ(memory[number_of(new)][2], 0);
        /* a move that ends without a new frame */
        CHECK(content_move_begin(&content, 1, new));
        CHECK(content_move_end(&content, 1, new, reference_to(0)));
        CHECK_EQ(content_write(&content, PAGE_SIZE, "Q", 1), 1);
        end(&content);
    }
}

TEST(content_moves_cut,
     "a page that moves may be cut off as a whole, and the new frame is dropped then, also if the page moves again")
{
    struct content content = {0};
    struct page_tree cut = {0};
    uint64_t old = 0, again = 0, new;
    char bytes[5];

    begin();
    CHECK_EQ(content_write(&content, 0, "page", 4), 4);
    CHECK_EQ(content_page(&content, 0, true, true, &old), 0);
    CHECK(content_move_begin(&content, 0, old));
    CHECK_EQ(content_resize(&content, 0, &cut), 0);
    CHECK_EQ(content_write(&content, 0, "again", 5), 5);
    new = new_frame(true);
    CHECK(!move(&content, 0, old, new));
    CHECK_EQ(frame_spaces(new), UINT32_MAX);
    CHECK_EQ(frame_spaces(old), 2);
    /* another mover has begun with the page's second frame when the first one ends, with a frame and without */
    CHECK_EQ(content_page(&content, 0, true, true, &again), 0);
    CHECK(content_move_begin(&content, 0, again));
    new = new_frame(true);
    CHECK(!move(&content, 0, old, new));
    CHECK_EQ(frame_spaces(new), UINT32_MAX);
    CHECK(!content_move_end(&content, 0, old, reference_to(0)));
    CHECK_EQ(content_write(&content, 0, "x", 1), -EAGAIN);
    new = new_frame(true);
    CHECK(move(&content, 0, again, new));
    CHECK_EQ(frame_spaces(again), 1);
    frame_release(again);
    CHECK_EQ(content_read(&content, 0, bytes, 5), 5);
    CHECK_EQ(memcmp(bytes, "again", 5), 0);
    frame_release(old);
    content_free(&cut, NULL);
    CHECK_EQ(frame_spaces(old), UINT32_MAX);
    end(&content);
}

static uint64_t copy_in(const void *context, uint64_t frame)
{
    return frame == *(const uint64_t *)context ? new_frame(false) : 0;
}

/* In as many steps as there are pages. */
static bool lose(struct content *content, uint32_t kernel)
{
    uint64_t page = 0;
    uint32_t left;
    bool lost = false;

    do
        left = 1;
    while (content_lose(content, &page, &left, kernel, &lost));
    return lost;
}

TEST(content_lost,
     "a page that is lost with a kernel is an error until the file loses it, unless the boot image has it")
{
    struct content content;
    struct page_tree cut = {0};
    uint64_t frame[2] = {0}, foreign[2], copy, at = 0;
    uint32_t left;
    uint8_t bytes[PAGE_SIZE];

    begin();
    content_init(&content, archive, sizeof(archive));
    for (uint64_t page = 0; page < 2; page++) {
        CHECK_EQ(content_page(&content, page, page == 1, true, &frame[page]), 0);
        CHECK(content_move_begin(&content, page, frame[page]));
        foreign[page] = new_frame(true);
        CHECK(move(&content, page, frame[page], foreign[page]));
        frame_release(frame[page]);
    }
    CHECK(!lose(&content, PEER + 1));
    CHECK(!content_drop_idle(&content));
    CHECK(lose(&content, PEER));
    CHECK(!lose(&content, PEER));
    for (int i = 0; i < 2; i++)
        spaces[number_of(foreign[i])] = UINT32_MAX; /* they are the dead kernel's */
    CHECK_EQ(content_read(&content, 0, bytes, PAGE_SIZE), PAGE_SIZE);
    CHECK_EQ(memcmp(bytes, archive, PAGE_SIZE), 0);
    CHECK_EQ(content_read(&content, PAGE_SIZE - 3, bytes, PAGE_SIZE), 3);
    CHECK_EQ(content_read(&content, PAGE_SIZE, bytes, 1), -EIO);
    CHECK_EQ(content_write(&content, PAGE_SIZE, "x", 1), -EIO);
    CHECK_EQ(content_write(&content, PAGE_SIZE - 1, "xy", 2), 1);
    CHECK_EQ(content_page(&content, 1, true, true, &frame[1]), -EHWPOISON);
    CHECK_EQ(content_copy_page(&content, 1, frame[0]), -EHWPOISON);
    CHECK_EQ(content_punch(&content, PAGE_SIZE, 2 * PAGE_SIZE, &cut), 0);
    content_free(&cut, NULL);
    CHECK_EQ(content_read(&content, PAGE_SIZE, bytes, 1), 1);
    CHECK_EQ(bytes[0], 0);
    CHECK_EQ(content_write(&content, PAGE_SIZE, "x", 1), 1);
    /* a kernel that stops has another one copy its frames */
    CHECK_EQ(content_page(&content, 2, true, true, &frame[0]), 0);
    CHECK(content_move_begin(&content, 2, frame[0]));
    foreign[0] = new_frame(true);
    CHECK(move(&content, 2, frame[0], foreign[0]));
    frame_release(frame[0]);
    left = 1;
    CHECK(content_replace(&content, &at, &left, copy_in, &foreign[0]) && at > 0); /* more pages follow */
    left = UINT32_MAX;
    CHECK(!content_replace(&content, &at, &left, copy_in, &foreign[0]));
    CHECK_EQ(content_page(&content, 2, true, true, &copy), 0);
    CHECK(!is_foreign(copy));
    frame_release(copy);
    spaces[number_of(foreign[0])] = UINT32_MAX;
    end(&content);
}

/* A file_put that copies to an address of the test. */
static int put(uint64_t to, const void *from, uint64_t size)
{
    memcpy((void *)(uintptr_t)to, from, size);
    return 0;
}

static int put_nothing(uint64_t to, const void *from, uint64_t size)
{
    (void)to;
    (void)from;
    (void)size;
    return -1;
}

TEST(content_handed_out,
     "bytes are handed out as they are read, from frames and from the boot image; a hole is refused")
{
    static uint8_t out[3 * PAGE_SIZE];
    struct content content;
    uint64_t to = (uint64_t)(uintptr_t)out;

    begin();
    content_init(&content, archive, ARCHIVE);
    CHECK_EQ(content_write(&content, PAGE_SIZE + 5, "written", 7), 7);
    CHECK_EQ(content_read_out(&content, 7, sizeof(out), put, to), sizeof(out));
    CHECK_EQ(memcmp(out, archive + 7, PAGE_SIZE - 2), 0);
    CHECK_EQ(memcmp(out + PAGE_SIZE - 2, "written", 7), 0);
    CHECK_EQ(memcmp(out + PAGE_SIZE + 5, archive + PAGE_SIZE + 12, sizeof(out) - PAGE_SIZE - 5), 0);
    CHECK_EQ(content_read_out(&content, ARCHIVE - 3, 100, put, to), 3);
    CHECK_EQ(content_read_out(&content, ARCHIVE, 100, put, to), 0);
    CHECK_EQ(content_read_out(&content, UINT64_MAX, 100, put, to), 0);
    CHECK_EQ(content_read_out(&content, 0, 100, put_nothing, to), -EFAULT);
    resize(&content, ARCHIVE + 2 * PAGE_SIZE);
    CHECK_EQ(content_read_out(&content, ARCHIVE - 3, 4, put, to), -EFAULT);
    CHECK_EQ(content_read_out(&content, ARCHIVE + PAGE_SIZE, 1, put, to), -EFAULT);
    end(&content);
}

TEST(content_quota, "a file has no more pages than its user may, and says so; what is cut off may be had again")
{
    static const uint8_t bytes[4 * PAGE_SIZE];
    struct content content = {0};
    struct frame_reference *reference;
    uint64_t frame;

    begin();
    quota_most = 3;
    CHECK_EQ(content_write(&content, 0, bytes, sizeof(bytes)), 3 * PAGE_SIZE);
    CHECK_EQ(content_write(&content, 3 * PAGE_SIZE, bytes, 1), -EDQUOT);
    CHECK_EQ(content_fill(&content, 0, sizeof(bytes)), -EDQUOT);
    CHECK_EQ(content_write(&content, PAGE_SIZE, bytes, PAGE_SIZE), PAGE_SIZE); /* a page that it has */
    resize(&content, 8 * PAGE_SIZE);
    CHECK_EQ(content_page(&content, 5, true, true, &frame), -ENXIO);
    reference = reference_to(new_frame(true));
    CHECK_EQ(content_take(&content, 5, reference), -EDQUOT);
    resize(&content, PAGE_SIZE);
    CHECK_EQ(content_take(&content, 5, reference), 0);
    resize(&content, PAGE_SIZE);
    CHECK_EQ(content_fill(&content, 0, 3 * PAGE_SIZE), 0);
    quota_most = UINT64_MAX;
    end(&content);
    /* pages of the boot image are nobody's until they have to leave it */
    begin();
    content_init(&content, archive, sizeof(archive));
    CHECK_EQ(content_charged(&content), 0);
    quota_most = 3;
    CHECK_EQ(content_write(&content, 0, bytes, 1), 1);
    CHECK_EQ(content_punch(&content, 0, PAGE_SIZE, &(struct page_tree){0}), -EDQUOT);
    CHECK_EQ(quota_counts[QUOTA_FILE_PAGES], 0);
    quota_most = UINT64_MAX;
    end(&content);
}

TEST(content_table_quota, "so is it with its table of pages, in which a sparse file has much")
{
    struct content content = {0};
    uint64_t far = 1ull << 36, had;

    begin();
    quota_unlimited = 0;
    quota_most = 1; /* page, as no node is as small */
    CHECK_EQ(content_write(&content, 0, "x", 1), -EDQUOT);
    CHECK_EQ(quota_counts[QUOTA_FILE_PAGES], 0);
    quota_most = 3 * PAGE_TREE_NODE;
    for (uint64_t page = 0; page < 64; page++) /* all in one node */
        CHECK_EQ(content_write(&content, page * PAGE_SIZE, "x", 1), 1);
    CHECK_EQ(quota_counts[QUOTA_FILE_BYTES], PAGE_TREE_NODE);
    CHECK_EQ(content_write(&content, 64 * PAGE_SIZE, "x", 1), 1); /* a root above it, and one beside it */
    CHECK_EQ(quota_counts[QUOTA_FILE_BYTES], quota_most);
    CHECK_EQ(content_fill(&content, 128 * PAGE_SIZE, 129 * PAGE_SIZE), -EDQUOT);
    CHECK_EQ(content_write(&content, 65 * PAGE_SIZE, "x", 1), 1);
    quota_most = UINT64_MAX;
    CHECK_EQ(content_write(&content, far, "x", 1), 1);
    had = quota_counts[QUOTA_FILE_BYTES];
    heap_left = 2; /* nodes, and then there is no memory: what there is of the table counts */
    CHECK_EQ(content_write(&content, 3 * far, "x", 1), -ENOMEM);
    CHECK_EQ(quota_counts[QUOTA_FILE_BYTES], content_table_bytes(&content));
    heap_left = -1;
    resize(&content, far);
    CHECK(quota_counts[QUOTA_FILE_BYTES] < had);
    resize(&content, PAGE_SIZE);
    CHECK_EQ(quota_counts[QUOTA_FILE_BYTES], content_table_bytes(&content));
    end(&content);
}

/* Writes one byte, takes a frame of another kernel and maps page after page of a file that may have no more: each is
 * far from the others. */
static void refuse_far(struct content *content, int error, bool takes)
{
    struct frame_reference *reference = calloc(1, sizeof(*reference));
    int64_t before = heap_objects;
    uint64_t frame;

    reference->frame = (FOREIGN_FIRST + 1) * PAGE_SIZE;
    for (uint64_t page = 512; page < 1ull << 36; page *= 8) {
        CHECK_EQ(content_write(content, page * PAGE_SIZE, "x", 1), error);
        CHECK_EQ(content_fill(content, page * PAGE_SIZE, (page + 1) * PAGE_SIZE), error);
        CHECK(content_page(content, page, true, true, &frame) < 0);
        if (takes)
            CHECK_EQ(content_take(content, page, reference), error);
        CHECK_EQ(heap_objects, before);
    }
    free(reference);
}

TEST(content_refused, "a call that may not make a page leaves nothing, however far from the others the page is")
{
    struct content content = {0};

    begin();
    CHECK_EQ(content_write(&content, 0, "x", 1), 1);
    resize(&content, 1ull << 48);
    quota_most = 1;
    refuse_far(&content, -EDQUOT, true);
    quota_most = UINT64_MAX;
    CHECK_EQ(content_fill(&content, PAGE_SIZE, FRAMES * PAGE_SIZE), -ENOMEM); /* all frames that there are */
    resize(&content, 1ull << 48);
    refuse_far(&content, -ENOMEM, false);
    end(&content);
}
