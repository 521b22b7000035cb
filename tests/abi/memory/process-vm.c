/* process_vm_readv and writev reach a child's memory. */
#include "abi.h"

static char word[16] = "parent";
static int channel[2];
static int child(void)
{
    char byte;
    strcpy(word, "child");
    MUST(write(channel[1], "", 1));
    MUST(read(channel[0], &byte, 0));
    pause();
    return 0;
}
int main(void)
{
    char got[16] = "", byte;
    struct iovec here = {got, 16}, there = {word, 16};
    pid_t pid;
    MUST(pipe(channel));
    pid = spawn(child);
    MUST(read(channel[0], &byte, 1));
    CALL(process_vm_readv(pid, &here, 1, &there, 1, 0));
    TEXT(got);
    TEXT(word);
    MUST(kill(pid, SIGKILL));
    reap(pid);
    return 0;
}
