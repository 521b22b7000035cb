/* Who hears what happens to nodes. See the header. */
#include "kernel/fs/node/notify.h"

struct inotify_hooks inotify_hooks;
volatile uint32_t inotify_watches;
volatile uint32_t inotify_untold;
