/* Removers: forks of the starter that remove one directory after the other, and wait for the next. */
#include "starter.h"

enum { MOST_DEPTH = 50, MOST_REMOVERS = 64, IS_DIRECTORY = 4, IS_UNKNOWN = 0 };
static struct {
  int pid, hand;
  bool is_busy;
  uint32_t id;
} removers[MOST_REMOVERS];

struct entry {
  uint64_t inode, offset;
  unsigned short length;
  unsigned char type;
  char name[];
};

static bool is_gone(long result) { return result >= 0 || result == -ENOENT; }

static bool is_directory(int dir, const struct entry *entry) {
  struct stat about;
  if (entry->type != IS_UNKNOWN) return entry->type == IS_DIRECTORY;
  return sys(newfstatat, dir, entry->name, &about, AT_SYMLINK_NOFOLLOW) >= 0 && IS_DIR(about.st_mode);
}

static long remove_tree(int parent, const char *name, int depth);

/* Removes what one reading of a directory shows. False: something of it is left. */
static bool remove_entries(int dir, int depth, bool *any) {
  char buffer[4096] __attribute__((aligned(8)));
  bool all = true;
  for (;;) {
    long length = sys(getdents64, dir, buffer, sizeof buffer);
    if (length <= 0) return all && length == 0;
    for (long at = 0; at < length;) {
      struct entry *entry = (struct entry *)(buffer + at);
      at += entry->length;
      if (equals(entry->name, ".") || equals(entry->name, "..")) continue;
      long result = is_directory(dir, entry) ? remove_tree(dir, entry->name, depth + 1)
                                             : sys(unlinkat, dir, entry->name, 0);
      if (result >= 0) *any = true;
      if (!is_gone(result)) all = false;
    }
  }
}

/* Follows no link. Negative: something is left, or nothing was there. */
static long remove_tree(int parent, const char *name, int depth) {
  if (depth > MOST_DEPTH) return -ENAMETOOLONG;
  int dir = (int)sys(openat, parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (dir < 0) return dir;
  for (;;) {
    bool any = false, all = remove_entries(dir, depth, &any);
    long result = all ? sys(unlinkat, parent, name, AT_REMOVEDIR) : -ENOTEMPTY;
    // A directory that changes while it is read may show less than it holds. Without progress there is no end to it.
    if (result == -ENOTEMPTY && all && any && sys(lseek, dir, 0, 0) == 0) continue;
    close_file(dir);
    return result;
  }
}

static bool read_job(char *job, size_t size) {
  size_t length = 0;
  while (length < 4 || job[length - 1] != 0 || length == 4) {
    long count = sys(read, 0, job + length, size - length);
    if (count == -EINTR) continue;
    if (count <= 0) return false;
    length += (size_t)count;
  }
  return true;
}

static _Noreturn void be_remover(int jobs) {
  static char job[4 + 4096];
  put_file(jobs, 0);
  put_file(starter.note_out, 1);
  put_file(starter.null, 2);
  if (close_from(3, 0) < 0) end_process(1);
  sys(setsid);
  free_request_memory();
  struct note done = {.kind = NOTE_REMOVED};
  while (read_job(job, sizeof job)) {
    memcpy(&done.id, job, sizeof done.id);
    done.value = is_gone(remove_tree(AT_FDCWD, job + 4, 0)) ? 0 : 256;
    if (sys(write, 1, &done, sizeof done) < 0) break;
  }
  end_process(0);
  __builtin_unreachable();
}

/* A remover without work: a new one where there is none. -1: none can be made, and the reason was told. */
static int free_remover(uint32_t id) {
  int jobs[2], place = -1;
  for (int i = 0; i < MOST_REMOVERS; i++) {
    if (removers[i].pid > 0 && !removers[i].is_busy) return i;
    if (removers[i].pid == 0 && place < 0) place = i;
  }
  long result = place < 0 ? -EAGAIN : sys(pipe2, jobs, O_CLOEXEC);
  if (result < 0) return refuse_request(id, "pipe", result), -1;
  int pid = fork_process();
  if (pid == 0) be_remover(jobs[0]);
  close_file(jobs[0]);
  if (pid < 0) {
    close_file(jobs[1]);
    return refuse_request(id, "fork", pid), -1;
  }
  removers[place].pid = pid;
  removers[place].hand = jobs[1];
  return place;
}

void start_removal(uint32_t id, const char *dir) {
  static char job[4 + 4096];
  size_t length = length_of(dir) + 1;
  if (length > 4096) return refuse_request(id, "remove", -ENAMETOOLONG);
  int place = free_remover(id);
  if (place < 0) return;
  struct process *process = new_process(id);
  if (!process) return refuse_request(id, "memory", -ENOMEM);
  process->pid = removers[place].pid;
  process->is_removal = true;
  removers[place].is_busy = true;
  removers[place].id = id;
  char number[24];
  *put_number(number, (uint64_t)process->pid) = 0;
  tell(id, 'p', number);
  memcpy(job, &id, 4);
  memcpy(job + 4, dir, length);
  sys(write, removers[place].hand, job, 4 + length);
}

void remover_is_free(int pid) {
  for (int i = 0; i < MOST_REMOVERS; i++)
    if (removers[i].pid == pid) removers[i].is_busy = false;
}

bool remover_ended(int pid, bool *busy, uint32_t *id) {
  for (int i = 0; i < MOST_REMOVERS; i++) {
    if (removers[i].pid != pid) continue;
    *busy = removers[i].is_busy;
    *id = removers[i].id;
    close_file(removers[i].hand);
    removers[i].pid = 0;
    removers[i].is_busy = false;
    return true;
  }
  return false;
}
