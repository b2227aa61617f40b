#include "cli_check.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
