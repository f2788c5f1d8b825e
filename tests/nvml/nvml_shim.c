/* libnvidia-ml.so.1 for tests: NVML's own symbols and layouts, answered from the text file that machine.c reads. */
#include "machine.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	char legacy_bus_id[16];
	unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
	char bus_id[32];
} PciInfo;

typedef struct {
	unsigned pid;
	unsigned long long used;
	unsigned gpu_instance, compute_instance;
} ProcessInfo; /* the layout of _v2 and _v3 */

typedef struct {
	unsigned long long total, free, used;
} Memory;

typedef struct {
	unsigned version;
	unsigned long long total, reserved, free, used;
} MemoryV2;

typedef struct {
	uint32_t field, scope;
	int64_t timestamp, latency;
	int value_type, status;
	unsigned long long value;
} FieldValue;

_Static_assert(sizeof(PciInfo) == 68 && sizeof(ProcessInfo) == 24, "nvml.h's layouts");
_Static_assert(sizeof(MemoryV2) == 40 && sizeof(FieldValue) == 40, "nvml.h's layouts");

#define ENTER(device)                                              \
	do {                                                       \
		int status = enter(__func__, device);              \
		if (status || !users)                              \
			return status ? status : UNINITIALIZED;    \
	} while (0)

/* As ENTER, and finds the handle's RECORD. */
#define ENTER_DEVICE(device, record)               \
	if (!(device))                             \
		return INVALID_ARGUMENT;           \
	ENTER(device);                             \
	if (!look_up(device, record))              \
		return GPU_IS_LOST

/* ---- library and driver ---- */

int nvmlInitWithFlags(unsigned flags)
{
	int status = enter(__func__, NULL);

	(void)flags;
	if (!status)
		users++;
	return status;
}

int nvmlInit_v2(void)
{
	return nvmlInitWithFlags(0);
}

int nvmlShutdown(void)
{
	ENTER(NULL);
	users--;
	return SUCCESS;
}

const char *nvmlErrorString(int status)
{
	static _Thread_local char text[32];

	snprintf(text, sizeof text, "NVML error %d", status);
	return text;
}

static int driver(const char *key, char *text, unsigned size)
{
	const char *cursor = machine;
	char record[RECORD];

	return next(&cursor, "driver", record) ? copy(record, key, text, size) : NOT_SUPPORTED;
}

int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
	ENTER(NULL);
	return driver("version", version, size);
}

int nvmlSystemGetNVMLVersion(char *version, unsigned size)
{
	ENTER(NULL);
	return driver("nvml", version, size);
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	char text[16];
	int status;

	ENTER(NULL);
	status = driver("cuda", text, sizeof text);
	if (!status)
		*version = atoi(text);
	return status;
}

/* ---- finding devices ---- */

int nvmlDeviceGetCount_v2(unsigned *count)
{
	char record[RECORD];

	ENTER(NULL);
	for (*count = 0; nth_gpu((int)*count, record);)
		++*count;
	return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *device)
{
	char record[RECORD];

	ENTER(handle((int)index, -1));
	if (!nth_gpu((int)index, record))
		return INVALID_ARGUMENT;
	*device = handle((int)index, -1);
	return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, Device *device)
{
	char record[RECORD];

	ENTER(NULL);
	for (int gpu = 0; nth_gpu(gpu, record); gpu++) {
		*device = handle(gpu, -1);
		if (is(record, "uuid", uuid))
			return SUCCESS;
		for (int mig = 0; nth_mig(gpu, mig, record); mig++) {
			*device = handle(gpu, mig);
			if (is(record, "uuid", uuid))
				return SUCCESS;
		}
	}
	return NOT_FOUND;
}

static int parse_pci(const char *text, unsigned part[4])
{
	return text && sscanf(text, "%x:%x:%x.%x", &part[0], &part[1], &part[2], &part[3]) == 4;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, Device *device)
{
	char record[RECORD];
	unsigned wanted[4], found[4];

	ENTER(NULL);
	if (!parse_pci(bus_id, wanted))
		return INVALID_ARGUMENT;
	for (int gpu = 0; nth_gpu(gpu, record); gpu++) {
		*device = handle(gpu, -1);
		if (parse_pci(value(record, "pci"), found) && !memcmp(wanted, found, sizeof found))
			return SUCCESS;
	}
	return NOT_FOUND;
}

/* ---- what a device is ---- */

#define TEXT(function, key)                                    \
	int function(Device device, char *text, unsigned size) \
	{                                                      \
		char record[RECORD];                           \
		ENTER_DEVICE(device, record);                  \
		return copy(record, key, text, size);          \
	}

#define NUMBER(function, key)                                  \
	int function(Device device, unsigned *result)          \
	{                                                      \
		char record[RECORD];                           \
		ENTER_DEVICE(device, record);                  \
		if (!value(record, key))                       \
			return NOT_SUPPORTED;                  \
		*result = (unsigned)number(record, key, 0);    \
		return SUCCESS;                                \
	}

TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetName, "name")
NUMBER(nvmlDeviceGetMinorNumber, "minor")
NUMBER(nvmlDeviceGetNumaNodeId, "numa")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "width")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "max_width")
NUMBER(nvmlDeviceGetC2cModeInfoV, "c2c")
NUMBER(nvmlDeviceGetGpuInstanceId, "gi")
NUMBER(nvmlDeviceGetComputeInstanceId, "ci")

int nvmlDeviceGetIndex(Device device, unsigned *index)
{
	char record[RECORD];

	ENTER_DEVICE(device, record);
	*index = (unsigned)(mig_of(device) < 0 ? gpu_of(device) : mig_of(device));
	return SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(Device device, PciInfo *pci)
{
	char record[RECORD];
	unsigned part[4];

	ENTER_DEVICE(device, record);
	if (!nth_gpu(gpu_of(device), record) || !parse_pci(value(record, "pci"), part))
		return UNKNOWN;
	*pci = (PciInfo){ .domain = part[0], .bus = part[1], .device = part[2] };
	pci->pci_device_id = 0x233010de;
	pci->pci_subsystem_id = 0x16c110de;
	snprintf(pci->bus_id, sizeof pci->bus_id, "%08X:%02X:%02X.0", part[0], part[1], part[2]);
	snprintf(pci->legacy_bus_id, sizeof pci->legacy_bus_id, "%04X:%02X:%02X.0", part[0] & 0xffff, part[1] & 0xff,
		 part[2] & 0xff);
	return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(Device device, Memory *memory)
{
	char record[RECORD];

	ENTER_DEVICE(device, record);
	memory->total = (unsigned long long)number(record, "memory", 0);
	memory->used = (unsigned long long)number(record, "used", 0);
	memory->free = memory->total - memory->used;
	return SUCCESS;
}

int nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2 *memory)
{
	char record[RECORD];

	ENTER_DEVICE(device, record);
	if (memory->version != (sizeof *memory | 2 << 24))
		return ARGUMENT_VERSION_MISMATCH;
	memory->total = (unsigned long long)number(record, "memory", 0);
	memory->used = (unsigned long long)number(record, "used", 0);
	memory->free = memory->total - memory->used;
	memory->reserved = 0;
	return SUCCESS;
}

/* Per-value status: an unknown field fails alone, the call succeeds. */
int nvmlDeviceGetFieldValues(Device device, int count, FieldValue *values)
{
	enum { TX_BYTES = 197, RX_BYTES = 198, UNSIGNED_LONG_LONG = 3 };
	char record[RECORD];

	ENTER_DEVICE(device, record);
	for (FieldValue *each = values; each < values + count; each++) {
		const char *key = each->field == TX_BYTES ? "tx" : each->field == RX_BYTES ? "rx" : "";

		each->status = value(record, key) ? SUCCESS : NOT_SUPPORTED;
		each->value_type = UNSIGNED_LONG_LONG;
		each->value = (unsigned long long)number(record, key, 0);
	}
	return SUCCESS;
}

/* ---- where a device is ---- */

/* Kernel list text ("0-3,8") of KEY to a bit set of COUNT longs. */
static int affinity(const char *record, const char *key, unsigned count, unsigned long long *set)
{
	const char *text = value(record, key);
	char *end;

	if (!text)
		return NOT_SUPPORTED;
	memset(set, 0, count * sizeof *set);
	while (*text >= '0' && *text <= '9') {
		unsigned long first = strtoul(text, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		for (; first <= last && first / 64 < count; first++)
			set[first / 64] |= 1ULL << (first % 64);
		text = *end == ',' ? end + 1 : "";
	}
	return SUCCESS;
}

int nvmlDeviceGetMemoryAffinity(Device device, unsigned count, unsigned long long *set, unsigned scope)
{
	char record[RECORD];

	(void)scope;
	ENTER_DEVICE(device, record);
	return affinity(record, "nodes", count, set);
}

int nvmlDeviceGetCpuAffinity(Device device, unsigned count, unsigned long long *set)
{
	char record[RECORD];

	ENTER_DEVICE(device, record);
	return affinity(record, "cpus", count, set);
}

int nvmlDeviceGetCpuAffinityWithinScope(Device device, unsigned count, unsigned long long *set, unsigned scope)
{
	char record[RECORD];

	(void)scope;
	ENTER_DEVICE(device, record);
	return affinity(record, "cpus", count, set);
}

/* ---- who holds a device ---- */

/* As NVML: too small an array, NULL included, is INSUFFICIENT_SIZE with the number needed in *count. */
static int holders(Device device, const char *list, unsigned *count, ProcessInfo *array)
{
	const char *cursor = machine;
	char record[RECORD], mig[RECORD] = "";
	unsigned room = array ? *count : 0, found = 0;

	if (mig_of(device) >= 0)
		look_up(device, mig);
	while (next(&cursor, "process", record)) {
		if (number(record, "gpu", -1) != gpu_of(device))
			continue;
		if (!(value(record, "list") ? is(record, "list", list) : !strcmp(list, "compute")))
			continue;
		if (mig[0] && (number(record, "gi", -1) != number(mig, "gi", -1) ||
			       number(record, "ci", -1) != number(mig, "ci", -1)))
			continue;
		if (found < room)
			array[found] = (ProcessInfo){ (unsigned)number(record, "pid", 0),
						      (unsigned long long)number(record, "used", -1),
						      (unsigned)number(record, "gi", -1),
						      (unsigned)number(record, "ci", -1) };
		found++;
	}
	*count = found;
	return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}

#define HOLDERS(function, list)                                             \
	int function(Device device, unsigned *count, ProcessInfo *array)    \
	{                                                                   \
		char record[RECORD];                                        \
		ENTER_DEVICE(device, record);                               \
		return holders(device, list, count, array);                 \
	}

HOLDERS(nvmlDeviceGetComputeRunningProcesses_v2, "compute")
HOLDERS(nvmlDeviceGetComputeRunningProcesses_v3, "compute")
HOLDERS(nvmlDeviceGetGraphicsRunningProcesses_v2, "graphics")
HOLDERS(nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics")
HOLDERS(nvmlDeviceGetMPSComputeRunningProcesses_v2, "mps")
HOLDERS(nvmlDeviceGetMPSComputeRunningProcesses_v3, "mps")

/* ---- MIG ---- */

int nvmlDeviceGetMigMode(Device device, unsigned *current, unsigned *pending)
{
	char record[RECORD];

	ENTER_DEVICE(device, record);
	if (!value(record, "mig"))
		return NOT_SUPPORTED;
	*current = *pending = (unsigned)is(record, "mig", "on");
	return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned *count)
{
	char record[RECORD];

	ENTER_DEVICE(device, record);
	*count = value(record, "mig") ? 7 : 0;
	return SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device *mig)
{
	char record[RECORD];

	ENTER_DEVICE(device, record);
	if (!nth_mig(gpu_of(device), (int)index, record))
		return NOT_FOUND;
	*mig = handle(gpu_of(device), (int)index);
	return SUCCESS;
}

int nvmlDeviceIsMigDeviceHandle(Device device, unsigned *answer)
{
	char record[RECORD];

	ENTER_DEVICE(device, record);
	*answer = mig_of(device) >= 0;
	return SUCCESS;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device mig, Device *device)
{
	char record[RECORD];

	ENTER_DEVICE(mig, record);
	if (mig_of(mig) < 0)
		return INVALID_ARGUMENT;
	*device = handle(gpu_of(mig), -1);
	return SUCCESS;
}
