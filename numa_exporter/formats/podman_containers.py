"""Podman's list of its containers: containers.json of containers/storage, one JSON list.

containers/storage pkg: containers.go; the layers' driver is in the folder's name::

    /var/lib/containers/storage/overlay-containers/containers.json
    [{"id":"40af7cdc…","names":["llm"],"image":"…","layer":"…","metadata":"{…}","created":"2026-01-31T…"}]

No units. The first name is the one that podman shows.
"""

import json
from collections.abc import Mapping

from numa_exporter.formats.json_object import member, of_kind
from numa_exporter.formats.parse_error import ParseError


def parse(data: bytes, path: str) -> Mapping[str, str]:
    """Name by container id; a container without a name is left out."""
    try:
        rows = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ParseError(path, 1, data, "JSON") from error
    found: dict[str, str] = {}
    for row in of_kind(rows, list, "the file", path):
        container = of_kind(row, dict, "a container", path)
        names = member(container, "names", list, path)
        if names:
            found[member(container, "id", str, path)] = str(names[0])
    return found
