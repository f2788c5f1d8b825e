"""Run beside a target: looks at it back to back until killed. python -m tests.bench.observe PID"""

import sys

from tests.bench.looks import Looks

reader = Looks(int(sys.argv[1]), "sample")
while True:
    reader.look()
