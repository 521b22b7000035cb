/* A stand-in for the kernel, for tests of the host command: it speaks the events of the log channel and does one
 * thing, which the word `fake=` of its command line names:
 *
 *   exit:N signal:N   ends the first process so
 *   flood:N           writes N bytes to the terminal, byte i being i * 7 + i / 256, then exits with 0
 *   echo              sends every input byte back until a break (the end of input) comes, then exits with 0
 *   line              sends input back up to and including a newline, then exits with 0
 *   options           writes its command line, then exits with 0
 *   archive           writes the size and a checksum of its initramfs, then exits with 0
 *   panic reset       fails so; `panic` writes nothing after @panic-end and hangs
 *   hang              runs for ever; an NMI makes it write a wait dump
 *   warn              says something of an option, then exits with 7
 *   silent            never starts a program
 *   linger            exits with 0, but the machine stays on
 *
 * Built for 32 bits and run where PVH or multiboot2 leave it: protected mode, paging off, interrupts off. */
#include <stdint.h>

#define COM1 0x3f8u
#define LOG 0xe9u
#define LINE_STATUS (COM1 + 5)
#define RECEIVED 0x01u
#define BREAK 0x10u
#define ROOM 0x20u
#define EMPTY 0x40u

__attribute__((section(".multiboot2"), aligned(8), used)) static const uint32_t multiboot2_header[] = {
    0xe85250d6u, 0, 24, -(0xe85250d6u + 24u), 0, 8};

__asm__(".pushsection .note.pvh, \"a\", @note\n"
        ".long 4, 4, 18\n" /* XEN_ELFNOTE_PHYS32_ENTRY */
        ".asciz \"Xen\"\n"
        ".long start\n"
        ".popsection\n"
        ".globl start\n"
        "start: movl $stack + 16384, %esp\n"
        "pushl %ebx\n"
        "pushl %eax\n"
        "call main\n"
        ".comm stack, 16384, 16\n"
        "nmi_entry: pusha\n"
        "call nmi\n"
        "popa\n"
        "iret\n");

struct pvh_info {
    uint32_t magic, version, flags, modules;
    uint64_t module_list, cmdline;
};

extern char nmi_entry[];

static const char *options = "";
static const uint8_t *archive;
static uint32_t archive_size;

static void out(uint32_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %w1" ::"a"(value), "d"(port));
}

static uint8_t in(uint32_t port)
{
    uint8_t value;
    __asm__ volatile("inb %w1, %0" : "=a"(value) : "d"(port));
    return value;
}

static void print(uint32_t port, const char *text)
{
    for (; *text; text++) {
        while (port == COM1 && !(in(LINE_STATUS)&ROOM)) {
        }
        out(port, (uint8_t)*text);
    }
}

static void print_number(uint32_t port, uint32_t number)
{
    char digits[11];
    char *first = digits + 10;
    *first = 0;
    do {
        *--first = (char)('0' + number % 10);
    } while (number /= 10);
    print(port, first);
}

__attribute__((used)) static void nmi(void)
{
    print(LOG, "@wait fake cpu 0 runs\n@wait fake nobody waits\n");
}

static void catch_nmi(void)
{
    static uint64_t table[3];
    static struct __attribute__((packed)) {
        uint16_t limit;
        uint32_t base;
    } descriptor;
    uint32_t entry = (uint32_t)nmi_entry;
    uint16_t code;
    __asm__("movw %%cs, %0" : "=r"(code));
    table[2] = (uint64_t)(entry & 0xffff0000u) << 32 | 0x8e0000000000u | (uint32_t)code << 16 | (entry & 0xffffu);
    descriptor.limit = sizeof(table) - 1;
    descriptor.base = (uint32_t)table;
    __asm__ volatile("lidt %0" ::"m"(descriptor));
}

/* The text behind `fake=NAME`, or null when another thing is asked for. */
static const char *asked(const char *name)
{
    for (const char *at = options; *at; at++) {
        const char *a = at, *b = "fake=", *c = name;
        while (*b && *a == *b) {
            a++, b++;
        }
        while (!*b && *c && *a == *c) {
            a++, c++;
        }
        if (!*b && !*c) {
            return a;
        }
    }
    return 0;
}

static uint32_t number_at(const char *text)
{
    uint32_t number = 0;
    for (text += *text == ':'; *text >= '0' && *text <= '9'; text++) {
        number = number * 10 + (uint32_t)(*text - '0');
    }
    return number;
}

static void power_off(void)
{
    while (!(in(LINE_STATUS)&EMPTY)) {
    }
    out(0xf4, 0x2a);
    print(0x8900, "Shutdown");
}

static void end(const char *how, uint32_t number)
{
    print(LOG, how);
    print_number(LOG, number);
    print(LOG, "\n");
    if (!asked("linger")) {
        power_off();
    }
}

static void echo(int to_newline)
{
    uint8_t seen = 0; /* every bit of the line status so far: reading clears BREAK, and it comes before its byte */
    for (;;) {
        uint8_t status = in(LINE_STATUS);
        seen |= status;
        if (!(status & RECEIVED)) {
            continue;
        }
        uint8_t byte = in(COM1);
        if (!byte && seen & BREAK) {
            return;
        }
        do {
            status = in(LINE_STATUS);
            seen |= status;
        } while (!(status & ROOM));
        out(COM1, byte);
        if (to_newline && byte == '\n') {
            return;
        }
    }
}

static void flood(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        while (!(in(LINE_STATUS)&ROOM)) {
        }
        out(COM1, (uint8_t)(i * 7 + i / 256));
    }
}

static void print_archive(void)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < archive_size; i++) {
        sum = sum * 31 + archive[i];
    }
    print_number(COM1, archive_size);
    print(COM1, " ");
    print_number(COM1, sum);
    print(COM1, "\n");
}

static void take_boot_information(uint32_t magic, uint32_t info)
{
    if (magic != 0x36d76289u) { /* PVH */
        const struct pvh_info *pvh = (const void *)info;
        options = (const char *)(uint32_t)pvh->cmdline;
        if (pvh->modules) {
            const uint64_t *module = (const void *)(uint32_t)pvh->module_list;
            archive = (const void *)(uint32_t)module[0];
            archive_size = (uint32_t)module[1];
        }
        return;
    }
    for (const uint32_t *tag = (const void *)(info + 8); tag[0]; tag += (tag[1] + 7) / 8 * 2) {
        if (tag[0] == 1) {
            options = (const char *)(tag + 2);
        } else if (tag[0] == 3) {
            archive = (const void *)tag[2];
            archive_size = tag[3] - tag[2];
        }
    }
}

__attribute__((used)) int main(uint32_t magic, uint32_t info)
{
    const char *argument;
    take_boot_information(magic, info);
    out(COM1 + 3, 0x83); /* 115200 baud, 8 data bits */
    out(COM1, 1);
    out(COM1 + 1, 0);
    out(COM1 + 3, 0x03);
    out(COM1 + 2, 0x01); /* queue input bytes */
    catch_nmi();
    print(LOG, "[k0 c0 0.000000] boot: fake\n@plan kernels 1\n@plan kernel 0 cpus 0 node 0 memory 1 MiB\n");
    if (!asked("silent")) {
        print(LOG, "@user\n");
    }
    if ((argument = asked("exit"))) {
        end("@exit code ", number_at(argument));
    } else if ((argument = asked("signal"))) {
        end("@exit signal ", number_at(argument));
    } else if ((argument = asked("flood"))) {
        flood(number_at(argument));
        end("@exit code ", 0);
    } else if (asked("echo") || asked("line")) {
        echo(!asked("echo"));
        end("@exit code ", 0);
    } else if (asked("options")) {
        print(COM1, options);
        end("@exit code ", 0);
    } else if (asked("archive")) {
        print_archive();
        end("@exit code ", 0);
    } else if (asked("warn")) {
        print(LOG, "@option fake: warm= is not known\n");
        end("@exit code ", 7);
    } else if ((argument = asked("death"))) {
        print(LOG, "@died kernel 1: it does not run\n");
        end("@exit code ", number_at(argument));
    } else if ((argument = asked("asked-death"))) {
        print(LOG, "@died kernel 1, as a program asked: it was ended\n");
        end("@exit code ", number_at(argument));
    } else if (asked("linger")) {
        end("@exit code ", 0);
    } else if (asked("panic")) {
        print(LOG, "@panic\nfake: the invariant that nothing breaks\n@panic-end\n");
    } else if (asked("without-first")) {
        print(COM1, "accepted\n");
        print(LOG, "@panic kernel 0 has died: it spins\n@wait kernel 1 cpu 1 idles\n@panic-end\n");
    } else if (asked("reset")) {
        out(0x64, 0xfe);
    }
    for (;;) {
        __asm__ volatile("pause");
    }
}
