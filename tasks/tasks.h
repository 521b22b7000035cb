/* Threads, processes and what they share: brought up together. tasks/README.md is where to start reading. */
#ifndef TASKS_TASKS_H
#define TASKS_TASKS_H

/* Tables, and the run queue of the boot CPU: before messages. Once. */
void tasks_init_tables(void);
/* Handlers of messages and kernel threads: after messages and address spaces, before programs. Once. */
void tasks_init(void);

#endif
