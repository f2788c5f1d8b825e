"""The kernel's NUMA event counters: allocations by node, automatic balancing of the whole machine.

The kernel keeps them by CPU and adds them up while they move (mm/vmstat.c: sum_vm_events, and before 5.14
sum_zone_numa_state), so that a sum, and a difference of two of them all the more, can be lower than it was. To
Prometheus that would be a restart from 0.
"""

from dataclasses import replace

from numa_exporter.model.machine import Balancing, Topology
from numa_exporter.model.placement import Tally
from numa_exporter.placement.tally import advance

Events = Tally[tuple[int | None, str]]
_LOCAL, _REMOTE, _MIGRATED = (None, "local"), (None, "remote"), (None, "migrated")


def advance_events(before: Events | None, topology: Topology) -> Events:
    """The tally after a reading: a sum that is a little lower than it was counts as what it was, until it is higher.

    One that fell by half was set to 0 (vm.numa_stat) and goes on from there.
    """
    raw = _since_boot(topology)
    known = before.raw if before else {}
    risen = {key: _risen(known.get(key, 0.0), count) for key, count in raw.items()}
    return advance(before, risen, topology.read_at)


def _risen(before: float, now: float) -> float:
    return max(before, now) if 2 * now >= before else now


def _since_boot(topology: Topology) -> dict[tuple[int | None, str], float]:
    """By (node, event), and by (None, event) those of automatic balancing; the known ones only."""
    found: dict[tuple[int | None, str], float] = {
        (node.id, event): count for node in topology.nodes for event, count in node.numastat.items()
    }
    own = topology.balancing
    if own.hint_faults is not None and own.hint_faults_local is not None:
        found[_LOCAL] = own.hint_faults_local
        found[_REMOTE] = max(0, own.hint_faults - own.hint_faults_local)
    if own.pages_migrated is not None:
        found[_MIGRATED] = own.pages_migrated
    return found


def held_balancing(now: Balancing, events: Events) -> Balancing:
    """Balancing with counters that have not fallen; what is unknown now stays so."""
    local, remote, migrated = (events.total.get(key) for key in (_LOCAL, _REMOTE, _MIGRATED))
    if local is None or remote is None or now.hint_faults is None or now.hint_faults_local is None:
        now = replace(now, hint_faults=None, hint_faults_local=None)
    else:
        now = replace(now, hint_faults=int(local + remote), hint_faults_local=int(local))
    if now.pages_migrated is not None:
        now = replace(now, pages_migrated=None if migrated is None else int(migrated))
    return now
