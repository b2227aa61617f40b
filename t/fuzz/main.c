/*
 * In place of libFuzzer, where there are some seconds only and no clang: runs
 * a target on every file of its corpus, and then on mutations of them.
 *
 *	fuzz-TARGET SEC CRASH-FILE FILE|DIR...
 *
 * An input that ends the program is in CRASH-FILE.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "np_rng.h"

#define MAX_SEEDS 256
#define MAX_SIZE 65536
#define MAX_EDITS 8
#define INPUT_CPU_SEC 5 /* one that needs more hangs */
#define INPUT_SEC 60
#define LONGER 5 /* than its seconds of a processor a target may take */

struct text {
	uint8_t *data;
	size_t size;
};

static struct text seed[MAX_SEEDS], now;
static size_t n_seeds;
static const char *crash_file;

static void keep(int sig)
{
	int fd = open(crash_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, now.data, now.size) < 0)
		_exit(3);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void add_file(const char *path)
{
	FILE *f = fopen(path, "r");
	struct text t = { malloc(MAX_SIZE), 0 };

	if (!f || !t.data) {
		perror(path);
		exit(1);
	}
	t.size = fread(t.data, 1, MAX_SIZE, f);
	fclose(f);
	if (n_seeds < MAX_SEEDS)
		seed[n_seeds++] = t;
	else
		free(t.data);
}

static void add(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	if (!dir) {
		add_file(path);
		return;
	}
	while ((e = readdir(dir))) {
		char file[4096];
		struct stat st;

		snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		if (!stat(file, &st) && S_ISREG(st.st_mode))
			add_file(file);
	}
	closedir(dir);
}

/* Replaces [at, at + out) by in[n]. */
static void put_piece(struct text *t, size_t at, size_t out, const uint8_t *in,
		      size_t n)
{
	if (t->size - out + n > MAX_SIZE)
		return;
	memmove(t->data + at + n, t->data + at + out, t->size - at - out);
	memcpy(t->data + at, in, n);
	t->size += n - out;
}

/* A byte, a piece that goes, or one that another file lends. */
static void edit(struct text *t, struct np_rng *r)
{
	static const char odd[] = "\0\xff{}[]\"\\,:;=\n -+.eE0129\x80\x9b";
	const struct text *from = &seed[np_rng_below(r, n_seeds)];
	size_t at = np_rng_below(r, t->size + 1), left = t->size - at;
	uint8_t byte = np_rng_below(r, 2) ?
			       (uint8_t)odd[np_rng_below(r, sizeof(odd) - 1)] :
			       (uint8_t)np_rng_below(r, 256);
	size_t start, n;

	switch (np_rng_below(r, 4)) {
	case 0:
		put_piece(t, at, left ? 1 : 0, &byte, 1);
		break;
	case 1:
		put_piece(t, at, 0, &byte, 1);
		break;
	case 2:
		put_piece(t, at, np_rng_below(r, left + 1), NULL, 0);
		break;
	default:
		start = np_rng_below(r, from->size + 1);
		n = np_rng_below(r, from->size - start + 1);
		put_piece(t, at, np_rng_below(r, left + 1), from->data + start,
			  n);
	}
}

static void run(const struct text *t)
{
	const struct itimerval limit = { .it_value.tv_sec = INPUT_CPU_SEC };

	now.size = t->size;
	if (t->size)
		memmove(now.data, t->data, t->size);
	alarm(INPUT_SEC);
	setitimer(ITIMER_PROF, &limit, NULL);
	LLVMFuzzerTestOneInput(now.data, now.size);
}

static double cpu_sec(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* For so many seconds of a processor, which it may have to share. */
static size_t mutate(double sec)
{
	struct np_rng *r = np_rng_new((uint64_t)getpid(), "fuzz");
	struct text t = { malloc(MAX_SIZE), 0 };
	double end_cpu = cpu_sec() + sec;
	time_t end = time(NULL) + (time_t)(LONGER * sec);
	size_t n = 0;

	for (; r && t.data && cpu_sec() < end_cpu && time(NULL) < end; n++) {
		const struct text *from = &seed[np_rng_below(r, n_seeds)];

		t.size = from->size;
		if (t.size)
			memcpy(t.data, from->data, t.size);
		for (size_t i = np_rng_below(r, MAX_EDITS) + 1; i; i--)
			edit(&t, r);
		run(&t);
	}
	np_rng_free(r);
	free(t.data);
	return n;
}

int main(int argc, char **argv)
{
	size_t n;

	if (argc < 4) {
		fprintf(stderr, "usage: %s SEC CRASH-FILE FILE|DIR...\n",
			argv[0]);
		return 2;
	}
	crash_file = argv[2];
	now.data = malloc(MAX_SIZE);
	signal(SIGABRT, keep);
	signal(SIGSEGV, keep);
	signal(SIGALRM, keep);
	signal(SIGPROF, keep);
	for (int i = 3; i < argc; i++)
		add(argv[i]);
	if (!now.data || !n_seeds)
		return 1;
	for (size_t i = 0; i < n_seeds; i++)
		run(&seed[i]);
	n = mutate(atof(argv[1]));
	printf("%zu files and %zu mutations\n", n_seeds, n);
	for (size_t i = 0; i < n_seeds; i++)
		free(seed[i].data);
	free(now.data);
	return 0;
}
