#include <asm/ioctls.h>
#include <linux/close_range.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>

#include "starter.h"

int report_fd = -1;
const char *report_word = "failed";

/* Says why on stderr, which is the program's by then, and ends. */
_Noreturn void fail(const char *what, const char *detail, long error) {
  static char line[4096 + 256];
  const char *end = line + sizeof line - 80;
  char *at = put_text(line, end, what);
  if (detail) {
    at = put_text(at, end, " ");
    at = put_text(at, end, detail);
  }
  end = line + sizeof line;
  at = put_text(at, end, ": ");
  at = put_text(at, end, error_text(error));
  at = put_text(at, end, "\n");
  sys(write, 2, line, at - line);
  if (report_fd >= 0) sys(write, report_fd, report_word, length_of(report_word));
  // As a shell ends.
  end_process(equals(report_word, "missing") ? 127 : 126);
  __builtin_unreachable();
}

void check(long result, const char *what, const char *detail) {
  if (result < 0) fail(what, detail, result);
}

void put_file(int from, int to) { check(sys(dup3, from, to, 0), "dup3", NULL); }

/* Seven letters, as long as the name that it replaces. */
void rename_process(const char *name) {
  sys(prctl, PR_SET_NAME, name);
  for (int i = 0; i < 7 && name[i] != 0; i++) starter.name[i] = name[i];
}

/* Gives the child its streams and a session of its own. What the starter does with signals ends here. */
void detach(const struct ends *ends) {
  for (int number = 0; number < 3; number++) {
    int fd = ends->stream[number] >= 0 ? ends->stream[number] : ends->terminal;
    put_file(fd >= 0 ? fd : starter.null, number);
  }
  sys(setsid);
  if (ends->terminal >= 0) check(sys(ioctl, 0, TIOCSCTTY, 0), "terminal", NULL);
  uint64_t none = 0;
  sys(rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof none);
}

void enter(int namespace) { check(sys(setns, namespace, 0), "setns", NULL); }

void become_root(int userns) {
  enter(userns);
  check(sys(setgroups, 0, 0), "setgroups", NULL);
  check(sys(setgid, 0), "setgid", NULL);
  check(sys(setuid, 0), "setuid", NULL);
}

int open_or_fail(const char *path, int flags) {
  int fd = open_file(path, flags);
  check(fd, path, NULL);
  return fd;
}

static void join_groups(struct list files) {
  for (size_t i = 0; i < files.count; i++) {
    int fd = open_or_fail(files.words[i], O_WRONLY);
    check(sys(write, fd, "0", 1), files.words[i], NULL);
    close_file(fd);
  }
}

/* A pipe that holds words, each ended by a NUL. The sender sends no more than a pipe takes without a reader. */
static int filled_pipe(char **words, size_t count) {
  int ends[2];
  check(sys(pipe2, ends, O_CLOEXEC | O_NONBLOCK), "pipe", NULL);
  if (count > 0) {
    // They lie side by side in the request. Written one by one, they would fill the pages of the pipe only in part.
    const char *last = words[count - 1];
    long length = last + length_of(last) + 1 - words[0];
    if (sys(write, ends[1], words[0], length) != length) fail("text", NULL, -E2BIG);
  }
  close_file(ends[1]);
  check(sys(fcntl, ends[0], F_SETFL, 0), "fcntl", NULL);
  return ends[0];
}

enum { MOST_FILES = 16, FREE_FILES = 64 };
struct files {
  size_t count;
  struct { int fd, number; } at[MOST_FILES];
};

static void keep_file(struct files *files, int fd, const char *number) {
  uint64_t wanted;
  if (files->count == MOST_FILES || !parse_number(number, FREE_FILES - 1, &wanted)) fail("file", number, -EINVAL);
  // Beyond all numbers that are asked for, so that none is overwritten before it is in its place.
  int kept = (int)sys(fcntl, fd, F_DUPFD_CLOEXEC, FREE_FILES);
  check(kept, "fcntl", NULL);
  files->at[files->count].fd = kept;
  files->at[files->count++].number = (int)wanted;
}

/* Opens what the program is to find open, while the mounts of the host are there. */
static void open_files(struct files *files, const struct request *request, const struct ends *ends) {
  files->count = 0;
  if (ends->stream[3] >= 0) keep_file(files, ends->stream[3], "3");
  for (size_t i = 0; i + 1 < request->files.count; i += 2)
    keep_file(files, open_or_fail(request->files.words[i + 1], O_RDONLY), request->files.words[i]);
  if (request->text.count > 0)
    keep_file(files, filled_pipe(request->text.words + 1, request->text.count - 1), request->text.words[0]);
}

/* The starter's own variables, and those of the request over them. */
static char **joined_env(struct list more) {
  size_t count = 0;
  while (starter.env[count]) count++;
  char **env = with_end((struct list){.words = starter.env, .count = count}, more.count);
  for (size_t i = 0; i < more.count; i++) {
    const char *end = find_char(more.words[i], '=');
    size_t name = end ? (size_t)(end - more.words[i]) + 1 : length_of(more.words[i]);
    size_t at = 0;
    for (; at < count; at++) {
      size_t same = 0;
      while (same < name && env[at][same] == more.words[i][same]) same++;
      if (same == name) break;
    }
    env[at] = more.words[i];
    if (at == count) count++;
  }
  return env;
}

/* A process of a sandbox is started in the order of these lines: nothing of a sandbox can be seen before its control group holds it. */
_Noreturn void become(const struct request *request, const struct ends *ends) {
  detach(ends);
  join_groups(request->join);
  struct files files;
  open_files(&files, request, ends);
  int userns = open_or_fail(request->userns, O_RDONLY);
  int namespaces[MOST_FILES];
  if (request->namespaces.count > MOST_FILES) fail("namespaces", NULL, -EINVAL);
  for (size_t i = 0; i < request->namespaces.count; i++)
    namespaces[i] = open_or_fail(request->namespaces.words[i], O_RDONLY);
  uint64_t devices[MOST_DEVICES];
  if (request->plan.count > 0) mount_plan(request, userns, devices);
  for (size_t i = 0; i < request->namespaces.count; i++) enter(namespaces[i]);
  become_root(userns);
  check(close_from(3, CLOSE_RANGE_CLOEXEC), "close_range", NULL);
  for (size_t i = 0; i < files.count; i++) put_file(files.at[i].fd, files.at[i].number);
  char **argv = with_end(request->argv, 0);
  run_program(argv, joined_env(request->env));
}
