"""What the demo's own page is drawn from: the report at the end of a scenario's past."""

from functools import cache

from numa_exporter.agent.look import Looker
from numa_exporter.model.document import document
from numa_exporter.simhost.scenario import built_in
from tests.demo.simulated import host, pipeline, simulation
from tests.page.reports import Json

NAMES = built_in()
STEP = 60.0


@cache
def demo(name: str) -> Json:
    """A look a minute, as it is written into a history."""
    simulated = simulation(name)
    looker = Looker(pipeline(host(simulated, tick=STEP)))
    for _ in range(int(simulated.scenario.past / STEP)):
        report = looker.look()
    return document(report)
