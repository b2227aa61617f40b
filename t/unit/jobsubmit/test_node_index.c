#include "t.h"
#include "np_bits.h"
#include "np_node_index.h"

#define MAX 16

/* Names, some of them, and the list of those. */
/* clang-format off */
static const struct {
	const char *name, *names[MAX];
	uint64_t nodes;
	const char *want;
} formats[] = {
	{ "none", { "n0", "n1" }, 0, "" },
	{ "one", { "n0", "n1" }, 2, "n1" },
	{ "all", { "n0", "n1", "n2" }, 7, "n[0-2]" },
	{ "two ranges", { "n0", "n1", "n2", "n3", "n4" }, 0x1b, "n[0-1,3-4]" },
	{ "one and a range", { "n0", "n1", "n2", "n3" }, 0xd, "n[0,2-3]" },
	{ "numbers that grow a digit", { "n8", "n9", "n10", "n11" }, 0xf,
	  "n[8-11]" },
	{ "numbers that grow a digit, after a gap",
	  { "n0", "n1", "n2", "n9", "n10", "n11" }, 0x3f, "n[0-2,9-11]" },
	{ "zeros before", { "n08", "n09", "n10", "n11" }, 0xf, "n[08-11]" },
	{ "some with zeros, some without", { "n8", "n9", "n08", "n10" }, 0xf,
	  "n[8-9],n[08,10]" },
	{ "zero itself", { "n0", "n00", "n1" }, 7, "n[0-1],n00" },
	{ "nodes in another order", { "n2", "n0", "n1" }, 7, "n[0-2]" },
	{ "two racks", { "r1n0", "r1n1", "r2n0", "r2n1" }, 0xf,
	  "r1n[0-1],r2n[0-1]" },
	{ "no numbers", { "alpha", "beta" }, 3, "alpha,beta" },
	{ "a number in the middle", { "n1-ib", "n2-ib" }, 3, "n1-ib,n2-ib" },
	{ "the same, with a number and without", { "n", "n1" }, 3, "n,n1" },
	{ "numbers alone", { "7", "8" }, 3, "[7-8]" },
	{ "more digits than fit", { "n1234567890", "n1234567891" }, 3,
	  "n1234567890,n1234567891" },
	{ "the longest number", { "n999999999", "n999999998" }, 3,
	  "n[999999998-999999999]" },
	{ "a node without name", { "n0", "", "n2" }, 7, "n[0,2]" },
	{ "a gap in the numbers", { "n0", "n5" }, 3, "n[0,5]" },
	{ "one prefix begins like the other", { "a1", "ab1", "a2" }, 7,
	  "a[1-2],ab1" },
};
/* clang-format on */

static size_t count(const char *const *names)
{
	size_t n = 0;

	while (n < MAX && names[n])
		n++;
	return n;
}

T_TEST("lists are short")
{
	T_EACH(r, formats) {
		size_t n = count(r->names);
		struct np_node_index *x;
		char *got;

		T_CHECK(!np_node_index_new((char **)r->names, n, &x));
		got = np_node_index_format(x, &r->nodes);
		T_ROW(r->name, got && !strcmp(got, r->want));
		free(got);
		np_node_index_free(x);
	}
}

static const char *const plain[MAX] = { "n0",  "n1", "n2", "n9", "n10",
					"n11", "x",  "",   "m1" };
static const char *const zeros[MAX] = { "n00", "n01", "n02", "n09",
					"n10", "n11", "n100" };

static const struct {
	const char *name;
	const char *const *names;
	const char *word;
	int rc;
	uint64_t nodes;
} parses[] = {
	{ "a range", plain, "n[0-1]", 0, 0x3 },
	{ "a range with a gap", plain, "n[1-10]", 0, 0x1e },
	{ "several", plain, "n[0,2,10-99]", 0, 0x35 },
	{ "one in brackets", plain, "n[9]", 0, 0x8 },
	{ "names that are not there", plain, "k[0-9]", 0, 0 },
	{ "names that are not there, with digits that grow", plain,
	  "cloud[1-200,0300]", 0, 0 },
	{ "a number that begins before the bracket", plain, "n1[0-1]", -ENOENT,
	  0 },
	{ "numbers that are not there", plain, "n[12-999999999]", 0, 0 },
	{ "zeros before, though names have none", plain, "n[08-11]", -ENOENT,
	  0 },
	{ "with zeros", zeros, "n[01-10]", 0, 0x1e },
	{ "without zeros, though names have some", zeros, "n[0-9]", 0, 0 },
	{ "more digits", zeros, "n[100-101]", 0, 0x40 },
	{ "digits that grow", zeros, "n[10-100]", -ENOENT, 0 },
	{ "a plain name", plain, "n1", -ENOENT, 0 },
	{ "something behind the brackets", plain, "n[0-1]x", -ENOENT, 0 },
	{ "two brackets", plain, "n[0-1][0-1]", -ENOENT, 0 },
	{ "no end", plain, "n[0-1", -ENOENT, 0 },
	{ "no number", plain, "n[]", -ENOENT, 0 },
	{ "half a range", plain, "n[1-]", -ENOENT, 0 },
	{ "backwards", plain, "n[2-1]", -ENOENT, 0 },
	{ "a comma at the end", plain, "n[0,]", -ENOENT, 0 },
	{ "good, and then bad: nothing is set", plain, "n[0-1,x]", -ENOENT, 0 },
	{ "far too long a number", plain, "n[0-99999999999]", -ENOENT, 0 },
	{ "a bracket that ends before", plain, "n]0[1]", -ENOENT, 0 },
};

T_TEST("ranges are read as ranges")
{
	T_EACH(r, parses) {
		size_t left = SIZE_MAX;
		uint64_t got = 0;
		struct np_node_index *x;

		T_CHECK(!np_node_index_new((char **)r->names, count(r->names),
					   &x));
		T_ROW(r->name, np_node_index_parse(x, r->word, strlen(r->word),
						   &got, &left) == r->rc);
		T_ROW(r->name, got == r->nodes);
		np_node_index_free(x);
	}
}

/* Eight nodes in a row, and eight in no row. */
static const struct {
	const char *name;
	uint32_t step; /* from the number of a node to that of the next, mod 8 */
	const char *word;
	size_t left;
	int rc;
	size_t then;
} costs[] = {
	{ "in a row a range costs one", 1, "n[0-7]", 1, 0, 0 },
	{ "each of its ranges does", 1, "n[0,2,4]", 3, 0, 0 },
	{ "names that no node has cost nothing", 1, "n[8-900000]", 0, 0, 0 },
	{ "else each node costs one", 3, "n[0-7]", 10, 0, 2 },
	{ "and again if it comes again", 3, "n[0-7,0-7]", 15, -E2BIG, 0 },
	{ "more than may be", 3, "n[0-7]", 7, -E2BIG, 0 },
};

T_TEST("a range costs as many runs as it meets")
{
	T_EACH(r, costs) {
		size_t left = r->left;
		char text[8][4], *name[8];
		struct np_node_index *x;
		uint64_t got = 0;
		int rc;

		for (uint32_t k = 0; k < 8; k++) {
			name[k] = text[k];
			snprintf(text[k], sizeof(text[k]), "n%u",
				 k * r->step % 8);
		}
		T_CHECK(!np_node_index_new(name, 8, &x));
		rc = np_node_index_parse(x, r->word, strlen(r->word), &got,
					 &left);
		T_ROW(r->name, rc == r->rc && left == r->then);
		np_node_index_free(x);
	}
}

/* Lists of any nodes of a large cluster, there and back. */
T_TEST("there and back")
{
	enum { N = 1000 };
	static char text[N][16];
	char *name[N];
	uint64_t seed = 7;
	struct np_node_index *x;
	unsigned wrong = 0;

	for (int i = 0; i < N; i++) {
		name[i] = text[i];
		snprintf(text[i], sizeof(text[i]), i % 3 ? "n%04d" : "gpu%d",
			 i * 7 % N);
	}
	T_CHECK(!np_node_index_new(name, N, &x));
	for (int round = 0; round < 200; round++) {
		uint64_t bits[N / 64 + 1] = { 0 }, got[N / 64 + 1] = { 0 };
		size_t left = SIZE_MAX;
		char *list;

		for (size_t k = 0; k < N; k++) {
			seed = seed * 6364136223846793005u +
			       1442695040888963407u;
			if (seed >> 33 & (round % 2 ? 1 : 7))
				np_bits_set(bits, k);
		}
		list = np_node_index_format(x, bits);
		for (char *w = list; w && *w;) {
			size_t len = strcspn(w, "]") + 1;

			wrong += np_node_index_parse(x, w, len, got, &left) !=
				 0;
			w += len + (w[len] == ',');
		}
		wrong += memcmp(bits, got, sizeof(bits)) != 0;
		free(list);
	}
	T_CHECK(!wrong);
	np_node_index_free(x);
}

/* Slurm takes no range of more than 65536 names. */
T_TEST("a long range")
{
	enum { N = 70000 };
	char **name = calloc(N, sizeof(*name)), *got;
	uint64_t *bits = malloc((N / 64 + 1) * sizeof(*bits));
	struct np_node_index *x;

	for (int i = 0; i < N; i++)
		if (asprintf(&name[i], "n%d", i) < 0)
			abort();
	memset(bits, 0xff, (N / 64 + 1) * sizeof(*bits));
	T_CHECK(!np_node_index_new(name, N, &x));
	got = np_node_index_format(x, bits);
	T_CHECK(got && !strcmp(got, "n[0-65535,65536-69999]"));
	free(got);
	np_node_index_free(x);
	for (int i = 0; i < N; i++)
		free(name[i]);
	free(name);
	free(bits);
}
