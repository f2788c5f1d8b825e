/* The machine that the file describes, and what every NVML call goes through.  See machine.c. */
#ifndef MACHINE_H
#define MACHINE_H
#include <stdatomic.h>

enum { /* nvmlReturn_t; names as in nvml.h without their prefix */
	SUCCESS = 0,
	UNINITIALIZED = 1,
	INVALID_ARGUMENT = 2,
	NOT_SUPPORTED = 3,
	NOT_FOUND = 6,
	INSUFFICIENT_SIZE = 7,
	DRIVER_NOT_LOADED = 9,
	GPU_IS_LOST = 15,
	ARGUMENT_VERSION_MISMATCH = 25,
	UNKNOWN = 999,
};

typedef struct device *Device; /* opaque: gpu * 64 + mig + 2, see handle() */

#define RECORD 1024

extern _Thread_local char machine[]; /* the file as this thread's current call read it */
extern atomic_int users;             /* nvmlInit minus nvmlShutdown */

/* Logs the call, reads the file, hangs or fails as the file orders; an nvmlReturn_t. */
int enter(const char *function, Device device);

/* The next record of KIND from *CURSOR on (start with machine), copied to RECORD; 0 at the end. */
int next(const char **cursor, const char *kind, char record[RECORD]);
int nth_gpu(int index, char record[RECORD]);
int nth_mig(int gpu, int index, char record[RECORD]);
/* The record behind a handle: a MIG device's own, else the GPU's. */
int look_up(Device device, char record[RECORD]);

/* The value of KEY in RECORD, ended by ';' or the end of the record; NULL when absent. */
const char *value(const char *record, const char *key);
int is(const char *record, const char *key, const char *text);
long long number(const char *record, const char *key, long long otherwise);
int copy(const char *record, const char *key, char *text, unsigned size);

Device handle(int gpu, int mig); /* mig -1: the GPU itself */
int gpu_of(Device device);
int mig_of(Device device);
#endif
