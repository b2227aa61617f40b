#include "np_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_array.h"
#include "np_text.h"

#define MAGIC UINT64_C(0x33747065704b504e) /* also shows the byte order */

/* A file consists of this header and its entries, sorted by name. */
struct head {
	uint64_t magic, inputs, n;
	uint64_t sum; /* np_cache_sum() of the entries */
};

/* Followed by the name with its final 0, and the data. */
struct entry_head {
	uint64_t state;
	uint32_t name_len, len; /* name_len counts the final 0 */
};

struct entry {
	/* Both point into text, or are malloc'ed if own. The name is first, as
	 * np_order_text() expects. */
	const char *name, *data;
	size_t len;
	uint64_t state;
	bool used, own;
};

struct np_cache {
	struct np_dir dir; /* fd -1: no cache directory */
	char file[64];
	uint64_t inputs;
	char *text; /* content of the file that was read */
	struct entry *e;
	size_t n_read, n; /* entries read from the file come first, by name */
	bool changed;
};

uint64_t np_cache_sum(const char *at, size_t len)
{
	uint64_t sum = NP_HASH, word;

	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		sum = (sum ^ word) * UINT64_C(0x100000001b3);
		sum ^= sum >> 32;
	}
	return np_hash(sum, at, len);
}

/* ---- the directory ---- */

/* fd, if the caller owns it and its mode has none of these bits; else -1. */
static int check_owner(int fd, mode_t without)
{
	struct stat st;

	if (fd < 0 || (!fstat(fd, &st) && st.st_uid == geteuid() &&
		       !(st.st_mode & without)))
		return fd;
	close(fd);
	return -1;
}

/* $XDG_CACHE_HOME or ~/.cache, which may be a link to a larger disk. */
static int open_cache(void)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");
	bool given = cache && *cache == '/';
	char path[PATH_MAX];

	if (!given && !(home && *home == '/'))
		return -1;
	if (snprintf(path, sizeof(path), "%s%s", given ? cache : home,
		     given ? "" : "/.cache") >= (int)sizeof(path))
		return -1;
	mkdir(path, 0700);
	return check_owner(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0);
}

/* Open or make the cache directory; -1: there is none. */
static int open_dir(void)
{
	int cache = open_cache(), fd;

	if (cache < 0)
		return -1;
	mkdirat(cache, "netprof", 0700);
	fd = openat(cache, "netprof",
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	close(cache);
	return check_owner(fd, S_IWGRP | S_IWOTH);
}

static int add_entry(struct np_cache *cache, struct entry entry)
{
	if (np_array_grow(&cache->e, cache->n, sizeof(*cache->e)))
		return -ENOMEM;
	cache->e[cache->n++] = entry;
	return 0;
}

/* ---- reading ---- */

/* Take the entry at *at, if it is complete, and advance *at. */
static bool next_entry(const char **at, const char *end, struct entry *entry)
{
	struct entry_head head;

	if ((size_t)(end - *at) < sizeof(head))
		return false;
	memcpy(&head, *at, sizeof(head));
	*at += sizeof(head);
	if ((size_t)head.name_len + head.len > (size_t)(end - *at) ||
	    !head.name_len || (*at)[head.name_len - 1])
		return false;
	*entry = (struct entry){
		.name = *at,
		.data = *at + head.name_len,
		.len = head.len,
		.state = head.state,
	};
	*at += head.name_len + head.len;
	return true;
}

/* Take the entries of a file, or none if anything is wrong with it. */
static void parse(struct np_cache *cache, const char *at, size_t len)
{
	const char *end = at + len;
	struct entry entry;
	struct head head;

	if (len < sizeof(head))
		return;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	if (head.magic != MAGIC || head.inputs != cache->inputs ||
	    head.n > (size_t)(end - at) / sizeof(struct entry_head) ||
	    head.sum != np_cache_sum(at, (size_t)(end - at)))
		return;
	while (cache->n < head.n && next_entry(&at, end, &entry) &&
	       (!cache->n ||
		strcmp(cache->e[cache->n - 1].name, entry.name) < 0) &&
	       !add_entry(cache, entry)) {}
	if (cache->n < head.n || at != end)
		cache->n = 0;
	cache->n_read = cache->n;
}

static void read_file(struct np_cache *cache)
{
	const struct np_reader from = {
		.dir = &cache->dir,
		.max_bytes = NP_CACHE_MAX_BYTES,
	};
	ssize_t len = cache->dir.fd < 0 ?
			    -1 :
			    np_reader_read(&from, cache->file, &cache->text);

	if (len < 0)
		cache->text = NULL;
	else
		parse(cache, cache->text, (size_t)len);
}

/* Another program may give the same bytes another meaning. */
static uint64_t hash_program(uint64_t hash)
{
	struct np_store_stamp stamp = { 0 };
	struct stat st;

	if (!stat("/proc/self/exe", &st))
		stamp = np_stamp_of(&st);
	hash = np_hash(hash, NP_VERSION, sizeof(NP_VERSION));
	return np_hash(hash, &stamp, sizeof(stamp));
}

struct np_cache *np_cache_open(const struct np_store *store, const char *what,
			       uint64_t inputs)
{
	const char *dir = np_store_dir(store);
	struct np_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->dir.fd = open_dir();
	cache->dir.owner = NP_STORE_USER;
	cache->dir.uid = geteuid();
	cache->inputs = hash_program(inputs);
	snprintf(cache->file, sizeof(cache->file), "%.16s-%016llx", what,
		 (unsigned long long)np_hash(NP_HASH, dir, strlen(dir)));
	read_file(cache);
	return cache;
}

/* ---- results ---- */

uint64_t np_cache_state(uint64_t seed, const struct np_store_stamp *stamp,
			size_t n)
{
	uint64_t hash = np_hash(NP_HASH, &seed, sizeof(seed));

	for (size_t i = 0; i < n; i++) {
		if (np_store_is_racy(&stamp[i]))
			return 0;
		hash = np_hash(hash, &stamp[i], sizeof(stamp[i]));
	}
	return hash ? hash : 1;
}

static struct entry *find_entry(struct np_cache *cache, const char *name)
{
	const struct entry like = { .name = name };

	return cache && cache->n_read ?
		       bsearch(&like, cache->e, cache->n_read,
			       sizeof(*cache->e), np_order_text) :
		       NULL;
}

const char *np_cache_find(struct np_cache *cache, const char *name,
			  uint64_t state, size_t *len)
{
	struct entry *entry = state ? find_entry(cache, name) : NULL;

	if (!entry || entry->state != state)
		return NULL;
	entry->used = true;
	*len = entry->len;
	return entry->data;
}

int np_cache_put(struct np_cache *cache, const char *name, uint64_t state,
		 char *data, size_t len)
{
	struct entry *former = find_entry(cache, name), e = {
		.name = cache ? strdup(name) : NULL,
		.data = data,
		.len = len,
		.state = state,
		.used = true,
		.own = true,
	};

	if (former)
		former->state = 0;
	if (!e.name || len > UINT32_MAX || add_entry(cache, e)) {
		free((char *)e.name);
		free(data);
		return -ENOMEM;
	}
	cache->changed |= state != 0;
	return 0;
}

/* ---- writing ---- */

static size_t bytes_of(const struct entry *entry)
{
	return sizeof(struct entry_head) + strlen(entry->name) + 1 + entry->len;
}

/*
 * Choose the entries to write. If there is no room for all of them, drop those
 * that this process did not use. Returns their size, 0: too large.
 */
static size_t select_entries(struct np_cache *cache, size_t *n)
{
	size_t all = sizeof(struct head), used = all, bytes;
	bool rest;

	for (size_t i = 0; i < cache->n; i++) {
		all += cache->e[i].state ? bytes_of(&cache->e[i]) : 0;
		used += cache->e[i].state && cache->e[i].used ?
				bytes_of(&cache->e[i]) :
				0;
	}
	rest = all <= NP_CACHE_MAX_BYTES;
	bytes = rest ? all : used;
	*n = 0;
	for (size_t i = 0; i < cache->n; i++) {
		if (cache->e[i].state && !rest && !cache->e[i].used)
			cache->e[i].state = 0;
		*n += cache->e[i].state != 0;
	}
	return bytes <= NP_CACHE_MAX_BYTES ? bytes : 0;
}

/* Serialise an entry; returns the end. */
static char *put_entry(char *to, const struct entry *entry)
{
	struct entry_head head = {
		.state = entry->state,
		.len = (uint32_t)entry->len,
		.name_len = (uint32_t)strlen(entry->name) + 1,
	};

	to = mempcpy(to, &head, sizeof(head));
	to = mempcpy(to, entry->name, head.name_len);
	return entry->len ? mempcpy(to, entry->data, entry->len) : to;
}

/* Write the entries, sorted by name, to a new file. */
static void write_file(struct np_cache *cache)
{
	struct head head = { .magic = MAGIC, .inputs = cache->inputs };
	size_t n, bytes = select_entries(cache, &n);
	char *text = bytes ? malloc(bytes) : NULL, *to = text;

	if (!text)
		return;
	qsort(cache->e, cache->n, sizeof(*cache->e), np_order_text);
	head.n = n;
	to += sizeof(head);
	for (size_t i = 0; i < cache->n; i++)
		if (cache->e[i].state)
			to = put_entry(to, &cache->e[i]);
	head.sum = np_cache_sum(text + sizeof(head), bytes - sizeof(head));
	memcpy(text, &head, sizeof(head));
	np_file_remove_stale(&cache->dir);
	np_file_write(&cache->dir, cache->file, text, bytes, 0600, NULL);
	free(text);
}

void np_cache_close(struct np_cache *cache)
{
	if (!cache)
		return;
	if (cache->changed && cache->dir.fd >= 0)
		write_file(cache);
	if (cache->dir.fd >= 0)
		close(cache->dir.fd);
	for (size_t i = 0; i < cache->n; i++)
		if (cache->e[i].own) {
			free((char *)cache->e[i].name);
			free((char *)cache->e[i].data);
		}
	free(cache->e);
	free(cache->text);
	free(cache);
}

/* ---- serialising results ---- */

/* Take size bytes of input; NULL if there are not so many. */
static const char *take(struct np_pack *pack, size_t size)
{
	const char *at = pack->at;

	pack->bad |= pack->left < size;
	if (pack->bad)
		return NULL;
	pack->at += size;
	pack->left -= size;
	return at;
}

/* Write x, or read into it; x becomes all zero if the input is bad. */
static void transfer(struct np_pack *pack, void *x, size_t size)
{
	const char *at = pack->f ? NULL : take(pack, size);

	if (pack->f)
		fwrite(x, size, 1, pack->f);
	else if (at)
		memcpy(x, at, size);
	else
		memset(x, 0, size);
}

uint64_t np_pack_count(struct np_pack *pack, uint64_t n, uint64_t max)
{
	transfer(pack, &n, sizeof(n));
	pack->bad |= !pack->f && n > max;
	return pack->bad ? 0 : n;
}

double np_pack_real(struct np_pack *pack, double x)
{
	transfer(pack, &x, sizeof(x));
	return x;
}

struct np_mean np_pack_mean(struct np_pack *pack, struct np_mean mean)
{
	mean.n = (uint32_t)np_pack_count(pack, mean.n, UINT32_MAX);
	mean.mean = np_pack_real(pack, mean.mean);
	mean.sd = np_pack_real(pack, mean.sd);
	return mean;
}

const char *np_pack_text(struct np_pack *pack, const char *text)
{
	size_t size = strlen(text ? text : "") + 1;

	size = np_pack_count(pack, size, pack->left);
	if (pack->f) {
		fwrite(text ? text : "", size, 1, pack->f);
		return text;
	}
	text = take(pack, size);
	pack->bad |= !text || !size ||
		     memchr(text, '\0', size) != text + size - 1;
	return pack->bad ? "" : text;
}
