{{- define "numa-exporter.container" -}}
- name: numa-exporter
  image: {{ include "numa-exporter.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  args:
    {{- include "numa-exporter.args" . | nindent 4 }}
  env:
    {{- include "numa-exporter.env" . | nindent 4 }}
  ports:
    - name: metrics
      containerPort: {{ .Values.web.port }}
      protocol: TCP
  securityContext:
    {{- if and (eq .Values.nvml.access "driverRoot") .Values.nvml.privileged }}
    privileged: true
    {{- else }}
    privileged: false
    allowPrivilegeEscalation: false
    {{- end }}
    readOnlyRootFilesystem: true
    {{- /* int64: a number of a values file is a float, and 1000650000 would be written 1.00065e+09 */}}
    runAsUser: {{ .Values.runAsUser | int64 }}
    runAsGroup: {{ .Values.runAsUser | int64 }}
    {{- if .Values.runAsUser }}
    runAsNonRoot: true
    {{- end }}
    capabilities:
      drop: [ALL]
      {{- with .Values.capabilities }}
      add:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    seccompProfile:
      type: {{ .Values.seccomp.type }}
      {{- if eq .Values.seccomp.type "Localhost" }}
      localhostProfile: {{ .Values.seccomp.profile | quote }}
      {{- end }}
    {{- if and .Values.appArmor (include "numa-exporter.recent" .) }}
    appArmorProfile:
      type: {{ .Values.appArmor }}
    {{- end }}
    {{- with include "numa-exporter.seLinuxOptions" . }}
    {{- . | nindent 4 }}
    {{- end }}
  livenessProbe:
    httpGet: {path: /-/healthy, port: metrics, scheme: {{ include "numa-exporter.scheme" . }}}
    {{- toYaml .Values.probes.liveness | nindent 4 }}
  readinessProbe:
    httpGet: {path: /-/ready, port: metrics, scheme: {{ include "numa-exporter.scheme" . }}}
    {{- toYaml .Values.probes.readiness | nindent 4 }}
  resources:
    # No CPU limit: see values.yaml.
    {{- toYaml .Values.resources | nindent 4 }}
  volumeMounts:
    # HostToContainer: what the host unmounts must go here too, or a pod's volume could not be detached from the node.
    - name: host
      mountPath: /host
      readOnly: true
      mountPropagation: HostToContainer
    # The host's own: a container's have paths masked and a cgroup tree of its own. readOnly leaves the mounts below a
    # mount writable, and uid 0 needs no capability to write to sysfs or to a cgroup: recursiveReadOnly closes those.
    - name: proc
      mountPath: /host/proc
      readOnly: true
      {{- if include "numa-exporter.recent" . }}
      recursiveReadOnly: IfPossible
      {{- end }}
    - name: sys
      mountPath: /host/sys
      readOnly: true
      {{- if include "numa-exporter.recent" . }}
      recursiveReadOnly: IfPossible
      {{- end }}
    {{- if eq .Values.nvml.access "driverRoot" }}
    - name: driver
      mountPath: /driver-root
      readOnly: true
      mountPropagation: HostToContainer # a driver container mounts its root anew when it restarts
    {{- end }}
    {{- if .Values.intents }}
    - name: intents
      mountPath: /etc/numa-exporter/intents
      readOnly: true
    {{- end }}
    {{- if .Values.web.configSecret }}
    - name: web
      mountPath: /etc/numa-exporter/web
      readOnly: true
    {{- end }}
    {{- with .Values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- /* In UTC a log line says when, wherever the node is. NVIDIA's runtime reads the other two: the library and the nodes
of all GPUs, nothing that computes; a GPU seen so is not allocated, for the kubelet does not know. What extraEnv says too
is left out: a name that comes twice is an error to server-side apply. */}}
{{- define "numa-exporter.env" -}}
{{- $chart := dict "TZ" "UTC" }}
{{- if eq .Values.nvml.access "runtimeClass" }}
{{- $chart = merge $chart (dict "NVIDIA_VISIBLE_DEVICES" "all" "NVIDIA_DRIVER_CAPABILITIES" "utility") }}
{{- end }}
{{- range .Values.extraEnv }}
{{- $chart = omit $chart .name }}
{{- end }}
{{- $env := list }}
{{- range $name, $value := $chart }}
{{- $env = append $env (dict "name" $name "value" $value) }}
{{- end }}
{{- concat $env (.Values.extraEnv | default list) | toYaml }}
{{- end }}

{{- define "numa-exporter.podAnnotations" -}}
{{- $chart := dict "kubectl.kubernetes.io/default-container" "numa-exporter" }}
{{- if .Values.intents }}
{{- $_ := set $chart "checksum/intents" (toYaml .Values.intents | sha256sum) }}
{{- end }}
{{- if and (eq .Values.seccomp.type "Localhost") .Values.seccomp.install }}
{{- $_ := set $chart "checksum/seccomp" (.Files.Get "files/seccomp/numa-exporter.json" | sha256sum) }}
{{- end }}
{{- if and .Values.appArmor (not (include "numa-exporter.recent" .)) }}
{{- $profile := eq .Values.appArmor "Unconfined" | ternary "unconfined" "runtime/default" }}
{{- $_ := set $chart "container.apparmor.security.beta.kubernetes.io/numa-exporter" $profile }}
{{- end }}
{{- merge dict (.Values.podAnnotations | default dict) $chart | toYaml }}
{{- end }}

{{- define "numa-exporter.args" -}}
- serve
- --path.rootfs=/host
- --web.listen-address=:{{ .Values.web.port }}
- --interval={{ toJson .Values.interval }}
- --log.level={{ .Values.log.level }}
- --log.format={{ .Values.log.format }}
{{- if not .Values.web.page }}
- --no-web.page
{{- end }}
{{- if .Values.web.configSecret }}
- --web.config.file=/etc/numa-exporter/web/web.yml
{{- end }}
{{- if .Values.intents }}
- --intent.file=/etc/numa-exporter/intents/intents.yaml
{{- end }}
{{- if ne .Values.kubelet.root "/var/lib/kubelet" }}
- --kubelet.root={{ .Values.kubelet.root }}
{{- end }}
{{- with .Values.kubelet.criSocket }}
- --kubelet.cri-socket=/host{{ . }}
{{- end }}
{{- range $name, $on := .Values.sources }}
- --{{ if not $on }}no-{{ end }}source.{{ $name }}
{{- end }}
{{- range $name, $limit := .Values.thresholds }}
{{- /* toJson writes 536870912 where %v writes 5.36870912e+08 */}}
- --threshold.{{ $name }}={{ kindIs "string" $limit | ternary $limit (toJson $limit) }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{- /* Lays the profile where the kubelet looks for it, before the agent's own container is made. In one step: another
pod may be starting with it. */}}
{{- define "numa-exporter.seccompInstaller" -}}
- name: seccomp
  image: {{ include "numa-exporter.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command:
    - sh
    - -euc
    - cp "/profile/$PROFILE" "/seccomp/.$PROFILE" && mv "/seccomp/.$PROFILE" "/seccomp/$PROFILE"
  env:
    - name: PROFILE
      value: {{ .Values.seccomp.profile | quote }}
  securityContext:
    privileged: false
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    runAsUser: 0 # whom the folder belongs to; no capability
    runAsGroup: 0
    capabilities:
      drop: [ALL]
    {{- with include "numa-exporter.seLinuxOptions" . }}
    {{- . | nindent 4 }}
    {{- end }}
  resources:
    requests: {cpu: 10m, memory: 16Mi}
    limits: {memory: 32Mi}
  volumeMounts:
    - name: seccomp-profile
      mountPath: /profile
      readOnly: true
    - name: seccomp
      mountPath: /seccomp
{{- end }}
