{{- define "numa-exporter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* The release's name where it already says what it is, else release-chart. */}}
{{- define "numa-exporter.fullname" -}}
{{- $name := include "numa-exporter.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "numa-exporter.selector" -}}
app.kubernetes.io/name: {{ include "numa-exporter.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- /* Takes the root and an object's own labels, which go before commonLabels; what pods are selected by gives way to
neither. One map: a key that YAML has twice is another one's to every reader. */}}
{{- define "numa-exporter.labels" -}}
{{- $root := first . }}
{{- $chart := dict
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/component" "exporter"
  "app.kubernetes.io/managed-by" $root.Release.Service
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_") }}
{{- $selector := include "numa-exporter.selector" $root | fromYaml }}
{{- merge $selector (last . | default dict) ($root.Values.commonLabels | default dict) $chart | toYaml }}
{{- end }}

{{- /* Of what belongs to no namespace: two releases of one name must not want the same. */}}
{{- define "numa-exporter.clusterName" -}}
{{- $name := include "numa-exporter.fullname" . }}
{{- eq .Release.Namespace $name | ternary $name (printf "%s-%s" $name .Release.Namespace) }}
{{- end }}

{{- define "numa-exporter.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- define "numa-exporter.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "numa-exporter.fullname" .) }}
{{- else }}
{{- .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "numa-exporter.priorityClass" -}}
{{- if .Values.priorityClass.create }}
{{- .Values.priorityClass.name | default (include "numa-exporter.clusterName" .) }}
{{- else }}
{{- .Values.priorityClass.name }}
{{- end }}
{{- end }}

{{- /* appArmorProfile as a field and recursiveReadOnly came with 1.30 and 1.31; older servers refuse unknown fields. */}}
{{- define "numa-exporter.recent" -}}
{{- if semverCompare ">=1.31.0-0" .Capabilities.KubeVersion.Version }}true{{ end }}
{{- end }}

{{- define "numa-exporter.seLinuxOptions" -}}
{{- $options := .Values.seLinuxOptions | default (ternary (dict "type" "spc_t") dict .Values.openshift.enabled) }}
{{- with $options }}
seLinuxOptions:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "numa-exporter.scheme" -}}
{{- ternary "HTTPS" "HTTP" .Values.web.tls }}
{{- end }}
