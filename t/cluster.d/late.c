/*
 * A delay line: every frame that a device receives reaches the host so many
 * microseconds later, in order.
 *
 *	late TAP DELAY_US	(as root, in the network namespace of the device)
 *
 * The caller makes TAP and has the device's ingress redirected to it; what is
 * written back to TAP the kernel takes as received there. Not every kernel
 * has netem, and this one delays delivery alone: the sender is as fast as ever.
 *
 * A frame waits from when it is read, which is a wake-up of this process later
 * than it came; runs are compared with a delay of 0, which has the same. The
 * end of its wait is a wake-up as well, on an idle virtual processor 30 us
 * and more: so it is planned earlier by as much as the last ones were late.
 * Nothing is polled through, as the processors are those of the programs.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define FRAME 2048  /* bytes of the longest */
#define FRAMES 8192 /* under way; what comes beyond that is lost */
#define GAIN 8	    /* one in so many counts the newest lateness */
#define MOST_LEAD_NS 100000ll
#define EARLY_NS 15000ll /* so much too soon is as good as in time */

static struct {
	long long due_ns;
	ssize_t len;
	char data[FRAME];
} line[FRAMES];
static size_t head, count;
static long long lead_ns; /* how late wake-ups have been */

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int open_tap(const char *name)
{
	struct ifreq r = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	strncpy(r.ifr_name, name, IFNAMSIZ - 1);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &r)) {
		fprintf(stderr, "late: %s: %s\n", name, strerror(errno));
		exit(EXIT_FAILURE);
	}
	return fd;
}

/* Before all others: what waits here is the network, not a program. */
static void hurry(void)
{
	const struct sched_param p = { .sched_priority = 50 };

	sched_setscheduler(0, SCHED_FIFO, &p);
	prctl(PR_SET_TIMERSLACK, 1UL);
}

static void take(int fd, long long delay_ns)
{
	static char lost[FRAME];

	for (;;) {
		size_t at = (head + count) % FRAMES;
		char *to = count < FRAMES ? line[at].data : lost;
		ssize_t len = read(fd, to, FRAME);

		if (len < 0 && errno == EBADFD) /* the device is gone */
			exit(EXIT_SUCCESS);
		if (len <= 0)
			return;
		if (to == lost)
			continue;
		line[at].len = len;
		line[at].due_ns = now_ns() + delay_ns;
		count++;
	}
}

static void deliver(int fd)
{
	while (count && line[head].due_ns - EARLY_NS <= now_ns()) {
		if (write(fd, line[head].data, (size_t)line[head].len) < 0 &&
		    errno != EIO) /* the device is down */
			perror("late");
		head = (head + 1) % FRAMES;
		count--;
	}
}

/* Until something comes, or the first frame is due. */
static void rest(struct pollfd *p)
{
	long long now = now_ns(), wake_ns = line[head].due_ns - lead_ns;
	struct timespec t;

	if (wake_ns < now + EARLY_NS)
		wake_ns = now + EARLY_NS;
	t.tv_sec = (wake_ns - now) / 1000000000;
	t.tv_nsec = (wake_ns - now) % 1000000000;
	if (ppoll(p, 1, count ? &t : NULL, NULL))
		return;
	lead_ns += (now_ns() - wake_ns - lead_ns) / GAIN;
	if (lead_ns > MOST_LEAD_NS)
		lead_ns = MOST_LEAD_NS;
}

int main(int argc, char **argv)
{
	char *end = "";
	double delay_us = argc == 3 ? strtod(argv[2], &end) : -1;
	struct pollfd p = { .events = POLLIN };

	if (!(delay_us >= 0 && delay_us <= 1e6) || *end) {
		fprintf(stderr, "usage: late TAP DELAY_US (0 to 1e6)\n");
		return 2;
	}
	p.fd = open_tap(argv[1]);
	hurry();
	for (;;) {
		rest(&p);
		take(p.fd, (long long)(1000 * delay_us));
		deliver(p.fd);
	}
}
