/* Measured pairs in the store. */
#include "t.h"
#include "np_pairs_store.h"
#include "some_store.h"

#define START 1718182000.0 /* 2024-06-12T08:46:40Z */
#define FILE_NAME "20240612T084640Z.pairs"

static void add(struct np_pairs *p, enum np_pairs_kind kind, const char *victim,
		const char *corunner, double sec)
{
	struct np_pairs_run run = {
		.kind = kind,
		.victim = strdup(victim),
		.corunner = corunner ? strdup(corunner) : NULL,
		.start = START + (double)p->n_runs,
		.sec = sec,
	};

	T_CHECK(!np_pairs_add(p, &run));
}

/* lmp and fft, of which one pair was run. */
static void fill(struct np_pairs *p)
{
	*p = (struct np_pairs){
		.setup = strdup("private"),
		.date = START + 9,
		.n_programs = 2,
		.place = { .cluster = strdup("hpc") },
		.program = calloc(2, sizeof(*p->program)),
	};
	strcpy(p->program[0].name, "lmp");
	strcpy(p->program[1].name, "fft");
	add(p, NP_PAIRS_ALONE, "fft", NULL, 5);
	add(p, NP_PAIRS_ALONE, "lmp", NULL, 10);
	add(p, NP_PAIRS_LEAF, "lmp", "fft", 12);
}

static struct np_pairs *load(struct np_store *s, size_t n_wanted)
{
	struct np_pairs *p;
	size_t n;

	t_store_warned.n = 0;
	T_CHECK(!np_pairs_store_load(s, NP_STORE_USER, getuid(), "lmp",
				     t_store_warn, NULL, &p, &n, NULL));
	T_CHECK(n == n_wanted);
	return p;
}

static void forget(struct np_pairs *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		np_pairs_free(&p[i]);
	free(p);
}

T_FIXTURE(t_store_begin, t_store_end);

T_TEST("the runs of a victim are stored with its profile")
{
	struct np_pairs p, *q;

	fill(&p);
	T_CHECK(!t_store_save(t_store, 1, 1e9));
	T_CHECK(!np_pairs_store_save(t_store, &p, "lmp", NULL));
	q = load(t_store, 1);
	T_CHECK(q[0].n_runs == 2 && q[0].n_programs == 2);
	T_CHECK(q[0].run[0].kind == NP_PAIRS_ALONE && q[0].run[0].sec == 10);
	T_CHECK(!strcmp(q[0].run[1].corunner, "fft") && q[0].run[1].sec == 12);
	T_CHECK(!strcmp(q[0].place.cluster, "hpc") && q[0].date == p.date);
	forget(q, 1);
	/* A measurement that continues replaces its file. */
	add(&p, NP_PAIRS_LEAF, "lmp", "lmp", 11);
	T_CHECK(!np_pairs_store_save(t_store, &p, "lmp", NULL));
	q = load(t_store, 1);
	T_CHECK(q[0].n_runs == 3);
	forget(q, 1);
	np_pairs_free(&p);
}

T_TEST("without a pair or a profile nothing is written")
{
	struct np_pairs p;

	fill(&p);
	T_CHECK(!np_pairs_store_save(t_store, &p, "lmp",
				     NULL)); /* no profile */
	T_CHECK(!t_store_save(t_store, 1, 1e9));
	free(load(t_store, 0));
	p.n_runs--; /* no pair */
	T_CHECK(!np_pairs_store_save(t_store, &p, "lmp", NULL));
	free(load(t_store, 0));
	p.n_runs++;
	p.run[0].start = 0;
	T_CHECK(np_pairs_store_save(t_store, &p, "lmp", NULL) == -EINVAL);
	T_CHECK(np_pairs_store_save(t_store, &p, "../lmp", NULL) == -EINVAL);
	np_pairs_free(&p);
}

T_TEST("hostile files are skipped and reported")
{
	struct np_pairs p, *q;

	fill(&p);
	T_CHECK(!t_store_save(t_store, 1, 1e9));
	T_CHECK(!np_pairs_store_save(t_store, &p, "lmp", NULL));
	t_store_write("20250101T000000Z.pairs", "{ \"format\": ");
	T_CHECK(!symlink(FILE_NAME, t_store_path("20250102T000000Z.pairs")));
	t_store_write(".20250103T000000Z.pairs", "hidden");
	q = load(t_store, 1);
	T_CHECK(t_store_warned.n == 2);
	forget(q, 1);
	np_pairs_free(&p);
}

T_TEST("forgetting an application removes its pairs")
{
	struct np_pairs p;

	fill(&p);
	T_CHECK(!t_store_save(t_store, 1, 1e9));
	T_CHECK(!np_pairs_store_save(t_store, &p, "lmp", NULL));
	T_CHECK(!access(t_store_path(FILE_NAME), F_OK));
	T_CHECK(!np_store_remove(t_store, NP_STORE_USER, "lmp", NULL, 0, NULL));
	T_CHECK(access(t_store_path(""), F_OK));
	np_pairs_free(&p);
}
