"""A fleet: each machine says what a simulation of its own would have said."""

import json

from aiohttp.test_utils import TestClient, TestServer

from numa_exporter.agent import fleet
from numa_exporter.agent.look import Looker
from numa_exporter.metrics import TABLE, View
from numa_exporter.metrics.exposition import families, text
from numa_exporter.simhost.fleet import Stencil, drawn
from tests.demo.simulated import host, pipeline, simulation


def metrics(seed: int) -> bytes:
    looker = Looker(pipeline(host(simulation("two-socket-eight-gpu", seed), first=-900)))
    return text(families(TABLE, View(report=looker.looks(3, 10)[-1])))


def test_another_seed_differs_by_its_names_only() -> None:
    told = simulation("two-socket-eight-gpu").scenario
    stencil = Stencil(metrics(1), drawn(told, 1))
    assert stencil.filled(drawn(told, 1)) == metrics(1)
    assert sorted(stencil.filled(drawn(told, 7)).splitlines()) == sorted(metrics(7).splitlines())


async def test_targets_for_http_sd_lead_to_each_machine() -> None:
    served = fleet.Fleet(["a", "b"], lambda number: f"up {number}\n".encode(), lambda: None, 60)
    async with TestClient(TestServer(fleet.application(served))) as client:
        groups = json.loads(await (await client.get("/sd")).text())
        assert [group["labels"]["node"] for group in groups] == ["a", "b"]
        for group in groups:
            assert group["targets"] == [f"{client.host}:{client.port}"]
            answer = await client.get("/metrics", params={"node": group["labels"]["__param_node"]})
            assert await answer.text() == f"up {group['labels']['__param_node']}\n"
        for wrong in ("2", "-1", "a", ""):
            assert (await client.get("/metrics", params={"node": wrong})).status == 400
