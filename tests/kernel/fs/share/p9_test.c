/* The 9P client against a server that answers as it is told.
 * sources: kernel/fs/share/p9.c kernel/fs/share/p9_message.c */
#include "kernel/fs/share/p9.h"

#include "kernel/abi/errno.h"
#include "tests/kernel/fs/share/p9_server.h"
#include "tests/test.h"

static uint8_t reply[70000]; /* what is answered, header included, but the tag */
static uint32_t reply_size;
static uint8_t asked[70000];
static uint32_t asked_size, clunks;
static bool gone;

static struct p9_writer begin(uint8_t type)
{
    struct p9_writer to;

    p9_begin(&to, reply, sizeof(reply), (enum p9_type)type);
    return to;
}

static void set(struct p9_writer *to)
{
    CHECK(p9_end(to));
    reply_size = to->size;
}

static void set_error(uint32_t error)
{
    struct p9_writer to = begin(P9_ERROR + 1);

    p9_put32(&to, error);
    set(&to);
}

static void put_qid(struct p9_writer *to, uint8_t type, uint64_t path)
{
    p9_put8(to, type);
    p9_put32(to, 1);
    p9_put64(to, path);
}

static int64_t serve(const uint8_t *request, uint32_t size, uint8_t *in, uint32_t room)
{
    struct p9_writer to;

    if (gone)
        return -1;
    if (request[4] == P9_CLUNK) {
        clunks++;
        p9_begin(&to, in, room, P9_CLUNK + 1);
        p9_end(&to);
    } else {
        memcpy(asked, request, size);
        asked_size = size;
        memcpy(in, reply, reply_size < room ? reply_size : room);
    }
    memcpy(in + 5, request + 5, 2);
    return request[4] == P9_CLUNK ? 7 : reply_size;
}

static struct virtio_9p device = {serve};
static struct p9 p9;
static struct p9_fid *root;

/* A server that agrees answers version and attach in turn, so the two steps are told apart by the request. */
static int64_t serve_start(const uint8_t *request, uint32_t size, uint8_t *in, uint32_t room)
{
    struct p9_writer to = begin((uint8_t)(request[4] + 1));

    if (request[4] == P9_VERSION) {
        p9_put32(&to, 32768);
        p9_put_text(&to, "9P2000.L", 8);
    } else {
        put_qid(&to, P9_QID_DIRECTORY, 1);
    }
    set(&to);
    return serve(request, size, in, room);
}

static void connect(void)
{
    struct p9_qid qid;

    gone = false;
    clunks = 0;
    device.serve = serve_start;
    CHECK_EQ(p9_connect(&p9, &device, &root, &qid), 0);
    CHECK(p9.message == 32768 && qid.path == 1);
    device.serve = serve;
}

static void disconnect(void)
{
    p9_drop(root);
    heap_free(p9.free, p9.room * sizeof(*p9.free));
    CHECK_EQ(heap_objects, 0);
}

TEST(p9_versions, "a server of another version, or with messages too small or too large, is refused")
{
    static const struct {
        uint32_t size;
        const char *version;
    } bad[] = {{65536, "9P2000"}, {65536, "unknown"}, {4096, "9P2000.L"}, {70000, "9P2000.L"}};
    struct p9_fid *fid;
    struct p9_qid qid;

    device.serve = serve;
    gone = false;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct p9_writer to = begin(P9_VERSION + 1);

        p9_put32(&to, bad[i].size);
        p9_put_text(&to, bad[i].version, strlen(bad[i].version));
        set(&to);
        CHECK_EQ(p9_connect(&p9, &device, &fid, &qid), -EPROTO);
    }
    CHECK(memcmp(asked + 5, "\xff\xff", 2) == 0); /* without a tag */
    CHECK_EQ(heap_objects, 0);
}

TEST(p9_walks, "a walk gives a fid if all names are there; its number is used again after it was dropped")
{
    static const struct p9_name names[] = {{"a", 1}, {"bc", 2}};
    struct p9_fid *one, *two;
    struct p9_qid qids[2];
    uint32_t done, number;
    struct p9_writer to;

    connect();
    to = begin(P9_WALK + 1);
    p9_put16(&to, 2);
    put_qid(&to, P9_QID_DIRECTORY, 5);
    put_qid(&to, 0, 6);
    set(&to);
    CHECK_EQ(p9_walk(root, names, 2, &one, qids, &done), 0);
    CHECK(one != NULL && done == 2 && qids[0].path == 5 && qids[1].path == 6);
    CHECK_EQ(asked_size, 7 + 10 + 3 + 4);
    memcpy(&number, asked + 11, 4);
    p9_drop(one);
    CHECK_EQ(clunks, 1);
    CHECK_EQ(p9_walk(root, names, 2, &two, qids, &done), 0);
    CHECK(memcmp(asked + 11, &number, 4) == 0);
    p9_drop(two);
    to = begin(P9_WALK + 1);
    p9_put16(&to, 1);
    put_qid(&to, P9_QID_DIRECTORY, 5);
    set(&to);
    CHECK_EQ(p9_walk(root, names, 2, &one, qids, &done), 0);
    CHECK(one == NULL && done == 1);
    CHECK_EQ(clunks, 2);
    set_error(ENOENT);
    CHECK_EQ(p9_walk(root, names, 2, &one, qids, &done), -ENOENT);
    CHECK(one == NULL && done == 0);
    disconnect();
}

TEST(p9_lies, "counts that are more than was asked for are EIO")
{
    static const struct p9_name name = {"a", 1};
    struct p9_fid *fid;
    struct p9_qid qid[2];
    struct p9_writer to;
    char bytes[64];
    uint32_t done;

    connect();
    to = begin(P9_WALK + 1);
    p9_put16(&to, 2);
    put_qid(&to, 0, 1);
    put_qid(&to, 0, 2);
    set(&to);
    CHECK_EQ(p9_walk(root, &name, 1, &fid, qid, &done), -EIO);
    CHECK(fid == NULL && done == 0);
    to = begin(P9_READ + 1);
    p9_put32(&to, 65);
    p9_put_bytes(&to, asked, 65);
    set(&to);
    CHECK_EQ(p9_read(root, 0, bytes, sizeof(bytes)), -EIO);
    to = begin(P9_WRITE + 1);
    p9_put32(&to, 65);
    set(&to);
    CHECK_EQ(p9_write(root, 0, bytes, sizeof(bytes)), -EIO);
    to = begin(P9_WRITE + 1);
    p9_put32(&to, 0); /* it would never end */
    set(&to);
    CHECK_EQ(p9_write(root, 0, bytes, sizeof(bytes)), -EIO);
    disconnect();
}

TEST(p9_links, "a link's text has its NUL, and no other; one without room is ENAMETOOLONG")
{
    struct p9_writer to;
    char text[8];

    connect();
    to = begin(P9_READ_LINK + 1);
    p9_put_text(&to, "target", 6);
    set(&to);
    CHECK_EQ(p9_read_link(root, text, sizeof(text)), 6);
    CHECK(strcmp(text, "target") == 0);
    to = begin(P9_READ_LINK + 1);
    p9_put_text(&to, "too-long", 8);
    set(&to);
    CHECK_EQ(p9_read_link(root, text, sizeof(text)), -ENAMETOOLONG);
    to = begin(P9_READ_LINK + 1);
    p9_put_text(&to, "a\0b", 3);
    set(&to);
    CHECK_EQ(p9_read_link(root, text, sizeof(text)), -EIO);
    to = begin(P9_READ_LINK + 1);
    p9_put_text(&to, "", 0);
    set(&to);
    CHECK_EQ(p9_read_link(root, text, sizeof(text)), -EIO);
    disconnect();
}

TEST(p9_gone, "without a device all is EIO, and nothing stays")
{
    struct p9_attributes attributes;
    struct p9_fid *fid;
    uint32_t done;
    char byte;

    connect();
    gone = true;
    CHECK_EQ(p9_walk(root, NULL, 0, &fid, NULL, &done), -EIO);
    CHECK_EQ(p9_read(root, 0, &byte, 1), -EIO);
    CHECK_EQ(p9_get(root, &attributes), -EIO);
    disconnect();
}

TEST(p9_memory, "without memory it is ENOMEM, wherever that is missing, and nothing stays")
{
    static const struct p9_name name = {"a", 1};
    struct p9_attributes attributes;
    struct p9_fid *fid;
    struct p9_qid qid;
    uint32_t done;

    for (long left = 0; left < 3; left++) {
        connect();
        heap_left = left;
        if (left < 2)
            CHECK_EQ(p9_walk(root, &name, 1, &fid, &qid, &done), -ENOMEM);
        heap_left = 0;
        CHECK_EQ(p9_get(root, &attributes), -ENOMEM);
        CHECK_EQ(p9_make_link(root, &name, "text"), -ENOMEM);
        heap_left = -1;
        disconnect();
    }
}
