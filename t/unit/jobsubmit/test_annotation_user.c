#include "t.h"
#include "np_annotation.h"
#include "toy.h"

/* clang-format off */
static const struct {
	const char *name;
	uint64_t user, ours, now; /* one bit per node */
	uint64_t want_user;
} cases[] = {
	{ "what we put there is ours",           0x00, 0xf0, 0xf0, 0x00 },
	{ "what the user had stays the user's",  0x0f, 0xf0, 0xff, 0x0f },
	{ "what both wanted stays the user's",   0x1f, 0xf0, 0xff, 0x1f },
	{ "what somebody added is the user's",   0x01, 0xf0, 0xf3, 0x03 },
	{ "what somebody took out is nobody's",  0x03, 0xf0, 0xf1, 0x01 },
	{ "ours taken out does not matter",      0x03, 0xf0, 0x13, 0x03 },
	{ "an emptied list is empty",            0x03, 0xf0, 0x00, 0x00 },
	{ "nothing of ours: all is the user's",  0x03, 0x00, 0xff, 0xff },
};
/* clang-format on */

T_TEST("which excluded nodes are the user's")
{
	T_EACH(r, cases) {
		uint64_t got = r->user;

		np_annotation_find_user_nodes(&got, &r->ours, &r->now, 1);
		T_ROW(r->name, got == r->want_user);
	}
}

T_TEST("with nothing remembered all is the user's")
{
	uint64_t now = 0xabc, none = 0, got = 0;

	np_annotation_find_user_nodes(&got, &none, &now, 1);
	T_CHECK(got == now);
}

/* What the plugin remembers and what stands in the job. */
struct job {
	uint64_t user, ours, list;
	uint64_t wish; /* what the user really wants */
};

static void decide(struct job *j, uint64_t ours)
{
	np_annotation_find_user_nodes(&j->user, &j->ours, &j->list, 1);
	j->list = j->user | ours;
	j->ours = ours;
}

static void user_sets(struct job *j, uint64_t list)
{
	j->wish = list;
	j->user = list; /* also the nodes in it that were ours */
	j->list = j->user | j->ours;
}

/* An administrator edits what stands there while we do not look. */
static void edit(struct job *j, uint64_t add)
{
	j->list |= add;
	j->wish |= add & ~(j->ours & ~j->user);
}

static void forget(struct job *j)
{
	j->user = j->ours = 0;
	np_annotation_find_user_nodes(&j->user, &j->ours, &j->list, 1);
	j->wish = j->user; /* from here on it is not known */
}

T_TEST("a user's exclusion is never lost, and ours always goes")
{
	uint64_t seed = 5;
	unsigned released = 0;

	for (int i = 0; i < 2000; i++) {
		struct job j = { .list = w_random(&seed, 1 << 16) };

		user_sets(&j, j.list);
		for (int k = 0; k < 20; k++) {
			uint64_t bits = w_random(&seed, 1 << 16) &
					w_random(&seed, 1 << 16);

			switch (w_random(&seed, 8)) {
			case 0:
				user_sets(&j, bits);
				break;
			case 1:
				edit(&j, bits);
				break;
			case 2:
				if (!w_random(&seed, 9))
					forget(&j);
				break;
			default:
				decide(&j, bits);
				T_CHECK((j.list & bits) == bits);
				break;
			}
			T_CHECK((j.list & j.wish) == j.wish);
		}
		decide(&j, 0); /* and then we let go */
		T_CHECK(j.list == j.wish);
		released++;
	}
	T_CHECK(released == 2000);
}
