/* Shared by the files of tasks/exit. */
#ifndef TASKS_EXIT_INTERNAL_H
#define TASKS_EXIT_INTERNAL_H

struct group;

/* tasks/exit/exit.c, at the home of GROUP; both wait. The first round, over the other members, unless exec has done so
 * already. Meanwhile this kernel's own threads die, down to quiet_count. */
void exit_kill_round(struct group *group);
/* The second round, over the other members that have memory to free. Nothing of GROUP's is pinned. */
void exit_free_round(struct group *group);

/* tasks/exit/thread.c */
void exit_threads_init(void);

#endif
