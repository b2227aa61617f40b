#include "t.h"
#include "np_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "np_text.h"
#include "some_store.h"

static struct np_store *store;
static char cache[512];

static void begin(void)
{
	static int n;

	store = t_store_fresh();
	snprintf(cache, sizeof(cache), "%s/cache%d", t_tmpdir(), n++);
	setenv("XDG_CACHE_HOME", cache, 1);
}

static void end(void)
{
	np_store_close(store);
	unsetenv("XDG_CACHE_HOME");
}

static int put(struct np_cache *k, const char *name, uint64_t state,
	       const char *data)
{
	return np_cache_put(k, name, state, strdup(data), strlen(data) + 1);
}

/* "" where there is none. */
static const char *cached(uint64_t inputs, const char *name, uint64_t state)
{
	static char text[64];
	struct np_cache *k = np_cache_open(store, "test", inputs);
	size_t len = 0;
	const char *data = np_cache_find(k, name, state, &len);

	snprintf(text, sizeof(text), "%.*s", (int)len, data ? data : "");
	np_cache_close(k);
	return text;
}

static void keep(const char *name, uint64_t state, const char *data)
{
	struct np_cache *k = np_cache_open(store, "test", 7);

	T_CHECK(!put(k, name, state, data));
	np_cache_close(k);
}

T_TEST("what was kept is found in the same state only")
{
	begin();
	T_CHECK(!*cached(7, "a", 1));
	keep("b", 2, "two");
	keep("a", 1, "one");
	keep("c", 3, "three");
	T_ROW("what was kept is there", !strcmp(cached(7, "a", 1), "one"));
	T_CHECK(!strcmp(cached(7, "b", 2), "two"));
	T_CHECK(!strcmp(cached(7, "c", 3), "three"));
	keep("b", 4, "four");
	T_ROW("the later one counts", !strcmp(cached(7, "b", 4), "four"));
	T_ROW("another state", !*cached(7, "b", 2));
	T_ROW("another basis", !*cached(8, "a", 1));
	T_ROW("no such name", !*cached(7, "d", 1));
	end();
}

/* The one file that there is. */
static void path_of(char path[700])
{
	const char *dir = np_store_dir(store);

	snprintf(path, 700, "%s/netprof/test-%016llx", cache,
		 (unsigned long long)np_hash(NP_HASH, dir, strlen(dir)));
}

T_TEST("what may change again, or has no place, is not kept")
{
	char path[700];
	struct np_cache *k;
	size_t len;

	begin();
	keep("a", 0, "for now");
	T_ROW("what may change again is not kept", !*cached(7, "a", 0));
	path_of(path);
	T_ROW("nor is a file made for it", access(path, F_OK));
	setenv("XDG_CACHE_HOME", "/dev/null", 1);
	k = np_cache_open(store, "test", 7);
	T_ROW("without a directory", k && !put(k, "a", 1, "one"));
	T_CHECK(!np_cache_find(k, "a", 1, &len));
	np_cache_close(k);
	np_cache_close(NULL);
	T_CHECK(!np_cache_find(NULL, "a", 1, &len));
	T_CHECK(put(NULL, "a", 1, "one") < 0);
	end();
}

T_TEST("a damaged file is none")
{
	char path[700], byte;
	struct stat st = { .st_size = 0 };
	int fd;

	begin();
	keep("a", 1, "one");
	keep("b", 2, "two");
	path_of(path);
	T_CHECK(!stat(path, &st) && st.st_size > 0 &&
		(st.st_mode & 0777) == 0600);
	for (off_t at = 0; at < st.st_size; at++) {
		fd = open(path, O_RDWR | O_CLOEXEC);
		T_CHECK(pread(fd, &byte, 1, at) == 1);
		byte ^= 0x10;
		T_CHECK(pwrite(fd, &byte, 1, at) == 1);
		T_ROW("a changed byte", !*cached(7, "a", 1));
		byte ^= 0x10;
		T_CHECK(pwrite(fd, &byte, 1, at) == 1);
		close(fd);
	}
	T_CHECK(!strcmp(cached(7, "a", 1), "one"));
	for (off_t size = st.st_size; size-- > 0;) {
		T_CHECK(!truncate(path, size));
		T_ROW("cut", !*cached(7, "a", 1));
	}
	keep("a", 1, "one");
	T_ROW("written anew", !strcmp(cached(7, "a", 1), "one"));
	end();
}

T_TEST("what others may have written is not read")
{
	char path[700], other[800], dir[600];

	begin();
	keep("a", 1, "one");
	path_of(path);
	snprintf(other, sizeof(other), "%s.other", path);
	snprintf(dir, sizeof(dir), "%s/netprof", cache);
	T_CHECK(!rename(path, other) && !symlink(other, path));
	T_ROW("a symbolic link", !*cached(7, "a", 1));
	T_CHECK(!unlink(path) && !mkfifo(path, 0600));
	T_ROW("a FIFO", !*cached(7, "a", 1));
	T_CHECK(!unlink(path) && !rename(other, path));
	T_CHECK(!chmod(dir, 0777));
	T_ROW("where others may write", !*cached(7, "a", 1));
	T_CHECK(!chmod(dir, 0700));
	T_CHECK(!strcmp(cached(7, "a", 1), "one"));
	if (!t_skip_unless_root("what somebody else wrote")) {
		T_CHECK(!chown(path, 12345, 0));
		T_ROW("of somebody else", !*cached(7, "a", 1));
		T_CHECK(!chown(path, 0, 0) && !chown(cache, 12345, 0));
		T_ROW("in somebody else's directory", !*cached(7, "a", 1));
	}
	end();
}

T_TEST("the state is that of all directories")
{
	struct np_store_stamp s[2] = {
		{ .dev = 1, .ino = 2, .sec = 1000, .nsec = 5 },
		{ .dev = 0 },
	};
	uint64_t state = np_cache_state(1, s, 2);

	T_CHECK(state && state == np_cache_state(1, s, 2));
	T_ROW("the seed counts", state != np_cache_state(2, s, 2));
	s[1].nsec++;
	T_ROW("the last one counts", state != np_cache_state(1, s, 2));
	s[1] = (struct np_store_stamp){ .sec = time(NULL) };
	T_ROW("one that may change again", !np_cache_state(1, s, 2));
}

T_TEST("packed numbers and texts come back, and no more")
{
	const struct np_mean mean = { .n = 3, .mean = 1.5, .sd = 0.25 };
	struct np_mean back;
	struct np_pack p = { .bad = false };
	char *data;
	size_t len;

	p.f = open_memstream(&data, &len);
	T_CHECK(np_pack_count(&p, 9, 9) == 9);
	np_pack_mean(&p, mean);
	np_pack_text(&p, "name");
	np_pack_text(&p, NULL);
	T_CHECK(!fclose(p.f));
	for (size_t cut = 0; cut <= len; cut++) {
		p = (struct np_pack){ .at = data, .left = cut };
		np_pack_count(&p, 0, 9);
		back = np_pack_mean(&p, (struct np_mean){ 0 });
		np_pack_text(&p, NULL);
		T_ROW("an empty text for none", !*np_pack_text(&p, NULL));
		T_ROW("cut", p.bad == (cut < len));
	}
	T_CHECK(back.n == 3 && back.mean == 1.5 && back.sd == 0.25 && !p.left);
	p = (struct np_pack){ .at = data, .left = len };
	T_ROW("more than can be", !np_pack_count(&p, 0, 8) && p.bad);
	p = (struct np_pack){ .at = data, .left = len };
	T_ROW("a text that does not end", !*np_pack_text(&p, NULL) && p.bad);
	free(data);
}
