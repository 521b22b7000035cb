/* The parts of test-libc. */
#ifndef TESTS_GUEST_LIBC_H
#define TESTS_GUEST_LIBC_H

/* tests/guest/machine/libc_output.c */
void libc_test_print_integers(void);
void libc_test_print_text(void);
void libc_test_print_floats(void);
void libc_test_scan(void);
void libc_test_stdio(void);
void libc_test_write(void);
void libc_test_write_long(void);
void libc_test_write_errors(void);
void libc_test_writev(void);
void libc_test_writev_errors(void);

/* tests/guest/machine/libc_spawn.c */
void libc_test_spawn_strings(void);
void libc_test_spawn_status(void);
void libc_test_spawn_many(void);
void libc_test_spawn_where(void);
void libc_test_spawn_errors(void);
/* Children of test-libc: they compare their arguments and environment with those of libc_test_spawn_strings; and give
 * back what they read. */
int libc_child_arguments(int argc, char **argv);
int libc_child_echo(int argc, char **argv);

#endif
