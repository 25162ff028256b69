/*
 * What is shown is opened while the mounts of the host are there. They are taken away as soon as the sandbox's root is the root, before any path
 * inside is followed, so that no link leads out; a link in the place of a mount point is refused. Mounts are set for a whole tree with one
 * call, so no list of mounts is read.
 */
#include "root.h"

#include <linux/mount.h>

enum { OWN = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, DETACH = 2 };

static int tree_of(const char *source, uint64_t attributes) {
  int tree = (int)sys(open_tree, AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
  check(tree, "open_tree", source);
  struct mount_attr set = {.attr_set = attributes};
  check(sys(mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &set, sizeof set), "mount_setattr", source);
  return tree;
}

struct option {
  const char *name, *value;
};

/* A new file system of a kind; the options end with one that has no name. */
static int fresh(const char *type, uint64_t attributes, const struct option *options) {
  int context = (int)sys(fsopen, type, FSOPEN_CLOEXEC);
  check(context, "fsopen", type);
  for (; options->name; options++)
    check(sys(fsconfig, context, FSCONFIG_SET_STRING, options->name, options->value, 0), "fsconfig", type);
  check(sys(fsconfig, context, FSCONFIG_SET_STRING, "source", type, 0), "fsconfig", type);
  check(sys(fsconfig, context, FSCONFIG_CMD_CREATE, 0, 0, 0), "fsconfig", type);
  int tree = (int)sys(fsmount, context, FSMOUNT_CLOEXEC, attributes);
  check(tree, "fsmount", type);
  close_file(context);
  return tree;
}

static void make_mount_point(const char *at) {
  struct stat about;
  if (sys(newfstatat, AT_FDCWD, at, &about, AT_SYMLINK_NOFOLLOW) >= 0 && IS_DIR(about.st_mode)) return;
  long result = sys(mkdirat, AT_FDCWD, at, 0755);
  if (result != -EEXIST) check(result, "mkdir", at);
}

/*
 * The terminal of a command, under the name that it has among the mounts of the host; -1 where it has none. Programs such as tmux look for
 * theirs in /dev, where the terminals of the host are not.
 */
static int terminal_tree(void) {
  enum { MAJOR = 136 };
  struct stat here, named;
  char path[32];
  if (sys(fstat, 0, &here) < 0) return -1;
  if ((here.st_mode & 0170000) != 0020000 || (here.st_rdev >> 8 & 0xfff) != MAJOR) return -1;
  uint64_t number = (here.st_rdev & 0xff) | (here.st_rdev >> 12 & 0xfff00);
  *put_number(put_text(path, path + 9, "/dev/pts/"), number) = 0;
  if (sys(newfstatat, AT_FDCWD, path, &named, AT_SYMLINK_NOFOLLOW) < 0) return -1;
  if (named.st_dev != here.st_dev || named.st_ino != here.st_ino) return -1;
  return tree_of(path, MOUNT_ATTR_NOSUID);
}

enum { DEVICES = 6 };
static const char *const device_paths[DEVICES] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                                  "/dev/random", "/dev/urandom", "/dev/tty"};

static void make_devices(const int *nodes, int terminal) {
  static const struct { const char *to, *at; } links[] = {
      {"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"},
      {"/proc/self/fd", "/dev/fd"},      {"/proc/kcore", "/dev/core"},       {"pts/ptmx", "/dev/ptmx"}};
  attach(fresh("tmpfs", OWN, (struct option[]){{"mode", "0755"}, {0}}), "/dev");
  for (size_t i = 0; i < DEVICES; i++) {
    close_file(open_or_fail(device_paths[i], O_WRONLY | O_CREAT));
    attach(nodes[i], device_paths[i]);
  }
  for (size_t i = 0; i < sizeof links / sizeof *links; i++) sys(symlinkat, links[i].to, AT_FDCWD, links[i].at);
  sys(mkdirat, AT_FDCWD, "/dev/pts", 0755);
  sys(mkdirat, AT_FDCWD, "/dev/shm", 0755);
  struct option options[] = {{"ptmxmode", "0666"}, {"mode", "0620"}, {0}};
  attach(fresh("devpts", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, options), "/dev/pts");
  if (terminal < 0) return;
  close_file(open_or_fail("/dev/console", O_WRONLY | O_CREAT));
  attach(terminal, "/dev/console");
}

/* Opens what the plan shows: `rw`, `ro`, or `hide` for an empty directory. */
static int *open_parts(struct list plan) {
  int *trees = new_memory((plan.count / 3 + 1) * sizeof *trees);
  if (!trees) fail("memory", NULL, -ENOMEM);
  for (size_t i = 0; i < plan.count / 3; i++) {
    char **part = plan.words + i * 3;
    if (equals(part[0], "hide")) trees[i] = fresh("tmpfs", OWN, (struct option[]){{"size", "4096"}, {"mode", "0555"}, {0}});
    else trees[i] = tree_of(part[2], equals(part[0], "ro") ? OWN | MOUNT_ATTR_RDONLY : OWN);
  }
  return trees;
}

void make_root(const char *merged, struct list plan) {
  int nodes[DEVICES];
  mount_at("none", "/", "none", MS_REC | MS_PRIVATE, "");
  int root = tree_of(merged, OWN);
  for (size_t i = 0; i < DEVICES; i++) nodes[i] = tree_of(device_paths[i], MOUNT_ATTR_NOSUID);
  int *trees = open_parts(plan), terminal = terminal_tree();
  int proc = fresh("proc", OWN | MOUNT_ATTR_NOEXEC, (struct option[]){{0}});
  attach(root, merged);
  check(sys(chdir, merged), merged, NULL);
  check(sys(pivot_root, ".", "."), "pivot_root", NULL);
  check(sys(umount2, ".", DETACH), "umount", NULL);
  check(sys(chdir, "/"), "/", NULL);
  make_mount_point("/proc");
  attach(proc, "/proc");
  make_mount_point("/dev");
  make_devices(nodes, terminal);
  for (size_t i = 0; i < plan.count / 3; i++) {
    const char *at = plan.words[i * 3 + 1];
    if (!starts_with(at, "/proc/")) make_mount_point(at);
    attach(trees[i], at);
  }
}
