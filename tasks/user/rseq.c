/* Restartable sequences. See the header; the layout is Linux's struct rseq and struct rseq_cs (uapi/linux/rseq.h). */
#include "tasks/user/rseq.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/cpu.h"
#include "mm/user/user_copy.h"
#include "tasks/signal/signal.h"

#define UNREGISTER 1u
#define LEAST_SIZE 32u
#define ALIGNMENT 32u

struct user_words { /* the start of the registered area */
    uint32_t cpu_id_start, cpu_id;
    uint64_t section; /* user address of a struct section, or 0 */
};

struct section {
    uint32_t version, flags;
    uint64_t start, length, abort;
};

int64_t rseq_register(uint64_t address, uint32_t size, uint32_t flags, uint32_t signature)
{
    struct thread *thread = thread_current();
    struct thread_context *context = &thread->context;

    if ((flags & UNREGISTER) != 0) {
        static const struct user_words none = {.cpu_id = UINT32_MAX};

        if (flags != UNREGISTER || context->rseq == 0 || context->rseq != address || context->rseq_size != size)
            return -EINVAL;
        if (context->rseq_signature != signature)
            return -EPERM;
        if (user_write(address, &none, sizeof(none)) != 0)
            return -EFAULT;
        context->rseq = context->rseq_size = context->rseq_signature = 0;
        return 0;
    }
    if (flags != 0)
        return -EINVAL;
    if (context->rseq != 0) {
        if (context->rseq != address || context->rseq_size != size)
            return -EINVAL;
        return context->rseq_signature != signature ? -EPERM : -EBUSY;
    }
    if (address % ALIGNMENT != 0 || size < LEAST_SIZE)
        return -EINVAL;
    if (!user_range(address, size))
        return -EFAULT;
    context->rseq = address;
    context->rseq_size = size;
    context->rseq_signature = signature;
    __atomic_fetch_or(&thread->due, THREAD_DUE_RSEQ, __ATOMIC_SEQ_CST);
    return 0;
}

/* Clears the word that names the critical section described at user address AT. If the thread is in the section, it
 * continues at the abort handler. -EFAULT, -EINVAL. */
static int leave_section(struct thread *thread, uint64_t at)
{
    static const uint64_t none;
    struct trap_frame *frame = thread_frame(thread);
    struct section section;
    uint32_t signature;

    if (user_read(&section, at, sizeof(section)) != 0)
        return -EFAULT;
    if (section.version != 0 || section.start >= USER_END || section.abort >= USER_END ||
        section.abort - section.start < section.length ||
        user_read(&signature, section.abort - sizeof(signature), sizeof(signature)) != 0 ||
        signature != thread->context.rseq_signature)
        return -EINVAL;
    if (user_write(thread->context.rseq + offsetof(struct user_words, section), &none, sizeof(none)) != 0)
        return -EFAULT;
    if (frame->rip - section.start < section.length)
        frame->rip = section.abort;
    return 0;
}

void rseq_update(struct thread *thread)
{
    uint64_t address = thread->context.rseq;
    struct user_words words;
    int error;

    thread_clear_due(thread, THREAD_DUE_RSEQ);
    if (address == 0)
        return;
    error = user_read(&words, address, sizeof(words));
    if (error == 0 && words.section != 0)
        error = leave_section(thread, words.section);
    words.cpu_id = words.cpu_id_start = cpu_self()->number;
    if (error == 0)
        error = user_write(address, &words, 2 * sizeof(uint32_t));
    if (error != 0) {
        struct signal_info info = {.signal = SIGSEGV, .code = SI_KERNEL};

        thread->context.rseq = 0;
        signal_force(&info);
    }
}
