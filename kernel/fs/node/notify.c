/* The state of event reporting. See the header. */
#include "kernel/fs/node/notify.h"

struct inotify_hooks inotify_hooks;
volatile uint32_t inotify_watches;
volatile uint32_t inotify_unnotified;
