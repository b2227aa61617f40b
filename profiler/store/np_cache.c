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

#define MAGIC UINT64_C(0x33747065704b504e) /* also tells the byte order */

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
	fd = openat(cache, "netprof", O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
	close(cache);
	return check_owner(fd, S_IWGRP | S_IWOTH);
}

static int add_entry(struct np_cache *k, struct entry e)
{
	if (np_array_grow(&k->e, k->n, sizeof(*k->e)))
		return -ENOMEM;
	k->e[k->n++] = e;
	return 0;
}

/* ---- reading ---- */

/* Take the entry at *at, if it is complete, and advance *at. */
static bool next_entry(const char **at, const char *end, struct entry *e)
{
	struct entry_head h;

	if ((size_t)(end - *at) < sizeof(h))
		return false;
	memcpy(&h, *at, sizeof(h));
	*at += sizeof(h);
	if ((size_t)h.name_len + h.len > (size_t)(end - *at) || !h.name_len ||
	    (*at)[h.name_len - 1])
		return false;
	*e = (struct entry){
		.name = *at, .data = *at + h.name_len, .len = h.len,
		.state = h.state,
	};
	*at += h.name_len + h.len;
	return true;
}

/* Take the entries of a file, or none if anything is wrong with it. */
static void parse(struct np_cache *k, const char *at, size_t len)
{
	const char *end = at + len;
	struct entry e;
	struct head h;

	if (len < sizeof(h))
		return;
	memcpy(&h, at, sizeof(h));
	at += sizeof(h);
	if (h.magic != MAGIC || h.inputs != k->inputs ||
	    h.n > (size_t)(end - at) / sizeof(struct entry_head) ||
	    h.sum != np_cache_sum(at, (size_t)(end - at)))
		return;
	while (k->n < h.n && next_entry(&at, end, &e) &&
	       (!k->n || strcmp(k->e[k->n - 1].name, e.name) < 0) &&
	       !add_entry(k, e)) {
	}
	if (k->n < h.n || at != end)
		k->n = 0;
	k->n_read = k->n;
}

static void read_file(struct np_cache *k)
{
	const struct np_reader from = {
		.dir = &k->dir, .max_bytes = NP_CACHE_MAX_BYTES,
	};
	ssize_t len = k->dir.fd < 0 ? -1 :
		      np_reader_read(&from, k->file, &k->text);

	if (len < 0)
		k->text = NULL;
	else
		parse(k, k->text, (size_t)len);
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

struct np_cache *np_cache_open(const struct np_store *s, const char *what,
			       uint64_t inputs)
{
	const char *dir = np_store_dir(s);
	struct np_cache *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->dir.fd = open_dir();
	k->dir.owner = NP_STORE_USER;
	k->dir.uid = geteuid();
	k->inputs = hash_program(inputs);
	snprintf(k->file, sizeof(k->file), "%.16s-%016llx", what,
		 (unsigned long long)np_hash(NP_HASH, dir, strlen(dir)));
	read_file(k);
	return k;
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

static struct entry *find_entry(struct np_cache *k, const char *name)
{
	const struct entry like = { .name = name };

	return k && k->n_read ? bsearch(&like, k->e, k->n_read, sizeof(*k->e),
					np_order_text) : NULL;
}

const char *np_cache_find(struct np_cache *k, const char *name, uint64_t state,
			 size_t *len)
{
	struct entry *e = state ? find_entry(k, name) : NULL;

	if (!e || e->state != state)
		return NULL;
	e->used = true;
	*len = e->len;
	return e->data;
}

int np_cache_put(struct np_cache *k, const char *name, uint64_t state, char *data,
		size_t len)
{
	struct entry *former = find_entry(k, name), e = {
		.name = k ? strdup(name) : NULL, .data = data, .len = len,
		.state = state, .used = true, .own = true,
	};

	if (former)
		former->state = 0;
	if (!e.name || len > UINT32_MAX || add_entry(k, e)) {
		free((char *)e.name);
		free(data);
		return -ENOMEM;
	}
	k->changed |= state != 0;
	return 0;
}

/* ---- writing ---- */

static size_t bytes_of(const struct entry *e)
{
	return sizeof(struct entry_head) + strlen(e->name) + 1 + e->len;
}

/*
 * Choose the entries to write.  If there is no room for all of them, drop those
 * that this process did not use.  Returns their size, 0: too large.
 */
static size_t choose_entries(struct np_cache *k, size_t *n)
{
	size_t all = sizeof(struct head), used = all, bytes;
	bool rest;

	for (size_t i = 0; i < k->n; i++) {
		all += k->e[i].state ? bytes_of(&k->e[i]) : 0;
		used += k->e[i].state && k->e[i].used ? bytes_of(&k->e[i]) : 0;
	}
	rest = all <= NP_CACHE_MAX_BYTES;
	bytes = rest ? all : used;
	*n = 0;
	for (size_t i = 0; i < k->n; i++) {
		if (k->e[i].state && !rest && !k->e[i].used)
			k->e[i].state = 0;
		*n += k->e[i].state != 0;
	}
	return bytes <= NP_CACHE_MAX_BYTES ? bytes : 0;
}

/* Serialise an entry; returns the end. */
static char *put_entry(char *to, const struct entry *e)
{
	struct entry_head h = {
		.state = e->state, .len = (uint32_t)e->len,
		.name_len = (uint32_t)strlen(e->name) + 1,
	};

	to = mempcpy(to, &h, sizeof(h));
	to = mempcpy(to, e->name, h.name_len);
	return e->len ? mempcpy(to, e->data, e->len) : to;
}

/* Write the entries, sorted by name, to a new file. */
static void write_file(struct np_cache *k)
{
	struct head h = { .magic = MAGIC, .inputs = k->inputs };
	size_t n, bytes = choose_entries(k, &n);
	char *text = bytes ? malloc(bytes) : NULL, *to = text;

	if (!text)
		return;
	qsort(k->e, k->n, sizeof(*k->e), np_order_text);
	h.n = n;
	to += sizeof(h);
	for (size_t i = 0; i < k->n; i++)
		if (k->e[i].state)
			to = put_entry(to, &k->e[i]);
	h.sum = np_cache_sum(text + sizeof(h), bytes - sizeof(h));
	memcpy(text, &h, sizeof(h));
	np_file_remove_stale(&k->dir);
	np_file_write(&k->dir, k->file, text, bytes, 0600, NULL);
	free(text);
}

void np_cache_close(struct np_cache *k)
{
	if (!k)
		return;
	if (k->changed && k->dir.fd >= 0)
		write_file(k);
	if (k->dir.fd >= 0)
		close(k->dir.fd);
	for (size_t i = 0; i < k->n; i++)
		if (k->e[i].own) {
			free((char *)k->e[i].name);
			free((char *)k->e[i].data);
		}
	free(k->e);
	free(k->text);
	free(k);
}

/* ---- serialising results ---- */

/* Take size bytes of input; NULL if there are not so many. */
static const char *take(struct np_pack *p, size_t size)
{
	const char *at = p->at;

	p->bad |= p->left < size;
	if (p->bad)
		return NULL;
	p->at += size;
	p->left -= size;
	return at;
}

/* Write x, or read into it; x becomes all zero if the input is bad. */
static void transfer(struct np_pack *p, void *x, size_t size)
{
	const char *at = p->f ? NULL : take(p, size);

	if (p->f)
		fwrite(x, size, 1, p->f);
	else if (at)
		memcpy(x, at, size);
	else
		memset(x, 0, size);
}

uint64_t np_pack_count(struct np_pack *p, uint64_t n, uint64_t max)
{
	transfer(p, &n, sizeof(n));
	p->bad |= !p->f && n > max;
	return p->bad ? 0 : n;
}

double np_pack_real(struct np_pack *p, double x)
{
	transfer(p, &x, sizeof(x));
	return x;
}

struct np_mean np_pack_mean(struct np_pack *p, struct np_mean m)
{
	m.n = (uint32_t)np_pack_count(p, m.n, UINT32_MAX);
	m.mean = np_pack_real(p, m.mean);
	m.sd = np_pack_real(p, m.sd);
	return m;
}

const char *np_pack_text(struct np_pack *p, const char *text)
{
	size_t size = strlen(text ? text : "") + 1;

	size = np_pack_count(p, size, p->left);
	if (p->f) {
		fwrite(text ? text : "", size, 1, p->f);
		return text;
	}
	text = take(p, size);
	p->bad |= !text || !size || memchr(text, '\0', size) !=
				    text + size - 1;
	return p->bad ? "" : text;
}
