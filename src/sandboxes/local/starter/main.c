/*
 * The starter: one small process that starts the programs of root's sandboxes and stays for as long as ot-agent runs. Requests come on
 * stdin (requests.c), and messages go to stdout (events.c). It ends when stdin does.
 *
 * It is not dumpable, and so neither is a fork at its birth: no program of a sandbox may look into one. What a command leaves behind when it
 * is killed becomes a child of the starter, which collects it: a sandbox cannot end before someone does, and the first process of
 * a container often collects nothing.
 */
#include <asm/resource.h>
#include <linux/eventpoll.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/resource.h>

#include "starter.h"

struct starter starter;

static char *input;
static size_t input_room = 65536, input_length;
enum { MOST_REQUEST = 64 << 20 };

/* In a fork that lives long: what was asked of the starter is not for it. */
void free_request_memory(void) { sys(munmap, input, input_room); }

/* Programs that close every file they might have would need minutes with the highest limits. */
static void limit_files(void) {
  struct { uint64_t soft, hard; } limit;
  if (sys(prlimit64, 0, RLIMIT_NOFILE, 0, &limit) < 0 || limit.soft <= 65536) return;
  limit.soft = 65536;
  sys(prlimit64, 0, RLIMIT_NOFILE, &limit, 0);
}

enum { FROM_CLIENT = -1, FROM_CHILDREN = -2, OF_ENDS = -3 };

static void watch(int fd, int64_t what) {
  struct epoll_event event = {.events = EPOLLIN, .data = (uint64_t)what};
  check(sys(epoll_ctl, starter.epoll, EPOLL_CTL_ADD, fd, &event), "epoll", NULL);
}

/* Returns a file that tells of ended children. */
static int set_up(void) {
  int notes[2];
  uint64_t ends = 1ULL << (SIGCHLD - 1), blocked = ends | 1ULL << (SIGPIPE - 1);
  close_from(3, 0);
  sys(umask, 022);
  limit_files();
  sys(prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  check(sys(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl", NULL);
  sys(prctl, PR_SET_NAME, "starter");
  check(sys(rt_sigprocmask, SIG_BLOCK, &blocked, 0, sizeof blocked), "rt_sigprocmask", NULL);
  starter.null = open_or_fail("/dev/null", O_RDWR);
  long parent = sys(getppid);
  starter.client = (int)sys(pidfd_open, parent, 0);
  check(sys(pipe2, notes, O_CLOEXEC), "pipe", NULL);
  starter.note_in = notes[0];
  starter.note_out = notes[1];
  check(sys(fcntl, starter.note_in, F_SETFL, O_NONBLOCK), "fcntl", NULL);
  check(sys(fcntl, 0, F_SETFL, O_RDWR | O_NONBLOCK), "fcntl", NULL);
  int signals = (int)sys(signalfd4, -1, &ends, sizeof ends, O_CLOEXEC | O_NONBLOCK);
  check(signals, "signalfd", NULL);
  starter.epoll = (int)sys(epoll_create1, O_CLOEXEC);
  check(starter.epoll, "epoll", NULL);
  watch(0, FROM_CLIENT);
  watch(starter.note_in, FROM_CHILDREN);
  watch(signals, OF_ENDS);
  remember_home();
  input = new_memory(input_room);
  if (!input) fail("memory", NULL, -ENOMEM);
  return signals;
}

static uint32_t big_endian(const char *at) {
  const unsigned char *byte = (const unsigned char *)at;
  return (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 | byte[3];
}

static void grow_input(size_t wanted) {
  size_t more = input_room;
  while (more < wanted) more *= 2;
  input = grow_memory(input, input_room, more);
  if (!input) fail("memory", NULL, -ENOMEM);
  input_room = more;
}

/* Reads what there is, and handles each request that has come whole. */
static void hear_client(void) {
  size_t at = 0;
  if (input_length == input_room) grow_input(input_room * 2);
  long count = sys(read, 0, input + input_length, input_room - input_length);
  if (count == -EINTR || count == -EAGAIN) return;
  if (count <= 0) end_process(0);
  input_length += (size_t)count;
  while (input_length - at >= 4) {
    size_t length = big_endian(input + at);
    if (length > MOST_REQUEST) fail("request", NULL, -E2BIG);
    if (input_length - at - 4 < length) break;
    handle_request(input + at + 4, length);
    at += 4 + length;
  }
  if (at == 0) return;
  input_length -= at;
  memmove(input, input + at, input_length);
}

static void serve(int signals) {
  struct epoll_event events[64];
  for (;;) {
    long count = sys(epoll_pwait, starter.epoll, events, 64, -1, 0, 0);
    for (long i = 0; i < count; i++) {
      int64_t what = (int64_t)events[i].data;
      if (what == FROM_CLIENT) hear_client();
      else if (what == FROM_CHILDREN) hear_notes();
      else if (what == OF_ENDS) collect_ended(signals);
      else relay((size_t)what >> 2, (int)(what & 3));
    }
    flush_messages();
  }
}

static int begin(int argc, char **argv) {
  // A first word of seven letters is the name that forks replace.
  if (argc != 1 || length_of(argv[0]) != 7) return 2;
  starter.name = argv[0];
  starter.env = argv + argc + 1;
  serve(set_up());
  return 0;
}

#ifdef HOSTED
/* With a C library and its checks: scripts/build-starter.mjs says how. */
int main(int argc, char **argv) { return begin(argc, argv); }
#else
__attribute__((used)) static void begin_at(long *stack) { end_process(begin((int)stack[0], (char **)(stack + 1))); }
#if defined(__x86_64__)
__asm__(".globl _start\n_start: xor %ebp, %ebp\nmov %rsp, %rdi\nand $-16, %rsp\ncall begin_at\nhlt\n");
#else
__asm__(".globl _start\n_start: mov x29, #0\nmov x30, #0\nmov x0, sp\nbl begin_at\nbrk #1\n");
#endif
#endif
