/* Shared by the files of tasks/exit. */
#ifndef TASKS_EXIT_INTERNAL_H
#define TASKS_EXIT_INTERNAL_H

/* tasks/exit/thread.c */
void exit_threads_init(void);

#endif
