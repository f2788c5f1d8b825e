"""cpuset_off_home: a rank may not use a single CPU of its home.

A warning where it may not even use its home's socket; on a socket of several nodes (NPS4, SNC) the CPUs next door are
no reason to be woken.
"""

from collections.abc import Iterator

from numa_exporter.findings import evidence, remedy, words
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene, about, trust
from numa_exporter.formats import idlist
from numa_exporter.model.report import Finding


def find(scene: Scene) -> Iterator[Finding]:
    machine = scene.machine
    for workload, rank in scene.ranks():
        allowed = workload.cgroup.cpus if workload.cgroup else None
        if not allowed or not rank.home or allowed & words.cpus_of(machine, rank.home):
            continue
        told = remedy.container(scene, workload, rank)
        near = bool(allowed & words.cpus_of(machine, words.on_sockets_of(machine, rank.home)))
        yield Finding(
            code="cpuset_off_home",
            level="info" if near else "warning",
            subject=about(rank),
            sentence=f"{words.rank(machine, workload, rank)} may not use a single CPU of its home, "
            f"{words.nodes(rank.home)}: its cpuset has CPUs {idlist.render(allowed)} of "
            f"{words.nodes(words.nodes_of(machine, allowed))}.",
            value=0.0,
            limit=1.0,
            confidence=trust(rank),
            evidence=(*evidence.cpuset(workload), *evidence.home(machine, rank)),
            remedy=told.remedy,
            remedy_note=told.note,
        )


RULE = Rule(
    code="cpuset_off_home",
    levels=("warning", "info"),
    docs="The cpuset has no CPU of the rank's home; info where it has some of the home's socket.",
    find=find,
    looks=True,
)
