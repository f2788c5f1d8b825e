"""What the web server says of others' mistakes."""

import logging

import pytest
from aiohttp.http_exceptions import BadStatusLine

from numa_exporter.agent.web import _ours


@pytest.mark.parametrize(("error", "said"), [(BadStatusLine("\x16\x03"), False), (ZeroDivisionError(), True)])
def test_a_request_that_is_no_http_is_not_logged(error: Exception, said: bool) -> None:
    record = logging.LogRecord("aiohttp.server", logging.ERROR, "", 0, "", (), (type(error), error, None))
    assert _ours(record) is said
