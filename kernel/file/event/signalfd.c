/* signalfd(2). See the header. */
#include "kernel/file/event/signalfd.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

struct signalfd {
    uint64_t set; /* [a] */
};

static uint64_t signalfd_signals(const struct file *file)
{
    const struct signalfd *signalfd = file->state;

    return __atomic_load_n(&signalfd->set, __ATOMIC_ACQUIRE);
}

static int64_t signalfd_read(struct file *file, void *data, size_t size)
{
    (void)file;
    (void)data;
    return size < SIGNALFD_INFO ? -EINVAL : -EAGAIN; /* the caller takes the signals itself: FILE_SIGNALS */
}

static uint32_t signalfd_poll(struct file *file)
{
    (void)file;
    return 0; /* poll_state_of answers POLL_SIGNALS instead */
}

static int64_t signalfd_operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                                void *result, size_t room, struct file_answer *answer)
{
    struct signalfd *signalfd = file->state;
    char text[32];
    uint64_t set;

    (void)answer;
    if (request->special.what == SPECIAL_INFO) {
        snprintf(text, sizeof(text), "sigmask:\t%016lx\n", (unsigned long)signalfd_signals(file));
        return anonymous_info(data, size, text, result, room);
    }
    if (request->special.what != SPECIAL_SIGNAL_SET)
        return -EINVAL;
    if (size != sizeof(set))
        return -EPROTO;
    memcpy(&set, data, sizeof(set));
    __atomic_store_n(&signalfd->set, set, __ATOMIC_RELEASE);
    file_event(file->events); /* threads that poll look again, and get the new set */
    return 0;
}

static void forget(struct file *file)
{
    heap_free(file->state, sizeof(struct signalfd));
}

static const struct file_kind signalfd_kind = {.read = signalfd_read,
                                               .poll = signalfd_poll,
                                               .operate = signalfd_operate,
                                               .forget = forget,
                                               .one_read = true,
                                               .signals = signalfd_signals};

static struct file *create(uint32_t flags, uint64_t set)
{
    struct file_facts facts = {.device = ANONYMOUS_DEVICE, .mode = 0600};
    struct signalfd *signalfd = heap_alloc(sizeof(*signalfd));
    struct file *file;

    if (signalfd == NULL)
        return NULL;
    signalfd->set = set;
    file = file_create(&signalfd_kind, &facts, flags | 2, signalfd, NULL);
    if (file == NULL)
        heap_free(signalfd, sizeof(*signalfd));
    return file;
}

static int make(uint32_t flags, const void *data, size_t size, struct file *made[2])
{
    uint64_t set;

    if (size != sizeof(set))
        return -EPROTO;
    memcpy(&set, data, sizeof(set));
    made[0] = create(flags, set);
    return made[0] != NULL ? 0 : -ENOMEM;
}

void signalfd_init(void)
{
    anonymous_register(ANONYMOUS_SIGNAL, make);
}
