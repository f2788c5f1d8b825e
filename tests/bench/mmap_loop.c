/* A process that maps, touches and unmaps 64 KiB in a loop beside MIB of touched 4 KiB pages: mmap_loop MIB SECONDS.
 *
 * Prints "ready"; for each line of standard input it loops for SECONDS and prints the count of turns and their median,
 * 99.9th, 99.99th percentile and maximum in microseconds.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { MOST = 16000000 };

static uint64_t nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static int ascending(const void *one, const void *other)
{
	uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;

	return (a > b) - (a < b);
}

static char *map(size_t size)
{
	char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return area;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	size_t size = strtoul(argv[1], NULL, 10) << 20;
	char *heap = map(size), line[16];
	uint32_t *turns = malloc(MOST * sizeof *turns);

	madvise(heap, size, MADV_NOHUGEPAGE);
	memset(heap, 1, size);
	memset(turns, 0, MOST * sizeof *turns);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		uint64_t end = nanoseconds() + (uint64_t)(atof(argv[2]) * 1e9), began = 0;
		size_t count = 0;

		while (count < MOST && (began = nanoseconds()) < end) {
			char *area = map(65536);

			area[0] = 1;
			munmap(area, 65536);
			turns[count++] = (uint32_t)(nanoseconds() - began);
		}
		qsort(turns, count, sizeof *turns, ascending);
		printf("%zu %.1f %.1f %.1f %.1f\n", count, turns[count / 2] / 1e3, turns[count * 999 / 1000] / 1e3,
		       turns[count * 9999 / 10000] / 1e3, turns[count - 1] / 1e3);
		fflush(stdout);
	}
	return 0;
}
