/* Scrapes as Prometheus does: scrape PORT SCRAPERS ROUNDS MS.
 *
 * SCRAPERS connections that stay open ask for /metrics with gzip at the same moment, ROUNDS times, MS milliseconds
 * apart. Prints the microseconds that each answer took, one a line.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST = 16 << 20 };

static int port, rounds;
static long pause_ms;
static pthread_barrier_t start;
static double *taken;

static void fail(const char *what)
{
	fprintf(stderr, "scrape: %s\n", what);
	exit(1);
}

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1e6 + at.tv_nsec / 1e3;
}

static int connected(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	int on = 1, s = socket(AF_INET, SOCK_STREAM, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (s < 0 || connect(s, (struct sockaddr *)&to, sizeof to))
		fail("cannot connect");
	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return s;
}

/* Whether the answer is whole: as long as it said, or ended by the last of its chunks. */
static int whole(const char *answer, size_t got)
{
	const char *body = strstr(answer, "\r\n\r\n"), *length = strcasestr(answer, "\r\nContent-Length:");

	if (!body)
		return 0;
	body += 4;
	if (length && length < body)
		return got >= (size_t)(body - answer) + strtoul(length + 17, NULL, 10);
	return !memcmp(answer + got - 5, "0\r\n\r\n", 5);
}

static void ask(int s, char *answer)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n"
				      "Accept: text/plain;version=0.0.4;q=1,*/*;q=0.1\r\n\r\n";
	size_t got = 0;

	if (write(s, request, sizeof request - 1) != sizeof request - 1)
		fail("cannot ask");
	do {
		ssize_t more = read(s, answer + got, LARGEST - 1 - got);

		if (more <= 0)
			fail("no whole answer");
		got += (size_t)more;
		answer[got] = 0;
	} while (!whole(answer, got));
	if (strncmp(answer, "HTTP/1.1 200", 12))
		fail("refused");
}

static void *scraper(void *number)
{
	char *answer = malloc(LARGEST);
	int s = connected();

	ask(s, answer);
	for (int round = 0; round < rounds; round++) {
		usleep(pause_ms * 1000);
		pthread_barrier_wait(&start);
		double began = now();

		ask(s, answer);
		taken[(long)number * rounds + round] = now() - began;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	int scrapers = atoi(argv[2]);
	pthread_t threads[scrapers];

	port = atoi(argv[1]);
	rounds = atoi(argv[3]);
	pause_ms = atol(argv[4]);
	taken = calloc(scrapers * rounds, sizeof *taken);
	pthread_barrier_init(&start, NULL, scrapers);
	for (long number = 0; number < scrapers; number++)
		if (pthread_create(&threads[number], NULL, scraper, (void *)number))
			fail("cannot start a thread");
	for (int number = 0; number < scrapers; number++)
		pthread_join(threads[number], NULL);
	for (int at = 0; at < scrapers * rounds; at++)
		printf("%.1f\n", taken[at]);
	return 0;
}
