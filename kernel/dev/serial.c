/* COM1. See the header. */
#include "kernel/dev/serial.h"

#include "boot/instance.h"
#include "boot/window.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/lib/log.h"
#include "tasks/group.h"
#include "tasks/waitq.h"

#define PORT 0x3f8
#define REG_DATA 0
#define REG_INTERRUPTS 1
#define REG_FIFO 2
#define REG_LINE_CONTROL 3
#define REG_MODEM_CONTROL 4
#define REG_LINE_STATUS 5
#define INTERRUPT_INPUT 0x05 /* data, and line status: a break */
#define STATUS_DATA 0x01
#define STATUS_BREAK 0x10
#define STATUS_EMPTY 0x20
#define FIFO_SIZE 16
#define IRQ 4
#define INPUT_SIZE 4096u

static struct spinlock lock;
static uint8_t input[INPUT_SIZE]; /* [k] lock: a ring */
static uint32_t input_head;       /* [k] bytes ever put in */
static uint32_t input_tail;       /* [k] bytes ever taken out */
static bool ended;                /* [k] a break has come: after these bytes nothing follows */
static bool stalled;              /* [k] no room: the UART keeps what it has until somebody reads */
static struct waitq readers = {{&readers.waiters, &readers.waiters}}; /* [k] */

static void input_interrupts(bool on)
{
    outb(PORT + REG_INTERRUPTS, on ? INTERRUPT_INPUT : 0);
}

static void take_input_locked(void)
{
    static bool break_seen; /* its NUL byte is still in the FIFO, behind what came before */

    for (;;) {
        uint8_t status = inb(PORT + REG_LINE_STATUS);
        uint8_t byte;

        if ((status & STATUS_BREAK) != 0)
            break_seen = true;
        if ((status & STATUS_DATA) == 0)
            break;
        if (input_head - input_tail == INPUT_SIZE) {
            stalled = true;
            input_interrupts(false);
            break;
        }
        byte = inb(PORT + REG_DATA);
        if (break_seen && byte == 0) {
            break_seen = false;
            ended = true;
            continue;
        }
        input[input_head++ % INPUT_SIZE] = byte;
    }
    if (input_head != input_tail || ended)
        waitq_wake_all(&readers);
}

void serial_interrupt(void)
{
    spin_lock(&lock);
    take_input_locked();
    spin_unlock(&lock);
}

static void route_interrupt(void)
{
    uint32_t gsi = IRQ;
    bool active_low = false, level = false;

    for (uint32_t i = 0; i < instance.override_count; i++) {
        if (instance.overrides[i].irq == IRQ) {
            gsi = instance.overrides[i].gsi;
            active_low = instance.overrides[i].active_low;
            level = instance.overrides[i].level;
        }
    }
    for (uint32_t i = 0; i < instance.ioapic_count; i++) {
        if (instance.ioapics[i].gsi_base <= gsi && gsi - instance.ioapics[i].gsi_base < 24) {
            ioapic_route(window_map_device(instance.ioapics[i].address, PAGE_SIZE), instance.ioapics[i].gsi_base, gsi,
                         VECTOR_SERIAL, cpu_self()->apic_id, active_low, level);
            return;
        }
    }
    log_line("serial: no I/O APIC: the terminal has no input");
}

void serial_init(void)
{
    outb(PORT + REG_INTERRUPTS, 0);
    outb(PORT + REG_LINE_CONTROL, 0x80);
    outb(PORT + REG_DATA, 1); /* 115200 baud */
    outb(PORT + REG_INTERRUPTS, 0);
    outb(PORT + REG_LINE_CONTROL, 0x03); /* 8 bits, no parity, 1 stop bit */
    outb(PORT + REG_FIFO, 0x07);         /* FIFOs on and empty, interrupt at the first byte */
    outb(PORT + REG_MODEM_CONTROL, 0x0b);
    route_interrupt();
    input_interrupts(true);
}

void serial_write(const void *data, size_t size)
{
    const uint8_t *bytes = data;

    spin_lock(&lock);
    while (size > 0) {
        while ((inb(PORT + REG_LINE_STATUS) & STATUS_EMPTY) == 0)
            cpu_relax();
        for (int room = FIFO_SIZE; room > 0 && size > 0; room--, size--)
            outb(PORT + REG_DATA, *bytes++);
    }
    spin_unlock(&lock);
}

int64_t serial_read(void *data, size_t size, const struct group *group)
{
    static const struct wait_reason reason = {.what = "terminal input", .kernel = -1};
    uint8_t *bytes = data;
    size_t taken = 0;

    spin_lock(&lock);
    while (input_head == input_tail && !ended) {
        if (group_exiting(group)) {
            spin_unlock(&lock);
            return -EINTR;
        }
        waitq_wait(&readers, &lock, &reason, WAIT_KILLABLE, 0);
    }
    while (taken < size && input_tail != input_head)
        bytes[taken++] = input[input_tail++ % INPUT_SIZE];
    if (stalled && input_head - input_tail < INPUT_SIZE) {
        stalled = false;
        input_interrupts(true);
        take_input_locked();
    }
    spin_unlock(&lock);
    return (int64_t)taken;
}

void serial_wake_readers(void)
{
    spin_lock(&lock);
    waitq_wake_all(&readers);
    spin_unlock(&lock);
}
