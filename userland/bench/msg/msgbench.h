/* msgbench: what its files share. userland/bench/msg/msgbench.c is the program. */
#ifndef USERLAND_MSGBENCH_H
#define USERLAND_MSGBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MSGBENCH_KERNELS_MAX 64
#define MSGBENCH_CASES_MAX 128
#define MSGBENCH_NAME_SIZE 48
#define MSGBENCH_COUNT_MAX 1000000
#define MSGBENCH_BATCH 16 /* operations between two looks at the clock, where the program itself looks */

/* What the receiving kernels do when a message comes. */
enum msgbench_peer {
    PEER_POLLED,   /* nothing runs there: the idle loop looks for messages and never halts */
    PEER_RUNNING,  /* a thread of this program computes there, so messages come by doorbell interrupt */
    PEER_SLEEPING, /* nothing runs there and its CPUs are halted */
    PEER_NONE      /* there is no receiver */
};

enum msgbench_where { SAME_NODE, OTHER_NODE, ANY_NODE };

enum msgbench_shape { ONE_TO_ONE, ONE_TO_ALL, ALL_TO_ONE, ALL_TO_ALL };

/* How a case is run. */
enum msgbench_method {
    METHOD_STREAM, /* all operations in one call of the kernel */
    METHOD_SPACED, /* one call for each operation; before each, time enough for the receiver to halt */
    METHOD_PACED,  /* MSGBENCH_BATCH operations a call, timed by the program: as userland/bench/msg/pingpong.c */
    METHOD_CALL    /* no messages: a system call that does nothing, MSGBENCH_BATCH calls a sample */
};

struct msgbench_case {
    char name[MSGBENCH_NAME_SIZE];
    unsigned region;    /* of the markers (userland/bench/mark.h): the same on every machine */
    uint32_t operation; /* KETTLE_MESSAGES_* */
    uint32_t bytes;
    enum msgbench_peer peer;
    enum msgbench_where where;
    enum msgbench_shape shape;
    enum msgbench_method method;
    int kernels; /* that take part, the sender among them; 0: all started */
};

/* The kernels of this machine: those that are started, this one first. */
struct msgbench_machine {
    int count;
    int kernels[MSGBENCH_KERNELS_MAX];
    int same_node;  /* another kernel on this kernel's node, or -1 */
    int other_node; /* one on another node, or -1 */
};

struct msgbench_options {
    uint32_t count; /* operations of each case; 0: as the case's size suggests */
    bool quick;     /* a tenth of what the case's size suggests */
    bool times;     /* take samples */
    uint64_t seed;  /* of the content, which receivers check; 0: they do not */
};

/* What a case has measured. */
struct msgbench_result {
    uint64_t count; /* operations made; a one-way operation is one message to one kernel */
    int kernels;    /* that took part */
    size_t sample_count;
    uint64_t *samples; /* ns; valid until the next case runs */
};

/* Fills CASES with every case there is, in order of their regions, and returns how many there are. */
size_t msgbench_cases(struct msgbench_case cases[MSGBENCH_CASES_MAX]);

/* Why MACHINE cannot run the case, in words that fit behind a colon; NULL when it can. */
const char *msgbench_case_refusal(const struct msgbench_case *bench, const struct msgbench_machine *machine);

const char *msgbench_operation_name(const struct msgbench_case *bench);
const char *msgbench_peer_name(enum msgbench_peer peer);
const char *msgbench_where_name(enum msgbench_where where);
const char *msgbench_shape_name(enum msgbench_shape shape);

void msgbench_machine_find(struct msgbench_machine *machine);

/* Runs one case that the machine can run. False after saying on standard error what failed. */
bool msgbench_case_run(const struct msgbench_case *bench, const struct msgbench_machine *machine,
                       const struct msgbench_options *options, struct msgbench_result *result);

/* Sends at least MESSAGES messages between all kernels at once and checks what has arrived. Returns the exit status. */
int msgbench_flood(const struct msgbench_machine *machine, uint64_t messages, uint64_t seed, bool json);

/* Sets an option of every kernel by kettle_control. False after saying what failed. */
bool msgbench_control(const char *words);

#endif
