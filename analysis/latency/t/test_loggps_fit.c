#include "t.h"
#include "np_loggps_fit.h"
#include "np_loggps_store.h"
#include "np_rng.h"

#define MAX 4096
#define MESSAGES 16

/* The true parameters of a network. */
struct truth {
	double L, o_send, o_recv, g, G;
	uint32_t S;	/* 0: no rendezvous */
	double noise;	/* relative, of all times */
	double outlier; /* share of times that are ten times as long */
	uint32_t bend;	/* size from which bytes cost ... */
	double bent;	/* ... this many times as much */
};

static struct np_prtt sample[MAX];
static size_t n_samples;

static double bytes_sec(const struct truth *t, uint32_t bytes)
{
	double before = bytes - 1, after = 0;

	if (t->bend && bytes > t->bend) {
		before = t->bend - 1;
		after = bytes - t->bend;
	}
	return t->G * (before + t->bent * after);
}

static double trip(const struct truth *t, uint32_t bytes)
{
	double ends = t->o_send + t->L + t->o_recv;
	double asks = t->S && bytes > t->S ? 2 * ends : 0;

	return 2 * (ends + asks + bytes_sec(t, bytes));
}

static void add(const struct truth *t, struct np_rng *r, struct np_prtt s)
{
	s.sec *= 1 + t->noise * fabs(np_rng_normal(r));
	if ((double)np_rng_below(r, 1000) < 1000 * t->outlier)
		s.sec *= 10;
	sample[n_samples++] = s;
}

static void add_block(const struct truth *t, struct np_rng *r, uint32_t b)
{
	double apart = fmax(t->o_send, t->g), d = trip(t, 1) + t->g;

	for (uint32_t bytes = 1; bytes <= 1u << 20; bytes *= 2)
		add(t, r, (struct np_prtt){ b, 1, bytes, 0, trip(t, bytes) });
	add(t, r,
	    (struct np_prtt){ b, MESSAGES, 1, 0,
			      trip(t, 1) + (MESSAGES - 1) * apart });
	/* Pauses are exact. */
	add(t, r,
	    (struct np_prtt){ b, MESSAGES, 1, 0,
			      trip(t, 1) + (MESSAGES - 1) * t->o_send });
	sample[n_samples - 1].delay_sec = d;
	sample[n_samples - 1].sec += (MESSAGES - 1) * d;
	add(t, r, (struct np_prtt){ b, 0, 0, 0, t->o_recv });
}

/* The overheads of a longer message. */
static void add_overheads(const struct truth *t, struct np_rng *r, uint32_t b,
			  uint32_t bytes, double copy_sec)
{
	double d = 2 * trip(t, bytes);

	add(t, r,
	    (struct np_prtt){
		    b, MESSAGES, bytes, 0,
		    trip(t, bytes) + (MESSAGES - 1) * (t->o_send + copy_sec) });
	sample[n_samples - 1].delay_sec = d;
	sample[n_samples - 1].sec += (MESSAGES - 1) * d;
	add(t, r, (struct np_prtt){ b, 0, bytes, 0, t->o_recv + copy_sec });
}

static void measure(const struct truth *t, uint32_t blocks, const char *name)
{
	struct np_rng *r = np_rng_new(7, name);

	n_samples = 0;
	for (uint32_t b = 0; b < blocks; b++)
		add_block(t, r, b);
	np_rng_free(r);
}

/* clang-format off */
static const struct {
	const char *name;
	struct truth truth;
	double within;	 /* tolerance, relative to each parameter */
	uint32_t step_s; /* S that should be found */
} known[] = {
	{ "exactly, without noise",
	  { 2e-6, 0.4e-6, 0.6e-6, 0.7e-6, 1e-9, 0 }, 1e-9, 0 },
	{ "InfiniBand with rendezvous from 8 KiB on",
	  { 1e-6, 0.3e-6, 0.4e-6, 0.5e-6, 0.1e-9, 8192 }, 1e-9, 8192 },
	{ "rendezvous among small messages",
	  { 1e-6, 0.3e-6, 0.4e-6, 0.5e-6, 0.1e-9, 64 }, 1e-9, 64 },
	{ "Ethernet", { 20e-6, 5e-6, 6e-6, 7e-6, 0.8e-9, 65536 }, 1e-9,
	  65536 },
	{ "a gap that is less than the overhead cannot be distinguished from it",
	  { 20e-6, 7e-6, 6e-6, 7e-6, 0.8e-9, 0 }, 1e-9, 0 },
	{ "bytes so slow that a step is lost among them",
	  { 20e-6, 5e-6, 6e-6, 7e-6, 400e-9, 65536 }, 0.02, 0 },
	{ "a hundredth of noise",
	  { 20e-6, 5e-6, 6e-6, 7e-6, 0.8e-9, 65536, 0.01 }, 0.06, 65536 },
	{ "a twentieth of the times ten times as long",
	  { 20e-6, 5e-6, 6e-6, 7e-6, 0.8e-9, 65536, 0.002, 0.05 }, 0.03,
	  65536 },
	{ "free bytes in the beginning, as from a token bucket, are no step",
	  { 20e-6, 5e-6, 6e-6, 7e-6, 4e-12, 0, 0, 0, 4096, 1e5 }, 0, 0 },
	{ "bytes that are cheaper from some size on are no step",
	  { 20e-6, 5e-6, 6e-6, 7e-6, 8e-9, 0, 0, 0, 4096, 0.25 }, 0, 0 },
};
/* clang-format on */

static int near(const struct np_loggps_value *v, double want, double within)
{
	return !within || (fabs(v->value - want) <= within * want &&
			   v->low <= v->value && v->value <= v->high);
}

T_TEST("known parameters are recovered")
{
	T_EACH(r, known) {
		const struct truth *t = &r->truth;
		double within = r->within;
		struct np_loggps_fit f;

		measure(t, 30, r->name);
		T_ROW(r->name, np_loggps_fit(sample, n_samples, &f, NULL) == 0);
		T_ROW(r->name, f.n_blocks == 30 && f.n_sizes == 21 &&
				       f.bytes_min == 1 &&
				       f.bytes_max == 1 << 20);
		T_ROW(r->name, near(&f.L, t->L, within));
		T_ROW(r->name, near(&f.o_send, t->o_send, within));
		T_ROW(r->name, near(&f.o_recv, t->o_recv, within));
		T_ROW(r->name, near(&f.g, t->g, within));
		T_ROW(r->name, near(&f.G, t->G, within));
		T_ROW(r->name, f.S == r->step_s && f.S_above == 2 * f.S);
		T_ROW(r->name,
		      !f.S || near(&f.step, 2 * (t->o_send + t->L + t->o_recv),
				   2 * within));
	}
}

/* Above S nothing is copied, whatever the overhead. */
T_TEST("the overhead per byte is that of messages without rendezvous")
{
	static const struct truth t = {
		20e-6, 5e-6, 6e-6, 7e-6, 0.8e-9, 8192,
	};
	static const uint32_t sizes[] = { 8, 64, 512, 4096, 32768 };
	struct np_rng *r = np_rng_new(7, "copies");
	struct np_loggps_fit f;

	measure(&t, 5, "copies");
	T_CHECK(!np_loggps_fit(sample, n_samples, &f, NULL) && f.O.value == 0 &&
		f.O.high == 0);
	for (size_t i = 0; i < NP_ARRAY_SIZE(sizes); i++)
		for (uint32_t b = 0; b < 5; b++)
			add_overheads(&t, r, b, sizes[i],
				      sizes[i] > t.S ? 1e-3 :
						       0.3e-9 * (sizes[i] - 1));
	T_CHECK(!np_loggps_fit(sample, n_samples, &f, NULL) &&
		t_close(f.O.value, 0.3e-9, 1e-6) && f.O.low <= f.O.value &&
		f.O.value <= f.O.high);
	T_CHECK(near(&f.o_send, t.o_send, 1e-9) &&
		near(&f.o_recv, t.o_recv, 1e-9) && near(&f.g, t.g, 1e-9));
	np_rng_free(r);
}

/* Only long messages count for G if short ones are free. */
T_TEST("a token bucket does not hide the rate")
{
	static const struct truth t = {
		20e-6, 5e-6, 6e-6, 7e-6, 4e-12, 0, 0, 0, 4096, 1e5,
	};
	struct np_loggps_fit f;

	measure(&t, 5, "bucket");
	T_CHECK(np_loggps_fit(sample, n_samples, &f, NULL) == 0);
	T_CHECK(fabs(f.G.value - 4e-7) < 0.03 * 4e-7);
}

/*
 * 95 % of the intervals should contain the true value. The noise is one-sided,
 * so its median is the true value: 0.674 standard deviations.
 */
T_TEST("intervals have the promised coverage")
{
	struct truth t = { 20e-6, 5e-6, 6e-6, 7e-6, 0.8e-9, 0, 0.01 };
	double want = t.o_recv * (1 + 0.01 * 0.67449);
	int held = 0;

	for (int i = 0; i < 400; i++) {
		struct np_loggps_fit f;

		measure(&t, 20, t_text("interval %d", i));
		if (!np_loggps_fit(sample, n_samples, &f, NULL))
			held += f.o_recv.low <= want && want <= f.o_recv.high;
	}
	/* 20 blocks: ranks 6 and 15, 95.9 %; three standard errors */
	T_ROW("at least 93 of 100", held >= 372);
	T_ROW("not all, as they would be useless", held < 400);
}

static const struct {
	const char *name;
	size_t n;
	double low, high; /* of 1 .. n */
} ranks[] = {
	{ "one", 1, 1, 1 },
	{ "five: all of them", 5, 1, 5 },
	{ "six: all of them", 6, 1, 6 },
	{ "nine", 9, 2, 8 },
	{ "twenty", 20, 6, 15 },
	{ "thirty", 30, 10, 21 },
	{ "a hundred", 100, 40, 61 },
};

T_TEST("intervals of medians match the tables")
{
	struct truth t = { 1e-6, 0.3e-6, 0, 0.5e-6, 0.1e-9, 0 };
	struct np_rng *r = np_rng_new(7, "intervals");

	/* Receive overheads of 1, 2, 3 ... ns, one per block. */
	T_EACH(row, ranks) {
		struct np_loggps_fit f = { 0 };

		n_samples = 0;
		for (size_t b = 0; b < row->n; b++) {
			t.o_recv = 1e-9 * (double)(row->n - b);
			add_block(&t, r, (uint32_t)b);
		}
		T_ROW(row->name,
		      !np_loggps_fit(sample, n_samples, &f, NULL) &&
			      t_close(f.o_recv.low, 1e-9 * row->low, 1e-9) &&
			      t_close(f.o_recv.high, 1e-9 * row->high, 1e-9) &&
			      t_close(f.o_recv.value,
				      5e-10 * (double)(row->n + 1), 1e-9));
	}
	np_rng_free(r);
}

T_TEST("order and incomplete blocks do not matter")
{
	static const struct truth t = {
		1e-6, 0.3e-6, 0.4e-6, 0.5e-6, 0.1e-9, 8192, 0.01,
	};
	struct np_loggps_fit a, b;

	measure(&t, 10, "order");
	T_CHECK(np_loggps_fit(sample, n_samples, &a, NULL) == 0);
	for (size_t i = 0; i < n_samples / 2; i++) {
		struct np_prtt s = sample[i];

		sample[i] = sample[n_samples - 1 - i];
		sample[n_samples - 1 - i] = s;
	}
	/* An interrupted block. */
	sample[n_samples++] = (struct np_prtt){ 10, 1, 1, 0, 1 };
	T_CHECK(np_loggps_fit(sample, n_samples, &b, NULL) == 0);
	T_CHECK(!memcmp(&a, &b, sizeof(a)));
}

static const struct {
	const char *name;
	/* index of the missing sample of the last block, from the end */
	size_t from_end;
} lacking[] = {
	{ "the receiver's overhead", 1 },
	{ "the sender's overhead", 2 },
	{ "the gap", 3 },
	{ "one size", 4 },
};

T_TEST("a block without all kinds is excluded")
{
	static const struct truth t = {
		1e-6, 0.3e-6, 0.4e-6, 0.5e-6, 0.1e-9, 0,
	};

	T_EACH(r, lacking) {
		struct np_loggps_fit f;

		measure(&t, 10, "lacking");
		sample[n_samples - r->from_end] = sample[n_samples - 1];
		n_samples--;
		T_ROW(r->name,
		      np_loggps_fit(sample, n_samples, &f, NULL) == 0 &&
			      f.n_blocks == 9);
	}
}

static const struct {
	const char *name;
	size_t at;	   /* this sample of ten good blocks ... */
	struct np_prtt is; /* ... is replaced by this one */
	int rc;
} refused[] = {
	{ "a time of zero", 3, { 0, 1, 8, 0, 0 }, -EINVAL },
	{ "a time that is no number", 3, { 0, 1, 8, 0, NAN }, -EINVAL },
	{ "an endless time", 3, { 0, 1, 8, 0, INFINITY }, -EINVAL },
	{ "a pause below zero", 3, { 0, 9, 8, -1, 1 }, -EINVAL },
	{ "an endless pause", 3, { 0, 9, 8, INFINITY, 1 }, -EINVAL },
	{ "a message without bytes", 3, { 0, 1, 0, 0, 1 }, -EINVAL },
	{ "a block number beyond the limit", 3, { 1000, 1, 8, 0, 1 }, -EINVAL },
	{ "a block too many is all right", 3, { 999, 1, 8, 0, 1 }, 0 },
};

T_TEST("impossible samples are rejected")
{
	static const struct truth t = {
		1e-6, 0.3e-6, 0.4e-6, 0.5e-6, 0.1e-9, 0,
	};

	T_EACH(r, refused) {
		struct np_err err = NP_ERR_INIT;
		struct np_loggps_fit f;

		measure(&t, 10, "refused");
		sample[r->at] = r->is;
		T_ROW(r->name,
		      np_loggps_fit(sample, n_samples, &f, &err) == r->rc);
		T_ROW(r->name, !err.text[0] == !r->rc);
	}
}

/* As on a single machine, where the sender itself copies the message. */
T_TEST("a message takes no less than its overheads")
{
	static const struct truth t = {
		-1e-6, 5e-6, 2e-6, 7e-6, 0.1e-9, 0,
	};
	struct np_loggps_fit f;

	measure(&t, 10, "overlap");
	T_CHECK(np_loggps_fit(sample, n_samples, &f, NULL) == 0);
	T_CHECK(f.L.value == 0 && t_close(f.o_recv.value, 2e-6, 1e-9) &&
		t_close(f.o_send.value, 4e-6, 1e-9));
}

T_TEST("graphs are computed with what was measured")
{
	struct np_loggps_fit f = {
		.L = { 2e-6, 1e-6, 3e-6 },
		.o_send = { 1e-6 },
		.o_recv = { 3e-6 },
		.G = { 1e-10 },
		.O = { 5e-11 },
	};
	struct np_loggps net;

	np_loggps_of_fit(&f, &net);
	T_CHECK(t_close(net.L_ns, 2000, 1e-12) &&
		t_close(net.o_ns, 2000, 1e-12) &&
		t_close(net.G_ns, 0.1, 1e-12) && net.first_byte_free &&
		t_close(net.O_ns, 0.05, 1e-12) &&
		net.S == NP_LOGGPS_NO_RENDEZVOUS);
	f.S = 8192;
	f.O.value = 2e-10; /* noise: it cannot be more than G */
	np_loggps_of_fit(&f, &net);
	T_CHECK(net.S == 8192 && net.O_ns == net.G_ns);
}

T_TEST("too few samples are reported")
{
	struct truth t = { 1e-6, 0.3e-6, 0.4e-6, 0.5e-6, 0.1e-9, 0 };
	struct np_err err = NP_ERR_INIT;
	struct np_loggps_fit f;

	T_CHECK(np_loggps_fit(NULL, 0, &f, &err) == -ENODATA);
	measure(&t, 1, "little");
	T_ROW("three sizes", np_loggps_fit(sample, 3, &f, &err) == -ENODATA);
	T_ROW("no overheads",
	      np_loggps_fit(sample, n_samples - 3, &f, &err) == -ENODATA);
	t.G = -1e-12;
	measure(&t, 6, "less than nothing");
	T_ROW("bytes that take less than no time",
	      np_loggps_fit(sample, n_samples, &f, &err) == -EDOM);
	T_CHECK(strstr(err.text, "time per byte G"));
	for (uint32_t i = 0; i <= NP_LOGGPS_MAX_SIZES; i++)
		sample[i] = (struct np_prtt){ 0, 1, i + 1, 0, 1 };
	T_ROW("too many sizes", np_loggps_fit(sample, NP_LOGGPS_MAX_SIZES + 1,
					      &f, &err) == -EINVAL);
}
