"""One run: `kettle run`, `debug`, `events`."""
