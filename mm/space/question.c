/* Fault requests under way, and the work that waits for their answers. See the header. */
#include "mm/space/question.h"

#include "kernel/wait/completion.h"

static bool overlap(uint64_t a_start, uint64_t a_end, uint64_t b_start, uint64_t b_end)
{
    return a_start < b_end && b_start < a_end;
}

void space_question_begin_locked(struct space *space, struct space_question *question)
{
    question->number = ++space->get_count;
    list_append(&space->gets, &question->node);
}

uint64_t space_question_copied_locked(const struct space *space, uint64_t start, uint64_t end)
{
    list_for_each(node, &space->gets) {
        const struct space_question *question = container_of(node, const struct space_question, node);

        if (question->copies && question->page >= start && question->page < end)
            end = question->page;
    }
    return end;
}

/* True if a question that overlaps the range and is not later than NUMBER is under way. */
static bool asked_locked(const struct space *space, uint64_t start, uint64_t end, uint64_t number)
{
    list_for_each(node, &space->gets) {
        const struct space_question *question = container_of(node, const struct space_question, node);

        if (question->number <= number && overlap(question->start, question->end, start, end))
            return true;
    }
    return false;
}

bool space_defer_locked(struct space *space, struct space_deferred *deferred)
{
    deferred->number = space->get_count;
    if (list_empty(&space->gets) || !asked_locked(space, deferred->start, deferred->end, deferred->number))
        return false;
    list_append(&space->deferred, &deferred->node);
    return true;
}

void space_questions_supersede_locked(struct space *space, uint64_t start, uint64_t end)
{
    list_for_each(node, &space->gets) {
        struct space_question *question = container_of(node, struct space_question, node);

        if (overlap(question->start, question->end, start, end))
            question->superseded = true;
    }
}

/* A question has ended: moves the deferred work that waits for no other question to READY. */
static void collect_ready_locked(struct space *space, struct list *ready)
{
    list_for_each_safe(node, &space->deferred) {
        struct space_deferred *deferred = container_of(node, struct space_deferred, node);

        if (asked_locked(space, deferred->start, deferred->end, deferred->number))
            continue;
        list_remove(&deferred->node);
        list_append(ready, &deferred->node);
    }
}

void space_deferred_run(struct list *ready)
{
    list_for_each_safe(node, ready) {
        struct space_deferred *deferred = container_of(node, struct space_deferred, node);

        list_remove(&deferred->node);
        deferred->run(deferred);
    }
}

struct awaiting {
    struct space_deferred deferred;
    struct completion done;
};

static void awaited(struct space_deferred *deferred)
{
    completion_signal(&container_of(deferred, struct awaiting, deferred)->done);
}

void space_gets_await(struct space *space, struct space_range range)
{
    struct awaiting awaiting = {.deferred = {.start = range.start, .end = range.end, .run = awaited}};
    struct wait_reason reason = {
        .what = "answer to a fault of another thread", .kernel = (int32_t)space->home, .key = range.start};
    bool waits;

    completion_init(&awaiting.done);
    spin_lock(&space->lock);
    waits = space_defer_locked(space, &awaiting.deferred);
    spin_unlock(&space->lock);
    if (waits)
        completion_wait(&awaiting.done, &reason);
}

void space_question_end_locked(struct space *space, struct space_question *question, struct list *ready)
{
    list_remove(&question->node);
    if (!list_empty(&space->deferred))
        collect_ready_locked(space, ready);
}
