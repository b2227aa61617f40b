#include "t.h"
#include "np_rendezvous.h"

#define G "00112233445566778899aabbccddeeff"
#define H "ffeeddccbbaa99887766554433221100"
#define GOOD "4711 " G " " H " 2.000 8 4294967295 /opt/x/netprof-agent"
#define P64 "/234567890123456789012345678901234567890123456789012345678901234"
#define P256 P64 P64 P64 P64

static const struct np_rendezvous_entry some = {
	.port = 4711,
	.agent_cookie = G,
	.collector_cookie = H,
	.after_sec = 2.0,
	.max_nodes = 8,
	.seed = 4294967295u,
	.path = "/opt/x/netprof-agent",
};

static int same(const struct np_rendezvous_entry *a,
		const struct np_rendezvous_entry *b)
{
	return a->port == b->port &&
	       !strcmp(a->agent_cookie, b->agent_cookie) &&
	       !strcmp(a->collector_cookie, b->collector_cookie) &&
	       a->after_sec == b->after_sec && a->max_nodes == b->max_nodes &&
	       a->seed == b->seed && !strcmp(a->path, b->path);
}

T_TEST("every component of a job finds its rendezvous entry")
{
	char text[16 * NP_RENDEZVOUS_TEXT] = "";
	struct np_rendezvous_entry v = some, got;

	for (uint16_t i = 0; i < 16; i++) {
		v.port = (uint16_t)(65535 - i);
		v.seed = i;
		T_CHECK(np_rendezvous_add(&v, text, sizeof(text), NULL) == 0);
	}
	for (uint16_t i = 0; i < 16; i++) {
		v.port = (uint16_t)(65535 - i);
		v.seed = i;
		T_CHECK(np_rendezvous_find(text, i, &got) == 0 &&
			same(&v, &got));
	}
	T_CHECK(np_rendezvous_find(text, 16, &got) == -ENOENT);
	T_CHECK(np_rendezvous_find(text, (size_t)-1, &got) == -ENOENT);
}

T_TEST("the longest rendezvous text fits")
{
	struct np_rendezvous_entry v = some, got;
	char text[NP_RENDEZVOUS_TEXT] = "";

	v.port = 65535;
	v.after_sec = 7200;
	v.max_nodes = NP_RENDEZVOUS_MAX_NODES;
	snprintf(v.path, sizeof(v.path), "%.255s", P256);
	T_CHECK(np_rendezvous_add(&v, text, sizeof(text), NULL) == 0);
	T_CHECK(np_rendezvous_find(text, 0, &got) == 0 && same(&v, &got));
}

static const struct {
	const char *name, *text;
	size_t component;
	int rc;
} texts[] = {
	{ "as srun writes it", GOOD, 0, 0 },
	{ "the second entry of two", "damaged;" GOOD, 1, 0 },
	{ "a damaged entry does not affect another", GOOD ";damaged", 0, 0 },
	{ "the last may be followed by nothing", GOOD ";", 0, 0 },
	{ "nothing for this component", GOOD, 1, -ENOENT },
	{ "an empty component", GOOD ";", 1, -EINVAL },
	{ "nothing", "", 0, -EINVAL },
	{ "words", "from the user's environment", 0, -EINVAL },
	{ "port 0", "0 " G " " H " 2 8 1 /x", 0, -EINVAL },
	{ "port 65536", "65536 " G " " H " 2 8 1 /x", 0, -EINVAL },
	{ "a port with a sign", "-1 " G " " H " 2 8 1 /x", 0, -EINVAL },
	{ "a port in words", "http " G " " H " 2 8 1 /x", 0, -EINVAL },
	{ "a short cookie", "1 0011 " H " 2 8 1 /x", 0, -EINVAL },
	{ "a long cookie", "1 " G "0 " H " 2 8 1 /x", 0, -EINVAL },
	{ "a long second cookie", "1 " G " " H "0 2 8 1 /x", 0, -EINVAL },
	{ "a cookie in capitals",
	  "1 " G " FFEEDDCCBBAA99887766554433221100 "
	  "2 8 1 /x",
	  0, -EINVAL },
	{ "a cookie that is no number",
	  "1 %s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s " H " 2 8 1 /x", 0, -EINVAL },
	{ "one cookie", "1 " G " 2 8 1 /x", 0, -EINVAL },
	{ "a time in the past", "1 " G " " H " -1 8 1 /x", 0, -EINVAL },
	{ "a time that is none", "1 " G " " H " nan 8 1 /x", 0, -EINVAL },
	{ "never", "1 " G " " H " inf 8 1 /x", 0, -EINVAL },
	{ "in more than two hours", "1 " G " " H " 7201 8 1 /x", 0, -EINVAL },
	{ "one node", "1 " G " " H " 2 1 1 /x", 0, -EINVAL },
	{ "no node", "1 " G " " H " 2 0 1 /x", 0, -EINVAL },
	{ "too many nodes", "1 " G " " H " 2 257 1 /x", 0, -EINVAL },
	{ "less than no nodes", "1 " G " " H " 2 -2 1 /x", 0, -EINVAL },
	{ "no seed", "1 " G " " H " 2 8 /x", 0, -EINVAL },
	{ "no path", "1 " G " " H " 2 8 1", 0, -EINVAL },
	{ "a path of another component", "1 " G " " H " 2 8 1;/x", 0, -EINVAL },
	{ "a path from the working directory", "1 " G " " H " 2 8 1 x/y", 0,
	  -EINVAL },
	{ "a path cut short", "1 " G " " H " 2 8 1 " P256, 0, -EINVAL },
	{ "words after the path", GOOD " --help", 0, -EINVAL },
};

T_TEST("any value in the environment of the user")
{
	T_EACH(r, texts) {
		struct np_rendezvous_entry v = { .port = 1 };
		int rc = np_rendezvous_find(r->text, r->component, &v);

		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name,
		      rc ? v.port == 1 && !v.agent_cookie[0] : same(&v, &some));
	}
}

/* Each of the texts that are taken, cut anywhere. */
T_TEST("a rendezvous text that was truncated")
{
	for (size_t len = 0; len < sizeof(GOOD) - 1; len++) {
		char *text = strndup(GOOD, len);
		struct np_rendezvous_entry v;

		T_CHECK(np_rendezvous_find(text, 0, &v) == -EINVAL ||
			len > sizeof(GOOD) - sizeof("opt/x/netprof-agent") - 1);
		T_CHECK(np_rendezvous_find(text, 1, &v) == -ENOENT);
		free(text);
	}
}

static const struct {
	const char *name, *join;
	size_t size;
	const char *says;
} refused[] = {
	{ "a path with a space", "/opt/my tools/join", 1024, "/opt/my tools" },
	{ "a path with a semicolon", "/opt;/join", 1024, "LibexecDir" },
	{ "a path with a line end", "/opt\n/join", 1024, "LibexecDir" },
	{ "no path", "", 1024, "LibexecDir" },
	{ "no room for a second one", "/opt/x/netprof-agent", sizeof(GOOD) + 10,
	  "too many components" },
	{ "no room by one byte", "/opt/x/netprof-agent", 2 * sizeof(GOOD) - 1,
	  "too many components" },
};

T_TEST("what cannot be announced is refused with its cause")
{
	T_EACH(r, refused) {
		struct np_err err = NP_ERR_INIT;
		struct np_rendezvous_entry v = some;
		char text[1024] = GOOD;

		strcpy(v.path, r->join);
		T_ROW(r->name,
		      np_rendezvous_add(&v, text, r->size, &err) == -EINVAL);
		T_ROW(r->name, strstr(err.text, r->says));
		T_ROW(r->name, !strcmp(text, GOOD));
	}
}

/*
 * The nodes taken of a step are as many as counted, two and two that are
 * neighbours, with nobody far from one of them.
 */
static int takes_well(const struct np_rendezvous_entry *v, uint32_t n)
{
	uint32_t taken = 0, run = 0, gap = 0, widest = 0;
	uint32_t blocks = v->max_nodes / 2;

	for (uint32_t i = 0; i < n; i++) {
		if (np_rendezvous_takes_part(v, i, n)) {
			taken++;
			run++;
			gap = 0;
			continue;
		}
		if (run % 2 && n > v->max_nodes)
			return 0;
		run = 0;
		widest = ++gap > widest ? gap : widest;
	}
	if (n > v->max_nodes && (run % 2 || widest > 2 * (n / blocks)))
		return 0;
	return taken == np_rendezvous_count(v, n) && taken <= v->max_nodes &&
	       !np_rendezvous_takes_part(v, n, n) &&
	       !np_rendezvous_takes_part(v, ~0u, n);
}

static void check_takes(uint32_t max_nodes, uint32_t n, uint32_t seed)
{
	const struct np_rendezvous_entry v = { .max_nodes = max_nodes,
					       .seed = seed };

	if (!takes_well(&v, n)) {
		printf("  max_nodes %u, n_nodes %u, seed %u:", max_nodes, n,
		       seed);
		T_ROW("as many as counted, in pairs, everywhere", 0);
	}
}

T_TEST("members wait on pairs of neighbours all over the step")
{
	static const uint32_t most[] = {
		2, 3, 4, 5, 7, 8, 16, 31, 64, 255, 256
	};
	static const uint32_t wide[] = { 257, 300, 511, 1000, 4097, 10000 };

	for (size_t m = 0; m < NP_ARRAY_SIZE(most); m++)
		for (uint32_t n = 1; n <= 300; n++)
			check_takes(most[m], n, 77 * n);
	for (uint32_t m = 2; m <= NP_RENDEZVOUS_MAX_NODES; m++)
		for (size_t i = 0; i < NP_ARRAY_SIZE(wide); i++)
			check_takes(m, wide[i], m * 2654435761u);
	T_CHECK(!np_rendezvous_takes_part(&some, 0, 0) &&
		!np_rendezvous_count(&some, 0));
}

/* Also in one block of many nodes each may be among the two. */
T_TEST("over many steps every node is measured")
{
	static const struct {
		uint32_t max_nodes, n;
	} steps[] = { { 2, 64 }, { 4, 5 }, { 8, 100 }, { 7, 9 } };
	uint32_t seen[128];

	T_EACH(r, steps) {
		uint32_t never = 0;

		memset(seen, 0, sizeof(seen));
		for (uint32_t seed = 0; seed < 1000; seed++) {
			const struct np_rendezvous_entry v = {
				.max_nodes = r->max_nodes,
				.seed = seed,
			};

			for (uint32_t i = 0; i < r->n; i++)
				seen[i] +=
					np_rendezvous_takes_part(&v, i, r->n);
		}
		for (uint32_t i = 0; i < r->n; i++)
			never += !seen[i];
		T_CHECK(!never);
	}
}

T_TEST("another step has its members on other nodes")
{
	uint32_t alike = 0;

	for (uint32_t seed = 0; seed < 100; seed++) {
		const struct np_rendezvous_entry a = { .max_nodes = 8,
						       .seed = seed };
		const struct np_rendezvous_entry b = { .max_nodes = 8,
						       .seed = seed + 1 };
		uint32_t both = 0;

		for (uint32_t i = 0; i < 1000; i++)
			both += np_rendezvous_takes_part(&a, i, 1000) &&
				np_rendezvous_takes_part(&b, i, 1000);
		alike += both == np_rendezvous_count(&a, 1000);
		T_CHECK(np_rendezvous_takes_part(&a, seed, 1000) ==
			np_rendezvous_takes_part(&a, seed, 1000));
	}
	T_CHECK(alike == 0);
}

T_TEST("members of a wide step come later, within bounds")
{
	double last = 0;

	for (uint32_t n = 1; n <= 10000; n++) {
		double sec = np_rendezvous_after_sec(&some, n);

		if (sec < last || sec < some.after_sec ||
		    sec > some.after_sec + 30)
			T_ROW("later in wider steps, within bounds", 0);
		last = sec;
	}
	T_CHECK(t_close(np_rendezvous_after_sec(&some, 50), 3, 1e-9));
	T_CHECK(t_close(np_rendezvous_after_sec(&some, 1500), 32, 1e-9));
	T_CHECK(t_close(np_rendezvous_after_sec(&some, ~0u), 32, 1e-9));
}
