# How fast a TCP stream is, in Mbit/s:
#	rate.pl sink PORT SECONDS	accept one, print how fast it comes: the median of
#					tenths of a second, and the mean
#	rate.pl send ADDRESS PORT	send until the other side closes
use strict;
use warnings;
use IO::Socket::INET;
use Time::HiRes qw(time sleep);

$SIG{PIPE} = 'IGNORE';
alarm 120;

sub sink {
	my ($port, $sec) = @_;
	my $l = IO::Socket::INET->new(LocalPort => $port, Listen => 1,
		ReuseAddr => 1) or die "port $port: $!\n";
	my $s = $l->accept or die "accept: $!\n";
	# What the buffers on the way swallow at once is not the rate; nor is
	# what is lost while a machine stands still: hence the median of tenths.
	# What waited in a buffer, as this process did for a processor, comes in another
	# tenth: so the mean, from before one read that empties the buffer to after
	# another, is the one that never exceeds the rate.
	my ($buf, $all, $first, $last, @tenth) = ('', 0);
	my $begin = time() + 0.5;
	while ((my $now = time() - $begin) < $sec) {
		my $n = sysread($s, $buf, 1 << 16) or die "stream ended: $!\n";
		next if $now < 0;
		$tenth[10 * $now] += $n;
		$last = time();
		$all += $n if $first;
		$first ||= $begin + $now;
	}
	@tenth = sort { $a <=> $b } map { $_ // 0 } @tenth;
	printf "%.2f %.2f\n", 8e-5 * $tenth[@tenth / 2],
		$all ? 8e-6 * $all / ($last - $first) : 0;
}

sub send_to {
	my ($addr, $port) = @_;
	my $s;
	for (1 .. 1200) {
		$s = IO::Socket::INET->new(PeerAddr => $addr, PeerPort => $port)
			and last;
		sleep 0.05;
	}
	die "$addr:$port: $!\n" unless $s;
	my $buf = "\0" x (1 << 16);
	1 while defined syswrite($s, $buf);
}

my $what = shift;
$what eq 'sink' ? sink(@ARGV) : send_to(@ARGV);
