/* The promises of test-migrate that stand in files of their own; its table is in test-migrate.c. */
#ifndef TESTS_GUEST_MIGRATE_H
#define TESTS_GUEST_MIGRATE_H

#include <stdbool.h>

/* migrate_mappings.c: mappings, the break and malloc change on one kernel for all. */
void migrate_test_map(void);
void migrate_test_unmap(void);
void migrate_test_protect(void);
void migrate_test_break(void);
void migrate_test_malloc(void);

/* migrate_calls.c: system calls away from home. */
void migrate_test_kernel_access(void);
void migrate_test_output(void);

/* migrate_programs.c: programs that end, die and start away from home. */
void migrate_test_exit(void);
void migrate_test_die(void);
void migrate_test_die_of_change(void);
void migrate_test_spawn_elsewhere(void);
void migrate_test_spawn_back(void);

/* Becomes the child called NAME, with KERNEL for its argument. Returns false when there is no such child; one
 * that is does not return, or returns true when it should have died. */
bool migrate_child(const char *name, int kernel);

#endif
