/* Local APIC (timer, interprocessor interrupts) and I/O APIC (the serial line), Intel SDM 3A chapter 10. */
#ifndef KERNEL_ARCH_APIC_H
#define KERNEL_ARCH_APIC_H

#include <stdbool.h>
#include <stdint.h>

/* Sets the address where the xAPIC registers are mapped; not needed with x2APIC. Once per instance. */
void apic_set_registers(volatile uint32_t *registers);
/* Switches on the calling CPU's local APIC. */
void apic_init_cpu(void);
void apic_end_of_interrupt(void);

/* Sends interrupt VECTOR to the CPU with APIC id TARGET; returns when the APIC has accepted it. */
void apic_send(uint32_t target, uint8_t vector);
void apic_send_init(uint32_t target);
void apic_send_startup(uint32_t target, uint8_t page);
/* The same of an NMI, also within the handler of one, which may have interrupted a send. */
void apic_send_nmi(uint32_t target);

/* Sets the timer ticks per second with our divider; measured once by clock_calibrate. */
void apic_timer_set_rate(uint64_t ticks_per_second);
/* Arms one interrupt VECTOR_TIMER after NANOSECONDS (at least one tick), replacing an earlier one; 0 cancels. */
void apic_timer_arm(uint64_t nanoseconds);
/* For calibration: the raw counter, which counts down from 0xffffffff. */
void apic_timer_start_raw(void);
uint32_t apic_timer_read_raw(void);

/* Routes global system interrupt GSI to VECTOR on the CPU TARGET through the I/O APIC whose registers are mapped at
 * REGISTERS and which serves interrupts from GSI_BASE on. */
void ioapic_route(volatile uint32_t *registers, uint32_t gsi_base, uint32_t gsi, uint8_t vector, uint32_t target,
                  bool active_low, bool level);

#endif
