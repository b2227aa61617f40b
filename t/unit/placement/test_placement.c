/* Named scenarios, in the notation of toy.h. */
#include "t.h"
#include "toy.h"

#include <ctype.h>

#define APPS "app X; app Y; app H; both X Y .3;"
#define TWO "leaf a 4; leaf b 4;" APPS
/* Half of each leaf's nodes are on x, the other half on y. */
#define CROSSED "switch x r1 0-1 4-5; switch y r1 2-3 6-7;"
#define THREE "leaf a 4; leaf b 4; leaf c 4;" APPS

static const struct {
	const char *name, *world, *want;
} cases[] = {
	/* Apart, and no more than that. */
	{ "two conflicting pending jobs never share a leaf",
	  TWO "job 1 X 2; job 2 Y 2", "1=a 2=b" },
	{ "without a conflict both are unrestricted",
	  TWO "job 1 X 2; job 2 H 2", "1=any 2=any" },
	{ "one that slows no other is unrestricted in spite of a conflict",
	  TWO "job 1 X 2; job 2 Y 2; job 3 H 2", "3=any" },
	{ "a job stays off the leaf of a running one it conflicts with",
	  TWO "run 9 Y a:1; job 1 X 2", "1=b" },
	{ "it is enough that the other would be slowed",
	  TWO "app S; pair S X .3; run 9 S a:1; job 1 X 2", "1=b" },
	{ "a slowdown at the limit is allowed",
	  TWO "app M; both M X .1; run 9 M a:1; job 1 X 2", "1=any" },
	{ "a slowdown just above the limit is not",
	  TWO "app M; both M X .102; run 9 M a:1; job 1 X 2", "1=b" },
	{ "a predicted gain is no reason to meet, and none to part",
	  TWO "app G; both G X -.3; run 9 G a:1; job 1 X 2", "1=any" },
	{ "jobs of one kind that do not conflict share their leaves",
	  THREE "job 1 X 2; job 2 Y 2; job 3 X 2", "1=a,c 2=b 3=a,c" },
	{ "jobs of one kind that conflict are kept apart",
	  THREE "both X X .3; job 1 X 2; job 2 X 2; job 3 X 2", "1=a 2=b 3=c" },
	{ "what nobody needs is shared out, so that sets are wide",
	  "leaf a 4; leaf b 4; leaf c 4; leaf d 4;" APPS "job 1 X 2; job 2 Y 2",
	  "1=a,c 2=b,d" },
	{ "who wants more gets more",
	  "leaf a 4; leaf b 4; leaf c 4; leaf d 4;" APPS
	  "job 1 X 2; job 2 Y 8; job 3 Y 4",
	  "1=a 2=b,c,d 3=b,c,d" },

	/* Everything already on the leaf counts. */
	{ "two that are fine alone are too much for one running there",
	  TWO "app V; pair V X .06; pair V H .06; run 8 V a:1; run 9 H a:1;"
	      "job 1 X 1",
	  "1=b" },
	{ "load that is there already leaves less room",
	  TWO "app V; pair X V .06; pair X H .06; run 8 V a:1; run 9 H a:1;"
	      "job 1 X 1",
	  "1=b" },
	{ "two pending ones are apart only where a third suffers from both",
	  TWO "app V; app W; pair V X .06; pair V W .06; run 8 V a:1;"
	      "job 1 X 2; job 2 W 2",
	  "1=any 2=b" },
	{ "two pending ones are apart only where one has load already",
	  TWO "app V; app W; pair X V .06; pair X W .06; run 8 V a:1;"
	      "job 1 X 2; job 2 W 2",
	  "1=any 2=b" },
	{ "a leaf that is too crowded already does not keep a harmless job off",
	  TWO "run 8 X a:1; run 9 Y a:1; job 1 H 2", "1=any" },
	{ "what is negligible is not counted",
	  TWO "app N; pair X N .009; run 2 Y a:1; pair Y N .009; job 1 N 2",
	  "1=any" },

	/* Order, need, room. */
	{ "who comes first gets the free leaf",
	  TWO "run 9 H a:4; job 1 X 4; job 2 Y 4 prio=5", "1=a 2=b" },
	{ "a job that needs several leaves gets them",
	  THREE "job 1 X 8; job 2 Y 4", "1=a,b 2=c" },
	{ "with no set left a job waits", TWO "job 1 X 8; job 2 Y 4",
	  "1=any 2=hold" },
	{ "never fewer nodes than needed: drained ones do not count",
	  TWO "down b 2; run 9 Y a:1; job 1 X 3", "1=hold" },
	{ "a job that could not run anyhow is left alone",
	  TWO "down b 2; down a 2; job 1 X 5", "1=none" },
	{ "a leaf that others can spare is given up to one in need",
	  TWO "job 1 X 2 prior=a,b; job 2 Y 2", "1=b 2=a" },
	{ "one behind does not take what one ahead needs",
	  TWO "job 1 X 8 prior=a,b; job 2 Y 2", "1=any 2=hold" },
	{ "one ahead takes what one behind needs",
	  TWO "job 1 X 4 prio=1 prior=a,b; job 2 Y 8 prio=9", "1=hold 2=any" },
	{ "a job that cannot get all it wants takes nothing",
	  "leaf a 4; leaf b 4; leaf c 8;" APPS "run 9 H c:8;"
	  "job 1 X 2 prio=9 prior=a,b; job 2 Y 8",
	  "1=a,b 2=c" },
	{ "leaves out of a job's reach are not its own",
	  THREE "job 1 X 2 on=a prior=a,b,c; job 2 X 2 prior=a;"
		"job 3 Y 2 prior=b,c",
	  "1=any 2=a 3=b,c" },
	{ "a valid set is kept although another would be as good",
	  THREE "job 1 X 2 prior=c; job 2 Y 2 prior=a,b", "1=c 2=a,b" },
	{ "sets widen when jobs end", TWO "job 1 X 2 prior=a", "1=any" },
	{ "a leaf is left when a conflicting job runs there now",
	  TWO "run 9 Y a:1; job 1 X 2 prior=a", "1=b" },
	{ "a small job uses the leaf its kind spoiled already",
	  TWO "run 9 X b:1; job 1 X 2; job 2 Y 4", "1=b 2=a" },

	/* Time. */
	{ "a job held back for long enough is unrestricted",
	  TWO "run 9 Y a:1; run 8 Y b:1; job 1 X 2 held=3600", "1=any" },
	{ "until then it waits",
	  TWO "run 9 Y a:1; run 8 Y b:1; job 1 X 2 held=3599", "1=hold" },
	{ "the last stretch of waiting counts",
	  TWO "run 9 Y a:1; run 8 Y b:1;"
	      "job 1 X 2 held=3595 prior=hold:1010",
	  "1=any" },
	{ "on a full machine, being overtaken counts",
	  TWO "run 9 Y a:4 start=995 prio=1; run 8 H b:4;"
	      "job 1 X 2 prio=5 held=3595 prior=b",
	  "1=any" },
	{ "what started before the last decision does not",
	  TWO "run 9 Y a:4 start=985 prio=1; run 8 H b:4;"
	      "job 1 X 2 prio=5 held=3595 prior=b",
	  "1=b" },
	{ "nor does one that was ahead",
	  TWO "run 9 Y a:4 start=995 prio=7; run 8 H b:4;"
	      "job 1 X 2 prio=5 held=3595 prior=b",
	  "1=b" },
	{ "nor one that started where the job may go as well",
	  TWO "run 9 Y a:4 start=985 prio=1; run 8 H b:4 start=995 prio=1;"
	      "job 1 X 2 prio=5 held=3595 prior=b",
	  "1=b" },
	{ "nor while somebody ahead waits anyhow",
	  TWO "run 9 Y a:4 start=995 prio=1; run 8 H b:4; job 2 H 2 prio=6;"
	      "job 1 X 2 prio=5 held=3595 prior=b",
	  "1=b" },
	{ "one ahead that begins much later waits for no node",
	  TWO "run 9 Y a:4 start=995 prio=1; run 8 H b:4;"
	      "job 2 H 2 prio=6 begin=2000;"
	      "job 1 X 2 prio=5 held=3595 prior=b",
	  "1=any" },
	{ "nor is a job held back that could not start anyhow",
	  TWO "run 9 Y a:4; run 8 H b:4; job 1 X 2 held=3595 prior=b", "1=b" },
	{ "one that could start elsewhere is",
	  TWO "run 9 Y a:2; run 8 H b:4; job 1 X 2 held=3595 prior=b",
	  "1=any" },
	{ "a job that cannot start by itself chooses last",
	  TWO "job 1 X 2 prio=9 waiting; job 2 Y 8", "1=hold 2=any" },
	{ "it is apart from those that can",
	  TWO "job 1 X 2 prio=9 waiting; job 2 Y 2", "1=b 2=a" },
	{ "a job with a begin time far away is not looked at",
	  TWO "job 1 X 2 begin=2000; job 2 Y 8", "1=none 2=any" },

	/* Who may push whom. */
	{ "a user's own profile limits his job",
	  TWO "app U own=7; both U X .3; run 9 X a:1; job 1 U 2 own=7", "1=b" },
	{ "it does not push another user's job away",
	  TWO "app U own=7; both U X .3; run 9 U a:1 own=7; job 1 X 2 own=8",
	  "1=any" },
	{ "it does push that user's other jobs away",
	  TWO "app U own=7; both U X .3; run 9 U a:1 own=7; job 1 X 2 own=7",
	  "1=b" },
	{ "of two pending ones it yields, whatever the order",
	  TWO "app U own=7; both U X .3; job 1 U 8 own=7 prio=9; job 2 X 2",
	  "1=hold 2=any" },
	{ "two users' own profiles mean nothing to each other",
	  TWO "app U own=7; app V own=8; both U V .3; job 1 U 2 own=7;"
	      "job 2 V 2 own=8",
	  "1=any 2=any" },
	{ "a name that is a user's word alone keeps no other user's job away",
	  TWO "run 9 Y a:1 own=7 unproved; job 1 X 2 own=8", "1=any" },
	{ "but that user's others",
	  TWO "run 9 Y a:1 own=7 unproved; job 1 X 2 own=7", "1=b" },
	{ "and is itself kept away from what is known",
	  TWO "run 9 Y a:1 own=8; job 1 X 2 own=7 unproved", "1=b" },
	{ "of two pending ones it yields, whoever is first",
	  TWO "job 1 Y 8 own=7 prio=9 unproved; job 2 X 2 own=8",
	  "1=hold 2=any" },
	{ "of one user, two such names keep each other away",
	  TWO "job 1 Y 2 own=7 unproved; job 2 X 2 own=7 unproved", "1=a 2=b" },
	{ "one user's proved and unproved jobs of a name are distinguished",
	  TWO "run 9 Y a:1 own=7 unproved; run 8 Y b:1 own=7;"
	      "job 1 X 2 own=8",
	  "1=a" },
	{ "another user's profile is no profile unless trusted",
	  TWO "app U own=7; both U X .3; run 9 X a:1; job 1 U 2 own=8",
	  "1=none" },
	{ "unknown jobs are not moved and count as no load",
	  TWO "run 9 - a:1; job 1 - 2; job 2 X 2", "1=none 2=any" },
	{ "unknown jobs count as what the policy says, and are not moved",
	  TWO "as Y; run 9 - a:1; job 1 - 2; job 2 X 2", "1=none 2=b" },

	/* Where they touch. */
	{ "jobs that use whole nodes do not meet on nodes",
	  TWO "app N; both N X .3 node; run 9 N a:1; job 1 X 2", "1=any" },
	{ "jobs that share nodes do",
	  TWO "app N; both N X .3 node; run 9 N a:1 shares; job 1 X 2 shares",
	  "1=b" },
	{ "jobs that span leaves meet at the uplink",
	  THREE "app N; both N X .3 uplink; run 9 N a:1 b:1; job 1 X 4 spans",
	  "1=c" },
	{ "a job under one leaf does not use the uplink",
	  THREE "app N; both N X .3 uplink; run 9 N a:1 b:1; job 1 X 4",
	  "1=any" },
	{ "a job too large for any leaf uses it",
	  "leaf a 4; leaf b 4; leaf c 4; leaf d 4;" APPS
	  "app N; both N X .3 uplink; run 9 N a:1 b:1; job 1 X 5",
	  "1=c,d" },

	/* Left alone, or bounded by the user. */
	{ "nodes asked for by name are left alone",
	  TWO "run 9 Y a:1; job 1 X 2 nodelist", "1=none" },
	{ "a reservation is left alone", TWO "run 9 Y a:1; job 1 X 2 reserved",
	  "1=none" },
	{ "a heterogeneous job is left alone", TWO "run 9 Y a:1; job 1 X 2 het",
	  "1=none" },
	{ "a job that fails if it starts too late is ignored",
	  TWO "run 9 Y a:1; job 1 X 2 urgent", "1=none" },
	{ "mode off is left alone", TWO "run 9 Y a:1; job 1 X 2 mode=off",
	  "1=none" },
	{ "a job in mode off is load when it runs",
	  TWO "run 9 Y a:1 mode=off; job 1 X 2", "1=b" },
	{ "a job without a leaf is left alone",
	  TWO "loose 4; run 9 Y a:1; job 1 X 2 on=loose", "1=none" },
	{ "what the user excluded is not counted on",
	  TWO "run 9 Y a:1; job 1 X 2 on=a", "1=hold" },
	{ "a partition with other nodes is not in the way",
	  THREE "job 1 X 2 on=a; job 2 Y 2 on=b,c", "1=any 2=any" },
	{ "nodes without a leaf are always open",
	  TWO "loose 4; run 8 Y a:1; run 9 Y b:1; job 1 X 4", "1=" },
	{ "--switches=1 needs one leaf that is large enough",
	  THREE "run 9 Y a:1; down b 1; down c 1; job 1 X 4 switches=1",
	  "1=hold" },
	{ "without it two leaves will do",
	  THREE "run 9 Y a:1; down b 1; down c 1; job 1 X 4", "1=b,c" },

	/* Arrays. */
	{ "an array whose tasks get on is one job",
	  TWO "run 9 Y a:1; job 1 X 2 tasks=10", "1=b" },
	{ "an array whose tasks conflict gets leaves for some of them",
	  THREE "both X X .3; job 1 X 2 tasks=10", "1=hold+3" },
	{ "tasks that conflict on some leaves stay together on the others",
	  TWO "app V; pair V X .06; run 9 V a:1; job 1 X 1 tasks=9", "1=b" },
	{ "and stays whole for the last of them",
	  THREE "both X X .3; job 1 X 2 tasks=3", "1=c+2" },

	/* Modes. */
	{ "prefer keeps apart where both can start now",
	  TWO "job 1 X 2 mode=prefer; job 2 Y 2 mode=prefer", "1=a 2=b" },
	{ "prefer never holds",
	  TWO "run 8 Y a:1; run 9 Y b:1; job 1 X 2 mode=prefer", "1=any" },
	{ "prefer does not keep apart where that could delay",
	  TWO "run 9 Y a:1; run 8 H b:3; job 1 X 2 mode=prefer", "1=any" },
	{ "prefer counts on what those ahead may take",
	  TWO "run 9 Y a:1; job 2 H 3 prio=9; job 1 X 2 mode=prefer", "1=any" },
	{ "prefer keeps apart if there is room even then",
	  TWO "run 9 Y a:1; job 2 H 2 prio=9; job 1 X 2 mode=prefer", "1=b" },
	{ "prefer leaves room for the next of its kind",
	  TWO "both X X .3; job 1 X 2 mode=prefer", "1=a" },
	{ "prefer does not restrict a job that is alone in what it is",
	  TWO "job 1 X 2 mode=prefer", "1=any" },
	{ "prefer lets go of a job that did not start",
	  TWO "last 970; run 9 Y a:1; job 1 X 2 mode=prefer prior=b", "1=any" },
	{ "advise says what enforce would do",
	  TWO "job 1 X 2 mode=advise; job 2 Y 2 mode=advise", "1=a 2=b" },
	{ "advice does not bind others",
	  TWO "job 1 X 8 mode=advise prio=9; job 2 Y 8", "1=any 2=any" },
	{ "advice takes account of others",
	  TWO "job 1 X 8 mode=advise; job 2 Y 8 prio=9", "1=hold 2=any" },
	/* Nodes with two rails: a and b on one, x and y on the other. */
	{ "a job stays off nodes with the switch of another on either rail",
	  TWO CROSSED "run 9 Y a:2; job 1 X 2", "1=b+y" },
	{ "pending jobs stay off each other on either rail",
	  TWO CROSSED "job 1 X 2; job 2 Y 2", "1=a+x 2=b+y" },
	{ "a rail that one of the two does not load does not matter",
	  TWO CROSSED "loads X r1; run 9 Y a:2; job 1 X 2", "1=a+y,b+y" },
	{ "nor if it is the pending job's neighbour that does not load it",
	  TWO CROSSED "loads Y r0; run 9 Y a:2; job 1 X 2", "1=b+x,b+y" },
	{ "jobs on different rails do not conflict",
	  TWO CROSSED "loads X r0; loads Y r1; run 9 Y a:2; job 1 X 2",
	  "1=any" },
	{ "nodes of one leaf that differ on the other rail may take both",
	  "leaf a 8;" APPS "switch x r1 0-3; switch y r1 4-7; loads X r1;"
	  "run 9 Y a:1; job 1 X 2",
	  "1=a+y" },
	{ "but not if both load the rail on which they are the same",
	  "leaf a 8;" APPS "switch x r1 0-3; switch y r1 4-7;"
	  "run 9 Y a:1; job 1 X 2",
	  "1=hold" },
	{ "--switches counts switches of the first rail",
	  TWO "switch x r1 0-1 4-5; switch y r1 2-3 6-7;"
	      "run 9 H a:1; job 1 X 4 switches=1",
	  "1=any" },
	{ "jobs of one kind that conflict are kept apart on either rail",
	  TWO CROSSED "both X X .3; job 1 X 2; job 2 X 2; job 3 X 2",
	  "1=a+x 2=b+y 3=hold" },
	{ "tasks of an array get switches of their own on either rail",
	  TWO CROSSED "both X X .3; job 1 X 2 tasks=3", "1=hold+2" },
	{ "prefer keeps apart on either rail",
	  TWO CROSSED "run 9 Y a:2; job 1 X 2 mode=prefer", "1=b+y" },
};

/* "1=a,b 2=any 3=hold+2": a job number and what is open to it. */
static bool as_wanted(const struct world *w, const struct np_placement *p,
		      const char *want)
{
	char copy[256], *at;

	snprintf(copy, sizeof(copy), "%s", want);
	for (char *one = strtok_r(copy, " ", &at); one;
	     one = strtok_r(NULL, " ", &at)) {
		char *opens = strchr(one, '=');
		char *tasks = strrchr(one, '+'); /* else of a leaf's name */
		const struct np_outcome *v;

		*opens++ = '\0';
		if (tasks && isdigit((unsigned char)tasks[1]))
			*tasks++ = '\0';
		else
			tasks = NULL;
		v = np_outcome_of(p, w_find(w, (uint32_t)atoi(one)));
		if (strcmp(w_opens(w, v), opens) ||
		    v->tasks != (uint32_t)(tasks ? atoi(tasks) : 0)) {
			printf("\n    job %s: %s+%u, not %s\n", one,
			       w_opens(w, v), v->tasks, opens);
			return false;
		}
	}
	return true;
}

static struct world world;

T_TEST("each scenario comes out as its name says")
{
	T_EACH(r, cases) {
		struct np_placement *p;

		w_init(&world);
		w_parse(&world, r->world);
		p = w_decide(&world);
		T_ROW(r->name, as_wanted(&world, p, r->want));
		np_placement_free(p);
	}
}
