/* The peers of channel_fuzz.c, which includes this once, behind what they draw on: the right one and the others. */
#ifndef TESTS_MSG_CHANNEL_PEERS_H
#define TESTS_MSG_CHANNEL_PEERS_H

static uint8_t fuzz_lent[512];

/* The right peer. */
static bool good_has_room(enum msg_class which, uint32_t reserved)
{
    return peers[GOOD].put[which] - peers_head(OWN)->taken[GOOD].count[which] + reserved < peers_slots;
}

static void good_notify(void)
{
    uint32_t choice = (uint32_t)take(1);
    enum msg_class which = choice % 2 ? MSG_URGENT : MSG_ORDINARY;
    uint32_t reserved = peers_slots / 4;
    uint64_t words[(NUMBERED_LONG + 7) / 8];

    if (!good_has_room(which, reserved))
        return;
    if (choice % 8 == 2 && peers_slots >= 16) { /* as many slots as there are for ordinary traffic */
        if (peers[GOOD].put[which] != peers_head(OWN)->taken[GOOD].count[which])
            return;
        number_fill(words, good.notified[which]++, NUMBERED_LONG / 8);
        peers_send(GOOD, MSG_TELL_BYTES, 0, 0, words, NUMBERED_LONG);
        return;
    }
    number_fill(words, good.notified[which]++, 6);
    peers_send(GOOD, which == MSG_URGENT ? MSG_TELL_URGENT : MSG_TELL, 0, 0, words, 48);
}

static void good_ask(void)
{
    enum msg_class which = take(1) % 2 ? MSG_URGENT : MSG_ORDINARY;
    uint32_t reserved = peers_slots / 4;
    uint64_t words[6];

    if (!good_has_room(which, reserved) || good.credits[which] >= reserved)
        return;
    for (uint32_t id = which; id < GOOD_MAX; id += 2) {
        if (good.state[id] != 0)
            continue;
        good.state[id] = 1;
        good.credits[which]++;
        good.asked++;
        number_fill(words, id, 6);
        peers_send(GOOD, which == MSG_URGENT ? MSG_ASK_URGENT : MSG_ASK, 0, id, words, 48);
        return;
    }
}

static void good_take_reply(const struct peers_message *m)
{
    enum msg_class which = m->request % 2 ? MSG_URGENT : MSG_ORDINARY;

    REQUIRE(m->request < GOOD_MAX && good.state[m->request] != 0);
    REQUIRE(m->type == (which == MSG_URGENT ? MSG_ASK_URGENT : MSG_ASK));
    if (good.state[m->request] == 1)
        good.credits[which]--;
    if (m->kept) {
        REQUIRE(good.state[m->request] == 1 && m->length == 0 && !m->error);
        good.state[m->request] = 2;
        return;
    }
    good.state[m->request] = 0;
    good.answered++;
    REQUIRE(m->length == (m->error ? 8u : 48u));
    if (!m->error)
        number_check(m->data, m->request, 6);
}

static void good_take_request(const struct peers_message *m)
{
    const struct handled *row = handled_find(m->type);
    int64_t refused = -EPROTO;

    if (row == NULL) /* a relay */
        peers_send(GOOD, m->type, PEERS_REPLY | PEERS_ERROR, m->request, &refused, 8);
    else
        peers_send(GOOD, m->type, PEERS_REPLY, m->request, m->data, row->reply_size);
}

/* Takes our messages of a class, as long as there is room for the answers. */
static void good_take(enum msg_class which)
{
    const struct peers_message *m;

    while (good_has_room(which, 0) && (m = peers_take(GOOD, which)) != NULL) {
        if (m->reply) {
            good_take_reply(m);
        } else if (m->type == MSG_TELL || m->type == MSG_TELL_URGENT) {
            number_check(m->data, good.notifies_come[which]++, 6);
        } else if (m->type == MSG_CANCEL) {
            REQUIRE(m->length == sizeof(struct msg_cancel));
        } else {
            good_take_request(m);
        }
    }
    peers_answer_wish(GOOD);
}

/* The others. They read what we send, always, so that they know what we have asked. */
static void other_read(uint32_t kernel)
{
    for (uint32_t which = 0; which < MSG_CLASSES; which++) {
        struct peers_slot slot;
        struct peers_message m;
        struct msg_relay relay = {0};
        struct open_request *request;

        while (peers_take_slot(kernel, (enum msg_class)which, &slot)) {
            peers_decode(slot.header, &m);
            REQUIRE(m.source == OWN && m.type < MSG_TYPES && msg_kinds[m.type].name != NULL);
            REQUIRE(msg_kinds[m.type].class == which);
            if (m.fragment == 0)
                memcpy(&relay, slot.payload, sizeof(relay));
            if (m.reply || msg_kinds[m.type].notice || (m.fragment + 1) * MSG_SHORT < m.length)
                continue;
            request = &seen[kernel].list[seen[kernel].next++ % SEEN_MAX];
            *request = (struct open_request){.type = m.type, .request = m.request};
            if (m.type == MSG_RELAY || m.type == MSG_RELAY_URGENT) {
                request->relayed = relay.type;
                request->relayed_to = relay.kernels;
            }
            if (seen[kernel].count < SEEN_MAX)
                seen[kernel].count++;
        }
    }
}

/* Writes a slot, at its place or somewhere, published rightly or somehow. */
static void other_write(uint32_t kernel, enum msg_class which, uint64_t header, const void *data, size_t length)
{
    uint32_t how = (uint32_t)take(1);
    uint64_t position = peers[kernel].put[which];

    if (how % 8 == 7) {
        struct peers_slot *slot = &peers_ring(OWN, kernel, which)[(position + how / 8) % peers_slots];

        memcpy(slot->payload, data, length);
        slot->header = header;
        slot->publish = take(8);
        return;
    }
    peers_put_quietly(kernel, which, header, data, length);
    if (how % 8 == 6) {
        uint64_t time = take(6);

        peers_ring(OWN, kernel, which)[position % peers_slots].publish = time << 16 | ((position + 1) & 0xffff);
    }
    if (how % 8 < 6)
        peers_write_hint(kernel);
}

static void other_raw(void)
{
    uint32_t kernel = pick_other();
    enum msg_class which = take(1) % 2 ? MSG_URGENT : MSG_ORDINARY;
    uint64_t header = take(8);
    uint64_t words[6] = {take(8), take(2)};

    other_write(kernel, which, header, words, sizeof(words));
}

static struct open_request pick_seen(uint32_t kernel)
{
    uint32_t which = (uint32_t)take(1);

    if (seen[kernel].count == 0)
        return (struct open_request){.type = handled[which % HANDLED].type};
    return seen[kernel].list[which % seen[kernel].count];
}

/* A kernel that has seen a request of ours, or a relay; or any. */
static uint32_t pick_asked(bool relay)
{
    uint32_t first = pick_other();

    for (uint32_t i = 0; i < KERNELS; i++) {
        uint32_t k = (first + i) % KERNELS;

        if (k == OWN || k == GOOD)
            continue;
        other_read(k);
        for (uint32_t j = 0; j < seen[k].count; j++) {
            if (!relay || seen[k].list[j].relayed_to != 0)
                return k;
        }
    }
    return first;
}

static const uint8_t own_types[] = {MSG_CANCEL, MSG_RELAY, MSG_RELAY_URGENT, MSG_CONTROL, 0};

static uint32_t size_of(uint32_t type, bool reply)
{
    const struct handled *row = handled_find(type);

    if (row != NULL)
        return reply ? row->reply_size : row->size;
    return type == MSG_CANCEL ? 8 : type == MSG_RELAY || type == MSG_RELAY_URGENT ? (reply ? 8 : 16) : 0;
}

/* A request of ours that is not answered yet, or NULL. */
static const struct asked *pick_open(uint32_t from)
{
    for (uint32_t i = 0; i < ASKED_MAX; i++) {
        const struct asked *asked = asked_open[(from + i) % ASKED_MAX];

        if (asked != NULL && asked->kernel != GOOD)
            return asked;
    }
    return NULL;
}

/* A header that is almost right. */
static void other_near(void)
{
    uint32_t kernel = pick_other();
    uint32_t choice = (uint32_t)take(1);
    uint32_t type = take(1) % (HANDLED + sizeof(own_types));
    uint64_t words[6] = {take(8), take(2), take(1), 4, 5, 6};
    struct open_request request = {.request = (uint16_t)take(2)};
    const struct asked *asked = pick_open(request.request);
    uint64_t flags = 0, length;

    type = type < HANDLED ? handled[type].type : own_types[type - HANDLED];
    if (choice & 1) {
        if (choice & 2) {
            request = pick_seen(kernel);
            type = request.type;
        } else if (asked != NULL) { /* guessed, perhaps before we have sent it */
            kernel = asked->kernel;
            type = asked->type;
            request.request = (uint16_t)(asked->asking.header >> 16);
        }
        flags |= PEERS_REPLY;
    }
    length = size_of(type, (choice & 1) != 0);
    if (choice & 4)
        length += take(1);
    if ((choice & 0x18) == 0x18) {
        flags |= take(1) % 2 ? PEERS_ERROR : PEERS_KEPT;
        length = flags & PEERS_ERROR ? 8 : 0;
    }
    if ((choice & 0x60) == 0x60)
        flags |= PEERS_FRAGMENT(take(1) % 4);
    if ((choice & 0x80) != 0)
        flags |= take(1) % 2 ? take(1) << 56 : (take(1) % 4) << 62;
    if ((flags & PEERS_LENT) != 0 && words[2] % 4 != 0) /* in, or partly in, what can be lent */
        words[0] = (uint64_t)(uintptr_t)fuzz_lent + words[0] % (sizeof(fuzz_lent) + 64);
    other_write(kernel, choice % 5 == 4 ? (enum msg_class)(choice % 2) : peers_class(type),
                peers_header(kernel, type, request.request, length) | flags, words, sizeof(words));
}

/* A whole message in all its fragments, as far as there is room. */
static void other_send(uint32_t kernel, uint32_t type, uint64_t flags, uint32_t request, const uint8_t *data,
                       uint32_t length)
{
    uint64_t header = peers_header(kernel, type, request, length) | flags;
    uint32_t offset = 0, fragment = 0;

    do {
        uint32_t part = length - offset < MSG_SHORT ? length - offset : MSG_SHORT;

        if (!peers_room(kernel, peers_class(type)))
            msg_poll();
        if (!peers_room(kernel, peers_class(type)))
            return;
        peers_put_quietly(kernel, peers_class(type), header | PEERS_FRAGMENT(fragment++), data + offset, part);
        peers_write_hint(kernel);
        offset += part;
    } while (offset < length);
}

static void other_request(void)
{
    const struct handled *row = &handled[take(1) % HANDLED];
    uint32_t length = pick_length(row->size, msg_kinds[row->type].bytes) % 3000;
    uint8_t *data;

    if (length < row->size)
        length = row->size;
    data = some_bytes(length);
    other_send(pick_other(), row->type, 0, (uint32_t)take(1), data, length);
    free(data);
}

static void other_relay(void)
{
    bool urgent = take(1) % 2;
    const struct handled *row = &handled[take(1) % HANDLED];
    uint32_t length = row->size + (uint32_t)(take(1) % 4 == 0 ? take(1) : 0);
    uint8_t *data = calloc(1, 16 + length);
    struct msg_relay relay = {.kernels = take(2) & ((1u << KERNELS) - 1), .type = row->type};

    if (take(1) % 8 != 0)
        relay.kernels |= 1u << OWN;
    if (take(1) % 8 == 0) {
        relay.kernels |= take(8);
        relay.type = (uint8_t)take(1);
    }
    memcpy(data, &relay, sizeof(relay));
    other_send(pick_other(), urgent ? MSG_RELAY_URGENT : MSG_RELAY, 0, (uint32_t)take(1), data, 16 + length);
    free(data);
}

static void other_answer(void)
{
    uint32_t kernel = pick_asked(false);
    struct open_request request = pick_seen(kernel);
    uint32_t choice = (uint32_t)take(1);
    uint32_t size = size_of(request.type, true);
    int64_t error = (int8_t)take(1);
    uint32_t length = size;
    uint8_t *data;

    if (choice % 4 == 0) {
        other_send(kernel, request.type, PEERS_REPLY | PEERS_ERROR, request.request, (uint8_t *)&error, 8);
        return;
    }
    if (choice % 4 == 1) {
        other_send(kernel, request.type, PEERS_REPLY | PEERS_KEPT, request.request, (uint8_t *)&error, 0);
        return;
    }
    if (msg_kinds[request.type].reply_bytes)
        length += (uint32_t)take(2) % 3000;
    data = some_bytes(length);
    other_send(kernel, request.type, PEERS_REPLY, request.request, data, length);
    free(data);
}

/* An answer to a relay of ours. */
static void other_relayed(void)
{
    uint32_t kernel = pick_asked(true);
    struct open_request request = {0};
    uint32_t length = sizeof(struct msg_relayed), size;
    static uint8_t data[8 + KERNELS_MAX * (8 + 256)];
    struct msg_relayed head = {.empty = take(1) % 4 == 0 ? take(8) : 0};

    for (uint32_t i = 0; i < seen[kernel].count; i++) {
        if (seen[kernel].list[i].relayed_to != 0)
            request = seen[kernel].list[i];
    }
    if (request.type == 0)
        return;
    memcpy(data, &head, sizeof(head));
    for (uint64_t rest = request.relayed_to; rest != 0; rest &= rest - 1) {
        uint32_t choice = (uint32_t)take(1);
        struct msg_relay_record record = {(uint32_t)__builtin_ctzll(rest), (int32_t)size_of(request.relayed, true)};

        if (choice % 16 == 1)
            continue;
        if (choice % 16 == 2)
            record.kernel = (uint32_t)take(1);
        if (choice % 16 == 3)
            record.length = (int32_t)take(4);
        if (choice % 16 == 4)
            record.length = (int32_t)take(1);
        if (choice % 16 == 5)
            record.length = -(int32_t)choice;
        size = record.length > 0 && record.length < 256 ? (uint32_t)record.length : 0;
        memcpy(data + length, &record, sizeof(record));
        memset(data + length + sizeof(record), (int)choice, size);
        length += (uint32_t)sizeof(record) + (size + 7) / 8 * 8;
    }
    other_send(kernel, request.type, PEERS_REPLY, request.request, data, length - (uint32_t)(take(1) % 16 == 1));
}

/* Claims to have taken some other number of slots. Not one that we come to believe: then we would write over requests
 * that the peer has not read, and could not answer later. */
static void other_lie(uint32_t kernel, enum msg_class which, uint64_t lie)
{
    volatile uint64_t *counter = &peers_head(kernel)->taken[OWN].count[which];
    uint64_t truth;

    other_read(kernel);
    truth = peers[kernel].taken[which];
    *counter = lie - truth < 2 * (uint64_t)peers_slots ? truth - 1 : lie;
    peers_signal(kernel);
    msg_poll();
    *counter = truth;
}

static void other_words(void)
{
    uint32_t kernel = pick_other();
    uint32_t choice = (uint32_t)take(1);

    switch (choice % 7) {
    case 0:
        peers_head(OWN)->hints[take(1) % KERNELS_MAX] = (uint16_t)take(2);
        break;
    case 1:
        peers_head(OWN)->wants[take(1) % KERNELS_MAX] = (uint8_t)take(1);
        break;
    case 2:
    case 3:
        other_lie(kernel, choice / 7 % 2 ? MSG_URGENT : MSG_ORDINARY, choice % 7 == 2 ? take(8) : choice / 14);
        break;
    case 4:
        peers_head(kernel)->doorbell = take(1);
        break;
    case 5:
        peers_head(kernel)->taken[OWN].answered = (uint8_t)(peers_head(kernel)->wants[OWN] - take(1) % 3);
        break;
    default:
        peers_wish(kernel);
        break;
    }
}

static void other_cancel(void)
{
    uint32_t kernel = pick_other();
    struct msg_cancel cancel = {.request = (uint16_t)take(1), .type = (uint8_t)take(1)};

    if (take(1) % 2)
        cancel.type = MSG_ASK;
    other_send(kernel, MSG_CANCEL, 0, 0, (uint8_t *)&cancel, sizeof(cancel));
}

#endif
