#include "t.h"
#include "np_state.h"
#include "some_clock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#define NO_TASK NP_ACCOUNTING_NO_TASK
#define DAY 86400

static char store[512];
static struct np_accounting_day *day;

static void restart(void)
{
	np_accounting_day_free(day);
	T_CHECK(np_accounting_day_new(&day) == 0);
}

/* Records of a test that ends on another day than it began are in two files. */
static void pass_midnight(void)
{
	while (time(NULL) % DAY >= DAY - 60)
		sleep(1);
}

static void fresh_store(void)
{
	static int count;

	pass_midnight();
	restart();
	snprintf(store, sizeof(store), "%s/ended%d", t_tmpdir(), count++);
	T_CHECK(mkdir(store, 0755) == 0);
}

static const char *path(const char *name)
{
	return t_text("%s/placement/%s", store, name);
}

/* The file of a day, so many days from today. */
static const char *day_name(int days)
{
	static char name[32];
	time_t t = time(NULL) - t_ahead_sec + days * DAY;
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(name, sizeof(name), "ended-%Y%m%d.jsonl", &tm);
	return name;
}

static void add_text(const char *name, const char *text)
{
	FILE *f;

	mkdir(path(""), 0755);
	f = fopen(path(name), "a");
	T_ROW(name, f && fputs(text, f) >= 0 && !fclose(f));
}

static struct np_accounting_neighbour neighbours[] = {
	{ .id = 4,
	  .app = "lmp",
	  .leaves = "leaf0",
	  .overlap_sec = 7.5,
	  .slowdown = 0.25 },
	{ .id = 5, .overlap_sec = 1 },
};

static struct np_accounting_record job_of(uint32_t id)
{
	return (struct np_accounting_record){
		.id = id,
		.uid = 1000,
		.app = "fft",
		.partition = "main",
		.leaves = "leaf[0-1]",
		.n_nodes = 4,
		.submit = 1.7e9,
		.start = 1.7e9 + 10,
		.end = 1.7e9 + 45.5,
		.held_sec = 3,
		.slowdown = 0.31,
		.neighbour = neighbours,
		.n_neighbours = 2,
	};
}

static int add(const struct np_accounting_record *e)
{
	struct np_err err = NP_ERR_INIT;
	int rc = np_accounting_append(store, day, e, 0644, &err);

	T_ROW("a failure comes with a line", !rc == !err.text[0]);
	return rc;
}

static int add_id(uint32_t id)
{
	struct np_accounting_record e = job_of(id);

	return add(&e);
}

static int find(uint32_t id, uint32_t task, struct np_accounting_record *out)
{
	struct np_err err = NP_ERR_INIT;
	int rc = np_accounting_find(store, id, task, out, &err);

	T_ROW("a failure comes with a line", !rc == !err.text[0]);
	return rc;
}

static int find_rc(uint32_t id)
{
	struct np_accounting_record e;
	int rc = find(id, NO_TASK, &e);

	if (!rc) {
		T_CHECK(e.id == id);
		np_accounting_record_free(&e);
	}
	return rc;
}

T_FIXTURE(fresh_store, NULL);

T_TEST("what was appended is found")
{
	struct np_accounting_record e;

	T_CHECK(add_id(7) == 0 && add_id(8) == 0);
	T_CHECK(find(7, NO_TASK, &e) == 0);
	T_CHECK(e.id == 7 && e.array == 0 && e.uid == 1000 && e.n_nodes == 4);
	T_CHECK(!strcmp(e.app, "fft") && !strcmp(e.partition, "main"));
	T_CHECK(!strcmp(e.leaves, "leaf[0-1]"));
	T_CHECK(e.submit == 1.7e9 && e.start == 1.7e9 + 10);
	T_CHECK(e.end == 1.7e9 + 45.5 && e.held_sec == 3);
	T_CHECK(e.slowdown == 0.31 && e.n_neighbours == 2);
	T_CHECK(e.neighbour[0].id == 4 && e.neighbour[0].slowdown == 0.25);
	T_CHECK(!strcmp(e.neighbour[0].app, "lmp"));
	T_CHECK(!strcmp(e.neighbour[0].leaves, "leaf0"));
	T_CHECK(e.neighbour[0].overlap_sec == 7.5);
	T_CHECK(!strcmp(e.neighbour[1].app, ""));
	np_accounting_record_free(&e);
	T_CHECK(find_rc(8) == 0);
	T_CHECK(find_rc(9) == -ENOENT);
	T_ROW("digits of another number", find_rc(1000) == -ENOENT);
}

T_TEST("where nothing was written nothing is found")
{
	T_CHECK(find_rc(7) == -ENOENT);
	mkdir(path(""), 0755);
	T_CHECK(find_rc(7) == -ENOENT);
}

T_TEST("the latest of a requeued job is found")
{
	struct np_accounting_record e = job_of(7);

	T_CHECK(add(&e) == 0 && add_id(8) == 0);
	e.start += 100;
	T_CHECK(add(&e) == 0 && add_id(9) == 0);
	T_CHECK(find(7, NO_TASK, &e) == 0 && e.start == 1.7e9 + 110);
	np_accounting_record_free(&e);
}

T_TEST("days before are searched")
{
	struct np_accounting_record e;

	add_text(day_name(-1),
		 "{\"schema\":1,\"id\":5,\"uid\":1,\"n_nodes\":1}\n");
	add_text(day_name(-2),
		 "{\"schema\":1,\"id\":5,\"uid\":1,\"n_nodes\":2}\n"
		 "{\"schema\":1,\"id\":6,\"uid\":1}\n");
	T_CHECK(add_id(7) == 0);
	T_CHECK(find_rc(6) == 0 && find_rc(7) == 0);
	T_CHECK(find(5, NO_TASK, &e) == 0 && e.n_nodes == 1);
	np_accounting_record_free(&e);
}

static const struct {
	const char *name;
	uint32_t id, task;
	uint32_t want; /* job id; 0: -ENOENT */
} tasks[] = {
	{ "a task of an array", 20, 4, 24 },
	{ "another task", 20, 0, 23 },
	{ "a task that is none", 20, 5, 0 },
	{ "an array that is none", 21, 4, 0 },
	{ "the job id of a task", 24, NO_TASK, 24 },
	{ "a job id is no array", 24, 4, 0 },
	{ "an array's number is no job id until its last task has it", 20,
	  NO_TASK, 0 },
	{ "a job without array has no task 0", 30, 0, 0 },
};

T_TEST("tasks of arrays are found")
{
	struct np_accounting_record a = job_of(23), b = job_of(24),
				    c = job_of(30);

	a.array = b.array = 20;
	b.task = 4;
	T_CHECK(add(&a) == 0 && add(&b) == 0 && add(&c) == 0);
	T_EACH(r, tasks) {
		struct np_accounting_record e = { .id = 0 };
		int rc = find(r->id, r->task, &e);

		T_ROW(r->name, rc == (r->want ? 0 : -ENOENT));
		T_ROW(r->name, e.id == r->want);
		if (!rc)
			np_accounting_record_free(&e);
	}
}

T_TEST("a half-written line is passed over")
{
	struct stat st;

	T_CHECK(add_id(7) == 0);
	T_CHECK(!stat(path(day_name(0)), &st));
	for (off_t cut = 1; cut < st.st_size - 1; cut++) {
		T_CHECK(!truncate(path(day_name(0)), st.st_size - cut - 1));
		T_CHECK(find_rc(7) == -ENOENT);
		T_CHECK(add_id(8) == 0);
		T_CHECK(find_rc(8) == 0);
		T_CHECK(!unlink(path(day_name(0))));
		T_CHECK(add_id(7) == 0);
	}
	T_ROW("only its newline is missing",
	      !truncate(path(day_name(0)), st.st_size - 1) && find_rc(7) == 0 &&
		      add_id(8) == 0 && find_rc(7) == 0 && find_rc(8) == 0);
}

T_TEST("damaged lines are passed over")
{
	static const char *const lines[] = {
		"rubbish about job 7\n",
		"\n",
		"{\"id\":7}\n",
		"{\"schema\":2,\"id\":7,\"uid\":1}\n",
		"{\"schema\":1,\"id\":7,\"uid\":1,\"slowdown\":\"much\"}\n",
		"{\"schema\":1,\"id\":7,\"uid\":1,\"neighbours\":[7]}\n",
		"[7]\n",
		"7\n",
	};

	T_CHECK(add_id(7) == 0);
	for (size_t i = 0; i < NP_ARRAY_SIZE(lines); i++)
		add_text(day_name(0), lines[i]);
	T_CHECK(find_rc(7) == 0);
	for (size_t i = 0; i < NP_ARRAY_SIZE(lines); i++) {
		fresh_store();
		add_text(day_name(0), lines[i]);
		T_ROW(lines[i], find_rc(7) == -ENOENT);
	}
}

static bool is_there(int days)
{
	return !access(path(day_name(days)), F_OK);
}

/* Files of days before this one, as many as stay with it whatever the clock. */
static void add_days(int n)
{
	for (int i = 1; i <= n; i++)
		add_text(day_name(-i), "x\n");
}

T_TEST("old days go when a new day begins")
{
	add_days(NP_ACCOUNTING_KEEP_FILES);
	add_text(day_name(-400), "x\n");
	add_text("ended-notes.jsonl", "x\n");
	add_text("ended-20200101.jsonl.save", "x\n");
	T_CHECK(add_id(7) == 0);
	T_CHECK(is_there(-NP_ACCOUNTING_KEEP_FILES + 1));
	T_CHECK(!is_there(-NP_ACCOUNTING_KEEP_FILES) && !is_there(-400));
	T_ROW("files of others stay",
	      !access(path("ended-notes.jsonl"), F_OK) &&
		      !access(path("ended-20200101.jsonl.save"), F_OK));
	add_text(day_name(-400), "x\n");
	T_CHECK(add_id(8) == 0);
	T_ROW("once a day is enough", is_there(-400));
}

static const struct {
	const char *name;
	long ahead_sec;
} jumps[] = {
	{ "a year ahead", 365 * DAY },
	{ "five weeks ahead", 35 * DAY },
	{ "a day ahead", DAY },
	{ "a day behind", -DAY },
	{ "two weeks behind", -14 * DAY },
	{ "a year behind", -365 * DAY },
	{ "1970", 0 }, /* what a board without battery says */
};

/* Days of history, and what each of them says. */
static void add_history(int days)
{
	for (int i = 1; i <= days; i++)
		add_text(day_name(-i),
			 t_text("{\"schema\":1,\"id\":%d,\"uid\":1}\n",
				5000 + i));
}

static int count_lost(int days)
{
	int lost = 0;

	for (int i = 1; i <= days; i++)
		lost += find_rc((uint32_t)(5000 + i)) != 0;
	return lost;
}

/*
 * Jobs end while the clock is wrong, on several days of that clock, and when it
 * is right again.
 */
T_TEST("a clock that jumps loses no history")
{
	static const int history[] = { 6, NP_ACCOUNTING_KEEP_DAYS,
				       NP_ACCOUNTING_KEEP_FILES };

	T_EACH(r, jumps)
		for (size_t k = 0; k < NP_ARRAY_SIZE(history); k++) {
			long jump = r->ahead_sec;

			fresh_store();
			add_history(history[k]);
			t_ahead_sec = jump ? jump : -(long)time(NULL) + 100;
			T_ROW(r->name, add_id(7) == 0);
			t_ahead_sec += 3 * DAY;
			T_ROW(r->name, add_id(8) == 0);
			t_ahead_sec = 0;
			T_ROW(r->name, add_id(9) == 0);
			t_ahead_sec = DAY;
			T_ROW(r->name, add_id(10) == 0);
			t_ahead_sec = 0;
			T_ROW(r->name,
			      !count_lost(history[k] < NP_ACCOUNTING_KEEP_DAYS ?
						  history[k] :
						  NP_ACCOUNTING_KEEP_DAYS));
			for (uint32_t id = 7; id <= 10; id++)
				T_ROW(r->name, find_rc(id) == 0);
		}
}

static off_t size_of_day(void)
{
	struct stat st;

	return stat(path(day_name(0)), &st) ? -1 : st.st_size;
}

T_TEST("of many neighbours the first are written, and the others counted")
{
	struct np_accounting_record e = job_of(7);
	size_t n = 100000, long_len = 4000;
	struct np_accounting_neighbour *many = calloc(n, sizeof(*many));
	char *name = malloc(long_len + 1);

	for (size_t i = 0; i < n; i++)
		many[i] = (struct np_accounting_neighbour){ .id = (uint32_t)i +
								  1 };
	e.neighbour = many;
	e.n_neighbours = n;
	T_CHECK(add(&e) == 0 && find(7, NO_TASK, &e) == 0);
	T_CHECK(e.n_neighbours == NP_ACCOUNTING_PUT_NEIGHBOURS &&
		e.neighbour[0].id == 1);
	T_CHECK(e.more_neighbours == n - NP_ACCOUNTING_PUT_NEIGHBOURS);
	np_accounting_record_free(&e);
	/* Each byte is escaped in JSON: the line would be too long. */
	memset(name, '"', long_len);
	name[long_len] = '\0';
	for (size_t i = 0; i < n; i++)
		many[i].leaves = name;
	e = job_of(8);
	e.neighbour = many;
	e.n_neighbours = n;
	T_CHECK(add(&e) == 0 && find(8, NO_TASK, &e) == 0);
	T_CHECK(e.n_neighbours == 2 && e.more_neighbours == n - 2);
	T_CHECK(size_of_day() < 2 * NP_ACCOUNTING_PUT_LINE);
	np_accounting_record_free(&e);
	free(name);
	free(many);
}

/* Lines of a user, so many MiB of them. */
static void fill_day(uint32_t uid, unsigned mib)
{
	char line[1024];
	FILE *f;
	int n;

	mkdir(path(""), 0755);
	f = fopen(path(day_name(0)), "a");
	n = snprintf(line, sizeof(line),
		     "{\"schema\":1,\"id\":3,\"uid\":%u,"
		     "\"app\":\"",
		     uid);
	memset(line + n, 'x', sizeof(line) - (size_t)n);
	memcpy(line + sizeof(line) - 3, "\"}\n", 3);
	for (unsigned i = 0; f && i < mib << 10; i++)
		fwrite(line, 1, sizeof(line), f);
	T_CHECK(f && !fclose(f));
}

static int add_of(uint32_t id, uint32_t uid, struct np_err *err)
{
	struct np_accounting_record e = job_of(id);

	e.uid = uid;
	*err = (struct np_err)NP_ERR_INIT;
	return np_accounting_append(store, day, &e, 0644, err);
}

static const struct {
	const char *name;
	unsigned mib_of_7, mib_of_8; /* written by the process before */
	uint32_t uid;
	bool room;
} shares[] = {
	{ "a user who has written nothing yet", 0, 0, 7, true },
	{ "one alone may fill nearly half of it", 31, 0, 7, true },
	{ "but not more than is left free", 32, 0, 7, false },
	{ "which leaves the others theirs", 32, 0, 9, true },
	{ "two may fill nearly a third each", 21, 21, 8, true },
	{ "two may not fill more than that", 22, 21, 7, false },
	{ "the user with less may continue", 30, 5, 8, true },
	{ "a third user next to two that are full", 22, 22, 9, true },
	{ "nobody writes into a day that is full", 33, 31, 9, false },
};

T_TEST("a user's jobs fill their share of a day, and no more")
{
	T_EACH(r, shares) {
		struct np_err err;
		off_t size;
		int want = r->room ? 0 : -ENOBUFS;

		fresh_store();
		fill_day(7, r->mib_of_7);
		fill_day(8, r->mib_of_8);
		size = size_of_day();
		T_ROW(r->name, add_of(5, r->uid, &err) == want);
		T_ROW(r->name, (size_of_day() > size) == r->room);
		T_ROW("it is said", r->room == !err.text[0]);
		T_ROW("once", add_of(6, r->uid, &err) == want && !err.text[0]);
		t_ahead_sec = DAY;
		T_ROW("until the next day", add_of(7, r->uid, &err) == 0);
		t_ahead_sec = 0;
	}
}

T_TEST("of a huge day the end is searched")
{
	int fd;

	T_CHECK(add_id(7) == 0);
	fd = open(path(day_name(0)), O_WRONLY | O_APPEND);
	T_CHECK(fd >= 0 && !ftruncate(fd, NP_STATE_MAX_BYTES) &&
		write(fd, "\n", 1) == 1 && !close(fd));
	add_text(day_name(0), "{\"schema\":1,\"id\":8,\"uid\":1}\n");
	T_CHECK(find_rc(8) == 0);
	T_CHECK(find_rc(7) == -ENOENT);
}

T_TEST("links and pipes are not written to")
{
	char target[1024];

	mkdir(path(""), 0755);
	snprintf(target, sizeof(target), "%s/target", store);
	T_CHECK(!symlink(target, path(day_name(0))));
	T_CHECK(add_id(7) == -ELOOP);
	T_CHECK(access(target, F_OK) == -1);
	T_CHECK(!unlink(path(day_name(0))));
	T_CHECK(!mkfifo(path(day_name(0)), 0600));
	T_CHECK(add_id(7) != 0);
	T_CHECK(find_rc(7) == -EACCES);
}

T_TEST("its mode is as requested, whatever the umask")
{
	struct np_accounting_record e = job_of(7);
	mode_t old = umask(0077);
	struct stat st;

	T_CHECK(np_accounting_append(store, day, &e, 0644, NULL) == 0);
	T_CHECK(!stat(path(day_name(0)), &st) && (st.st_mode & 0777) == 0644);
	T_CHECK(np_accounting_append(store, day, &e, 0640, NULL) == 0);
	T_CHECK(!stat(path(day_name(0)), &st) && (st.st_mode & 0777) == 0640);
	umask(old);
}

T_TEST("what is no number is not written")
{
	struct np_accounting_record e = job_of(7);

	e.slowdown = 0.0 / 0.0;
	T_CHECK(add(&e) == -EINVAL);
	T_CHECK(find_rc(7) == -ENOENT);
}
