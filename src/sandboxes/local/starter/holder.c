/*
 * The first process of a sandbox is a fork of the starter that starts no other program: it has closed every file, sees an empty directory,
 * cannot be traced from inside, and ends when its pipe does. When told to, it kills all others of the sandbox at once, which no fork can
 * outrun, and replaces the namespaces of its network and its shared memory.
 */
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/sockios.h>

#include "starter.h"

enum { MOST_NAMESPACES = 8, INTERNET = 2, DATAGRAMS = 2, UP_AND_RUNNING = 0x41 };

/* The beginning of `struct ifreq`, whose header wants a C library. */
struct device {
  char name[16];
  short flags;
  char rest[22];
};

static void fresh_namespaces(unsigned long others) {
  check(sys(unshare, CLONE_NEWNET | CLONE_NEWIPC | others), "unshare", NULL);
  int fd = (int)sys(socket, INTERNET, DATAGRAMS | O_CLOEXEC, 0);
  check(fd, "socket", NULL);
  struct device up = {.name = "lo", .flags = UP_AND_RUNNING};
  check(sys(ioctl, fd, SIOCSIFFLAGS, &up), "ioctl", "lo");
  close_file(fd);
}

/* Of all capabilities it keeps what it needs for `kill`, for the loopback device and for new namespaces. */
static void keep_few_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  uint32_t kept = 1U << CAP_KILL | 1U << CAP_NET_ADMIN | 1U << CAP_SYS_ADMIN;
  struct __user_cap_data_struct sets[2] = {{.effective = kept, .permitted = kept}};
  if (sys(capset, &header, sets) < 0) end_process(1);
}

static _Noreturn void be_first(uint32_t id, const struct ends *ends) {
  put_file(ends->control, 0);
  put_file(starter.note_out, 1);
  put_file(starter.null, 2);
  if (close_from(3, 0) < 0) end_process(1);
  rename_process("sandbox");
  // What others were asked to start is no business of this process, which lives long.
  free_request_memory();
  struct { void *handler; unsigned long flags; void *restorer; uint64_t mask; } ignore = {.handler = (void *)1};
  sys(rt_sigaction, SIGCHLD, &ignore, 0, sizeof ignore.mask);
  keep_few_capabilities();
  if (sys(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) end_process(1);
  if (sys(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) end_process(1);
  if (sys(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) end_process(1);
  struct note renewed = {.kind = NOTE_RENEWED, .id = id};
  for (;;) {
    char word;
    long count = sys(read, 0, &word, 1);
    if (count == -EINTR) continue;
    if (count != 1) end_process(0);
    sys(kill, -1, SIGKILL);
    fresh_namespaces(0);
    if (sys(write, 1, &renewed, sizeof renewed) < 0) end_process(1);
  }
}

/* Makes the namespaces of a sandbox, leaves its first process in them as another child of the starter, and ends. */
_Noreturn void hold(uint32_t id, const struct request *request, const struct ends *ends) {
  detach(ends);
  int userns = open_or_fail(request->userns, O_RDONLY), namespaces[MOST_NAMESPACES];
  if (request->namespaces.count > MOST_NAMESPACES) fail("namespaces", NULL, -EINVAL);
  for (size_t i = 0; i < request->namespaces.count; i++)
    namespaces[i] = open_or_fail(request->namespaces.words[i], O_RDONLY);
  struct note held = {.kind = NOTE_HELD, .id = id};
  if (request->plan.count > 0) held.count = (uint32_t)mount_plan(request, userns, held.devices);
  for (size_t i = 0; i < request->namespaces.count; i++) enter(namespaces[i]);
  check(sys(chdir, request->home), request->home, NULL);
  check(sys(chdir, "empty"), "empty", NULL);
  become_root(userns);
  fresh_namespaces(CLONE_NEWUTS);
  check(sys(sethostname, "sandbox", 7), "sethostname", NULL);
  check(sys(chroot, "."), "chroot", NULL);
  held.value = (int32_t)sys(clone, CLONE_NEWPID | CLONE_PARENT | SIGCHLD);
  if (held.value == 0) be_first(id, ends);
  check(held.value, "clone", NULL);
  sys(write, starter.note_out, &held, sizeof held);
  end_process(0);
  __builtin_unreachable();
}
