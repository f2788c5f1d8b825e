/*
 * The text file behind the shim: its records, its orders to fail or hang, and the handles.
 *
 * The file is named by $NVML_SHIM_FILE.  Each call reads it once, so a test changes the machine under a running
 * exporter by replacing the file.  One record a line, fields separated by ';', '#' opens a comment line:
 *
 *   driver;version=550.90.07;nvml=12.550.90.07;cuda=12040
 *   gpu;pci=0000:8d:00.0;uuid=GPU-...;name=NVIDIA H100 80GB HBM3;minor=0;memory=85899345920;used=1024
 *       and, each NOT_SUPPORTED when left out: nodes=0-1 (memory affinity) cpus=0-15 (CPU affinity)
 *       numa=2 (the GPU's own memory node) width=8 max_width=16 tx=1 rx=2 (PCIe bytes) mig=on|off c2c=0|1
 *   mig;gpu=0;uuid=MIG-...;gi=1;ci=0
 *   process;gpu=0;pid=123;used=1048576;list=compute|graphics|mps;gi=1;ci=0
 *       compute when list is left out; used left out = not available (MIG, vGPU)
 *   error;function=NAME|*;gpu=0;code=15;after=7
 *   hang;function=NAME|*;gpu=0;after=7
 *       gpu=N means that GPU's handle (not its MIG devices'), mig=UUID a MIG device's, neither any call;
 *       after=K: only from this process's K-th NVML call on.  A hung call returns when the record goes away.
 *
 * GPUs are numbered from 0 in the order of their records; a handle keeps its number.
 * Without the file every call says that the driver is not loaded.  $NVML_SHIM_LOG: each call's name is appended.
 */
#include "machine.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

_Thread_local char machine[1 << 18];
atomic_int users;
static atomic_long calls;

/* ---- the file ---- */

static int load(void)
{
	const char *path = getenv("NVML_SHIM_FILE");
	int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	size_t length = 0;
	ssize_t got = 0;

	machine[0] = 0;
	if (file < 0)
		return DRIVER_NOT_LOADED;
	while (length < sizeof machine - 1 && (got = read(file, machine + length, sizeof machine - 1 - length)) > 0)
		length += (size_t)got;
	close(file);
	machine[length] = 0;
	return got < 0 || length == sizeof machine - 1 ? UNKNOWN : SUCCESS;
}

int next(const char **cursor, const char *kind, char record[RECORD])
{
	while (**cursor) {
		size_t line = strcspn(*cursor, "\n"), word = strcspn(*cursor, ";\n");
		const char *start = *cursor;

		*cursor += line + (start[line] == '\n');
		if (line < RECORD && word == strlen(kind) && !strncmp(start, kind, word)) {
			memcpy(record, start, line);
			record[line] = 0;
			return 1;
		}
	}
	return 0;
}

const char *value(const char *record, const char *key)
{
	size_t length = strlen(key);

	for (const char *field = strchr(record, ';'); field; field = strchr(field, ';')) {
		field++;
		if (!strncmp(field, key, length) && field[length] == '=')
			return field + length + 1;
	}
	return NULL;
}

int is(const char *record, const char *key, const char *text)
{
	const char *found = value(record, key);
	size_t length = found ? strcspn(found, ";") : 0;

	return found && length == strlen(text) && !strncasecmp(found, text, length);
}

long long number(const char *record, const char *key, long long otherwise)
{
	const char *found = value(record, key);

	return found ? strtoll(found, NULL, 0) : otherwise;
}

int copy(const char *record, const char *key, char *text, unsigned size)
{
	const char *found = value(record, key);
	size_t length = found ? strcspn(found, ";") : 0;

	if (!found)
		return NOT_SUPPORTED;
	if (length >= size)
		return INSUFFICIENT_SIZE;
	memcpy(text, found, length);
	text[length] = 0;
	return SUCCESS;
}

/* ---- handles ---- */

Device handle(int gpu, int mig)
{
	return (Device)(uintptr_t)(gpu * 64 + mig + 2);
}

int gpu_of(Device device)
{
	return (int)((uintptr_t)device - 1) / 64;
}

int mig_of(Device device)
{
	return (int)((uintptr_t)device - 1) % 64 - 1;
}

int nth_gpu(int index, char record[RECORD])
{
	const char *cursor = machine;

	while (next(&cursor, "gpu", record))
		if (index-- == 0)
			return 1;
	return 0;
}

int nth_mig(int gpu, int index, char record[RECORD])
{
	const char *cursor = machine;

	while (next(&cursor, "mig", record))
		if (number(record, "gpu", -1) == gpu && index-- == 0)
			return 1;
	return 0;
}

int look_up(Device device, char record[RECORD])
{
	return mig_of(device) < 0 ? nth_gpu(gpu_of(device), record) : nth_mig(gpu_of(device), mig_of(device), record);
}

/* ---- what every call goes through ---- */

static int applies(const char *record, const char *function, Device device, long call)
{
	char mig[RECORD], uuid[96] = "";

	if (!is(record, "function", "*") && !is(record, "function", function))
		return 0;
	if (call < number(record, "after", 0))
		return 0;
	if (value(record, "gpu"))
		return device && mig_of(device) < 0 && number(record, "gpu", -1) == gpu_of(device);
	if (!value(record, "mig"))
		return 1;
	if (device && mig_of(device) >= 0 && look_up(device, mig))
		copy(mig, "uuid", uuid, sizeof uuid);
	return uuid[0] && is(record, "mig", uuid);
}

static int ordered(const char *kind, const char *function, Device device, long call, char record[RECORD])
{
	const char *cursor = machine;

	while (next(&cursor, kind, record))
		if (applies(record, function, device, call))
			return 1;
	return 0;
}

static void log_call(const char *function)
{
	const char *path = getenv("NVML_SHIM_LOG");
	int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;

	if (file >= 0) {
		dprintf(file, "%s\n", function);
		close(file);
	}
}

int enter(const char *function, Device device)
{
	long call = ++calls;
	char record[RECORD];
	int status;

	log_call(function);
	while (!(status = load()) && ordered("hang", function, device, call, record))
		usleep(10000);
	if (!status && ordered("error", function, device, call, record))
		status = (int)number(record, "code", UNKNOWN);
	return status;
}
