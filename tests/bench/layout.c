/* A process with memory in a given layout: layout KIND MIB GIB, or layout mappings COUNT 0.
 *
 * MIB of touched 4 KiB pages in a reservation of GIB: dense (GIB is not used), clusters (8), islands (of 2 MiB), single
 * (pages); thp is dense with transparent huge pages. mappings: COUNT mappings of four pages.
 * Prints a line when ready, then sleeps until its standard input ends.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, HUGE_PAGES = 512, PAGES_PER_MIB = 256 };

static uint64_t next_random(void)
{
	static uint64_t state = 0x9E3779B97F4A7C15u; /* splitmix64 */
	uint64_t z = state += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

static void touch(char *area, long first, long count)
{
	for (long page = first; page < first + count; page++)
		area[page * PAGE] = 1;
}

static char *reserve(long pages, int advice)
{
	char *area = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (area == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	madvise(area, pages * PAGE, advice);
	return area;
}

static void mappings(long count)
{
	for (long at = 0; at < count; at++) {
		/* Every second one read-only: neighbours would be merged. */
		char *area = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (area == MAP_FAILED) {
			perror("mmap");
			exit(1);
		}
		touch(area, 0, 4);
		if (at % 2)
			mprotect(area, 4 * PAGE, PROT_READ);
	}
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	const char *kind = argv[1];
	long pages = atol(argv[2]) * PAGES_PER_MIB, room = atol(argv[3]) * 1024 * PAGES_PER_MIB;

	if (!strcmp(kind, "mappings")) {
		mappings(atol(argv[2]));
	} else if (!strcmp(kind, "dense") || !strcmp(kind, "thp")) {
		touch(reserve(pages, strcmp(kind, "thp") ? MADV_NOHUGEPAGE : MADV_HUGEPAGE), 0, pages);
	} else {
		char *area = reserve(room, MADV_NOHUGEPAGE);
		long piece = !strcmp(kind, "clusters") ? pages / 8 : !strcmp(kind, "islands") ? HUGE_PAGES : 1;

		for (long done = 0; done < pages; done += piece)
			touch(area, next_random() % (room / piece - 1) * piece, piece);
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
