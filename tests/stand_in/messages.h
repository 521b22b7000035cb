/* Handlers and replies for host tests of code that registers handlers which no message reaches. Included once. */
#ifndef TESTS_STAND_IN_MESSAGES_H
#define TESTS_STAND_IN_MESSAGES_H

#include "msg/channel.h"

void msg_register(enum msg_type type, msg_handler handler, uint32_t size, uint32_t reply_size)
{
    (void)type;
    (void)handler;
    (void)size;
    (void)reply_size;
}

void msg_reply(const struct msg_ticket *ticket, const void *data, uint32_t length)
{
    (void)ticket;
    (void)data;
    (void)length;
}

void msg_reply_error(const struct msg_ticket *ticket, int error)
{
    (void)ticket;
    (void)error;
}

#endif
