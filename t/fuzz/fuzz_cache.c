/*
 * A damaged file of what a reader keeps of the store: what is found in it, what
 * that unpacks to, and what is left of it when another result is kept.
 *
 * Bytes are the file. What it was made by and its sum are put right, as hardly
 * a mutation would do.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "np_cache.h"
#include "np_run_summary.h"
#include "np_text.h"

#define LEVELS 8 /* of the calibration, as in the corpus */
#define NEW "fuzz"

/* As np_cache.c has it, and then entries: 16 bytes, the name, the data. */
struct head {
	uint64_t magic, inputs, n, sum;
};
#define ENTRY 16

static char dir[] = "/dev/shm/fuzz-cache.XXXXXX";
static char cache[64], file[128]; /* in dir, and in that */
static struct np_store *store;
static struct head own; /* of a file of this program */

static void must(bool done)
{
	if (done)
		return;
	perror("fuzz_cache");
	_exit(1);
}

static struct np_cache *open_cache(void)
{
	struct np_cache *k = np_cache_open(store, "fuzz", 0);

	must(k);
	return k;
}

/* Keeps one result more. */
static void keep(void)
{
	struct np_cache *k = open_cache();

	must(!np_cache_put(k, NEW, 1, strdup("one"), 4));
	np_cache_close(k);
}

static void clean(void)
{
	unlink(file);
	rmdir(cache);
	rmdir(dir);
}

static void begin(void)
{
	int fd;

	must(mkdtemp(dir) && !setenv("XDG_CACHE_HOME", dir, 1) &&
	     !np_store_open(dir, &store, NULL));
	atexit(clean);
	snprintf(cache, sizeof(cache), "%s/netprof", dir);
	snprintf(file, sizeof(file), "%s/fuzz-%016llx", cache,
		 (unsigned long long)np_hash(NP_HASH, dir, strlen(dir)));
	keep();
	fd = open(file, O_RDONLY);
	must(fd >= 0 && read(fd, &own, sizeof(own)) == sizeof(own));
	close(fd);
}

static void write_file(const uint8_t *data, size_t size)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct head h;

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (size >= sizeof(h)) {
		memcpy(&h, data, sizeof(h));
		h.magic = own.magic;
		h.inputs = own.inputs;
		h.sum = np_cache_sum((const char *)data + sizeof(h),
				     size - sizeof(h));
		must(pwrite(fd, &h, sizeof(h), 0) == sizeof(h));
	}
	close(fd);
}

/* What can be unpacked can be packed, and is the same then. */
static void check_summary(const char *data, size_t len)
{
	const struct np_fabric_level level[LEVELS] = { { .name = "c0" } };
	const struct np_fabric fabric = {
		.bins = np_bins_own(),
		.level = level,
		.n_levels = LEVELS,
	};
	struct np_pack u = { .at = data, .left = len };
	struct np_run_summary e, again;
	char *text = NULL;
	size_t size = 0;
	FILE *f;

	if (np_run_summary_unpack(&u, &fabric, "fuzz", &e))
		return;
	f = open_memstream(&text, &size);
	must(f);
	np_run_summary_pack(f, &e);
	must(!fclose(f));
	u = (struct np_pack){ .at = text, .left = size };
	if (np_run_summary_unpack(&u, &fabric, "fuzz", &again) || u.left ||
	    again.n_curve != e.n_curve || again.n_used != e.n_used)
		abort();
	np_run_summary_free(&e);
	np_run_summary_free(&again);
	free(text);
}

/* Texts where there may be some, else numbers. */
static void check_rest(const char *data, size_t len)
{
	struct np_pack u = { .at = data, .left = len };

	while (!u.bad) {
		struct np_pack t = u;
		const char *text = np_pack_text(&t, NULL);

		if (u.left < t.left || strlen(text) > u.left)
			abort();
		if (t.bad)
			np_pack_count(&u, 0, UINT64_MAX);
		else
			u = t;
	}
}

/* A result that may be at this place of the file, or NULL. */
static const char *find(struct np_cache *k, const char *at, size_t *len)
{
	uint64_t state;

	memcpy(&state, at - ENTRY, sizeof(state));
	return np_cache_find(k, at, state, len);
}

/* Those of before are there still: data has a 0 behind its end. */
static void check(const char *data, size_t size, struct np_cache *before,
		  struct np_cache *after)
{
	for (size_t i = sizeof(struct head) + ENTRY; i < size;
	     i += strlen(data + i) + 1) {
		size_t len, n;
		const char *is = find(before, data + i, &len), *again;

		if (!is)
			continue;
		check_summary(is, len);
		check_rest(is, len);
		if (!strcmp(data + i, NEW))
			continue;
		again = find(after, data + i, &n);
		if (!again || n != len || memcmp(again, is, len))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_cache *before, *after;
	const char *one;
	char *text;
	size_t len;

	if (!store)
		begin();
	text = calloc(size + 1, 1);
	must(text);
	if (size)
		memcpy(text, data, size);
	write_file(data, size);
	before = open_cache();
	keep();
	after = open_cache();
	one = np_cache_find(after, NEW, 1, &len);
	if (!one || strcmp(one, "one"))
		abort();
	check(text, size, before, after);
	np_cache_close(before);
	np_cache_close(after);
	free(text);
	return 0;
}
