/* What the parts of the starter share; main.c says what it is. */
#pragma once
#include "system.h"
#include "text.h"

/* Words of a request. They are in memory that the next request overwrites. */
struct list {
  char **words;
  size_t count;
};

/* A program to start, as `requestWords` of ../starter-request.ts sends it. */
struct request {
  const char *home;
  const char *userns;
  unsigned first;
  uint64_t limit;
  struct list plan, streams, join, namespaces, files, text, env, argv, inside, terminal;
};

/* The ends of its streams that a child gets, by number; -1 where there is none. */
struct ends {
  int stream[4];
  int terminal;
  int control;
};

/* What a process says to the starter through a pipe that all of them share: at most PIPE_BUF bytes, so that no two are mixed. */
enum note_kind { NOTE_HELD = 1, NOTE_RENEWED, NOTE_REMOVED };
enum { MOST_DEVICES = 120 };
struct note {
  uint32_t kind;
  uint32_t id;
  int32_t value;
  uint32_t count;
  uint64_t devices[MOST_DEVICES];
};

/* Open for as long as the starter lives. */
extern struct starter {
  int null;
  int client;
  int note_in, note_out;
  int epoll;
  char **env;
  /* Its name in lists of processes: seven letters that a fork may replace. */
  char *name;
} starter;

struct process;

/* events.c: messages to the process that the starter works for, and what follows from those of its children. */
void tell(uint32_t id, char kind, const char *text);
void refuse_request(uint32_t id, const char *what, long error);
void flush_messages(void);
void relay(size_t slot, int number);
void collect_ended(int signals);
void hear_notes(void);
void close_streams(struct process *process);

/* processes.c */
struct process {
  uint32_t id;
  int pid;
  /* A write end that the first process of a sandbox reads its orders from. */
  int hand;
  /* The number of the near end of its terminal in the client. */
  int near_end;
  int stream[4];
  uint64_t left[4];
  bool is_used, is_launching, is_killed, is_ended, is_removal;
};
struct process *new_process(uint32_t id);
struct process *process_with_id(uint32_t id);
struct process *process_with_pid(int pid);
struct process *process_in(size_t slot);
/* Negative where the kernel watches no more of them. */
long watch_stream(struct process *process, int number, int fd, uint64_t limit);
void forget_stream(struct process *process, int number);
void forget_process(struct process *process);

/* requests.c */
void handle_request(char *text, size_t length);
void free_request_memory(void);

/* child.c: what every child does on its way to become a program. */
extern int report_fd;
extern const char *report_word;
_Noreturn void fail(const char *what, const char *detail, long error);
void check(long result, const char *what, const char *detail);
void put_file(int from, int to);
void rename_process(const char *name);
void detach(const struct ends *ends);
void enter(int namespace);
void become_root(int userns);
int open_or_fail(const char *path, int flags);
_Noreturn void become(const struct request *request, const struct ends *ends);
_Noreturn void run_program(char **argv, char **env);
char **with_end(struct list list, size_t more);
const char *variable(char **env, const char *name);

/* mounts.c */
void make_stage(const char *home);
void mount_at(const char *source, const char *target, const char *type, unsigned long flags, const char *data);
void attach(int tree, const char *target);
size_t mount_plan(const struct request *request, int userns, uint64_t *devices);

/* holder.c */
_Noreturn void hold(uint32_t id, const struct request *request, const struct ends *ends);

/* inside.c */
void remember_home(void);
int fork_inside(const struct request *request, const struct ends *ends);

/* terminal.c */
int far_end(const struct request *request);
void resize_terminal(int near_end, unsigned columns, unsigned rows);

/* remover.c */
void start_removal(uint32_t id, const char *dir);
void remover_is_free(int pid);
/* False: it was none. Otherwise `busy` says whether it was in the middle of a removal, and of which. */
bool remover_ended(int pid, bool *busy, uint32_t *id);
