/*
 * Run in the guest: an engine's process, small and quick to start.  It holds memory where it is told to, says so in
 * one JSON line, and waits.
 *
 *     engine policy=bind:1 hold=anon:24 policy=bind:0 hold=anon:8 fork=2 thread=4-7
 *
 * The steps are done in order, so pages can be placed before a bind; -- ends them with a command to become:
 *     cgroup=FOLDER      enter it
 *     comm=NAME          what the process calls itself
 *     cpus=LIST          the calling thread, and those it starts later, run on these CPUs
 *     policy=MODE[:NODES]  set_mempolicy(2); the modes are below
 *     mbind=MODE[:NODES]   mbind(2) of what is held from then on; default ends it
 *     hold=BACKING:MIB   memory of that backing, every page touched; the backings are in map()
 *     share=NAME:MIB     a file in tmpfs that other holders map too; mbind says where its pages are, whoever is first
 *     open=PATH          a device kept open
 *     fork=N             children that share the memory so far
 *     busy=PERCENT       threads from then on compute for this share of the time; the main thread as was said last
 *     thread=LIST        a thread on these CPUs
 *     grow=MIB           anonymous memory, a MiB at a time, from SIGUSR1 on
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MIB (1ul << 20)
#define HUGE_PAGE (2 * MIB)
#define PERIOD 0.1 /* seconds of which a busy thread computes its share */
#define GROWTH 20000 /* microseconds a MiB */
#define STACK (256 * 1024ul) /* of a thread: too small for a huge page, which a page touched by chance would become */
#define MOST 16

/* include/uapi/linux/mempolicy.h, in the kernel's order */
static const char *const modes[] = { "default", "prefer", "bind", "interleave", "local", "prefer_many", "weighted" };

static struct region {
	const char *backing;
	char *start;
	size_t size;
} regions[MOST];
static struct {
	const char *cpus;
	pid_t tid;
} threads[MOST];
static pid_t children[MOST];
static int regions_held, threads_started, forked, grow;
static double busy;
static const char *area_policy = "default";

static unsigned long bits(const char *list)
{
	unsigned long mask = 0;

	while (list && *list) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		while (first <= last)
			mask |= 1ul << first++;
		list = *end ? end + 1 : end;
	}
	return mask;
}

static void run_on(const char *cpus)
{
	unsigned long mask = bits(cpus);

	if (sched_setaffinity(0, sizeof(mask), (cpu_set_t *)&mask)) /* 0 is the calling thread */
		err(1, "cpus=%s", cpus);
}

/* Of the calling thread, or of an area where START is not NULL. */
static void set_policy(const char *policy, char *start, size_t size)
{
	const char *nodes = strchr(policy, ':');
	size_t length = nodes ? (size_t)(nodes++ - policy) : strlen(policy);
	unsigned long mask = bits(nodes), width = nodes ? 65 : 0, *given = nodes ? &mask : NULL;

	for (size_t mode = 0; mode < sizeof(modes) / sizeof(*modes); mode++) {
		if (strlen(modes[mode]) != length || strncmp(modes[mode], policy, length))
			continue;
		if (start ? syscall(SYS_mbind, start, size, mode, given, width, 0)
			  : syscall(SYS_set_mempolicy, mode, given, width))
			err(1, "policy %s", policy);
		return;
	}
	errx(1, "no such policy: %s", policy);
}

static char *map_file(int file, size_t size)
{
	char *start = MAP_FAILED;

	if (file >= 0 && !ftruncate(file, size))
		start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file); /* the mapping keeps it */
	return start;
}

static char *map(const char *backing, size_t size)
{
	int private = MAP_PRIVATE | MAP_ANONYMOUS;
	char path[256];

	if (!strcmp(backing, "anon") || !strcmp(backing, "thp")) {
		/* a huge page needs an aligned start: one more, and the aligned part is used */
		size_t spare = !strcmp(backing, "thp") ? HUGE_PAGE : 0;
		char *start = mmap(NULL, size + spare, PROT_READ | PROT_WRITE, private, -1, 0);

		madvise(start, size + spare, spare ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
		return spare ? (char *)(((uintptr_t)start + spare - 1) & ~(spare - 1)) : start;
	}
	if (!strcmp(backing, "hugetlb"))
		return mmap(NULL, size, PROT_READ | PROT_WRITE, private | MAP_HUGETLB, -1, 0);
	if (!strcmp(backing, "shmem_anon")) /* /dev/zero (deleted): where CUDA's pinned host buffers were seen */
		return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!strcmp(backing, "memfd"))
		return map_file(memfd_create("weights", 0), size);
	if (!strcmp(backing, "shm"))
		return map_file(open("/dev/shm", O_TMPFILE | O_RDWR, 0600), size);
	if (!strcmp(backing, "file")) { /* the job's folder is on 9p: page cache */
		snprintf(path, sizeof(path), "%s/weights-%d", getenv("LAB_OUT"), getpid());
		return map_file(open(path, O_RDWR | O_CREAT, 0600), size);
	}
	if (!strcmp(backing, "driver"))
		return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, open("/dev/nvidiactl", O_RDWR), 0);
	errx(1, "no such backing: %s", backing);
}

static void hold(const char *backing, char *start, size_t size)
{
	if (start == MAP_FAILED || regions_held == MOST)
		err(1, "hold=%s", backing);
	if (strcmp(area_policy, "default"))
		set_policy(area_policy, start, size);
	memset(start, 1, size);
	regions[regions_held++] = (struct region){ backing, start, size };
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void compute_or_sleep(void)
{
	double share = busy;

	while (share) {
		for (double end = now() + share * PERIOD; now() < end;)
			;
		usleep((1 - share) * PERIOD * 1e6);
	}
	for (;;)
		pause();
}

static sem_t ready;

static void *thread(void *cpus)
{
	run_on(cpus);
	threads[threads_started].cpus = cpus;
	threads[threads_started++].tid = gettid();
	sem_post(&ready);
	compute_or_sleep();
	return NULL;
}

static void start_thread(char *cpus)
{
	pthread_t started;
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	if (threads_started == MOST || pthread_create(&started, &small, thread, cpus))
		errx(1, "thread=%s", cpus);
	sem_wait(&ready);
}

static void fork_children(int count)
{
	while (count--) {
		children[forked] = fork();
		if (!children[forked++]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
}

static void wake(int unused)
{
	(void)unused;
}

static void enter(const char *cgroup)
{
	char path[512];
	int file;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	file = open(path, O_WRONLY);
	if (write(file, "0", 1) != 1) /* 0 is whoever writes it */
		err(1, "%s", path);
	close(file);
}

static void step(char *name, char *value)
{
	char *size = strchr(value, ':');
	size_t bytes = size ? strtoul(size + 1, NULL, 10) * MIB : 0;
	char path[64];

	if (!strcmp(name, "cgroup")) {
		enter(value);
	} else if (!strcmp(name, "comm")) {
		prctl(PR_SET_NAME, value);
	} else if (!strcmp(name, "cpus")) {
		run_on(value);
	} else if (!strcmp(name, "policy")) {
		set_policy(value, NULL, 0);
	} else if (!strcmp(name, "mbind")) {
		area_policy = value;
	} else if (!strcmp(name, "hold")) {
		*size = 0;
		hold(value, map(value, bytes), bytes);
	} else if (!strcmp(name, "share")) {
		snprintf(path, sizeof(path), "/dev/shm/%.*s", (int)(size - value), value);
		hold("shm", map_file(open(path, O_RDWR | O_CREAT, 0600), bytes), bytes);
	} else if (!strcmp(name, "open")) {
		if (open(value, O_RDONLY) < 0)
			err(1, "open=%s", value);
	} else if (!strcmp(name, "fork")) {
		fork_children(atoi(value));
	} else if (!strcmp(name, "busy")) {
		busy = atoi(value) / 100.0;
	} else if (!strcmp(name, "thread")) {
		start_thread(value);
	} else if (!strcmp(name, "grow")) {
		grow = atoi(value);
		signal(SIGUSR1, wake);
	} else {
		errx(1, "no such step: %s", name);
	}
}

static void say(void)
{
	printf("{\"pid\": %d, \"regions\": [", getpid());
	for (int i = 0; i < regions_held; i++)
		printf("%s[\"%s\", %zu, %zu]", i ? ", " : "", regions[i].backing, (size_t)regions[i].start, regions[i].size);
	printf("], \"threads\": {");
	for (int i = 0; i < threads_started; i++)
		printf("%s\"%d\": \"%s\"", i ? ", " : "", threads[i].tid, threads[i].cpus);
	printf("}, \"children\": [");
	for (int i = 0; i < forked; i++)
		printf("%s%d", i ? ", " : "", children[i]);
	puts("]}");
	fflush(stdout);
}

int main(int count, char **words)
{
	for (int i = 1; i < count; i++) {
		char *value = strchr(words[i], '=');

		if (!strcmp(words[i], "--")) {
			execvp(words[i + 1], words + i + 1);
			err(127, "%s", words[i + 1]);
		}
		if (!value)
			errx(1, "not STEP=VALUE: %s", words[i]);
		*value = 0;
		step(words[i], value + 1);
	}
	say();
	if (grow)
		pause(); /* until SIGUSR1 */
	while (grow--) {
		memset(map("anon", MIB), 1, MIB);
		usleep(GROWTH);
	}
	compute_or_sleep();
}
