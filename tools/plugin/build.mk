# The counting plugin of tools/kettle run --count. Included by the Makefile; needs BUILD and Q.
PLUGIN_SOURCES := $(wildcard tools/plugin/*.c tools/plugin/numa/*.c)

$(BUILD)/plugin/count.so: $(PLUGIN_SOURCES) $(wildcard tools/plugin/*.h tools/plugin/numa/*.h)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -fPIC -std=gnu11 -O2 -g -I. -Wall -Wextra -Werror -fvisibility=hidden -pthread \
	    $(PLUGIN_SOURCES) -o $@
