/* COM1. See the header. */
#include "kernel/dev/serial.h"

#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"

#define PORT 0x3f8
#define REG_DATA 0
#define REG_INTERRUPTS 1
#define REG_FIFO 2
#define REG_LINE_CONTROL 3
#define REG_MODEM_CONTROL 4
#define REG_LINE_STATUS 5
#define REG_INTERRUPT_ID 2
#define NO_INTERRUPT 0x01     /* in REG_INTERRUPT_ID */
#define INTERRUPT_INPUT 0x05  /* received data, and line status: a break */
#define INTERRUPT_OUTPUT 0x02 /* the transmit FIFO is empty */
#define STATUS_DATA 0x01
#define STATUS_BREAK 0x10
#define STATUS_EMPTY 0x20
#define STATUS_SENT 0x40
#define FIFO_SIZE 16
#define IRQ 4
#define INTERRUPT_ROUNDS 64 /* per interrupt: bounds the loop when the UART never stops interrupting */

void (*serial_on_interrupt)(void);

static uint8_t interrupts; /* the enabled ones, INTERRUPT_* */
static int room;           /* bytes that surely fit into the transmit FIFO */
static bool break_seen;    /* the NUL byte of a break is still in the receive FIFO, behind earlier bytes */

static void enable(uint8_t wanted)
{
    if (wanted != interrupts)
        outb(PORT + REG_INTERRUPTS, wanted);
    interrupts = wanted;
}

void serial_want_input(bool wanted)
{
    enable(wanted ? interrupts | INTERRUPT_INPUT : interrupts & (uint8_t)~INTERRUPT_INPUT);
}

void serial_want_output(bool wanted)
{
    enable(wanted ? interrupts | INTERRUPT_OUTPUT : interrupts & (uint8_t)~INTERRUPT_OUTPUT);
}

/* A break arrives as a NUL byte with STATUS_BREAK in the line status. Reading the status clears this bit. */
static uint8_t read_status(void)
{
    uint8_t status = inb(PORT + REG_LINE_STATUS);

    break_seen |= (status & STATUS_BREAK) != 0;
    return status;
}

int serial_get(void)
{
    uint8_t byte;

    if ((read_status() & STATUS_DATA) == 0)
        return SERIAL_NONE;
    byte = inb(PORT + REG_DATA);
    if (break_seen && byte == 0) {
        break_seen = false;
        return SERIAL_BREAK;
    }
    return byte;
}

bool serial_put(uint8_t byte)
{
    if (room == 0) {
        if ((read_status() & STATUS_EMPTY) == 0)
            return false;
        room = FIFO_SIZE;
    }
    outb(PORT + REG_DATA, byte);
    room--;
    return true;
}

void serial_finish(uint32_t tries)
{
    while ((inb(PORT + REG_LINE_STATUS) & STATUS_SENT) == 0 && tries-- > 0)
        cpu_pause();
}

/* The interrupt is edge-triggered: another edge comes only after the UART has had no pending interrupt. */
void serial_interrupt(void)
{
    for (int round = 0; round < INTERRUPT_ROUNDS && (inb(PORT + REG_INTERRUPT_ID) & NO_INTERRUPT) == 0; round++)
        serial_on_interrupt();
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
    serial_want_input(true);
}
