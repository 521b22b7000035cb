/* The bytes of a pipe. See the header. An empty buffer starts again at its first byte, so that a pipe that is read soon
 * after each write uses only one part. */
#include "kernel/ipc/pipe/buffer.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/quota/quota.h"

#define SIZE_MOST (1ull << 31)
#define FREE_AT_ONCE 32u /* parts; a larger table is freed by a worker, with pauses */

_Static_assert(sizeof(struct pipe_chunk) == 4096, "a chunk fills a frame");

static inline size_t parts_of(const struct pipe_buffer *buffer)
{
    return pipe_buffer_size(buffer) / PIPE_PART;
}

/* Where the chunk of part INDEX of a table is. */
static inline struct pipe_chunk **chunk_at(const struct pipe_buffer *buffer, uint64_t index)
{
    return &buffer->table->chunks[index / PIPE_CHUNK];
}

/* The part with position AT; NULL: its chunk does not exist, so that it has no memory. */
static inline struct pipe_part *part_at(const struct pipe_buffer *buffer, uint64_t at)
{
    uint64_t index;
    struct pipe_chunk *chunk;

    if (buffer->size == 0)
        return (struct pipe_part *)&buffer->parts[at / PIPE_PART % PIPE_PARTS];
    index = at / PIPE_PART & (parts_of(buffer) - 1);
    if (buffer->table == NULL)
        return (struct pipe_part *)&buffer->parts[index];
    chunk = *chunk_at(buffer, index);
    return chunk != NULL ? &chunk->parts[index % PIPE_CHUNK] : NULL;
}

/* As part_at, and makes the chunk. NULL: there is no memory. */
static struct pipe_part *part_provide(struct pipe_buffer *buffer, uint64_t at)
{
    struct pipe_part *part = part_at(buffer, at);
    struct pipe_chunk **chunk;

    if (part != NULL)
        return part;
    chunk = chunk_at(buffer, at / PIPE_PART & (parts_of(buffer) - 1));
    *chunk = heap_alloc(sizeof(**chunk));
    return *chunk != NULL ? part_at(buffer, at) : NULL;
}

/* Allocates the parts for SIZE bytes from AT on. 0: there is no memory; else 1. */
static int provide(struct pipe_buffer *buffer, uint64_t at, size_t size)
{
    for (uint64_t part = at / PIPE_PART; part <= (at + size - 1) / PIPE_PART; part++) {
        struct pipe_part *place = part_provide(buffer, part * PIPE_PART);

        if (place != NULL && place->memory == NULL)
            place->memory = heap_alloc(PIPE_PART);
        if (place == NULL || place->memory == NULL)
            return 0;
    }
    return 1;
}

/* Puts in SIZE bytes, for which there are room and memory. */
static void store(struct pipe_buffer *buffer, const uint8_t *from, size_t size)
{
    while (size > 0) {
        size_t offset = buffer->written % PIPE_PART;
        size_t count = size < PIPE_PART - offset ? size : PIPE_PART - offset;

        memcpy(part_at(buffer, buffer->written)->memory + offset, from, count);
        buffer->written += count;
        from += count;
        size -= count;
    }
}

/* Allocates memory for SIZE bytes, or for as many as there is room for, and returns their number, or -ENOMEM. */
static int64_t claim(struct pipe_buffer *buffer, size_t size)
{
    size_t room = pipe_buffer_room(buffer);

    if (size > room)
        size = room;
    if (size == 0)
        return 0;
    if (buffer->written == buffer->taken)
        buffer->written = buffer->taken = 0;
    if (!provide(buffer, buffer->written, size))
        return -ENOMEM;
    return (int64_t)size;
}

/* Where SIZE bytes fit, in one part that is there; or NULL. Most writes are that simple. */
static inline uint8_t *room_in_part(struct pipe_buffer *buffer, size_t size)
{
    const struct pipe_part *part;

    if (buffer->written == buffer->taken)
        buffer->written = buffer->taken = 0;
    if (size > PIPE_PART - buffer->written % PIPE_PART || size > pipe_buffer_room(buffer))
        return NULL;
    part = part_at(buffer, buffer->written);
    return part != NULL && part->memory != NULL ? part->memory + buffer->written % PIPE_PART : NULL;
}

int64_t pipe_buffer_put(struct pipe_buffer *buffer, const void *data, size_t size, int whole)
{
    uint8_t *to = room_in_part(buffer, size);
    int64_t count;

    if (to != NULL) {
        memcpy(to, data, size);
        buffer->written += size;
        return (int64_t)size;
    }
    count = size > pipe_buffer_room(buffer) && whole ? 0 : claim(buffer, size);

    if (count > 0)
        store(buffer, data, (size_t)count);
    return count;
}

/* Ends the part written last, so that the next write begins a new one. */
static void close_part(struct pipe_buffer *buffer, bool packet)
{
    size_t offset = buffer->written % PIPE_PART;
    struct pipe_part *end = part_at(buffer, buffer->written - 1);

    if (offset == 0 && !packet)
        return;
    end->length = offset != 0 ? (uint16_t)offset : PIPE_PART;
    end->packet = packet ? 1 : 0;
    if (offset != 0) {
        buffer->written += PIPE_PART - offset;
        buffer->gaps += (uint32_t)(PIPE_PART - offset);
    }
}

int64_t pipe_buffer_put_packets(struct pipe_buffer *buffer, const void *data, size_t size)
{
    size_t done = 0;

    buffer->packets = true;
    if (buffer->written == buffer->taken)
        buffer->written = buffer->taken = 0;
    while (done < size) {
        size_t count = size - done < PIPE_PART ? size - done : PIPE_PART;
        size_t rest = (PIPE_PART - buffer->written % PIPE_PART) % PIPE_PART;

        if (pipe_buffer_room(buffer) < rest + PIPE_PART)
            break;
        if (!provide(buffer, buffer->written + rest, count))
            return done > 0 ? (int64_t)done : -ENOMEM;
        if (rest != 0)
            close_part(buffer, false);
        store(buffer, (const uint8_t *)data + done, count);
        close_part(buffer, true);
        done += count;
    }
    return (int64_t)done;
}

/* The position of a reader. */
struct place {
    uint64_t at;
    uint32_t gaps; /* unused bytes at the ends of parts that it has passed */
    bool packets;  /* packets are respected: it stops after one */
    bool over;     /* it has stopped after a packet */
};

/* Reads from a part with a recorded length, to TO unless that is NULL. Returns how many bytes. */
static size_t take_ended(const struct pipe_buffer *buffer, struct place *place, uint8_t *to, size_t size)
{
    const struct pipe_part *end = part_at(buffer, place->at);
    size_t offset = place->at % PIPE_PART;
    size_t count = end->length - offset < size ? end->length - offset : size;

    if (to != NULL)
        memcpy(to, end->memory + offset, count);
    place->at += count;
    place->over = place->packets && end->packet != 0;
    if (place->over || offset + count == end->length) {
        place->at += PIPE_PART - (offset + count); /* the rest of a packet is lost, and does not count as a gap */
        place->gaps += PIPE_PART - end->length;
    }
    return count;
}

/* Whether the part at AT has a recorded length. A part that has ended is never the one that is being written: that one
 * may share the memory, and with it the record, of the first part, when its bytes are in front of those that are left
 * there. */
static inline bool has_ended(const struct pipe_buffer *buffer, uint64_t at)
{
    return buffer->packets && at / PIPE_PART < buffer->written / PIPE_PART && part_at(buffer, at)->length != 0;
}

/* Moves PLACE over at most SIZE bytes from the first one on, and copies them to TO unless that is NULL. Returns how
 * many. */
static size_t look(const struct pipe_buffer *buffer, struct place *place, bool packets, uint8_t *to, size_t size)
{
    size_t done = 0;

    *place = (struct place){.at = buffer->taken, .packets = packets};
    while (done < size && place->at < buffer->written && !place->over) {
        size_t offset = place->at % PIPE_PART;
        uint64_t left = buffer->written - place->at;
        size_t count = size - done < PIPE_PART - offset ? size - done : PIPE_PART - offset;

        if (has_ended(buffer, place->at)) {
            done += take_ended(buffer, place, to != NULL ? to + done : NULL, size - done);
            continue;
        }
        if (count > left)
            count = (size_t)left;
        if (to != NULL)
            memcpy(to + done, part_at(buffer, place->at)->memory + offset, count);
        place->at += count;
        done += count;
    }
    return done;
}

size_t pipe_buffer_fit(const struct pipe_buffer *buffer, size_t size, size_t room)
{
    struct place place;
    size_t count = look(buffer, &place, true, NULL, size), over;

    if (count <= room)
        return count;
    count = look(buffer, &place, false, NULL, room);
    over = (size_t)(place.at % PIPE_PART);
    return over < count ? count - over : 0;
}

size_t pipe_buffer_look(const struct pipe_buffer *buffer, void *data, size_t size)
{
    struct place place;

    return look(buffer, &place, false, data, size);
}

/* Removes the bytes before PLACE. */
static void advance(struct pipe_buffer *buffer, const struct place *place)
{
    for (uint64_t at = buffer->taken; buffer->packets && at / PIPE_PART < place->at / PIPE_PART; at += PIPE_PART) {
        struct pipe_part *part = part_at(buffer, at);

        part->length = part->packet = 0;
    }
    buffer->taken = place->at;
    buffer->gaps -= place->gaps;
}

size_t pipe_buffer_take(struct pipe_buffer *buffer, void *data, size_t size)
{
    struct place place;
    size_t count = (size_t)(buffer->written - buffer->taken);
    size_t offset = buffer->taken % PIPE_PART;

    if (count > size)
        count = size;
    if (count == 0)
        return 0;
    if (!buffer->packets && count <= PIPE_PART - offset) { /* most reads are of one part, without packets */
        memcpy(data, part_at(buffer, buffer->taken)->memory + offset, count);
        buffer->taken += count;
        return count;
    }
    count = look(buffer, &place, true, data, size);
    advance(buffer, &place);
    return count;
}

void pipe_buffer_skip(struct pipe_buffer *buffer, size_t count)
{
    struct place place;

    look(buffer, &place, false, NULL, count);
    advance(buffer, &place);
}

int64_t pipe_buffer_reserve(struct pipe_buffer *buffer, size_t size)
{
    int64_t count = claim(buffer, size);

    if (count > 0)
        buffer->reserved = (uint32_t)count;
    return count;
}

void pipe_buffer_fill(struct pipe_buffer *buffer, const void *data, size_t size)
{
    buffer->reserved = 0;
    store(buffer, data, size);
}

/* True if the chunk that begins with part PART can go from OLD to NEW as it is: all of it is in front of part STOP. */
static bool is_whole(const struct pipe_buffer *old, const struct pipe_buffer *new, uint64_t part, uint64_t stop)
{
    return part % PIPE_CHUNK == 0 && stop - part >= PIPE_CHUNK && parts_of(old) >= PIPE_CHUNK &&
           parts_of(new) >= PIPE_CHUNK;
}

/* The first part behind those of PART's chunk, STOP at the most. */
static uint64_t behind(uint64_t part, uint64_t stop)
{
    uint64_t next = (part / PIPE_CHUNK + 1) * PIPE_CHUNK;

    return next < stop ? next : stop;
}

/* Makes the chunks of NEW for those of the parts [FIRST, STOP) that do not go with their chunk. False: no memory. */
static bool provide_chunks(const struct pipe_buffer *old, struct pipe_buffer *new, uint64_t first, uint64_t stop)
{
    for (uint64_t part = first; part < stop; part = behind(part, stop)) {
        if (is_whole(old, new, part, stop))
            continue;
        for (uint64_t at = part; at < behind(part, stop); at++) {
            if (part_provide(new, at * PIPE_PART) == NULL)
                return false;
        }
    }
    return true;
}

static void move_chunk(struct pipe_buffer *old, struct pipe_buffer *new, uint64_t part)
{
    struct pipe_chunk **from = chunk_at(old, part & (parts_of(old) - 1));

    *chunk_at(new, part & (parts_of(new) - 1)) = *from;
    *from = NULL;
}

static void move_part(struct pipe_buffer *old, struct pipe_buffer *new, uint64_t part)
{
    struct pipe_part *from = part_at(old, part * PIPE_PART);

    *part_at(new, part * PIPE_PART) = *from;
    *from = (struct pipe_part){.memory = NULL};
}

/* Moves the parts with bytes and with the reservation from OLD to NEW, which has room for them, at the same positions.
 * Bytes are copied only if the last part has the memory of the first one, whose bytes are behind its own, in one of the
 * two; then it has not ended, and a record there is of the first one. False, with nothing changed: no memory. */
static bool move_parts(struct pipe_buffer *old, struct pipe_buffer *new)
{
    uint64_t first = old->taken / PIPE_PART, last, end = old->written + old->reserved, stop;
    bool shared_old, shared_new;
    uint8_t *spare = NULL;

    new->reserved = old->reserved;
    new->written = old->written;
    if (end == old->taken)
        return true;
    last = (end - 1) / PIPE_PART;
    shared_old = last - first == parts_of(old);
    shared_new = last - first == parts_of(new);
    stop = shared_old || shared_new ? last : last + 1;
    if (!provide_chunks(old, new, first, stop))
        return false;
    if (shared_old && part_provide(new, last * PIPE_PART) != NULL)
        spare = heap_alloc(PIPE_PART);
    if (shared_old && spare == NULL)
        return false;
    if (shared_old)
        memcpy(spare, part_at(old, first * PIPE_PART)->memory, PIPE_PART);
    for (uint64_t part = first; part < stop; part = behind(part, stop)) {
        if (is_whole(old, new, part, stop)) {
            move_chunk(old, new, part);
            continue;
        }
        for (uint64_t at = part; at < behind(part, stop); at++)
            move_part(old, new, at);
    }
    if (shared_old) {
        part_at(new, last * PIPE_PART)->memory = spare;
    } else if (shared_new) {
        uint8_t *to = part_at(new, last * PIPE_PART)->memory;
        const uint8_t *from = part_at(old, last * PIPE_PART)->memory;

        if (to != NULL && from != NULL) /* always: both have bytes */
            memcpy(to, from, (size_t)(end - last * PIPE_PART));
    }
    return true;
}

int64_t pipe_buffer_resize(struct pipe_buffer *buffer, uint64_t size)
{
    struct pipe_buffer new = {.size = PIPE_PART,
                              .taken = buffer->taken,
                              .gaps = buffer->gaps,
                              .packets = buffer->packets,
                              .user = buffer->user,
                              .pages = buffer->pages};
    size_t chunks;

    if (size > SIZE_MOST)
        return -EINVAL;
    while (new.size < size)
        new.size *= 2;
    if (new.size == pipe_buffer_size(buffer))
        return (int64_t) new.size;
    if (buffer->written - buffer->taken + buffer->reserved > new.size)
        return -EBUSY;
    chunks = (parts_of(&new) + PIPE_CHUNK - 1) / PIPE_CHUNK;
    if (new.size > PIPE_SIZE) {
        new.table = heap_alloc(sizeof(*new.table) + chunks * sizeof(*new.table->chunks));
        if (new.table == NULL)
            return -ENOMEM;
        new.table->count = (uint32_t)chunks;
    }
    if (!move_parts(buffer, &new)) {
        pipe_buffer_free(&new);
        return -ENOMEM;
    }
    pipe_buffer_free(buffer);
    *buffer = new;
    return (int64_t) new.size;
}

static void free_parts(struct pipe_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (parts[i].memory != NULL)
            heap_free(parts[i].memory, PIPE_PART);
    }
}

static void free_table(struct pipe_table *table, void (*pause)(void))
{
    for (uint32_t i = 0; i < table->count; i++) {
        struct pipe_chunk *chunk = table->chunks[i];

        for (uint32_t k = 0; chunk != NULL && k < PIPE_CHUNK; k += FREE_AT_ONCE) {
            free_parts(&chunk->parts[k], FREE_AT_ONCE);
            pause();
        }
        heap_free(chunk, sizeof(*chunk));
    }
    heap_free(table, sizeof(*table) + table->count * sizeof(*table->chunks));
}

static void free_later(struct work *work)
{
    free_table(container_of(work, struct pipe_table, work), pipe_pause);
}

static void no_pause(void)
{
}

void pipe_buffer_free(struct pipe_buffer *buffer)
{
    struct pipe_table *table = buffer->table;

    free_parts(buffer->parts, PIPE_PARTS);
    if (table != NULL && parts_of(buffer) <= FREE_AT_ONCE) {
        free_table(table, no_pause);
    } else if (table != NULL) {
        table->work.run = free_later;
        work_submit(&table->work);
    }
    *buffer = (struct pipe_buffer){.user = buffer->user, .pages = buffer->pages};
}

int pipe_buffer_count(struct pipe_buffer *buffer, uint32_t user, uint64_t size, uint64_t most, int over)
{
    uint32_t pages = (uint32_t)((size + PIPE_PART - 1) / PIPE_PART);
    int error = 0;

    if (buffer->pages != 0)
        user = buffer->user;
    if (pages > buffer->pages)
        error = quota_take(QUOTA_PIPE_PAGES, user, pages - buffer->pages, most, over);
    if (error != 0)
        return error;
    if (pages < buffer->pages)
        quota_give(QUOTA_PIPE_PAGES, user, buffer->pages - pages);
    buffer->user = user;
    buffer->pages = pages;
    return 0;
}

void pipe_buffer_discount(struct pipe_buffer *buffer)
{
    quota_give(QUOTA_PIPE_PAGES, buffer->user, buffer->pages);
    buffer->user = buffer->pages = 0;
}
