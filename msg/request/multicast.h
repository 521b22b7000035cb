/* The largest request that may be multicast, in bytes. See msg_multicast in msg/request/call.h. */
#ifndef MSG_MULTICAST_H
#define MSG_MULTICAST_H

#define MULTICAST_MAX 4096u

#endif
