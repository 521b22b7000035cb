/* What the parts of test-death share: kernels that die, programs that work meanwhile, and what they tell each other. */
#ifndef TESTS_GUEST_DEATH_H
#define TESTS_GUEST_DEATH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE 4096
#define PAGES 64

/* In memory that all processes of the test share. */
struct death_board {
    atomic_int ready, woken, over;
    atomic_uint word, other_word;
    atomic_long done[8], wrong;
    char pages[PAGES * PAGE];
};

extern long death_rounds;       /* deaths under load; from 100 on a test leaves nothing out */
extern const char *death_types; /* NULL: all; else the only ones at which a kernel dies, with commas between */
extern struct death_board *death_board;
extern int death_kernels[64], death_count; /* those that run, first kernel 0 */
extern const char *const death_ways[];     /* by KETTLE_KILL_* */
extern const char *death_state;            /* the message at which a kernel dies now, for what is said of failures */

/* The NUMBERth kernel, in turn, that may die: not 0. */
int death_victim(int number);
/* Another one that lives on, if there is one, else kernel 0. */
int death_neighbour(int kernel);
/* Sets *SUCCESSOR to the kernel that takes over what *KERNEL has when that stops: neither is kernel 0. False: there are
 * no such two. */
bool death_successor(int *kernel, int *successor);
/* Moves the calling thread, or stops the test. */
void death_go(int kernel);
/* Ends KERNEL, and returns when the others have cleaned up. */
void death_kill(int kernel, int how);
void death_audit(void);
/* Starts it again; it works. */
void death_start_again(int kernel);
/* Ends it, audits, and starts it again. */
void death_kill_and_start(int kernel, int how);
/* Clears the board. */
void death_begin(void);
/* Works on two kernels that live on, until the board says that it is over, and counts what is wrong. Does not return.
 */
void death_work(int index, int home, int other);
/* A process whose three threads run about everywhere, the dying kernel too, until it ends with it. */
pid_t death_wanderer(uint64_t seed);
/* Ends CHILD, and waits for it. */
void death_reap(pid_t child);
/* Makes calls for ever, on KERNEL, that have it ask others (death_calls.c). */
_Noreturn void death_call_from(int kernel);
/* Starts LOAD, by its name in death_rare.c, which has KERNEL take messages that others have it take seldom. */
pid_t death_rare(const char *load, int kernel);
/* True: KERNEL has died, within LIMIT ns. */
bool death_comes(int kernel, int64_t limit);

/* Sets PIDS to the processes of the machine, zombies too. Returns how many. */
#define DEATH_PIDS 4096
int death_processes(pid_t *pids);

/* From now on SIGBUS is caught; and whether a touch of ADDRESS is a machine check then, as Linux reports it. */
void death_catch_bus(void);
bool death_is_lost(char *address, int write);

/* Starts this program as CHILD, "@NAME" of the list in test-death.c, at home on KERNEL. *TALK: a socket whose other end
 * is descriptor 3 there. The functions below talk through it: a byte, a descriptor. */
pid_t death_spawn(int kernel, const char *child, int *talk);
void death_say(int fd);
void death_hear(int fd);
void death_send_fd(int socket, int fd);
int death_receive_fd(int socket);

/* Processes at home on the kernel that dies. */
int death_home_rest(int argc, char **argv);
int death_home_parent(int argc, char **argv);
int death_home_orphan(int argc, char **argv);
int death_home_waits(int argc, char **argv);
int death_home_pipes(int argc, char **argv);
int death_home_keeper(int argc, char **argv);
int death_home_locks(int argc, char **argv);
int death_home_pi(int argc, char **argv);
int death_home_copies(int argc, char **argv);
int death_home_set(int argc, char **argv);
int death_home_writer(int argc, char **argv);
int death_home_pipe(int argc, char **argv);
int death_home_over(int argc, char **argv);
int death_home_vfork(int argc, char **argv);
int death_home_sitter(int argc, char **argv);
int death_home_calls(int argc, char **argv);
int death_home_robust(int argc, char **argv);
int death_home_giver(int argc, char **argv);
int death_home_given(int argc, char **argv);
int death_home_shell(int argc, char **argv);
int death_home_shells(int argc, char **argv);
int death_home_leader(int argc, char **argv);
int death_home_widow(int argc, char **argv);
int death_home_middle(int argc, char **argv);
int death_home_boss(int argc, char **argv);
int death_home_job(int argc, char **argv);
int death_home_member(int argc, char **argv);
int death_home_daemon(int argc, char **argv);
int death_home_jobs(int argc, char **argv);
int death_home_away(int argc, char **argv);
int death_home_execed(int argc, char **argv);

/* Tests. */
void death_test_threads(void);
void death_test_homes(void);
void death_test_orphans(void);
void death_test_reaper(void);
void death_test_group(void);
void death_test_group_stop(void);
void death_test_exec(void);
void death_test_vfork(void);
void death_test_vfork_storm(void);
void death_test_vfork_home(void);
void death_test_vfork_stopped(void);
void death_test_vfork_reaper(void);
void death_test_workers(void);
void death_test_waits(void);
void death_test_futex(void);
void death_test_read(void);
void death_test_served(void);
void death_test_robust(void);
void death_test_robust_many(void);
void death_test_robust_home(void);
void death_test_pi(void);
void death_test_moved(void);
void death_test_files(void);
void death_test_backlog(void);
void death_test_queued(void);
void death_test_locks(void);
void death_test_file(void);
void death_test_borrowed(void);
void death_test_copies(void);
void death_test_mover(void);
void death_test_load(void);
void death_test_second(void);
void death_test_stops(void);
void death_test_types(void);
void death_test_times(void);
void death_test_account(void);
void death_test_exclusive(void);
void death_test_passed(void);
void death_test_maker(void);
void death_test_lent(void);
void death_test_references(void);

#endif
