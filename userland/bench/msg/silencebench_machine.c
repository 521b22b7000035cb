/* silencebench: what is done to a whole machine: audits, and kernels that stop and die. */
#include "userland/bench/msg/silencebench.h"

#include <fcntl.h>
#include <unistd.h>

#include "libc/kettle.h"

static void audit(void)
{
    char text[512];

    if (kettle_audit(KETTLE_AUDIT_OWN, text, sizeof(text)) != 0)
        silence_fail("audit");
}

static void audit_machine(void)
{
    char text[512];

    if (kettle_audit(KETTLE_AUDIT_MACHINE, text, sizeof(text)) != 0)
        silence_fail("audit");
}

static void stop_other(void)
{
    if (kettle_stop((kettle_kernel() + 1) % kettle_kernels()) != 0)
        silence_fail("kettle_stop");
}

/* A file of SILENCE_FILE_SIZE bytes here, and SILENCE_MEMORY elsewhere. */
static void fill_file_and_elsewhere(void)
{
    silence_make_file();
    silence_fill_elsewhere();
}

/* A process of this kernel with 2,000 children, memory and files that another kernel has. */
static void make_part_elsewhere(void)
{
    int ready[2];
    char byte = 0;
    pid_t born;

    silence_make_file();
    if (pipe(ready) != 0 || (born = fork()) < 0)
        silence_fail("fork");
    if (born == 0) {
        silence_make_processes_elsewhere();
        silence_fill_elsewhere();
        for (int i = 0; i < SILENCE_OPENED; i++) {
            if (open("/dev/null", O_RDONLY) < 0)
                silence_fail("open");
        }
        (void)!write(ready[1], &byte, 1);
        pause();
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        silence_fail("pipe");
}

const struct silence_case silence_of_machine[] = {
    {"audit", "audit of a process with 48 MiB", silence_fill_memory, audit, ANY_KERNEL},
    {"audit_machine", "audit of the machine", silence_fill_memory, audit_machine, ANY_KERNEL},
    {"audit_file", "audit of the machine with a file of 512 MiB", silence_make_large_file, audit_machine, ANY_KERNEL},
    {"audit_sparse", "audit of the machine with a file of 20,000 pages, 64 pages from each other",
     silence_make_sparse_file, audit_machine, ANY_KERNEL},
    {"audit_opens", "audit of the machine with 21,600 open files", silence_make_openers, audit_machine, ANY_KERNEL},
    {"audit_processes", "audit of the machine with 2,000 processes", silence_make_processes, audit_machine, ANY_KERNEL},
    {"stop_far", "stop of a kernel with 48 MiB, for its successor", silence_fill_elsewhere, stop_other, OTHER_KERNEL},
    {"stop_file_far", "stop of a kernel with 48 MiB, while another one has a file of 32 MiB", fill_file_and_elsewhere,
     stop_other, OTHER_KERNEL},
    {"death_far", "death of a kernel that has 48 MiB and 2,000 children of a process", make_part_elsewhere,
     silence_kill_other, OTHER_KERNEL},
    {"stop_opens_far", "stop of a kernel with 21,600 open files, for its successor", silence_make_openers_elsewhere,
     stop_other, OTHER_KERNEL},
    {"stop_processes_far", "stop of a kernel with 2,000 processes, for its successor", silence_make_processes_elsewhere,
     stop_other, OTHER_KERNEL},
    {"audit_threads", "audit of the machine with a process of 1,500 threads", silence_make_threads, audit_machine,
     ANY_KERNEL},
    {0},
};
