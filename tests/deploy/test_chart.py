"""The Helm chart: both majors of Helm, and what each value does."""

import json
from pathlib import Path
from typing import Any

import pytest

from numa_exporter.cli.intents import load
from numa_exporter.cli.main import parser
from tests.deploy.chart import CHART, RECENT, Helm, Object, container, one, pod_spec

EVERYTHING = {
    "podMonitor.enabled": True,
    "prometheusRule.enabled": True,
    "dashboards.enabled": True,
    "openshift.enabled": True,
    "web.configSecret": "web",
    "intents": [{"workload": {"pod": "llm-*"}, "codes": ["cpu_remote"], "reason": "a trial", "until": "2030-01-01"}],
}
OLD = "1.20.2"


@pytest.mark.parametrize("major", [3, 4])
def test_lint(helms: dict[int, Helm], major: int) -> None:
    assert "0 chart(s) failed" in helms[major].run("lint", "--strict", str(CHART))


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["default", "everything"])
@pytest.mark.parametrize("version", [OLD, RECENT])
def test_both_majors_render_the_same(helms: dict[int, Helm], values: dict[str, Any], version: str) -> None:
    def by_name(objects: list[Object]) -> dict[tuple[str, str], Object]:
        return {(made["kind"], made["metadata"]["name"]): made for made in objects}

    assert by_name(helms[3].template(values, version)) == by_name(helms[4].template(values, version))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"thresholds": {"memory": 0.3, "memory-bytes": 1073741824, "irq-rate": "2000", "gpu-node-bytes": "2GiB"}},
        {"sources": {"traffic": False, "devices": True}, "web.page": False, "log.format": "json", "interval": 30},
        {"extraArgs": ["--max-series=5000", "--workload.exclude=^kube-system/"], "web.port": 9100},
        {"web.configSecret": "web", "intents": EVERYTHING["intents"]},
        {"kubelet.root": "/var/lib/k0s/kubelet", "kubelet.criSocket": "/run/k0s/containerd.sock"},
    ],
    ids=["default", "thresholds", "sources", "extra", "files", "kubelet"],
)
def test_the_exporter_takes_the_arguments(helm: Helm, values: dict[str, Any]) -> None:
    arguments = container(helm.template(values))["args"]
    parsed = parser().parse_args(arguments)
    assert (parsed.verb, parsed.rootfs) == ("serve", "/host")
    assert parsed.interval == values.get("interval", 15)
    assert (parsed.kubelet_root, parsed.kubelet_socket) == (values.get("kubelet.root"), None)
    cri = values.get("kubelet.criSocket")
    assert parsed.cri_socket == (f"/host{cri}" if cri else None)
    for name, limit in values.get("thresholds", {}).items():
        told = getattr(parsed, f"threshold_{name.replace('-', '_')}")
        assert told == {"2GiB": 2 << 30, "2000": 2000}.get(limit, limit)


def test_intents_are_a_file_that_the_exporter_reads(helm: Helm, tmp_path: Path) -> None:
    objects = helm.template({"intents": EVERYTHING["intents"]})
    (made,) = (o for o in objects if o["metadata"]["name"].endswith("-intents"))
    file = tmp_path / "intents.yaml"
    file.write_text(made["data"]["intents.yaml"])
    (intent,) = load(str(file))
    assert (intent.pod, intent.codes, intent.reason) == ("llm-*", frozenset({"cpu_remote"}), "a trial")
    mounted = {mount["name"]: mount["mountPath"] for mount in container(objects)["volumeMounts"]}
    assert f"--intent.file={mounted['intents']}/intents.yaml" in container(objects)["args"]


def test_rights_of_the_agent(rendered: list[Object]) -> None:
    rights = container(rendered)["securityContext"]
    assert rights == {
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "runAsUser": 0,
        "runAsGroup": 0,
        "capabilities": {"drop": ["ALL"], "add": ["SYS_PTRACE", "DAC_READ_SEARCH"]},
        "seccompProfile": {"type": "Localhost", "localhostProfile": "numa-exporter.json"},
        "appArmorProfile": {"type": "Unconfined"},
    }
    spec = pod_spec(rendered)
    assert spec["hostPID"] is True
    assert "hostNetwork" not in spec and "hostIPC" not in spec
    assert spec["automountServiceAccountToken"] is False
    assert one(rendered, "ServiceAccount")["automountServiceAccountToken"] is False
    assert not {made["kind"] for made in rendered} & {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"}


def test_limits_and_rollout(rendered: list[Object]) -> None:
    assert container(rendered)["resources"] == {
        "requests": {"cpu": "50m", "memory": "96Mi"},
        "limits": {"memory": "256Mi"},  # and no CPU limit
    }
    rollout = one(rendered, "DaemonSet")["spec"]["updateStrategy"]
    assert rollout == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}
    assert one(rendered, "PriorityClass")["preemptionPolicy"] == "Never"
    assert container(rendered)["livenessProbe"]["httpGet"]["path"] == "/-/healthy"
    assert container(rendered)["readinessProbe"]["httpGet"]["path"] == "/-/ready"


def test_every_mount_of_the_host_is_read_only(helm: Helm) -> None:
    spec = pod_spec(helm.template({"nvml.access": "driverRoot"}))
    host = {volume["name"] for volume in spec["volumes"] if "hostPath" in volume}
    (agent,) = spec["containers"]
    mounts = {mount["name"]: mount for mount in agent["volumeMounts"]}
    assert host & set(mounts) == {"host", "proc", "sys", "driver"}
    assert all(mount["readOnly"] for mount in mounts.values())
    assert mounts["proc"]["recursiveReadOnly"] == mounts["sys"]["recursiveReadOnly"] == "IfPossible"
    # Kubernetes refuses the two together, and a root that keeps the host's mounts would hold pods' volumes.
    assert mounts["host"]["mountPropagation"] == "HostToContainer" and "recursiveReadOnly" not in mounts["host"]


def test_an_older_cluster_gets_no_field_that_it_does_not_know(helm: Helm) -> None:
    objects = helm.template(version=OLD)
    agent = container(objects)
    assert "appArmorProfile" not in agent["securityContext"]
    assert not any("recursiveReadOnly" in mount for mount in agent["volumeMounts"])
    annotations = one(objects, "DaemonSet")["spec"]["template"]["metadata"]["annotations"]
    assert annotations["container.apparmor.security.beta.kubernetes.io/numa-exporter"] == "unconfined"


def test_nvml_by_the_runtime_class(rendered: list[Object]) -> None:
    environment = {pair["name"]: pair["value"] for pair in container(rendered)["env"]}
    assert pod_spec(rendered)["runtimeClassName"] == "nvidia"
    assert (environment["NVIDIA_VISIBLE_DEVICES"], environment["NVIDIA_DRIVER_CAPABILITIES"]) == ("all", "utility")


@pytest.mark.parametrize("access", ["driverRoot", "none"])
def test_nvml_without_a_runtime_class(helm: Helm, access: str) -> None:
    objects = helm.template({"nvml.access": access, "nvml.driverRoot": "/opt/driver"})
    assert "runtimeClassName" not in pod_spec(objects)
    assert not [pair for pair in container(objects)["env"] if pair["name"].startswith("NVIDIA_")]
    paths = [volume["hostPath"]["path"] for volume in pod_spec(objects)["volumes"] if "hostPath" in volume]
    assert ("/opt/driver" in paths) == (access == "driverRoot")
    assert container(objects)["securityContext"]["privileged"] is False


def test_privileged_only_by_name_and_only_for_the_drivers_root(helm: Helm) -> None:
    asked = {"nvml.privileged": True}
    assert container(helm.template(asked))["securityContext"]["privileged"] is False
    rights = container(helm.template(asked | {"nvml.access": "driverRoot"}))["securityContext"]
    # Kubernetes refuses privileged beside allowPrivilegeEscalation: false.
    assert rights["privileged"] is True and "allowPrivilegeEscalation" not in rights


def test_an_agent_without_any_right(helm: Helm) -> None:
    rights = container(helm.template({"capabilities": [], "runAsUser": 65532}))["securityContext"]
    assert rights["capabilities"] == {"drop": ["ALL"]}
    assert (rights["runAsUser"], rights["runAsNonRoot"]) == (65532, True)


def test_numbers_and_names_of_digits_stay_what_they_are(helm: Helm) -> None:
    """A number of a values file is a float, and a word of digits a number, unless a template says otherwise."""
    objects = helm.template(
        {
            "runAsUser": 1000650000,
            "interval": 1000000,
            "terminationGracePeriodSeconds": 1000000,
            "priorityClass.value": 1000000000,
            "podMonitor.enabled": True,
            "podMonitor.sampleLimit": 100000000,
            "seccomp.profile": "1234",
            "web.configSecret": "5678",
            "nameOverride": "90",
        }
    )
    rights = container(objects)["securityContext"]
    assert (rights["runAsUser"], rights["runAsGroup"]) == (1000650000, 1000650000)
    assert parser().parse_args(container(objects)["args"]).interval == 1000000
    assert pod_spec(objects)["terminationGracePeriodSeconds"] == 1000000
    assert one(objects, "PriorityClass")["value"] == 1000000000
    assert one(objects, "PodMonitor")["spec"]["sampleLimit"] == 100000000
    assert rights["seccompProfile"]["localhostProfile"] == "1234"
    (laid,) = (o for o in objects if o["metadata"]["name"].endswith("-seccomp"))
    assert list(laid["data"]) == ["1234"]
    (web,) = (volume for volume in pod_spec(objects)["volumes"] if volume["name"] == "web")
    assert web["secret"]["secretName"] == "5678"
    assert one(objects, "DaemonSet")["spec"]["selector"]["matchLabels"]["app.kubernetes.io/name"] == "90"


def test_dashboards_of_a_long_release_keep_names_of_their_own(helm: Helm) -> None:
    objects = helm.template({"dashboards.enabled": True, "fullnameOverride": "n" * 63})
    names = [made["metadata"]["name"] for made in objects if made["kind"] == "ConfigMap"]
    assert len(names) == len(set(names)) >= 3


def test_what_belongs_to_no_namespace_is_named_by_it(helm: Helm) -> None:
    """Two releases of one name, each in a namespace of its own."""

    def names(namespace: str) -> set[str]:
        chosen = ("--set=openshift.enabled=true", "--namespace", namespace)
        objects = helm.objects(helm.run("template", "numa-exporter", str(CHART), *chosen))
        shared = [made for made in objects if "namespace" not in made["metadata"]]
        assert pod_spec(objects)["priorityClassName"] == one(shared, "PriorityClass")["metadata"]["name"]
        return {f"{made['kind']}/{made['metadata']['name']}" for made in shared}

    both = names("numa-exporter"), names("team-b")
    assert both[0] == {"PriorityClass/numa-exporter", "SecurityContextConstraints/numa-exporter"}
    assert not both[0] & both[1] and len(both[1]) == 2


def test_volumes_of_your_own(helm: Helm) -> None:
    """The toolkit's other way to be told of GPUs, where it heeds no environment variable."""
    volume = {"name": "gpus", "hostPath": {"path": "/dev/null"}}
    mount = {"name": "gpus", "mountPath": "/var/run/nvidia-container-devices/all", "readOnly": True}
    objects = helm.template({"extraVolumes": [volume], "extraVolumeMounts": [mount]})
    assert pod_spec(objects)["volumes"][-1] == volume
    assert container(objects)["volumeMounts"][-1] == mount


def test_nodes_by_any_gpu_label(helm: Helm, rendered: list[Object]) -> None:
    affinity = pod_spec(rendered)["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    terms = [term["matchExpressions"][0] for term in affinity["nodeSelectorTerms"]]
    assert {"key": "nvidia.com/gpu.present", "operator": "In", "values": ["true"]} in terms
    assert {"key": "cloud.google.com/gke-accelerator", "operator": "Exists"} in terms
    assert "affinity" not in pod_spec(helm.template({"gpuNodeLabels": []}))


@pytest.mark.parametrize("kind", ["Localhost", "RuntimeDefault", "Unconfined"])
def test_the_seccomp_profile_and_its_fallbacks(helm: Helm, kind: str) -> None:
    objects = helm.template({"seccomp.type": kind, "kubelet.root": "/var/lib/k0s/kubelet"})
    spec = pod_spec(objects)
    assert container(objects)["securityContext"]["seccompProfile"]["type"] == kind
    laid = [v["hostPath"]["path"] for v in spec["volumes"] if v["name"] == "seccomp"]
    assert laid == (["/var/lib/k0s/kubelet/seccomp"] if kind == "Localhost" else [])
    assert ("initContainers" in spec) == (kind == "Localhost")


def test_the_profile_is_laid_by_a_container_without_capabilities(rendered: list[Object]) -> None:
    (installer,) = pod_spec(rendered)["initContainers"]
    assert installer["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    writable = [mount["name"] for mount in installer["volumeMounts"] if not mount.get("readOnly")]
    assert writable == ["seccomp"]


def test_openshift(helm: Helm) -> None:
    objects = helm.template({"openshift.enabled": True})
    constraints = one(objects, "SecurityContextConstraints")
    assert constraints["allowHostPID"] and constraints["allowHostDirVolumePlugin"]
    assert not constraints["allowPrivilegedContainer"] and not constraints["allowHostNetwork"]
    assert constraints["allowedCapabilities"] == ["SYS_PTRACE", "DAC_READ_SEARCH"]
    assert constraints["users"] == ["system:serviceaccount:numa-exporter:numa-exporter"]
    assert "localhost/numa-exporter.json" in constraints["seccompProfiles"]
    assert container(objects)["securityContext"]["seLinuxOptions"] == {"type": "spc_t"}


def test_openshifts_prometheus_may_list_the_pods_that_it_shall_scrape(helm: Helm) -> None:
    objects = helm.template({"openshift.enabled": True, "podMonitor.enabled": True})
    role, binding = one(objects, "Role"), one(objects, "RoleBinding")
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    (subject,) = binding["subjects"]
    assert (subject["namespace"], subject["name"]) == ("openshift-monitoring", "prometheus-k8s")


def test_openshift_permits_the_volumes_that_were_added(helm: Helm) -> None:
    volumes = [{"name": "scratch", "emptyDir": {}}, {"name": "more", "hostPath": {"path": "/opt"}}]
    objects = helm.template({"openshift.enabled": True, "extraVolumes": volumes})
    used = {kind for volume in pod_spec(objects)["volumes"] for kind in volume if kind != "name"}
    assert used == {"configMap", "emptyDir", "hostPath"}
    assert used <= set(one(objects, "SecurityContextConstraints")["volumes"])


def test_notes_name_what_is_lost_and_what_is_missing(helm: Helm) -> None:
    def notes(**values: Any) -> str:
        chosen = [f"--set-json={key.replace('_', '.')}={json.dumps(value)}" for key, value in values.items()]
        return helm.run("install", "x", str(CHART), "--dry-run=client", "--namespace", "monitoring", *chosen)

    assert "pod-security.kubernetes.io/enforce=privileged" in notes()
    assert 'RuntimeClass "nvidia"' in notes()
    assert "no bytes per holder" in notes(nvml_access="none")
    assert "refuses move_pages" in notes(seccomp_type="RuntimeDefault")
    assert "/var/lib/kubelet/seccomp/numa-exporter.json" in notes(seccomp_install=False)
    assert "Nothing scrapes it yet" not in notes(podMonitor_enabled=True)
    assert "http://localhost:10062/ " in notes()
    assert "http://localhost:10062/metrics" in notes(web_page=False)
    encrypted = {"podMonitor_enabled": True, "web_tls": True, "web_configSecret": "web"}
    assert "podMonitor.endpoint.tlsConfig" in notes(**encrypted)
    assert "podMonitor.endpoint.tlsConfig" not in notes(**encrypted, podMonitor_endpoint={"tlsConfig": {"ca": {}}})
