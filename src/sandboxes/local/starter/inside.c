/*
 * How a command gets into a sandbox without another program. The starter enters the sandbox's namespaces itself, forks, and comes back, so
 * that the fork is born inside: it never sees the host's network, and its list of mounts is the sandbox's. It is the command, a child of the
 * starter. First it joins the control groups, and then it becomes root of the sandbox's users, with mounts of its own (root.c).
 *
 * Programs inside cannot look into it or take a file from it: it is the host's root until it has closed the starter's files, and then it is not
 * dumpable, and its memory belongs to the host's user namespace. A kill of all processes inside may miss it while it is the host's
 * root; `Machine.restart` waits for every command that is on its way in.
 *
 * Last go all but a few capabilities, the right to gain others, and the calls that the filter forbids. If the command cannot be started,
 * `missing` or `failed` is written to descriptor 3, and otherwise nothing.
 */
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#include "root.h"
#include "starter.h"

/* The words of `inside` in a request, before those of its mounts. */
enum { PIDNS, FILTER, CAPABILITIES, CWD, MERGED, PLAN };

/* What is open on the way in, and what stood in the way. */
enum { MOST_GROUPS = 16, MOST_NAMESPACES = 8 };
struct way {
  int filter, userns;
  int groups[MOST_GROUPS], namespaces[MOST_NAMESPACES];
  size_t group_count, namespace_count;
  const char *refused;
  long why;
};

static struct sock_filter filter_code[BPF_MAXINSNS];

static void load_filter(int fd, struct sock_fprog *program) {
  long length = sys(read, fd, filter_code, sizeof filter_code);
  check(length, "seccomp filter", NULL);
  if (length == 0 || length % (long)sizeof *filter_code != 0) fail("seccomp filter", NULL, -EINVAL);
  *program = (struct sock_fprog){.len = (unsigned short)(length / (long)sizeof *filter_code), .filter = filter_code};
}

static void keep_capabilities(uint32_t kept) {
  for (unsigned number = 0; number < 64; number++) {
    if (number < 32 && kept >> number & 1) continue;
    long result = sys(prctl, PR_CAPBSET_DROP, number, 0, 0, 0);
    // The one after the last that this kernel knows.
    if (result == -EINVAL) break;
    check(result, "prctl", NULL);
  }
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[2] = {{.effective = kept, .permitted = kept, .inheritable = kept}};
  check(sys(capset, &header, sets), "capset", NULL);
  for (unsigned number = 0; number < 32; number++)
    if (kept >> number & 1) check(sys(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0), "prctl", NULL);
}

/* The variables of the request are all that it has, and the directory that it starts in. */
static char **own_env(struct list more, const char *cwd) {
  static char place[4096 + 8];
  char **env = with_end(more, 1);
  *put_text(put_text(place, place + 4, "PWD="), place + sizeof place - 1, cwd) = 0;
  size_t at = 0;
  while (env[at] && !starts_with(env[at], "PWD=")) at++;
  env[at] = place;
  return env;
}

static _Noreturn void be_command(const struct request *request, const struct sock_fprog *filter) {
  char **words = request->inside.words;
  uint64_t kept;
  if (!parse_number(words[CAPABILITIES], UINT32_MAX, &kept)) fail("capabilities", NULL, -EINVAL);
  check(close_from(4, 0), "close_range", NULL);
  check(sys(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl", NULL);
  make_root(words[MERGED], (struct list){.words = words + PLAN, .count = request->inside.count - PLAN});
  keep_capabilities((uint32_t)kept);
  check(sys(chdir, words[CWD]), "cannot enter", words[CWD]);
  char **argv = with_end(request->argv, 0), **env = own_env(request->env, words[CWD]);
  check(close_from(3, CLOSE_RANGE_CLOEXEC), "close_range", NULL);
  check(sys(prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0), "seccomp", NULL);
  run_program(argv, env);
}

static _Noreturn void go_inside(const struct request *request, const struct ends *ends, const struct way *way) {
  struct sock_fprog filter;
  rename_process("sandbox");
  report_fd = ends->stream[3];
  detach(ends);
  if (way->refused) fail(way->refused, NULL, way->why);
  for (size_t i = 0; i < way->group_count; i++) check(sys(write, way->groups[i], "0", 1), "control group", NULL);
  load_filter(way->filter, &filter);
  int report = (int)sys(fcntl, report_fd >= 0 ? report_fd : starter.null, F_DUPFD_CLOEXEC, 64);
  int users = (int)sys(fcntl, way->userns, F_DUPFD_CLOEXEC, 64);
  check(report, "fcntl", NULL);
  check(users, "fcntl", NULL);
  put_file(report, 3);
  put_file(users, 4);
  report_fd = 3;
  check(close_from(5, 0), "close_range", NULL);
  become_root(4);
  // Another user begins with what the machine allows.
  check(sys(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl", NULL);
  check(sys(unshare, CLONE_NEWNS), "unshare", NULL);
  be_command(request, &filter);
}

static int home_namespaces[5], home_root;

/* Opens the way back. */
void remember_home(void) {
  static const char *const files[] = {"/proc/self/ns/pid", "/proc/self/ns/mnt", "/proc/self/ns/ipc",
                                      "/proc/self/ns/uts", "/proc/self/ns/net"};
  for (size_t i = 0; i < 5; i++) home_namespaces[i] = open_or_fail(files[i], O_RDONLY);
  home_root = open_or_fail("/", O_RDONLY | O_DIRECTORY);
}

/* A starter that is still inside can serve no other sandbox. */
static void come_back(void) {
  for (size_t i = 0; i < 5; i++) enter(home_namespaces[i]);
  check(sys(fchdir, home_root), "chdir", NULL);
  check(sys(chroot, "."), "chroot", NULL);
}

static bool open_way_file(struct way *way, const char *path, int flags, int *fd) {
  *fd = open_file(path, flags);
  if (*fd >= 0) return true;
  way->refused = path;
  way->why = *fd;
  return false;
}

/* Opens all that is needed on the way in, while its paths mean what they mean here. */
static bool open_way(struct way *way, const struct request *request) {
  if (request->join.count > MOST_GROUPS || request->namespaces.count >= MOST_NAMESPACES) {
    way->refused = "namespaces";
    way->why = -E2BIG;
    return false;
  }
  if (!open_way_file(way, request->inside.words[FILTER], O_RDONLY, &way->filter)) return false;
  if (!open_way_file(way, request->userns, O_RDONLY, &way->userns)) return false;
  for (size_t i = 0; i < request->join.count; i++, way->group_count++)
    if (!open_way_file(way, request->join.words[i], O_WRONLY, &way->groups[i])) return false;
  for (size_t i = 0; i <= request->namespaces.count; i++, way->namespace_count++) {
    // That of processes is the last: it counts for children only.
    const char *path = i < request->namespaces.count ? request->namespaces.words[i] : request->inside.words[PIDNS];
    if (!open_way_file(way, path, O_RDONLY, &way->namespaces[i])) return false;
  }
  return true;
}

static void close_way(struct way *way) {
  close_file(way->filter);
  close_file(way->userns);
  for (size_t i = 0; i < way->group_count; i++) close_file(way->groups[i]);
  for (size_t i = 0; i < way->namespace_count; i++) close_file(way->namespaces[i]);
}

static int fork_there(struct way *way) {
  long result = 0;
  for (size_t i = 0; i < way->namespace_count && result >= 0; i++) result = sys(setns, way->namespaces[i], 0);
  way->refused = result < 0 ? "setns" : NULL;
  if (result >= 0) {
    result = fork_process();
    if (result == 0) return 0;
    way->refused = result < 0 ? "fork" : NULL;
  }
  way->why = result;
  come_back();
  return (int)result;
}

/* Returns the number of the command's process. If there is no way in, it is one that will say why. */
int fork_inside(const struct request *request, const struct ends *ends) {
  struct way way = {.filter = -1, .userns = -1};
  int pid = open_way(&way, request) ? fork_there(&way) : -1;
  if (way.refused) pid = fork_process();
  if (pid == 0) go_inside(request, ends, &way);
  close_way(&way);
  return pid;
}
