"""What every test needs."""

import signal

# A shell that starts pytest in the background has SIGINT ignored, which child processes inherit:
# those that test Ctrl-C would never see it.
signal.signal(signal.SIGINT, signal.default_int_handler)
