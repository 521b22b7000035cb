/* The text of the files in /proc/PID. See the header. Fields that have no counterpart in Kettle are 0. */
#include "kernel/fs/proc/process_text.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "kernel/tty/job.h"
#include "mm/space/events.h"
#include "tasks/account/facts.h"
#include "tasks/process/group.h"
#include "tasks/sched/fair/fair.h"

#define TICK_NS 10000000ull /* 100 clock ticks per second */
#define SMALL_TEXT 2048u
#define LINE_MAX 512u
#define PAGE_KB (PAGE_SIZE / 1024)

/* The subject of a stat or status file: a process with its first thread, or one of its threads. */
struct subject {
    struct process_survey *survey;
    struct thread_facts thread; /* made up if the process or its first thread has ended */
    uint32_t id;
    bool whole;
    uint64_t user_ns, system_ns;
    struct account account; /* of the process or the thread, like the times */
    struct account own;     /* of the thread (for a process, of its first thread) */
};

static int64_t error_of(int error)
{
    return error == -ESRCH ? -ENOENT : error;
}

static int64_t subject_find(const struct proc_at *at, struct subject *out)
{
    uint32_t pid = (uint32_t)at->keys[0];
    int error;

    *out = (struct subject){.id = at->keys[1] != 0 ? (uint32_t)at->keys[1] : pid, .whole = at->keys[1] == 0};
    out->survey = survey_process(pid, false, &error);
    if (out->survey == NULL)
        return error_of(error);
    if (out->id != pid) {
        if (!survey_thread(&out->survey->process, out->id, &out->thread)) {
            survey_free(out->survey);
            return -ENOENT;
        }
    } else if (out->survey->count > 0) {
        out->thread = out->survey->threads[0];
    } else {
        out->thread = (struct thread_facts){
            .tid = pid, .state = pid == PROCESS_INIT ? 'S' : 'Z', .start_ns = out->survey->process.start_ns};
        memcpy(out->thread.name, out->survey->process.name, sizeof(out->thread.name));
        for (uint32_t i = instance.plan.cpu_count; i-- > 0;) {
            if (instance.plan.cpus[i].kernel == (int32_t)out->survey->process.home)
                out->thread.cpu = i;
        }
    }
    out->thread.name[THREAD_NAME_MAX - 1] = '\0';
    if (out->thread.kernel < instance.kernels && out->survey->count > 0)
        survey_account(pid, &out->thread, &out->own);
    out->account = out->whole ? out->survey->account : out->own;
    out->user_ns = out->whole ? out->survey->user_ns : out->thread.user_ns;
    out->system_ns = out->whole ? out->survey->system_ns : out->thread.system_ns;
    return 0;
}

int64_t proc_write_stat(const struct proc_at *at, struct text *text)
{
    struct subject s;
    const struct process_facts *p;
    const struct thread_facts *t = &s.thread;
    int64_t error = subject_find(at, &s), terminal;

    if (error != 0)
        return error;
    p = &s.survey->process;
    error = proc_text(text, SMALL_TEXT);
    if (error == 0) {
        terminal = job_terminal(p->session);
        /* 1 to 13: pid comm state ppid pgrp session tty_nr tpgid flags minflt cminflt majflt cmajflt */
        text_put(text, "%u (%s) %c %u %u %u %u %d 0 %lu %lu %lu %lu ", s.id, t->name, (char)t->state, p->parent,
                 p->group, p->session, terminal > 0 ? (uint32_t)(terminal >> 32) : 0,
                 terminal > 0 ? (int32_t)terminal : -1, (unsigned long)s.account.use.minor_faults,
                 (unsigned long)p->children_use.minor_faults, (unsigned long)s.account.use.major_faults,
                 (unsigned long)p->children_use.major_faults);
        /* 14 to 22: utime stime cutime cstime priority nice num_threads itrealvalue starttime */
        text_put(text, "%lu %lu %lu %lu %d %d %u 0 %lu ", (unsigned long)(s.user_ns / TICK_NS),
                 (unsigned long)(s.system_ns / TICK_NS), (unsigned long)(p->children_user_ns / TICK_NS),
                 (unsigned long)(p->children_system_ns / TICK_NS), t->runs_as, t->nice,
                 p->condition == PROCESS_ENDED || p->threads == 0 ? 1 : p->threads,
                 (unsigned long)((s.whole ? p->start_ns : t->start_ns) / TICK_NS));
        /* 23 to 35: vsize rss rsslim startcode endcode startstack kstkesp kstkeip signal blocked sigignore sigcatch
         * wchan */
        text_put(text, "%lu %lu %lu 0 0 0 0 0 %lu %lu %lu %lu %u ", (unsigned long)p->size,
                 (unsigned long)s.survey->resident, ~0ul, (unsigned long)(t->pending & 0x7fffffff),
                 (unsigned long)(t->blocked & 0x7fffffff), (unsigned long)(p->ignored & 0x7fffffff),
                 (unsigned long)(p->caught & 0x7fffffff), t->waits[0] != '\0');
        /* 36 to 52: nswap cnswap exit_signal processor rt_priority policy, 10 of 0, exit_code */
        text_put(text, "0 0 %u %u %u %u 0 0 0 0 0 0 0 0 0 0 %u\n", p->exit_signal, t->cpu, t->priority, t->policy,
                 p->condition == PROCESS_ENDED ? p->status : 0);
    }
    survey_free(s.survey);
    return error;
}

static const char *state_name(uint32_t state)
{
    switch (state) {
    case 'R':
        return "running";
    case 'S':
        return "sleeping";
    case 'T':
        return "stopped";
    case 'Z':
        return "zombie";
    default:
        return "disk sleep";
    }
}

/* Writes a list such as "0-3,8". */
static void put_cpus(struct text *text, const uint64_t mask[CPUS_MAX / 64])
{
    const char *comma = "";

    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        uint32_t last = i;

        if ((mask[i / 64] >> i % 64 & 1) == 0)
            continue;
        while (last + 1 < instance.plan.cpu_count && (mask[(last + 1) / 64] >> (last + 1) % 64 & 1) != 0)
            last++;
        if (last > i)
            text_put(text, "%s%u-%u", comma, i, last);
        else
            text_put(text, "%s%u", comma, i);
        comma = ",";
        i = last;
    }
}

int64_t proc_write_status(const struct proc_at *at, struct text *text)
{
    struct subject s;
    const struct process_facts *p;
    const struct thread_facts *t = &s.thread;
    uint64_t nodes = instance.plan.node_count < 64 ? (1ull << instance.plan.node_count) - 1 : UINT64_MAX;
    int64_t error = subject_find(at, &s);

    if (error != 0)
        return error;
    p = &s.survey->process;
    error = proc_text(text, SMALL_TEXT);
    if (error == 0) {
        text_put(text, "Name:\t%s\nUmask:\t0%u%u%u\nState:\t%c (%s)\nTgid:\t%u\nNgid:\t0\nPid:\t%u\nPPid:\t%u\n",
                 t->name, p->umask >> 6 & 7, p->umask >> 3 & 7, p->umask & 7, (char)t->state, state_name(t->state),
                 p->id, s.id, p->parent);
        text_put(text, "TracerPid:\t0\nUid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\nFDSize:\t64\nGroups:\t\n", p->ids[0],
                 p->ids[1], p->ids[2], p->ids[3], p->ids[4], p->ids[5], p->ids[6], p->ids[7]);
        if (p->condition != PROCESS_ENDED && p->space != 0)
            text_put(text, "VmSize:\t%8lu kB\nVmLck:\t%8lu kB\nVmHWM:\t%8lu kB\nVmRSS:\t%8lu kB\n",
                     (unsigned long)(p->size / 1024), (unsigned long)(p->locked / 1024),
                     (unsigned long)(s.survey->peak * PAGE_KB), (unsigned long)(s.survey->resident * PAGE_KB));
        text_put(text, "Threads:\t%u\n", p->condition == PROCESS_ENDED || p->threads == 0 ? 1 : p->threads);
        text_put(text, "SigPnd:\t%016lx\nShdPnd:\t%016lx\nSigBlk:\t%016lx\nSigIgn:\t%016lx\nSigCgt:\t%016lx\n",
                 (unsigned long)t->pending, (unsigned long)p->pending, (unsigned long)t->blocked,
                 (unsigned long)p->ignored, (unsigned long)p->caught);
        text_put(text, "Cpus_allowed:\t");
        text_put_mask(text, t->affinity, instance.plan.cpu_count);
        text_put(text, "\nCpus_allowed_list:\t");
        put_cpus(text, t->affinity);
        text_put(text, "\nMems_allowed:\t");
        text_put_mask(text, (const uint64_t[]){nodes}, instance.plan.node_count);
        text_put(text, instance.plan.node_count > 1 ? "\nMems_allowed_list:\t0-%u\n" : "\nMems_allowed_list:\t%u\n",
                 instance.plan.node_count - 1);
        text_put(text, "voluntary_ctxt_switches:\t%lu\nnonvoluntary_ctxt_switches:\t%lu\n",
                 (unsigned long)s.own.use.waits, (unsigned long)s.own.use.preemptions);
    }
    survey_free(s.survey);
    return error;
}

int64_t proc_write_name(const struct proc_at *at, struct text *text)
{
    struct subject s;
    int64_t error = subject_find(at, &s);

    if (error != 0)
        return error;
    error = proc_text(text, SMALL_TEXT);
    if (error == 0)
        text_put(text, "%s\n", s.thread.name);
    survey_free(s.survey);
    return error;
}

int64_t proc_write_memory(const struct proc_at *at, struct text *text)
{
    int error;
    struct process_survey *survey = survey_process((uint32_t)at->keys[0], false, &error);

    if (survey == NULL)
        return error_of(error);
    error = (int)proc_text(text, SMALL_TEXT);
    if (error == 0)
        text_put(text, "%lu %lu 0 0 0 %lu 0\n", (unsigned long)(survey->process.size / PAGE_SIZE),
                 (unsigned long)survey->resident, (unsigned long)(survey->process.size / PAGE_SIZE));
    survey_free(survey);
    return error;
}

static void put_member(struct text *text, uint32_t kernel, const struct member_facts *m)
{
    text_put(text,
             "kernel %u threads %u shadows %u pages %lu user %lu us system %lu us faults %lu fetches %lu frames %lu "
             "areas %lu none %lu prefetched %lu used %lu changes %lu copies %lu huge %lu kB\n",
             kernel, m->present, m->shadows, (unsigned long)m->resident, (unsigned long)(m->user_ns / 1000),
             (unsigned long)(m->system_ns / 1000), (unsigned long)m->stats.faults_local,
             (unsigned long)m->stats.fetches, (unsigned long)(m->stats.frame_anonymous + m->stats.frame_file),
             (unsigned long)(m->stats.area_anonymous + m->stats.area_file), (unsigned long)m->stats.fetched_none,
             (unsigned long)m->stats.prefetched, (unsigned long)m->stats.prefetch_used, (unsigned long)m->stats.changes,
             (unsigned long)m->stats.cow_copies, (unsigned long)(m->huge * (PAGING_SIZE_2M / 1024)));
}

static void put_events(struct text *text, uint32_t kernel, const struct space_stats *stats)
{
    char events[SPACE_EVENT_TEXT];
    uint32_t from = 0;

    space_stats_text(stats, &from, events, sizeof(events));
    text_put(text, "events %u%s\n", kernel, events);
}

/* How many of the blocks that its home knows NODE was the last to be seen using. */
static uint32_t last_of(const struct process_survey *survey, uint32_t node)
{
    uint32_t last = 0;

    for (kernel_set rest = survey->asked; rest != 0; rest &= rest - 1)
        last += survey->members[__builtin_ctzll(rest)].seen_last[node];
    return last;
}

int64_t proc_write_numa(const struct proc_at *at, struct text *text)
{
    int error;
    struct process_survey *survey = survey_process((uint32_t)at->keys[0], true, &error);

    if (survey == NULL)
        return error_of(error);
    error = (int)proc_text(text, SMALL_TEXT + KERNELS_MAX * LINE_MAX);
    for (kernel_set rest = error == 0 ? survey->asked : 0; rest != 0; rest &= rest - 1) {
        uint32_t kernel = (uint32_t)__builtin_ctzll(rest), node = instance.plan.kernels[kernel].node;
        const struct space_stats *stats = &survey->members[kernel].stats;
        uint64_t all = stats->seen_local + stats->seen_remote;

        text_put(text,
                 "kernel %u node %u local %lu remote %lu share %lu%% decided %lu moved %lu looks %lu hidden %lu faults "
                 "%lu refused %lu last %u\n",
                 kernel, node, (unsigned long)stats->seen_local, (unsigned long)stats->seen_remote,
                 (unsigned long)(all != 0 ? stats->seen_remote * 100 / all : 0), (unsigned long)stats->seen_decided,
                 (unsigned long)stats->pages_moved, (unsigned long)stats->seen_looks, (unsigned long)stats->hints_set,
                 (unsigned long)stats->hint_faults, (unsigned long)stats->seen_refused, last_of(survey, node));
    }
    survey_free(survey);
    return error;
}

int64_t proc_write_kettle(const struct proc_at *at, struct text *text)
{
    static const char *const conditions[] = {"lives", "ends", "ended"};
    int error;
    struct process_survey *survey = survey_process((uint32_t)at->keys[0], true, &error);
    const struct process_facts *p;

    if (survey == NULL)
        return error_of(error);
    p = &survey->process;
    error = (int)proc_text(text, SMALL_TEXT + (3 * KERNELS_MAX + (size_t)survey->count) * LINE_MAX);
    if (error == 0) {
        text_put(text, "home %u %s members %016lx threads %u\n", p->home, conditions[p->condition],
                 (unsigned long)p->members, p->threads);
        for (kernel_set rest = survey->asked; rest != 0; rest &= rest - 1)
            put_member(text, (uint32_t)__builtin_ctzll(rest), &survey->members[__builtin_ctzll(rest)]);
        for (kernel_set rest = survey->asked; rest != 0; rest &= rest - 1)
            put_events(text, (uint32_t)__builtin_ctzll(rest), &survey->members[__builtin_ctzll(rest)].stats);
        for (uint32_t i = 0; i < survey->count; i++) {
            const struct thread_facts *t = &survey->threads[i];

            text_put(text, "thread %u kernel %u cpu %u %c moves %lu visited %016lx %s\n", t->tid, t->kernel, t->cpu,
                     (char)t->state, (unsigned long)t->moves, (unsigned long)t->visited, t->waits);
        }
    }
    survey_free(survey);
    return error;
}
