# The plugins of tools/kettle run: count.so of --count, preempt.so of --preempt. Included by the Makefile; needs BUILD and Q.
PLUGIN_SOURCES := $(wildcard tools/plugin/*.c tools/plugin/numa/*.c)
PLUGIN_HEADERS := $(wildcard tools/plugin/*.h tools/plugin/numa/*.h)

$(BUILD)/plugin/count.so: $(PLUGIN_SOURCES) $(PLUGIN_HEADERS)
$(BUILD)/plugin/preempt.so: tools/plugin/preempt/preempt.c tools/plugin/qemu_api.h
$(BUILD)/plugin/%.so:
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -fPIC -std=gnu11 -O2 -g -I. -Wall -Wextra -Werror -fvisibility=hidden -pthread \
	    $(filter %.c,$^) -o $@
