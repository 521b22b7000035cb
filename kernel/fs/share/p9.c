/* A 9P2000.L client. See the header. */
#include "kernel/fs/share/p9.h"

#include "kernel/abi/errno.h"
#include "kernel/dev/virtio_9p.h"
#include "kernel/lib/string.h"
#include "kernel/wait/completion.h"
#include "mm/frame/heap.h"

#define VERSION "9P2000.L"
#define MESSAGE_SIZE 65536u
#define MESSAGE_LEAST 8192u
#define READ_HEADER (P9_HEADER + 4u)   /* of a reply with data */
#define WRITE_HEADER (P9_HEADER + 16u) /* of a request with data */
#define SMALL 128u                     /* room for a reply without text or data; an error's has 11 bytes */
#define ATTRIBUTES_ROOM 192u
#define REMOVE_DIRECTORY 0x200u /* AT_REMOVEDIR */
#define FIDS_FIRST 64u

struct p9_fid {
    struct p9 *p9;
    uint32_t number;
    struct virtio_9p_request request; /* the request that drops the fid, so that dropping needs no memory */
    uint8_t out[P9_HEADER + 4], in[32];
};

/* One request and its reply. */
struct call {
    struct virtio_9p_request request;
    struct p9_writer to;
    struct p9_reader from;
    struct completion done;
    struct p9 *p9;
    size_t memory; /* bytes at request.out, including the reply's room */
    int error;
};

static void answered(struct virtio_9p_request *request)
{
    completion_signal(&container_of(request, struct call, request)->done);
}

/* Begins a request of TYPE with up to SIZE bytes and ROOM bytes for its reply. Without memory, the caller's writes go
 * nowhere, and call_do returns -ENOMEM. */
static void call_begin(struct call *call, struct p9 *p9, enum p9_type type, uint32_t size, uint32_t room)
{
    uint8_t *memory;

    *call = (struct call){.p9 = p9, .memory = (size_t)size + room};
    completion_init(&call->done);
    memory = heap_alloc_unset(call->memory);
    call->request = (struct virtio_9p_request){
        .out = memory, .in = memory != NULL ? memory + size : NULL, .room = room, .done = answered};
    list_init(&call->request.node);
    p9_begin(&call->to, memory, memory != NULL ? size : 0, type);
}

/* Sends the request and waits; FROM then reads the reply. */
static int call_do(struct call *call, const char *what)
{
    struct wait_reason reason = {.what = what, .kernel = -1};

    if (call->request.out == NULL)
        return call->error = -ENOMEM;
    if (!p9_end(&call->to))
        return call->error = -ENAMETOOLONG;
    call->request.size = call->to.size;
    virtio_9p_submit(call->p9->device, &call->request);
    completion_wait(&call->done, &reason);
    call->error = call->request.error;
    if (call->error == 0)
        call->error = p9_open_answer(&call->from, call->request.in, call->request.got, call->request.out);
    return call->error;
}

/* Frees the memory. Returns the call's error, or -EIO if the reply was too short. */
static int call_end(struct call *call)
{
    if (call->error == 0 && call->from.failed)
        call->error = -EIO;
    if (call->request.out != NULL)
        heap_free(call->request.out, call->memory);
    return call->error;
}

/* --- fids --- */

/* Grows the array of free numbers, which has room for every number in use, so that freeing a number cannot fail. */
static bool grow_locked(struct p9 *p9)
{
    uint32_t room = p9->room != 0 ? 2 * p9->room : FIDS_FIRST;
    uint32_t *free = heap_alloc(room * sizeof(*free));

    if (free == NULL)
        return false;
    if (p9->free != NULL) {
        memcpy(free, p9->free, p9->free_count * sizeof(*free));
        heap_free(p9->free, p9->room * sizeof(*free));
    }
    p9->free = free;
    p9->room = room;
    return true;
}

static struct p9_fid *fid_new(struct p9 *p9)
{
    struct p9_fid *fid = heap_alloc(sizeof(*fid));
    bool numbered = true;

    if (fid == NULL)
        return NULL;
    fid->p9 = p9;
    spin_lock(&p9->lock);
    if (p9->free_count > 0)
        fid->number = p9->free[--p9->free_count];
    else if (p9->next < p9->room || grow_locked(p9))
        fid->number = p9->next++;
    else
        numbered = false;
    spin_unlock(&p9->lock);
    if (!numbered) {
        heap_free(fid, sizeof(*fid));
        fid = NULL;
    }
    return fid;
}

/* Frees a fid that the server does not know. */
static void fid_free(struct p9_fid *fid)
{
    struct p9 *p9 = fid->p9;

    spin_lock(&p9->lock);
    p9->free[p9->free_count++] = fid->number;
    spin_unlock(&p9->lock);
    heap_free(fid, sizeof(*fid));
}

/* The number is free whatever the server has answered (clunk(5)). */
static void dropped(struct virtio_9p_request *request)
{
    fid_free(container_of(request, struct p9_fid, request));
}

void p9_drop(struct p9_fid *fid)
{
    struct p9_writer to;

    if (fid == NULL)
        return;
    p9_begin(&to, fid->out, sizeof(fid->out), P9_CLUNK);
    p9_put32(&to, fid->number);
    p9_end(&to);
    fid->request = (struct virtio_9p_request){
        .out = fid->out, .in = fid->in, .size = to.size, .room = sizeof(fid->in), .done = dropped};
    list_init(&fid->request.node);
    virtio_9p_submit(fid->p9->device, &fid->request);
}

/* --- a connection --- */

static int agree(struct p9 *p9)
{
    struct call call;
    const char *version;
    uint16_t length;

    call_begin(&call, p9, P9_VERSION, 64, SMALL);
    call.request.tagless = true;
    p9_put32(&call.to, MESSAGE_SIZE);
    p9_put_text(&call.to, VERSION, strlen(VERSION));
    if (call_do(&call, "version of a 9P server") == 0) {
        p9->message = p9_get32(&call.from);
        version = p9_get_text(&call.from, &length);
        if (version == NULL || length != strlen(VERSION) || memcmp(version, VERSION, length) != 0 ||
            p9->message < MESSAGE_LEAST || p9->message > MESSAGE_SIZE)
            call.error = -EPROTO;
    }
    return call_end(&call);
}

int p9_connect(struct p9 *p9, struct virtio_9p *device, struct p9_fid **root, struct p9_qid *qid)
{
    struct call call;
    int error;

    *p9 = (struct p9){.device = device};
    error = agree(p9);
    if (error != 0)
        return error;
    *root = fid_new(p9);
    if (*root == NULL)
        return -ENOMEM;
    call_begin(&call, p9, P9_ATTACH, 64, SMALL);
    p9_put32(&call.to, (*root)->number);
    p9_put32(&call.to, P9_NO_FID);
    p9_put_text(&call.to, "root", 4);
    p9_put_text(&call.to, "", 0);
    p9_put32(&call.to, 0);
    if (call_do(&call, "root of a 9P server") == 0)
        p9_get_qid(&call.from, qid);
    error = call_end(&call);
    if (error != 0) {
        fid_free(*root);
        *root = NULL;
    }
    return error;
}

int p9_walk(struct p9_fid *fid, const struct p9_name *names, uint32_t count, struct p9_fid **out, struct p9_qid *qids,
            uint32_t *done)
{
    uint32_t size = P9_HEADER + 10;
    struct call call;
    struct p9_fid *new = fid_new(fid->p9);
    int error;

    *out = NULL;
    *done = 0;
    if (new == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        size += 2u + names[i].length;
    call_begin(&call, fid->p9, P9_WALK, size, P9_HEADER + 2 + P9_WALK_MAX * 13);
    p9_put32(&call.to, fid->number);
    p9_put32(&call.to, new->number);
    p9_put16(&call.to, (uint16_t)count);
    for (uint32_t i = 0; i < count; i++)
        p9_put_text(&call.to, names[i].text, names[i].length);
    if (call_do(&call, "walk of a 9P server") == 0) {
        *done = p9_get16(&call.from);
        if (*done > count)
            call.error = -EIO;
        for (uint32_t i = 0; i < *done && i < count; i++)
            p9_get_qid(&call.from, &qids[i]);
    }
    error = call_end(&call);
    if (error != 0)
        *done = 0;
    if (error == 0 && *done == count)
        *out = new;
    else
        fid_free(new);
    return error;
}

/* --- operations --- */

/* Sends a request whose reply contains nothing but an error. */
static int do_plain(struct call *call, const char *what)
{
    call_do(call, what);
    return call_end(call);
}

int p9_open(struct p9_fid *fid, uint32_t flags)
{
    struct call call;

    call_begin(&call, fid->p9, P9_OPEN, P9_HEADER + 8, SMALL);
    p9_put32(&call.to, fid->number);
    p9_put32(&call.to, flags);
    return do_plain(&call, "open of a 9P server");
}

int p9_create(struct p9_fid *fid, const struct p9_name *name, uint32_t flags, uint32_t mode, struct p9_qid *qid)
{
    struct call call;

    call_begin(&call, fid->p9, P9_CREATE, P9_HEADER + 18u + name->length, SMALL);
    p9_put32(&call.to, fid->number);
    p9_put_text(&call.to, name->text, name->length);
    p9_put32(&call.to, flags);
    p9_put32(&call.to, mode);
    p9_put32(&call.to, 0);
    if (call_do(&call, "create of a 9P server") == 0)
        p9_get_qid(&call.from, qid);
    return call_end(&call);
}

/* Reads what one message of TYPE returns, up to SIZE bytes. */
static int64_t read_once(struct p9_fid *fid, enum p9_type type, uint64_t at, void *to, size_t size)
{
    uint32_t most = fid->p9->message - READ_HEADER, count = size < most ? (uint32_t)size : most, got = 0;
    const uint8_t *bytes = NULL;
    struct call call;
    int error;

    call_begin(&call, fid->p9, type, P9_HEADER + 16, READ_HEADER + count);
    p9_put32(&call.to, fid->number);
    p9_put64(&call.to, at);
    p9_put32(&call.to, count);
    if (call_do(&call, "read of a 9P server") == 0)
        bytes = p9_get_bytes(&call.from, count, &got);
    if (bytes != NULL)
        memcpy(to, bytes, got);
    error = call_end(&call);
    return error != 0 ? error : (int64_t)got;
}

int64_t p9_read(struct p9_fid *fid, uint64_t at, void *to, size_t size)
{
    size_t done = 0;
    int64_t count = 1;

    while (done < size && count > 0) {
        count = read_once(fid, P9_READ, at + done, (uint8_t *)to + done, size - done);
        if (count > 0)
            done += (size_t)count;
    }
    return count < 0 && done == 0 ? count : (int64_t)done;
}

int64_t p9_read_directory(struct p9_fid *fid, uint64_t at, void *to, uint32_t size)
{
    return read_once(fid, P9_READ_DIRECTORY, at, to, size);
}

static int64_t write_once(struct p9_fid *fid, uint64_t at, const void *from, size_t size)
{
    uint32_t most = fid->p9->message - WRITE_HEADER, count = size < most ? (uint32_t)size : most, got = 0;
    struct call call;
    int error;

    call_begin(&call, fid->p9, P9_WRITE, WRITE_HEADER + count, SMALL);
    p9_put32(&call.to, fid->number);
    p9_put64(&call.to, at);
    p9_put32(&call.to, count);
    p9_put_bytes(&call.to, from, count);
    if (call_do(&call, "write of a 9P server") == 0) {
        got = p9_get32(&call.from);
        if (got > count || got == 0)
            call.error = -EIO;
    }
    error = call_end(&call);
    return error != 0 ? error : (int64_t)got;
}

int64_t p9_write(struct p9_fid *fid, uint64_t at, const void *from, size_t size)
{
    size_t done = 0;
    int64_t count = 1;

    while (done < size && count > 0) {
        count = write_once(fid, at + done, (const uint8_t *)from + done, size - done);
        if (count > 0)
            done += (size_t)count;
    }
    return count < 0 && done == 0 ? count : (int64_t)done;
}

int p9_get(struct p9_fid *fid, struct p9_attributes *out)
{
    struct call call;

    *out = (struct p9_attributes){.mode = 0};
    call_begin(&call, fid->p9, P9_GET_ATTRIBUTES, P9_HEADER + 12, ATTRIBUTES_ROOM);
    p9_put32(&call.to, fid->number);
    p9_put64(&call.to, 0x7ff); /* all attributes of stat */
    if (call_do(&call, "attributes of a 9P server") == 0)
        p9_get_attributes(&call.from, out);
    return call_end(&call);
}

int p9_set(struct p9_fid *fid, const struct p9_change *change)
{
    struct call call;

    call_begin(&call, fid->p9, P9_SET_ATTRIBUTES, P9_HEADER + 60, SMALL);
    p9_put32(&call.to, fid->number);
    p9_put_change(&call.to, change);
    return do_plain(&call, "change of attributes of a 9P server");
}

int p9_sync(struct p9_fid *fid)
{
    struct call call;

    call_begin(&call, fid->p9, P9_SYNC, P9_HEADER + 8, SMALL);
    p9_put32(&call.to, fid->number);
    p9_put32(&call.to, 0);
    return do_plain(&call, "sync of a 9P server");
}

int p9_statfs(struct p9_fid *fid, struct p9_space *out)
{
    struct call call;

    *out = (struct p9_space){.type = 0};
    call_begin(&call, fid->p9, P9_STATFS, P9_HEADER + 4, SMALL);
    p9_put32(&call.to, fid->number);
    if (call_do(&call, "space of a 9P server") == 0)
        p9_get_space(&call.from, out);
    return call_end(&call);
}

int64_t p9_read_link(struct p9_fid *fid, char *to, size_t size)
{
    struct call call;
    const char *text;
    uint16_t length = 0;
    int error;

    call_begin(&call, fid->p9, P9_READ_LINK, P9_HEADER + 4, (uint32_t)(P9_HEADER + 2 + size));
    p9_put32(&call.to, fid->number);
    if (call_do(&call, "link of a 9P server") == 0) {
        text = p9_get_text(&call.from, &length);
        if (text != NULL && (length >= size || length == 0))
            call.error = length == 0 ? -EIO : -ENAMETOOLONG;
        else if (text != NULL && strnlen(text, length) != length)
            call.error = -EIO;
        else if (text != NULL) {
            memcpy(to, text, length);
            to[length] = '\0';
        }
    }
    error = call_end(&call);
    return error != 0 ? error : length;
}

int p9_make_directory(struct p9_fid *directory, const struct p9_name *name, uint32_t mode)
{
    struct call call;

    call_begin(&call, directory->p9, P9_MAKE_DIRECTORY, P9_HEADER + 14u + name->length, SMALL);
    p9_put32(&call.to, directory->number);
    p9_put_text(&call.to, name->text, name->length);
    p9_put32(&call.to, mode);
    p9_put32(&call.to, 0);
    return do_plain(&call, "mkdir of a 9P server");
}

int p9_make_node(struct p9_fid *directory, const struct p9_name *name, uint32_t mode, uint64_t device)
{
    struct call call;

    call_begin(&call, directory->p9, P9_MAKE_NODE, P9_HEADER + 22u + name->length, SMALL);
    p9_put32(&call.to, directory->number);
    p9_put_text(&call.to, name->text, name->length);
    p9_put32(&call.to, mode);
    p9_put32(&call.to, (uint32_t)(device >> 8 & 0xfff));
    p9_put32(&call.to, (uint32_t)((device & 0xff) | (device >> 12 & 0xfff00)));
    p9_put32(&call.to, 0);
    return do_plain(&call, "mknod of a 9P server");
}

int p9_make_link(struct p9_fid *directory, const struct p9_name *name, const char *text)
{
    size_t length = strlen(text);
    struct call call;

    call_begin(&call, directory->p9, P9_SYMLINK, (uint32_t)(P9_HEADER + 12u + name->length + length), SMALL);
    p9_put32(&call.to, directory->number);
    p9_put_text(&call.to, name->text, name->length);
    p9_put_text(&call.to, text, length);
    p9_put32(&call.to, 0);
    return do_plain(&call, "symlink of a 9P server");
}

int p9_link(struct p9_fid *directory, const struct p9_name *name, struct p9_fid *file)
{
    struct call call;

    call_begin(&call, directory->p9, P9_LINK, P9_HEADER + 10u + name->length, SMALL);
    p9_put32(&call.to, directory->number);
    p9_put32(&call.to, file->number);
    p9_put_text(&call.to, name->text, name->length);
    return do_plain(&call, "link of a 9P server");
}

int p9_unlink(struct p9_fid *directory, const struct p9_name *name, bool is_directory)
{
    struct call call;

    call_begin(&call, directory->p9, P9_UNLINK, P9_HEADER + 10u + name->length, SMALL);
    p9_put32(&call.to, directory->number);
    p9_put_text(&call.to, name->text, name->length);
    p9_put32(&call.to, is_directory ? REMOVE_DIRECTORY : 0);
    return do_plain(&call, "unlink of a 9P server");
}

int p9_rename(struct p9_fid *from, const struct p9_name *name, struct p9_fid *to, const struct p9_name *new_name)
{
    struct call call;

    call_begin(&call, from->p9, P9_RENAME, P9_HEADER + 12u + name->length + new_name->length, SMALL);
    p9_put32(&call.to, from->number);
    p9_put_text(&call.to, name->text, name->length);
    p9_put32(&call.to, to->number);
    p9_put_text(&call.to, new_name->text, new_name->length);
    return do_plain(&call, "rename of a 9P server");
}
