"""How a verb refuses: one clear line on standard error, exit status 2."""

EXIT_OK = 0
EXIT_FOUND = 1
EXIT_UNKNOWN = 2


class UsageError(Exception):
    """Something that the person who typed the command can mend. The message names the flag or file."""
