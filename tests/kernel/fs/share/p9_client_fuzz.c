/* A 9P server that answers anything, to everything the client can ask: no byte of memory that is not the client's, no
 * memory that stays, and results that make sense. The input has the answers, each with its length before it; the header
 * is right in most.
 * sources: kernel/fs/share/p9.c kernel/fs/share/p9_message.c
 * runs: 200000 */
#include "kernel/abi/errno.h"
#include "tests/fuzz/fuzz.h"
#include "tests/kernel/fs/share/p9_server.h"

static struct fuzz_reader input;

static int64_t serve(const uint8_t *request, uint32_t size, uint8_t *in, uint32_t room)
{
    uint32_t how = (uint32_t)fuzz_take(&input, 1), length = (uint32_t)fuzz_take(&input, 2) % 4096 + 7;

    REQUIRE(size >= 7 && request[0] + 256u * request[1] + 65536u * request[2] == size);
    if (how % 32 == 0)
        return -1;
    for (uint32_t i = 0; i < length && i < room; i++)
        in[i] = (uint8_t)fuzz_take(&input, 1);
    if (how % 32 != 1 && room >= 7) {
        in[0] = (uint8_t)length;
        in[1] = (uint8_t)(length >> 8);
        in[2] = in[3] = 0;
        in[4] = (uint8_t)(request[4] + 1);
        in[5] = request[5];
        in[6] = request[6];
    }
    return how % 32 == 2 ? (int64_t)length + 100000 : length;
}

static void use(struct p9_fid *root)
{
    static const struct p9_name names[] = {{"a", 1}, {"b", 1}, {"c", 1}};
    struct p9_attributes attributes;
    struct p9_space space;
    struct p9_qid qids[3];
    struct p9_fid *fid;
    uint32_t done;
    int64_t count;
    char text[300];

    switch (fuzz_take(&input, 1) % 10) {
    case 0:
    case 1:
        if (p9_walk(root, names, 3, &fid, qids, &done) == 0)
            REQUIRE((fid != NULL) == (done == 3) && done <= 3);
        else
            REQUIRE(fid == NULL && done == 0);
        p9_drop(fid);
        break;
    case 2:
        count = p9_read(root, 0, text, sizeof(text));
        REQUIRE(count <= (int64_t)sizeof(text));
        break;
    case 3:
        count = p9_write(root, 0, text, sizeof(text));
        REQUIRE(count <= (int64_t)sizeof(text));
        break;
    case 4:
        count = p9_read_directory(root, 0, text, sizeof(text));
        REQUIRE(count <= (int64_t)sizeof(text));
        break;
    case 5:
        count = p9_read_link(root, text, sizeof(text));
        REQUIRE(count < 0 || (count > 0 && strlen(text) == (size_t)count));
        break;
    case 6:
        p9_get(root, &attributes);
        break;
    case 7:
        p9_statfs(root, &space);
        break;
    case 8:
        p9_create(root, names, 0, 0, qids);
        break;
    default:
        p9_rename(root, names, root, names + 1);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct virtio_9p device = {serve};
    struct p9_fid *root = NULL;
    struct p9_qid qid;
    struct p9 p9;

    input = (struct fuzz_reader){data, size};
    if (p9_connect(&p9, &device, &root, &qid) == 0) {
        for (int turn = 0; turn < 20 && input.left > 0; turn++)
            use(root);
        p9_drop(root);
    }
    heap_free(p9.free, p9.room * sizeof(*p9.free));
    REQUIRE(heap_objects == 0);
    return 0;
}
