/*
 * Mounts are made in a mount namespace of their own, under the id of the sandbox's root: the kernel keeps it for what overlays do
 * later. Capabilities stay meanwhile. What is to be shown is opened first, among the mounts of the host: it may lie in a closed directory
 * above the sandboxes, which is covered, or on a disk that no sandbox sees otherwise.
 *
 * The mounts of the host that no sandbox needs are taken away once, in a mount namespace that every sandbox copies, the stage:
 * bubblewrap reads the whole list for each of its own mounts.
 */
#include <linux/mount.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/securebits.h>

#include "starter.h"

enum { DETACH_NO_LINK = 2 | 8 };

void mount_at(const char *source, const char *target, const char *type, unsigned long flags, const char *data) {
  check(sys(mount, source, target, type, flags, data), "mount", target);
}

void attach(int tree, const char *target) {
  check(sys(move_mount, tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH), "move_mount", target);
}

/* A directory as it shows under the ids of a user namespace. */
static int mapped(const char *source, bool is_readonly, int userns) {
  int tree = (int)sys(open_tree, AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  check(tree, "open_tree", source);
  struct mount_attr attributes = {
      .attr_set = MOUNT_ATTR_IDMAP | (is_readonly ? MOUNT_ATTR_RDONLY : 0), .userns_fd = (uint64_t)userns};
  check(sys(mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes), "mount_setattr", source);
  return tree;
}

static bool is_below(const char *path, const char *top) {
  size_t length = length_of(top);
  return starts_with(path, top) && (path[length] == 0 || path[length] == '/');
}

static bool is_needed(const char *at, const char *home) {
  static const char *const systems[] = {"/proc", "/dev", "/usr", "/bin", "/sbin", "/etc", "/opt", "/nix", "/gnu"};
  static const char *const others[] = {"/dev/shm", "/dev/mqueue", "/dev/hugepages"};
  if (equals(at, "/") || is_below(home, at)) return true;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (equals(at, others[i])) return false;
  for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
    if (is_below(at, systems[i])) return true;
  return starts_with(at, "/lib");
}

/* All of a file of the kernel's, which does not say how long it is. */
static char *read_all(const char *path) {
  size_t room = 65536, length = 0;
  char *text = new_memory(room);
  int fd = open_or_fail(path, O_RDONLY);
  for (;;) {
    if (!text) fail(path, NULL, -ENOMEM);
    long count = sys(read, fd, text + length, room - 1 - length);
    check(count, path, NULL);
    length += (size_t)count;
    if (count == 0) break;
    if (room - 1 - length >= 4096) continue;
    text = grow_memory(text, room, room * 2);
    room *= 2;
  }
  close_file(fd);
  text[length] = 0;
  return text;
}

/* Cuts the fifth word out of a line of mountinfo, where some letters are written as octal numbers. Returns the next line. */
static char *mount_point_in(char *line, char **point) {
  for (int words = 0; words < 4 && *line != 0; line++)
    if (*line == ' ') words++;
  char *to = line;
  *point = line;
  while (*line != 0 && *line != ' ' && *line != '\n') {
    if (line[0] == '\\' && line[1] >= '0' && line[1] <= '3' && line[2] >= '0' && line[2] <= '7' && line[3] >= '0' && line[3] <= '7') {
      *to++ = (char)((line[1] - '0') * 64 + (line[2] - '0') * 8 + (line[3] - '0'));
      line += 4;
    } else *to++ = *line++;
  }
  while (*line != 0 && *line != '\n') line++;
  if (*line == '\n') line++;
  *to = 0;
  return line;
}

/* A closed directory above the sandboxes is covered by one that shows only the way to them. */
static void cover_way_to(const char *home) {
  static char path[4096];
  bool is_covered = false;
  size_t length = length_of(home);
  if (length >= sizeof path || home[0] != '/') fail("home", NULL, -ENAMETOOLONG);
  for (size_t i = 1; i <= length; i++) {
    if (home[i] != '/' && home[i] != 0) continue;
    memcpy(path, home, i);
    path[i] = 0;
    struct stat about;
    if (is_covered) check(sys(mkdirat, AT_FDCWD, path, 0777), path, NULL);
    else if (i < length && (sys(newfstatat, AT_FDCWD, path, &about, 0) < 0 || !(about.st_mode & 1))) {
      mount_at("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755");
      is_covered = true;
    }
  }
}

static void set_stage(const char *home) {
  check(sys(unshare, CLONE_NEWNS), "unshare", NULL);
  mount_at("none", "/", "none", MS_REC | MS_PRIVATE, "");
  char *line = read_all("/proc/self/mountinfo"), *point;
  while (*line != 0) {
    line = mount_point_in(line, &point);
    if (!is_needed(point, home)) sys(umount2, point, DETACH_NO_LINK);
  }
  cover_way_to(home);
}

enum { MOST_STAGES = 8 };
static struct {
  int mounts;
  char home[4096];
} stages[MOST_STAGES];
static size_t stage_count;

static int stage_of(const char *home) {
  for (size_t i = 0; i < stage_count; i++)
    if (equals(stages[i].home, home)) return stages[i].mounts;
  return -1;
}

/* Makes the stage for a directory of sandboxes, in a fork that ends as soon as its mounts are open here. Without one each sandbox makes its own. */
void make_stage(const char *home) {
  int ready[2], hold_on[2];
  if (stage_of(home) >= 0 || stage_count == MOST_STAGES || length_of(home) >= sizeof stages->home) return;
  if (sys(pipe2, ready, O_CLOEXEC) < 0) return;
  if (sys(pipe2, hold_on, O_CLOEXEC) < 0) {
    close_file(ready[0]);
    close_file(ready[1]);
    return;
  }
  int pid = fork_process();
  char word = 0, path[64];
  if (pid == 0) {
    close_file(ready[0]);
    close_file(hold_on[1]);
    set_stage(home);
    sys(write, ready[1], "1", 1);
    sys(read, hold_on[0], &word, 1);
    end_process(0);
  }
  close_file(ready[1]);
  close_file(hold_on[0]);
  if (pid > 0 && sys(read, ready[0], &word, 1) == 1) {
    char *at = put_number(put_text(path, path + 6, "/proc/"), (uint64_t)pid);
    *put_text(at, at + 7, "/ns/mnt") = 0;
    int mounts = open_file(path, O_RDONLY);
    if (mounts >= 0) {
      memcpy(stages[stage_count].home, home, length_of(home) + 1);
      stages[stage_count++].mounts = mounts;
    }
  }
  close_file(ready[0]);
  close_file(hold_on[1]);
  if (pid > 0) sys(wait4, pid, 0, 0, 0);
}

/* Mounts what a sandbox is made of. Returns how many overlays that were, and their devices. */
size_t mount_plan(const struct request *request, int userns, uint64_t *devices) {
  const struct list *plan = &request->plan;
  size_t count = plan->count / 3, overlays = 0;
  int *trees = new_memory((count + 1) * sizeof *trees);
  if (!trees) fail("memory", NULL, -ENOMEM);
  for (size_t i = 0; i < count; i++) {
    char **part = plan->words + i * 3;
    trees[i] = equals(part[0], "overlay") ? -1 : mapped(part[2], equals(part[0], "idmap-ro"), userns);
  }
  int home = mapped(request->home, false, userns), stage = stage_of(request->home);
  if (stage >= 0) {
    enter(stage);
    check(sys(unshare, CLONE_NEWNS), "unshare", NULL);
  } else set_stage(request->home);
  attach(home, request->home);
  check(sys(chdir, request->home), request->home, NULL);
  check(sys(prctl, PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0), "prctl", NULL);
  sys(setfsgid, request->first);
  sys(setfsuid, request->first);
  for (size_t i = 0; i < count; i++) {
    char **part = plan->words + i * 3;
    if (trees[i] >= 0) attach(trees[i], part[1]);
    else mount_at("overlay", part[1], "overlay", 0, part[2]);
  }
  sys(setfsuid, 0);
  sys(setfsgid, 0);
  sys(prctl, PR_SET_SECUREBITS, 0, 0, 0, 0);
  for (size_t i = 0; i < count; i++) {
    struct stat about;
    if (trees[i] >= 0) continue;
    if (overlays == MOST_DEVICES) fail("mount", "too many overlays", -E2BIG);
    check(sys(newfstatat, AT_FDCWD, plan->words[i * 3 + 1], &about, 0), "stat", plan->words[i * 3 + 1]);
    devices[overlays++] = about.st_dev;
  }
  return overlays;
}
