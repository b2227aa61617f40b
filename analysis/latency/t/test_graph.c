#include "t.h"
#include "np_graph.h"

#include "some_graph.h"

static struct np_graph *graph(uint32_t n_ranks)
{
	struct np_graph *g = NULL;

	T_CHECK(!np_graph_new("some.goal", n_ranks, &g, NULL));
	return g;
}

/* clang-format off */
static const struct {
	const char *name;
	struct np_graph_op op;
	int rc;
	const char *says;
} refused[] = {
	{ "a send to a rank that is not there",
	  { NP_OP_SEND, 8, .peer = 2, .line = 7 }, -EINVAL,
	  "some.goal:7: rank 1: a send to rank 2, expected at most 1" },
	{ "a receive from one", { NP_OP_RECV, 8, .peer = 9, .line = 7 },
	  -EINVAL, "a receive from rank 9, expected at most 1" },
	{ "a send to any rank", { NP_OP_SEND, 8, .peer = NP_ANY }, -EINVAL,
	  "a send to rank 4294967295" },
	{ "a send with any tag", { NP_OP_SEND, 8, .tag = NP_ANY }, -EINVAL,
	  "a send with tag 4294967295" },
	{ "a calc beyond the limit", { NP_OP_CALC, UINT64_MAX }, -ERANGE,
	  "a calc of ns 18446744073709551615, expected at most" },
	{ "a message beyond the limit", { NP_OP_SEND, UINT64_MAX }, -ERANGE,
	  "a message of bytes 18446744073709551615" },
	{ "a context beyond the limit",
	  { NP_OP_SEND, 8, .context = NP_GRAPH_CONTEXTS }, -ERANGE,
	  "context 4096, expected at most 4095" },
	{ "a processor and a context",
	  { NP_OP_SEND, 8, .cpu = 300, .context = 1 }, -EINVAL,
	  "in a graph with contexts, processor 300, expected at most 0" },
};
/* clang-format on */

T_TEST("impossible operations are rejected with file, line and rank")
{
	T_EACH(r, refused) {
		struct np_err err = NP_ERR_INIT;
		struct np_graph *g = graph(2);

		T_CHECK(!np_graph_rank(g, 1, NULL, NULL));
		T_ROW(r->name, np_graph_add(g, &r->op, NULL, &err) == r->rc &&
				       strstr(err.text, r->says));
		np_graph_free(g);
	}
}

T_TEST("a rank may appear only once")
{
	const struct np_graph_op calc = { NP_OP_CALC, 1 };
	struct np_err err = NP_ERR_INIT;
	struct np_graph *g = NULL;

	T_CHECK(np_graph_new("x", 0, &g, &err) == -ERANGE);
	T_CHECK(np_graph_new("x", NP_GRAPH_MAX_RANKS + 1, &g, &err) == -ERANGE);
	g = graph(3);
	T_CHECK(np_graph_add(g, &calc, NULL, &err) == -EINVAL);
	T_CHECK(np_graph_rank(g, 3, NULL, &err) == -EINVAL);
	T_CHECK(!strcmp(err.text, "some.goal: rank 3, expected 0 to 2"));
	T_CHECK(!np_graph_rank(g, 2, "two", &err));
	T_CHECK(np_graph_rank(g, 2, "two", &err) == -EINVAL);
	T_CHECK(!strcmp(err.text, "two: rank 2 appears twice"));
	np_graph_free(g);
}

T_TEST("times do not overflow")
{
	const struct np_graph_op half = { NP_OP_CALC,
					  NP_GRAPH_MAX_SIZE / 2 + 1 };
	struct np_err err = NP_ERR_INIT;
	struct np_graph *g = graph(1);

	T_CHECK(!np_graph_rank(g, 0, NULL, NULL));
	T_CHECK(!np_graph_add(g, &half, NULL, NULL));
	T_CHECK(np_graph_add(g, &half, NULL, &err) == -ERANGE);
	T_CHECK(!!strstr(err.text, "all calcs so far"));
	np_graph_free(g);
}

T_TEST("dependencies are stored as given")
{
	const struct np_graph_op calc = { NP_OP_CALC, 1, .line = 3 };
	struct np_err err = NP_ERR_INIT;
	struct np_graph *g = graph(2);
	enum np_dep_kind kind;
	uint32_t y;

	T_CHECK(!np_graph_rank(g, 1, NULL, NULL));
	for (int i = 0; i < 3; i++)
		T_CHECK(!np_graph_add(g, &calc, &y, NULL));
	T_CHECK(y == 2);
	T_CHECK(np_graph_depend(g, 0, 3, NP_REQUIRES, &err) == -EINVAL);
	T_CHECK(np_graph_depend(g, 1, 1, NP_REQUIRES, &err) == -EINVAL);
	T_CHECK(!strcmp(err.text,
			"some.goal:3: rank 1, calc of 1 ns depends on itself"));
	T_CHECK(!np_graph_depend(g, 2, 0, NP_REQUIRES, NULL));
	T_CHECK(!np_graph_depend(g, 0, 1, NP_IREQUIRES, NULL));
	T_CHECK(!np_graph_depend(g, 2, 1, NP_IREQUIRES, NULL));
	T_CHECK(!np_graph_rank(g, 0, NULL, NULL));
	T_CHECK(!np_graph_add(g, &calc, NULL, NULL));
	T_CHECK(!np_graph_finish(g, NULL));
	T_CHECK(np_graph_dep(g, 1, 2, 0, &y, &kind) && y == 0 &&
		kind == NP_REQUIRES);
	T_CHECK(np_graph_dep(g, 1, 2, 1, &y, &kind) && y == 1 &&
		kind == NP_IREQUIRES);
	T_CHECK(!np_graph_dep(g, 1, 2, 2, &y, &kind));
	T_CHECK(np_graph_dep(g, 1, 0, 0, &y, &kind) && y == 1);
	T_CHECK(!np_graph_dep(g, 1, 1, 0, &y, &kind));
	T_CHECK(!np_graph_dep(g, 0, 0, 0, &y, &kind));
	T_CHECK(np_graph_rank_ops(g, 1) == 3 && np_graph_ops(g) == 4);
	np_graph_free(g);
}

/*
 * Sends of ranks 1 and 2 and receives of rank 0, in program order: "1.7" is to
 * or from rank 1 with tag 7; "1.7.2" in context 2; * any. meets: by receive,
 * the number of the matching send among all sends.
 */
static const struct {
	const char *name, *sends, *recvs, *meets;
} matches[] = {
	{ "the first send matches the first receive", "1.0 1.0 1.0",
	  "1.0 1.0 1.0", "1 2 3" },
	{ "tags are apart", "1.0 1.1 1.0", "1.1 1.0 1.0", "2 1 3" },
	{ "senders are apart", "1.0 2.0", "2.0 1.0", "2 1" },
	{ "contexts are apart", "1.5.1 1.5 1.5.2", "1.5.2 1.5.1 1.5", "3 1 2" },
	{ "from any: the earliest send of its sender", "1.3 1.0 2.0",
	  "*.0 *.0 1.3", "3 2 1" },
	{ "from any: equally early, the lower rank", "2.0 1.0", "*.0 *.0",
	  "2 1" },
	{ "any tag: the first of the sender", "1.7 1.3 1.5", "1.* 1.* 1.*",
	  "1 2 3" },
	{ "any and any: each message once", "1.7 2.3 1.5 2.4",
	  "*.* *.* *.* *.*", "1 2 3 4" },
	{ "a message that a later receive needs is left to it", "1.7 2.7",
	  "*.7 1.7", "2 1" },
	{ "and in the order of its channel", "1.7 1.7 2.7", "*.7 1.7 *.*",
	  "1 2 3" },
	{ "any stays in its context", "1.0.1 2.0", "*.*.0 *.*.1", "2 1" },
	{ "no send", "1.0", "1.0 1.0", NULL },
	{ "no receive", "1.0 1.0", "1.0", NULL },
	{ "another tag", "1.0", "1.1", NULL },
	{ "no send for any", "1.0", "*.1", NULL },
	{ "another context for any", "1.0.1", "*.*", NULL },
};

/* Parses "1.7.2 ..." as operations of a kind. */
static size_t parse(const char *text, enum np_op_kind kind,
		    struct np_graph_op *out)
{
	size_t n = 0;

	for (; *text; text += strspn(text, " ")) {
		struct np_graph_op op = { .kind = kind, .size = 8, .line = 1 };
		char peer[8], tag[8];

		if (sscanf(text, "%7[0-9*].%7[0-9*].%u", peer, tag,
			   &op.context) < 2)
			break;
		op.peer = *peer == '*' ? NP_ANY : (uint32_t)(*peer - '0');
		op.tag = *tag == '*' ? NP_ANY : (uint32_t)(*tag - '0');
		out[n++] = op;
		text += strcspn(text, " ");
	}
	return n;
}

static struct np_graph *make(const char *sends, const char *recvs, int *rc,
			     struct np_err *err)
{
	struct np_graph *g = graph(3);
	struct np_graph_op op[8];
	size_t n = parse(sends, NP_OP_SEND, op);

	for (uint32_t r = 1; r < 3; r++) {
		T_CHECK(!np_graph_rank(g, r, NULL, NULL));
		for (size_t i = 0; i < n; i++) {
			struct np_graph_op send = op[i];

			send.peer = 0;
			send.size = i + 1; /* identifies the send */
			if (op[i].peer == r)
				T_CHECK(!np_graph_add(g, &send, NULL, NULL));
		}
	}
	T_CHECK(!np_graph_rank(g, 0, NULL, NULL));
	n = parse(recvs, NP_OP_RECV, op);
	for (size_t i = 0; i < n; i++)
		T_CHECK(!np_graph_add(g, &op[i], NULL, NULL));
	*rc = np_graph_finish(g, err);
	return g;
}

T_TEST("sends and receives match as in MPI")
{
	T_EACH(r, matches) {
		struct np_err err = NP_ERR_INIT;
		char got[64] = "";
		struct np_graph *g;
		int rc;

		g = make(r->sends, r->recvs, &rc, &err);
		for (uint32_t k = 0; !rc && k < np_graph_rank_ops(g, 0); k++) {
			uint32_t rank, at;
			struct np_graph_op send;

			np_graph_peer(g, 0, k, &rank, &at);
			np_graph_op(g, rank, at, &send);
			snprintf(got + strlen(got), sizeof(got) - strlen(got),
				 "%s%u", k ? " " : "", (unsigned)send.size);
		}
		if (r->meets)
			T_ROW(r->name, !rc && !strcmp(got, r->meets));
		else
			T_ROW(r->name,
			      rc == -EINVAL &&
				      strstr(err.text, " has no matching "));
		np_graph_free(g);
	}
}

T_TEST("unmatched operations are reported")
{
	struct np_err err = NP_ERR_INIT;
	struct np_graph *g;
	int rc;

	g = make("1.4 2.5 2.6", "2.6", &rc, &err);
	T_CHECK(rc == -EINVAL);
	T_CHECK(!strcmp(err.text,
			"some.goal:1: rank 1, send of 1 byte to 0 with tag 4 "
			"has no matching receive; 1 more such operations"));
	np_graph_free(g);
	g = make("", "*.*", &rc, &err);
	T_CHECK(!strcmp(err.text,
			"some.goal:1: rank 0, receive of 8 bytes from any with "
			"tag any has no matching send"));
	np_graph_free(g);
}

/* Repeated: the result must not depend on chance or on addresses. */
T_TEST("operations are stored as given")
{
	struct np_graph *g = some_graph(3, 4, 200);
	size_t sends = 0;

	for (uint32_t r = 0; r < np_graph_ranks(g); r++)
		for (uint32_t i = 0; i < np_graph_rank_ops(g, r); i++) {
			uint32_t peer, at, back, self;
			struct np_graph_op op, other;

			np_graph_op(g, r, i, &op);
			if (op.kind == NP_OP_CALC)
				continue;
			np_graph_peer(g, r, i, &peer, &at);
			np_graph_peer(g, peer, at, &back, &self);
			np_graph_op(g, peer, at, &other);
			T_CHECK(op.peer == peer && back == r && self == i &&
				other.tag == op.tag && other.kind != op.kind);
			sends += op.kind == NP_OP_SEND;
		}
	T_CHECK(sends == np_graph_messages(g) && sends > 20);
	np_graph_free(g);
}

T_TEST("receives that are smaller than their messages are counted")
{
	const struct np_graph_op send = { NP_OP_SEND, 8, .peer = 1 };
	struct np_graph_op recv = { NP_OP_RECV, .peer = 0 };
	struct np_graph *g = graph(2);
	uint32_t first = 0;
	char text[100];

	T_CHECK(!np_graph_rank(g, 0, NULL, NULL));
	for (int i = 0; i < 4; i++)
		T_CHECK(!np_graph_add(g, &send, NULL, NULL));
	T_CHECK(!np_graph_rank(g, 1, NULL, NULL));
	for (recv.size = 9; recv.size > 5; recv.size--) {
		recv.line = (uint32_t)recv.size;
		T_CHECK(!np_graph_add(g, &recv, NULL, NULL));
	}
	T_CHECK(!np_graph_finish(g, NULL));
	T_CHECK(np_graph_short_receives(g, &first) == 2);
	T_CHECK(!strcmp(
		np_graph_describe(g, first, text, sizeof(text)),
		"some.goal:7: rank 1, receive of 7 bytes from 0 with tag 0"));
	np_graph_free(g);
}
