"""`python -m hosttools`: the kettle command."""

import sys

from hosttools.cli import main

sys.exit(main(sys.argv[1:]))
