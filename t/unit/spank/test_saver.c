#include <float.h>

#include "t.h"
#include "np_saver_proto.h"
#include "np_saver_queue.h"
#include "np_select_level.h"

/* ---- messages ---- */

T_TEST("fields of messages arrive as they were sent")
{
	const char *sent[] = { "/store", "", "a line\n" };
	char *field[NP_SAVER_MAX_FIELDS], *msg = NULL;
	struct np_saver_header h;
	long len = np_saver_pack(NP_SAVER_SAVE, 7, sent, 3, &msg);

	T_CHECK(len == (long)sizeof(h) + 7 + 1 + 8);
	memcpy(&h, msg, sizeof(h));
	T_CHECK(np_saver_header_is_valid(&h) && h.kind == NP_SAVER_SAVE &&
		h.seq == 7);
	T_CHECK(np_saver_unpack(msg + sizeof(h), h.len, field) == 3);
	for (size_t i = 0; i < 3; i++)
		T_ROW(sent[i], !strcmp(field[i], sent[i]));
	free(msg);
}

T_TEST("damaged messages are refused")
{
	static const struct np_saver_header heads[] = {
		{ NP_SAVER_VERSION + 1, NP_SAVER_LOG, 0, 1 },
		{ NP_SAVER_VERSION, 0, 0, 1 },
		{ NP_SAVER_VERSION, NP_SAVER_N_KINDS, 0, 1 },
		{ NP_SAVER_VERSION, NP_SAVER_LOG, 0, 0 },
		{ NP_SAVER_VERSION, NP_SAVER_LOG, 0, NP_SAVER_MAX_BYTES + 1 },
	};
	char open[] = "no end", many[NP_SAVER_MAX_FIELDS + 1] = "";
	char *field[NP_SAVER_MAX_FIELDS];

	for (size_t i = 0; i < NP_ARRAY_SIZE(heads); i++)
		T_CHECK(!np_saver_header_is_valid(&heads[i]));
	T_CHECK(!np_saver_unpack(open, 0, field));
	T_CHECK(!np_saver_unpack(open, 6, field));
	T_CHECK(!np_saver_unpack(many, sizeof(many), field));
}

/* ---- the queue ---- */

static struct np_saver_client *who(uid_t uid)
{
	struct np_saver_client *w = calloc(1, sizeof(*w));

	w->refs = 1;
	w->uid = uid;
	return w;
}

static int add(struct np_saver_queue *q, struct np_saver_client *w,
	       uint64_t from, enum np_saver_kind kind, size_t len)
{
	struct np_saver_request r = { .client = w,
				      .connection = from,
				      .kind = kind,
				      .text = calloc(1, len),
				      .len = len };

	return np_saver_queue_add(q, &r);
}

static void empty(struct np_saver_queue *q)
{
	struct np_saver_request *r;

	while ((r = np_saver_queue_next(q)))
		np_saver_queue_done(q, r);
	T_CHECK(!q->first && !q->n_workers);
}

T_TEST("a store that hangs holds one process of a user")
{
	struct np_saver_client *a = who(1), *b = who(2);
	struct np_saver_queue q = { .first = NULL };
	struct np_saver_request *first, *other;

	T_CHECK(!add(&q, a, 1, NP_SAVER_SAVE, 1));
	T_CHECK(!add(&q, a, 2, NP_SAVER_LOG, 1));
	T_CHECK(!add(&q, b, 3, NP_SAVER_SAVE, 1));
	first = np_saver_queue_next(&q);
	other = np_saver_queue_next(&q);
	T_CHECK(first && first->connection == 1 && other &&
		other->connection == 3);
	T_CHECK(!np_saver_queue_next(&q));
	np_saver_queue_done(&q, first);
	first = np_saver_queue_next(&q);
	T_CHECK(first && first->connection == 2);
	np_saver_queue_done(&q, first);
	np_saver_queue_done(&q, other);
	empty(&q);
	np_saver_client_put(a);
	np_saver_client_put(b);
}

T_TEST("and a bounded number of a node")
{
	struct np_saver_request *r[NP_SAVER_WORKERS];
	struct np_saver_queue q = { .first = NULL };

	for (uid_t uid = 0; uid < NP_SAVER_WORKERS + 3; uid++) {
		struct np_saver_client *w = who(uid);

		T_CHECK(!add(&q, w, uid, NP_SAVER_SAVE, 1));
		np_saver_client_put(w);
	}
	for (size_t i = 0; i < NP_SAVER_WORKERS; i++)
		T_CHECK((r[i] = np_saver_queue_next(&q)) != NULL);
	T_CHECK(!np_saver_queue_next(&q));
	for (size_t i = 0; i < NP_SAVER_WORKERS; i++)
		np_saver_queue_done(&q, r[i]);
	empty(&q);
}

/* As many users as share a node, whose homes are on another file server. */
T_TEST("users whose files hang delay no other user")
{
	struct np_saver_client *last = who(100);
	struct np_saver_request *r[101];
	struct np_saver_queue q = { .first = NULL };

	for (uid_t uid = 0; uid < 100; uid++) {
		struct np_saver_client *w = who(uid);

		T_CHECK(!add(&q, w, uid, NP_SAVER_SAVE, 1));
		T_CHECK((r[uid] = np_saver_queue_next(&q)) != NULL);
		np_saver_client_put(w);
	}
	T_CHECK(!add(&q, last, 100, NP_SAVER_SAVE, 1));
	r[100] = np_saver_queue_next(&q);
	T_CHECK(r[100] && r[100]->client == last);
	for (size_t i = 0; i < NP_ARRAY_SIZE(r); i++)
		if (r[i])
			np_saver_queue_done(&q, r[i]);
	empty(&q);
	np_saver_client_put(last);
}

/* A store that does not answer has one record of a run waiting, the newest. */
T_TEST("the newest record of a run is the one that waits")
{
	struct np_saver_queue q = { .first = NULL };
	struct np_saver_client *w = who(1);
	struct np_saver_request *r;
	size_t n = 0;

	T_CHECK(!add(&q, w, 1, NP_SAVER_SAVE, 2));
	r = np_saver_queue_next(&q);
	for (size_t len = 3; len < 5000; len++)
		T_CHECK(!add(&q, w, 1, NP_SAVER_SAVE, len));
	T_CHECK(!add(&q, w, 2, NP_SAVER_SAVE, 2));
	for (const struct np_saver_request *o = q.first; o; o = o->next)
		n++;
	T_CHECK(n == 3 && r->len == 2 && r->next->len == 4999);
	np_saver_queue_done(&q, r);
	empty(&q);
	np_saver_client_put(w);
}

/* As the idle network's record, which a collector saves after its own. */
T_TEST("and takes the place of no other run's")
{
	static const char runs[][6] = { "/\0a/1", "/\0a/2", "/\0a" };
	struct np_saver_queue q = { .first = NULL };
	struct np_saver_client *w = who(1);
	size_t n = 0;

	for (size_t i = 0; i < 2 * NP_ARRAY_SIZE(runs); i++) {
		const char *run = runs[i % NP_ARRAY_SIZE(runs)];
		struct np_saver_request r = {
			.client = w,
			.kind = NP_SAVER_SAVE,
			.text = memcpy(malloc(6), run, 6),
			.len = 6,
		};

		T_CHECK(!np_saver_queue_add(&q, &r));
	}
	for (const struct np_saver_request *o = q.first; o; o = o->next)
		n++;
	T_CHECK(n == NP_ARRAY_SIZE(runs));
	empty(&q);
	np_saver_client_put(w);
}

T_TEST("who has too much waiting is refused, and others are not")
{
	struct np_saver_client *a = who(1), *b = who(2);
	struct np_saver_queue q = { .first = NULL };
	uint64_t n = 0;
	int rc;

	while (!(rc = add(&q, a, n, NP_SAVER_LOG, 16)))
		n++;
	T_CHECK(rc == -EBUSY && n == NP_SAVER_WAITING_USER);
	T_CHECK(!add(&q, b, 0, NP_SAVER_LOG, 16));
	empty(&q);
	T_CHECK(!add(&q, a, 1, NP_SAVER_SAVE, NP_SAVER_WAITING_USER_BYTES));
	T_CHECK(add(&q, a, 2, NP_SAVER_SAVE, 1) == -EBUSY);
	T_CHECK(!add(&q, b, 3, NP_SAVER_SAVE, 1));
	empty(&q);
	np_saver_client_put(a);
	np_saver_client_put(b);
}

T_TEST("a record that grows while it waits stays within the limits")
{
	struct np_saver_queue q = { .first = NULL };
	struct np_saver_client *w = who(1);
	size_t n_grown = 0, bytes = 0;

	for (uint64_t from = 0; from < 64; from++)
		T_CHECK(!add(&q, w, from, NP_SAVER_SAVE, 2));
	for (uint64_t from = 0; from < 64; from++)
		n_grown += !add(&q, w, from, NP_SAVER_SAVE, 1 << 20);
	for (const struct np_saver_request *o = q.first; o; o = o->next)
		bytes += o->len;
	T_CHECK(n_grown == 15 && bytes <= NP_SAVER_WAITING_USER_BYTES);
	T_ROW("one may replace another of its size",
	      !add(&q, w, 0, NP_SAVER_SAVE, 1 << 20));
	empty(&q);
	np_saver_client_put(w);
}

T_TEST("users who take all that they get leave room for others")
{
	static const size_t lens[] = { 16, 1 << 20 };

	for (size_t i = 0; i < NP_ARRAY_SIZE(lens); i++) {
		struct np_saver_queue q = { .first = NULL };
		struct np_saver_client *last = who(6);

		for (uid_t uid = 1; uid < 6; uid++) {
			struct np_saver_client *w = who(uid);
			uint64_t n = 0;

			while (!add(&q, w, n, NP_SAVER_LOG, lens[i]))
				n++;
			T_CHECK(n > 0);
			np_saver_client_put(w);
		}
		T_CHECK(!add(&q, last, 1, NP_SAVER_SAVE, lens[i]));
		empty(&q);
		np_saver_client_put(last);
	}
}

/* ---- choices ---- */

T_TEST("what was chosen arrives")
{
	static struct np_interval intervals[] = {
		{ 1, NP_INTERVAL_NO_LEVEL, 2.5, 1e6, NAN },
		{ 2, 1, 0.125, 0, 17 },
	};
	struct np_selection in = { .level = "c3",
				   .earlier = {
					   .name = { "c3", "P4:M10:B250us" },
					   .alone_known = { true, false },
					   .n_levels = 2,
					   .interval = intervals,
					   .n_intervals = 2,
					   .share = 0.2,
				   } };
	struct np_selection none = { .level = "" }, out;
	char *text = np_selection_print(&in);

	T_CHECK(!np_selection_parse(text, &out) && !strcmp(out.level, "c3"));
	T_CHECK(out.earlier.n_levels == 2 && out.earlier.n_intervals == 2 &&
		!out.complete && out.earlier.share == 0.2);
	T_CHECK(!strcmp(out.earlier.name[1], in.earlier.name[1]) &&
		out.earlier.alone_known[0] && !out.earlier.alone_known[1]);
	T_CHECK(out.earlier.interval[0].level == NP_INTERVAL_NO_LEVEL &&
		isnan(out.earlier.interval[0].calls) &&
		out.earlier.interval[1].sec == 0.125);
	np_earlier_intervals_free(&out.earlier);
	free(text);
	none.complete = true;
	text = np_selection_print(&none);
	T_CHECK(!np_selection_parse(text, &out) && out.complete &&
		!out.level[0]);
	free(text);
}

T_TEST("the longest choice fits into a reply")
{
	static struct np_interval intervals[NP_SELECTION_MAX_INTERVALS];
	struct np_selection in = { .level = "" }, out;
	char *text;

	for (size_t i = 0; i < NP_ARRAY_SIZE(intervals); i++)
		intervals[i] = (struct np_interval){
			UINT32_MAX,  NP_INTERVAL_NO_LEVEL, DBL_MAX / 7,
			DBL_MAX / 7, DBL_MAX / 7,
		};
	in.earlier.interval = intervals;
	in.earlier.n_intervals = NP_ARRAY_SIZE(intervals);
	in.earlier.n_levels = NP_FABRIC_MAX_LEVELS;
	for (size_t i = 0; i < NP_FABRIC_MAX_LEVELS; i++)
		strcpy(in.earlier.name[i], "P4:M10:B250us");
	text = np_selection_print(&in);
	T_CHECK(strlen(text) < (1u << 20) - 1000);
	T_CHECK(!np_selection_parse(text, &out) &&
		out.earlier.n_intervals == in.earlier.n_intervals);
	np_earlier_intervals_free(&out.earlier);
	free(text);
}

T_TEST("a damaged choice is refused")
{
	static const char *const texts[] = {
		"",
		"c3",
		"c3 0 1 0 0.2\n",
		"nosuch 0 0 0 0\n",
		"c3 0 1 1 0.2\nc3 1\n",
		"c3 0 1 1 0.2\nc3 1\n1 7 1 1 1\n",
		"c3 0 1 1 0.2\nc3 1\n1 0 -1 1 1\n",
		"c3 0 999999 0 0.2\n",
		"c3 0 1 1 0.2\nc3 1\n1 0 1\n1 1\n",
		"- 0 1 0 0\nnosuch 1\n",
	};
	struct np_selection out;

	for (size_t i = 0; i < NP_ARRAY_SIZE(texts); i++)
		T_ROW(texts[i], np_selection_parse(texts[i], &out) == -EINVAL &&
					!out.earlier.n_levels && !out.level[0]);
}
