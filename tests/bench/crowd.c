/* A rank as the agent sees one: crowd THREADS AWAKE MIB.
 *
 * THREADS threads, of which AWAKE wake up twice a second and one more works for 5 ms of each 100; MIB of touched memory.
 * Prints a line when ready. A number on standard input replaces the memory by as many MiB, and is answered by a line.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, MIB = 1 << 20, STACK = 64 << 10 };

static double now(clockid_t clock)
{
	struct timespec at;

	clock_gettime(clock, &at);
	return at.tv_sec + at.tv_nsec / 1e9;
}

static void *sleeping(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void *awake(void *number)
{
	usleep((long)number * 7919 % 500 * 1000); /* not all at once */
	for (;;) {
		volatile int work = 0;

		for (int step = 0; step < 2000; step++)
			work += step;
		usleep(500 * 1000);
	}
	return NULL;
}

static void *busy(void *unused)
{
	for (;;) {
		double began = now(CLOCK_THREAD_CPUTIME_ID);

		while (now(CLOCK_THREAD_CPUTIME_ID) - began < 0.005)
			;
		usleep(95 * 1000);
	}
	return unused;
}

static void start(void *(*run)(void *), long number)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	if (pthread_create(&thread, &small, run, (void *)number)) {
		perror("pthread_create");
		exit(1);
	}
}

static char *filled(size_t bytes)
{
	char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	for (size_t at = 0; at < bytes; at += PAGE)
		area[at] = 1;
	return area;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	long threads = atol(argv[1]), wakeful = atol(argv[2]), wanted;
	size_t bytes = atol(argv[3]) * (size_t)MIB;
	char *area = bytes ? filled(bytes) : NULL;

	for (long number = 1; number < threads; number++)
		start(number == 1 ? busy : number - 2 < wakeful ? awake : sleeping, number);
	puts("ready");
	fflush(stdout);
	while (scanf("%ld", &wanted) == 1) {
		if (area)
			munmap(area, bytes);
		bytes = wanted * (size_t)MIB;
		area = bytes ? filled(bytes) : NULL;
		puts("done");
		fflush(stdout);
	}
	return 0;
}
