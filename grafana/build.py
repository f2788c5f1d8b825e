"""Writes the dashboards as JSON: python grafana/build.py. A test holds the committed files fresh."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def documents() -> dict[str, str]:
    """JSON text by file name."""
    sys.path.insert(0, str(FOLDER))
    try:
        from dashboards.fleet import fleet
        from dashboards.node import node
        from dashboards.workload import workload
        from grafana_foundation_sdk.cog.encoder import JSONEncoder
    finally:
        sys.path.remove(str(FOLDER))
    made = {"fleet.json": fleet, "node.json": node, "workload.json": workload}
    encoder = JSONEncoder(sort_keys=True, indent=2, ensure_ascii=False)
    return {name: encoder.encode(make().build()) + "\n" for name, make in made.items()}


if __name__ == "__main__":
    for name, text in documents().items():
        (FOLDER / name).write_text(text)
