#!/usr/bin/perl
# container.pl SOCKET PORT COMMAND...: runs a command in a network of its own, from which one address leads out: 127.0.0.1:PORT, to SOCKET.
# Its end is the end of the command.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;

my ($socket, $port, @command) = @ARGV;
socket(my $lo, 2, 2, 0) or die "socket: $!";
my $up = pack('a16 s x22', 'lo', 1);
ioctl($lo, 0x8914, $up) or die "lo up: $!";
my $door = IO::Socket::INET->new(Listen => 16, LocalAddr => '127.0.0.1', LocalPort => $port, ReuseAddr => 1)
  or die "listen: $!";
my $doorman = fork() // die "fork: $!";
exec(@command) or die "exec: $!" if $doorman;
# The command is the parent, so that its end and its standard input and output are those of this program.
$SIG{CHLD} = 'IGNORE';
close(STDIN); close(STDOUT);
while (1) {
  my $in = $door->accept() or last;
  next if fork();
  my $out = IO::Socket::UNIX->new(Peer => $socket) or exit 1;
  my %other = ($in => $out, $out => $in);
  my $select = IO::Select->new($in, $out);
  while ($select->count == 2) {
    for my $from ($select->can_read) {
      my $read = sysread($from, my $bytes, 65536);
      exit 0 unless $read;
      $other{$from}->syswrite($bytes);
    }
  }
  exit 0;
}
