/* Directories of the store, made as root: netprof check --make-store, ... */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_check.h"
#include "cli_options.h"
#include "cli_profile.h"
#include "np_array.h"

/* One directory of the store, as cli_check_store.c and slurmctld want it. */
struct place {
	const char *name;
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

static int cannot(const char *dir, const char *slash, const char *name)
{
	return cli_fail("cannot make %s%s%s: %s", dir, slash, name,
			strerror(errno));
}

static int dress(int fd, const struct place *p)
{
	return fd < 0 || fchown(fd, p->uid, p->gid) || fchmod(fd, p->mode) ?
		-errno : 0;
}

/* Only what is missing; what is there is as its administrator wants it. */
static int make_place(int at, const char *store, const struct place *p)
{
	int fd, rc;

	if (mkdirat(at, p->name, 0700))
		return errno == EEXIST ? CLI_DONE : cannot(store, "/", p->name);
	fd = openat(at, p->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
	rc = dress(fd, p) ? cannot(store, "/", p->name) : CLI_DONE;
	if (fd >= 0)
		close(fd);
	if (rc == CLI_DONE)
		printf("made %s/%s\n", store, p->name);
	return rc;
}

/* Its descriptor, or -1 and a line: nobody else may exchange what is in it. */
static int open_top(const char *store, const struct place *p)
{
	bool made = !mkdir(store, 0700);
	int fd = made || errno == EEXIST ?
		open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct stat st;

	if (fd < 0 || (made && dress(fd, p)) || fstat(fd, &st)) {
		cannot(store, "", "");
	} else if (st.st_uid || st.st_mode & 022) {
		cli_fail("%s: owned by uid %u, mode %o: expected root, and "
			 "nobody else who can write there", store, st.st_uid,
			 st.st_mode & 07777);
	} else {
		if (made)
			printf("made %s\n", store);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Before slurm.conf is written, a user of that name is for it. */
static const struct passwd *slurm_user(void)
{
	const struct passwd *pw;
	struct cli_slurm slurm;

	cli_slurm_ask(&slurm);
	pw = getpwnam(*slurm.conf ? slurm.user : "slurm");
	if (!pw && *slurm.conf)
		cli_fail("SlurmUser=%s: no such user", slurm.user);
	return pw || *slurm.conf ? pw : getpwnam("root");
}

int cli_make_store(void)
{
	struct np_err err = NP_ERR_INIT;
	const struct passwd *pw;
	struct np_conf conf;
	int at, rc = CLI_DONE;

	if (geteuid())
		return cli_fail("--make-store: only root can give a directory "
				"to SlurmUser");
	if (np_conf_from_environment(&conf, &err))
		return cli_fail("%s", err.text);
	pw = slurm_user();
	if (!pw)
		return CLI_FAILED;
	const struct place top = { "", 0755, 0, pw->pw_gid }, places[] = {
		{ "users", 03777, 0, pw->pw_gid },
		{ "published", 0755, 0, 0 },
		{ "placement", 0755, pw->pw_uid, pw->pw_gid },
	};
	at = open_top(conf.store, &top);
	if (at < 0)
		return CLI_FAILED;
	for (size_t i = 0; i < NP_ARRAY_SIZE(places); i++)
		if (make_place(at, conf.store, &places[i]))
			rc = CLI_FAILED;
	close(at);
	return rc;
}

#define LOGIN_DEFS "/etc/login.defs"

struct uids {
	uid_t *uid;
	size_t n;
};

static void cli_login_range(FILE *f, uid_t *first, uid_t *last)
{
	char line[256];
	unsigned n;

	*first = 1000;
	*last = 60000;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " UID_MIN %u", &n) == 1)
			*first = n;
		else if (sscanf(line, " UID_MAX %u", &n) == 1)
			*last = n;
}

/* Returns -1 to go on, or the exit status. */
static int add(struct uids *u, uid_t uid)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->uid[i] == uid)
			return -1;
	if (u->n == NP_STORE_MAX_SCAN)
		return cli_fail("more than %d users: expected those that use "
				"the cluster, by name", NP_STORE_MAX_SCAN);
	if (np_array_more(&u->uid, u->n, sizeof(*u->uid)))
		return cli_fail("out of memory");
	u->uid[u->n++] = uid;
	return -1;
}

static int add_known(struct uids *u)
{
	FILE *f = fopen(LOGIN_DEFS, "re");
	const struct passwd *pw;
	uid_t first, last;
	int rc = -1;

	cli_login_range(f, &first, &last);
	if (f)
		fclose(f);
	setpwent();
	while (rc < 0 && (pw = getpwent()))
		if (pw->pw_uid >= first && pw->pw_uid <= last)
			rc = add(u, pw->pw_uid);
	endpwent();
	return rc;
}

/* Those that are there may have a mode that keeps slurmctld out. */
static int add_there(struct uids *u, struct cli_store *s)
{
	struct np_err err = NP_ERR_INIT;
	uid_t *there = NULL;
	size_t n = 0;
	int rc = -1;

	if (np_store_uids(s->store, &there, &n, cli_pass_on, NULL, &err))
		return cli_fail("%s", err.text);
	for (size_t i = 0; rc < 0 && i < n; i++)
		rc = add(u, there[i]);
	free(there);
	return rc;
}

static int add_named(struct uids *u, char *const users[], size_t n)
{
	int rc = -1;
	uid_t uid;

	for (size_t i = 0; rc < 0 && i < n; i++)
		rc = cli_uid_of(users[i], &uid) ?
			cli_fail("%.64s: no such user", users[i]) :
			add(u, uid);
	return rc;
}

static int make(const struct uids *u, struct cli_store *s)
{
	size_t n_made = 0, n_failed = 0;

	for (size_t i = 0; i < u->n; i++) {
		struct np_err err = NP_ERR_INIT;
		bool made = false;

		if (np_store_make_user(s->store, u->uid[i], &made, &err)) {
			cli_fail("%s", err.text);
			n_failed++;
		} else {
			n_made += made;
		}
	}
	printf("made %zu, %zu were there, %zu failed\n", n_made,
	       u->n - n_made - n_failed, n_failed);
	return n_failed ? CLI_FAILED : CLI_DONE;
}

int cli_make_users(char *const users[], size_t n)
{
	struct uids u = { .n = 0 };
	struct cli_store s;
	int rc = -1;

	if (geteuid())
		return cli_fail("--make-users: only root can give a directory "
				"to its user");
	rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = n ? add_named(&u, users, n) : add_known(&u);
	if (rc < 0 && !n)
		rc = add_there(&u, &s);
	if (rc < 0)
		rc = make(&u, &s);
	cli_store_close(&s);
	free(u.uid);
	return rc;
}
