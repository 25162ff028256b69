/* The table of what the starter runs. */
#include <linux/eventpoll.h>

#include "starter.h"

static struct process *table;
static size_t room, top;

struct process *process_in(size_t slot) { return slot < top && table[slot].is_used ? &table[slot] : NULL; }

struct process *process_with_id(uint32_t id) {
  for (size_t i = 0; i < top; i++)
    if (table[i].is_used && table[i].id == id) return &table[i];
  return NULL;
}

/* Not one that a remover works at, which has the number of the remover. */
struct process *process_with_pid(int pid) {
  for (size_t i = 0; i < top; i++)
    if (table[i].is_used && table[i].pid == pid && !table[i].is_ended && !table[i].is_removal) return &table[i];
  return NULL;
}

static bool make_room(void) {
  size_t more = room == 0 ? 256 : room * 2;
  struct process *larger =
      room == 0 ? new_memory(more * sizeof *table) : grow_memory(table, room * sizeof *table, more * sizeof *table);
  if (!larger) return false;
  table = larger;
  room = more;
  return true;
}

/* Others may move in memory by it. Null where there is no memory. */
struct process *new_process(uint32_t id) {
  size_t slot = 0;
  while (slot < top && table[slot].is_used) slot++;
  if (slot == room && !make_room()) return NULL;
  if (slot == top) top++;
  table[slot] = (struct process){.id = id, .is_used = true, .hand = -1, .near_end = -1, .stream = {-1, -1, -1, -1}};
  return &table[slot];
}

/* What the program writes to its third is read when it has ended: it is a report, and short. */
long watch_stream(struct process *process, int number, int fd, uint64_t limit) {
  process->stream[number] = fd;
  process->left[number] = limit;
  if (number == 3) return 0;
  uint64_t slot = (uint64_t)(process - table);
  struct epoll_event event = {.events = EPOLLIN, .data = slot << 2 | (uint64_t)number};
  return sys(epoll_ctl, starter.epoll, EPOLL_CTL_ADD, fd, &event);
}

/* A child that is on its way keeps the file open for a moment, and so it must leave the list by itself. */
void forget_stream(struct process *process, int number) {
  int fd = process->stream[number];
  if (fd < 0) return;
  if (number != 3) sys(epoll_ctl, starter.epoll, EPOLL_CTL_DEL, fd, 0);
  close_file(fd);
  process->stream[number] = -1;
}

void forget_process(struct process *process) {
  for (int number = 1; number < 4; number++) forget_stream(process, number);
  close_file(process->hand);
  process->is_used = false;
  while (top > 0 && !table[top - 1].is_used) top--;
}
