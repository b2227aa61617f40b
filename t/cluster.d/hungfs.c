/*
 * A file system in user space that shows a directory and fails as file servers
 * do. Speaks FUSE's protocol itself, with one thread.
 *
 *	hungfs REAL MOUNTPOINT STATE
 *
 * STATE is a file that says, in one word and at any time, what it is to do:
 *
 *	ok		as REAL would, as the user who asks
 *	hang		answer nothing, until another word is there; who asks is
 *			not to be killed meanwhile
 *	quota, full	refuse what needs room (EDQUOT, ENOSPC)
 *	readonly	refuse what changes anything (EROFS)
 *	stale, denied	refuse everything (ESTALE, EACCES)
 *	squash		take root for nobody
 *
 * STATE.waiting has the ids of the threads whose requests wait, one a line.
 *
 * It ends, and everything with it, on SIGTERM.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define BUF (1 << 17)
#define MAX_WRITE 65536
#define MAX_NODES 4096
#define NOBODY 65534

static const char *mountpoint, *state_file;
static char waiting_file[PATH_MAX];
static int dev;
static char *node[MAX_NODES]; /* path of each node; that of 0 is the root's */
static size_t n_nodes = 1;

/* Requests that wait for another state. */
static struct held {
	struct held *next;
	char request[];
} * held;

static void on_end(int sig)
{
	(void)sig;
	umount2(mountpoint, MNT_DETACH);
	_exit(0);
}

static bool state_is(const char *word)
{
	char text[32] = "";
	FILE *f = fopen(state_file, "r");
	bool is = f && fscanf(f, "%31s", text) == 1 && !strcmp(text, word);

	if (f)
		fclose(f);
	return is;
}

static void reply(const struct fuse_in_header *h, int error, const void *data,
		  size_t len)
{
	static char out[BUF];
	struct fuse_out_header o = { .error = -error, .unique = h->unique };

	if (error)
		len = 0;
	o.len = (uint32_t)(sizeof(o) + len);
	memcpy(out, &o, sizeof(o));
	if (len)
		memcpy(out + sizeof(o), data, len);
	if (write(dev, out, o.len) < 0 && errno != ENOENT)
		perror("hungfs: reply");
}

/* ---- nodes ---- */

static const char *path_of(uint64_t id)
{
	return id >= 1 && id <= n_nodes ? node[id - 1] : "/nowhere";
}

static const char *below(uint64_t id, const char *name)
{
	static char path[2][PATH_MAX];
	static int turn;

	turn = !turn;
	snprintf(path[turn], PATH_MAX, "%s/%s", path_of(id), name);
	return path[turn];
}

static uint64_t id_of(const char *path)
{
	for (size_t i = 0; i < n_nodes; i++)
		if (!strcmp(node[i], path))
			return i + 1;
	if (n_nodes == MAX_NODES)
		exit(1);
	node[n_nodes++] = strdup(path);
	return n_nodes;
}

/* What was at `to` is gone. */
static void move(const char *from, const char *to)
{
	size_t len = strlen(from);
	char path[PATH_MAX];

	for (size_t i = 1; i < n_nodes; i++)
		if (!strcmp(node[i], to))
			strcpy(node[i], "/");
	for (size_t i = 1; i < n_nodes; i++) {
		if (strncmp(node[i], from, len) ||
		    (node[i][len] && node[i][len] != '/'))
			continue;
		snprintf(path, sizeof(path), "%s%s", to, node[i] + len);
		free(node[i]);
		node[i] = strdup(path);
	}
}

static struct fuse_attr attr_of(const struct stat *st)
{
	return (struct fuse_attr){
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.blocks = (uint64_t)st->st_blocks,
		.mode = st->st_mode,
		.atime = (uint64_t)st->st_atime,
		.mtime = (uint64_t)st->st_mtime,
		.ctime = (uint64_t)st->st_ctime,
		.atimensec = (uint32_t)st->st_atim.tv_nsec,
		.mtimensec = (uint32_t)st->st_mtim.tv_nsec,
		.ctimensec = (uint32_t)st->st_ctim.tv_nsec,
		.nlink = (uint32_t)st->st_nlink,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.blksize = 4096,
	};
}

static int entry(const char *path, struct fuse_entry_out *e)
{
	struct stat st;

	if (lstat(path, &st))
		return errno;
	*e = (struct fuse_entry_out){ .nodeid = id_of(path),
				      .attr = attr_of(&st) };
	return 0;
}

static void reply_entry(const struct fuse_in_header *h, const char *path)
{
	struct fuse_entry_out e;
	int error = entry(path, &e);

	reply(h, error, &e, sizeof(e));
}

static void reply_attr(const struct fuse_in_header *h, const char *path)
{
	struct fuse_attr_out a = { .attr_valid = 0 };
	struct stat st;
	int error = lstat(path, &st) ? errno : 0;

	if (!error)
		a.attr = attr_of(&st);
	reply(h, error, &a, sizeof(a));
}

static void reply_done(const struct fuse_in_header *h, int rc)
{
	reply(h, rc ? errno : 0, NULL, 0);
}

/* ---- requests ---- */

static void do_init(const struct fuse_in_header *h)
{
	struct fuse_init_out o = { .major = 7,
				   .minor = 31,
				   .max_write = MAX_WRITE };

	reply(h, 0, &o, sizeof(o));
}

static void do_setattr(const struct fuse_in_header *h, const void *arg)
{
	const struct fuse_setattr_in *in = arg;
	const char *path = path_of(h->nodeid);
	int rc = 0;

	if (in->valid & FATTR_MODE)
		rc = chmod(path, in->mode & 07777);
	if (!rc && in->valid & (FATTR_UID | FATTR_GID))
		rc = chown(path, in->valid & FATTR_UID ? in->uid : (uid_t)-1,
			   in->valid & FATTR_GID ? in->gid : (gid_t)-1);
	if (!rc && in->valid & FATTR_SIZE)
		rc = truncate(path, (off_t)in->size);
	if (rc)
		reply_done(h, rc);
	else
		reply_attr(h, path);
}

static void do_open(const struct fuse_in_header *h, const void *arg)
{
	const struct fuse_open_in *in = arg;
	int fd = open(path_of(h->nodeid), (int)in->flags & ~O_CREAT);
	struct fuse_open_out o = { .fh = (uint64_t)fd,
				   .open_flags = FOPEN_DIRECT_IO };

	reply(h, fd < 0 ? errno : 0, &o, sizeof(o));
}

static void do_create(const struct fuse_in_header *h, const void *arg)
{
	const struct fuse_create_in *in = arg;
	const char *path = below(h->nodeid, (const char *)(in + 1));
	struct {
		struct fuse_entry_out e;
		struct fuse_open_out o;
	} out = { .o.open_flags = FOPEN_DIRECT_IO };
	int fd = open(path, (int)in->flags | O_CREAT, in->mode & 07777);
	int error = fd < 0 ? errno : entry(path, &out.e);

	out.o.fh = (uint64_t)fd;
	reply(h, error, &out, sizeof(out));
}

static void do_read(const struct fuse_in_header *h, const void *arg)
{
	const struct fuse_read_in *in = arg;
	static char buf[MAX_WRITE];
	size_t size = in->size < sizeof(buf) ? in->size : sizeof(buf);
	ssize_t got = pread((int)in->fh, buf, size, (off_t)in->offset);

	reply(h, got < 0 ? errno : 0, buf, got < 0 ? 0 : (size_t)got);
}

static void do_write(const struct fuse_in_header *h, const void *arg)
{
	const struct fuse_write_in *in = arg;
	ssize_t put = pwrite((int)in->fh, in + 1, in->size, (off_t)in->offset);
	struct fuse_write_out o = { .size = (uint32_t)put };

	reply(h, put < 0 ? errno : 0, &o, sizeof(o));
}

static void do_readdir(const struct fuse_in_header *h, const void *arg)
{
	const struct fuse_read_in *in = arg;
	static char buf[MAX_WRITE];
	DIR *d = opendir(path_of(h->nodeid));
	size_t len = 0, most = in->size < sizeof(buf) ? in->size : sizeof(buf);
	uint64_t at = 0;

	for (struct dirent *e; d && (e = readdir(d));) {
		size_t name = strlen(e->d_name);
		struct fuse_dirent out = {
			.ino = e->d_ino,
			.off = ++at,
			.namelen = (uint32_t)name,
			.type = e->d_type,
		};

		if (at <= in->offset)
			continue;
		if (len + FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + name) > most)
			break;
		memcpy(buf + len, &out, FUSE_NAME_OFFSET);
		memcpy(buf + len + FUSE_NAME_OFFSET, e->d_name, name);
		len += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + name);
	}
	reply(h, d ? 0 : errno, buf, len);
	if (d)
		closedir(d);
}

static void do_rename(const struct fuse_in_header *h, uint64_t dir,
		      const char *from)
{
	const char *old = below(h->nodeid, from);
	const char *new = below(dir, from + strlen(from) + 1);
	int rc = rename(old, new);

	reply_done(h, rc);
	if (!rc)
		move(old, new);
}

static void do_statfs(const struct fuse_in_header *h)
{
	struct fuse_statfs_out o = { .st = { .bsize = 4096,
					     .namelen = 255,
					     .blocks = 1 << 20,
					     .bfree = 1 << 19,
					     .bavail = 1 << 19 } };

	reply(h, 0, &o, sizeof(o));
}

/* What needs room, and what else changes something. */
static bool needs_room(uint32_t opcode)
{
	return opcode == FUSE_MKDIR || opcode == FUSE_CREATE ||
	       opcode == FUSE_WRITE || opcode == FUSE_MKNOD;
}

static bool changes(const struct fuse_in_header *h, const void *arg)
{
	switch (h->opcode) {
	case FUSE_OPEN:
		return (((const struct fuse_open_in *)arg)->flags &
			O_ACCMODE) != O_RDONLY;
	case FUSE_SETATTR:
	case FUSE_RENAME:
	case FUSE_RENAME2:
	case FUSE_UNLINK:
	case FUSE_RMDIR:
	case FUSE_LINK:
	case FUSE_SYMLINK:
		return true;
	default:
		return needs_room(h->opcode);
	}
}

/* 0: it is to be done. */
static int refusal(const struct fuse_in_header *h, const void *arg)
{
	if (h->opcode == FUSE_INIT || h->opcode == FUSE_RELEASE ||
	    h->opcode == FUSE_RELEASEDIR)
		return 0;
	if (state_is("stale"))
		return ESTALE;
	if (state_is("denied"))
		return EACCES;
	if (needs_room(h->opcode) && state_is("quota"))
		return EDQUOT;
	if (needs_room(h->opcode) && state_is("full"))
		return ENOSPC;
	if (changes(h, arg) && state_is("readonly"))
		return EROFS;
	return 0;
}

static void answer(const struct fuse_in_header *h, const void *arg)
{
	const char *name = arg, *path;
	struct fuse_open_out o = { .fh = 0 };

	switch (h->opcode) {
	case FUSE_INIT:
		do_init(h);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	case FUSE_LOOKUP:
		reply_entry(h, below(h->nodeid, name));
		break;
	case FUSE_GETATTR:
		reply_attr(h, path_of(h->nodeid));
		break;
	case FUSE_SETATTR:
		do_setattr(h, arg);
		break;
	case FUSE_MKDIR:
		path = below(h->nodeid, name + sizeof(struct fuse_mkdir_in));
		if (mkdir(path, ((const struct fuse_mkdir_in *)arg)->mode))
			reply_done(h, -1);
		else
			reply_entry(h, path);
		break;
	case FUSE_UNLINK:
		reply_done(h, unlink(below(h->nodeid, name)));
		break;
	case FUSE_RMDIR:
		reply_done(h, rmdir(below(h->nodeid, name)));
		break;
	case FUSE_RENAME:
		do_rename(h, ((const struct fuse_rename_in *)arg)->newdir,
			  name + sizeof(struct fuse_rename_in));
		break;
	case FUSE_RENAME2:
		do_rename(h, ((const struct fuse_rename2_in *)arg)->newdir,
			  name + sizeof(struct fuse_rename2_in));
		break;
	case FUSE_OPEN:
		do_open(h, arg);
		break;
	case FUSE_CREATE:
		do_create(h, arg);
		break;
	case FUSE_READ:
		do_read(h, arg);
		break;
	case FUSE_WRITE:
		do_write(h, arg);
		break;
	case FUSE_RELEASE:
		close((int)((const struct fuse_release_in *)arg)->fh);
		reply(h, 0, NULL, 0);
		break;
	case FUSE_OPENDIR:
		reply(h, 0, &o, sizeof(o));
		break;
	case FUSE_READDIR:
		do_readdir(h, arg);
		break;
	case FUSE_STATFS:
		do_statfs(h);
		break;
	case FUSE_ACCESS:
		reply_done(h, access(path_of(h->nodeid), F_OK));
		break;
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_FSYNCDIR:
	case FUSE_RELEASEDIR:
		reply(h, 0, NULL, 0);
		break;
	default:
		reply(h, ENOSYS, NULL, 0);
		break;
	}
}

static void serve(const char *request)
{
	const struct fuse_in_header *h = (const void *)request;
	int error = refusal(h, h + 1);
	bool squash = state_is("squash") && !h->uid;

	if (error) {
		reply(h, error, NULL, 0);
		return;
	}
	setfsgid(squash ? NOBODY : h->gid);
	setfsuid(squash ? NOBODY : h->uid);
	answer(h, h + 1);
	setfsuid(0);
	setfsgid(0);
}

static void add_waiting(const struct fuse_in_header *h)
{
	FILE *f = fopen(waiting_file, "a");

	if (!f)
		return;
	fprintf(f, "%u\n", h->pid);
	fclose(f);
}

static void hold(const char *request, size_t len)
{
	struct held *one = malloc(sizeof(*one) + len), **end = &held;

	add_waiting((const void *)request);
	memcpy(one->request, request, len);
	one->next = NULL;
	while (*end)
		end = &(*end)->next;
	*end = one;
}

static void release(void)
{
	if (held)
		unlink(waiting_file);
	while (held) {
		struct held *one = held;

		held = one->next;
		serve(one->request);
		free(one);
	}
}

static void loop(void)
{
	static char buf[BUF] __attribute__((aligned(8)));
	struct pollfd p = { .fd = dev, .events = POLLIN };

	for (;;) {
		const struct fuse_in_header *h = (const void *)buf;
		ssize_t got = 0;
		bool hangs;

		if (poll(&p, 1, held ? 50 : -1) > 0)
			got = read(dev, buf, sizeof(buf));
		if (got < 0 && errno == ENODEV)
			return; /* it was unmounted */
		hangs = state_is("hang");
		if (!hangs)
			release();
		if (got <= 0)
			continue;
		if (hangs && h->opcode != FUSE_INIT)
			hold(buf, (size_t)got);
		else
			serve(buf);
	}
}

int main(int argc, char **argv)
{
	char options[128];

	if (argc != 4) {
		fprintf(stderr, "usage: hungfs REAL MOUNTPOINT STATE\n");
		return 2;
	}
	node[0] = argv[1];
	mountpoint = argv[2];
	state_file = argv[3];
	snprintf(waiting_file, sizeof(waiting_file), "%s.waiting", argv[3]);
	umask(0);
	signal(SIGTERM, on_end);
	dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,"
		 "group_id=0,allow_other",
		 dev);
	if (dev < 0 || mount("hungfs", mountpoint, "fuse", MS_NOSUID | MS_NODEV,
			     options)) {
		perror("hungfs");
		return 1;
	}
	loop();
	return 0;
}
