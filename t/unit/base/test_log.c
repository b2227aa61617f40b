#include "t.h"
#include "np_log.h"
#include "some_store.h"

#include <sys/stat.h>

static const char *own_dir(const char *name)
{
	return t_text("%s/users/%u%s", t_store_dir, geteuid(), name);
}

static void make_users(void)
{
	char users[600];

	np_store_close(t_store_fresh());
	snprintf(users, sizeof(users), "%s/users", t_store_dir);
	T_CHECK(!mkdir(users, 0755) && !chmod(users, 03777));
}

static void put(const char *text)
{
	char line[NP_LOG_LINE];

	np_log_line(line, text);
	T_CHECK(!np_log_append(t_store_dir, line));
}

T_TEST("the directory it makes is open to slurmctld whatever the umask")
{
	static const mode_t umasks[] = { 0077, 0022, 0, 0777 };

	for (size_t i = 0; i < NP_ARRAY_SIZE(umasks); i++) {
		mode_t old;
		struct stat st;

		make_users();
		old = umask(umasks[i]);
		put("a line");
		T_CHECK(umask(old) == umasks[i]);
		T_CHECK(!stat(own_dir(""), &st) &&
			(st.st_mode & 07777) == 02750);
	}
}

T_TEST("a line each, one after the other")
{
	char text[512] = "";
	FILE *f;

	make_users();
	put("one");
	put("two");
	f = fopen(own_dir("/" NP_LOG_NAME), "r");
	T_CHECK(f && fread(text, 1, sizeof(text) - 1, f) > 0);
	if (f)
		fclose(f);
	T_CHECK(strstr(text, " one\n") && strstr(text, " two\n"));
}
