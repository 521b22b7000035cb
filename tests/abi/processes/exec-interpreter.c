/* Of an executable that asks for an interpreter which is not there the error is that of opening it. */
#include "abi.h"

#include <elf.h>

static void try(const char *name, size_t size, int mode)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr program;
        char name[64];
    } file;
    char *arguments[] = {"x", NULL};
    int fd;

    memset(&file, 0, sizeof(file));
    memcpy(file.header.e_ident, ELFMAG, SELFMAG);
    file.header.e_ident[EI_CLASS] = ELFCLASS64;
    file.header.e_ident[EI_DATA] = ELFDATA2LSB;
    file.header.e_ident[EI_VERSION] = EV_CURRENT;
    file.header.e_type = ET_EXEC;
    file.header.e_machine = EM_X86_64;
    file.header.e_version = EV_CURRENT;
    file.header.e_phoff = sizeof(file.header);
    file.header.e_ehsize = sizeof(file.header);
    file.header.e_phentsize = sizeof(file.program);
    file.header.e_phnum = 1;
    file.program.p_type = PT_INTERP;
    file.program.p_offset = offsetof(typeof(file), name);
    file.program.p_filesz = file.program.p_memsz = size;
    strcpy(file.name, name);
    unlink("program");
    MUST(fd = open("program", O_CREAT | O_WRONLY, mode));
    MUST(write(fd, &file, sizeof(file)));
    close(fd);
    printf("%s: ", name);
    CALL(execv("program", arguments));
}

int main(void)
{
    try("/nowhere", 9, 0755);
    try("/nowhere/at/all", 16, 0755);
    try("/proc", 6, 0755);
    try("/dev/null", 10, 0755);
    try("/nowhere", 8, 0755);
    try("", 1, 0755);
    try("/nowhere", 9, 0644);
    close(open("plain", O_CREAT | O_WRONLY, 0644));
    try("plain", 6, 0755);
    try("plain/x", 8, 0755);
    return 5;
}
