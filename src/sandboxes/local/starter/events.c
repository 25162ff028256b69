/*
 * Messages to the process that the starter works for, each with its length before it, and what follows from the ends of its children.
 * They are sent together once all that happened was looked at.
 */
#include "starter.h"

enum { MOST_DATA = 65536, HEADER = 9, ROOM = 4 * (MOST_DATA + HEADER + 1) };
static unsigned char messages[ROOM];
static size_t filled;

/* The reader is gone when nothing can be written, and with it all reason to live. */
void flush_messages(void) {
  size_t sent = 0;
  while (sent < filled) {
    long count = sys(write, 1, messages + sent, filled - sent);
    if (count == -EINTR) continue;
    if (count < 0) end_process(0);
    sent += (size_t)count;
  }
  filled = 0;
}

/* Where the body of the next message goes: as much as MOST_DATA bytes and one. */
static unsigned char *next_body(void) {
  if (filled + HEADER + 1 + MOST_DATA > ROOM) flush_messages();
  return messages + filled + HEADER;
}

static void put_big_endian(unsigned char *at, uint32_t number) {
  for (int i = 0; i < 4; i++) at[i] = (unsigned char)(number >> (24 - 8 * i));
}

/* Completes a message whose body is in its place. */
static void add_message(uint32_t id, char kind, size_t length) {
  put_big_endian(messages + filled, (uint32_t)(length + 5));
  put_big_endian(messages + filled + 4, id);
  messages[filled + 8] = (unsigned char)kind;
  filled += HEADER + length;
}

void tell(uint32_t id, char kind, const char *text) {
  char *body = (char *)next_body();
  add_message(id, kind, (size_t)(put_text(body, body + MOST_DATA, text) - body));
}

static void tell_number(uint32_t id, char kind, uint64_t number) {
  char *body = (char *)next_body();
  add_message(id, kind, (size_t)(put_number(body, number) - body));
}

void refuse_request(uint32_t id, const char *what, long error) {
  char *body = (char *)next_body(), *end = body + MOST_DATA;
  char *at = put_text(put_text(put_text(body, end, what), end, ": "), end, error_text(error));
  add_message(id, 'f', (size_t)(at - body));
}

static void forget_if_done(struct process *process) {
  bool is_open = process->stream[1] >= 0 || process->stream[2] >= 0 || process->stream[3] >= 0;
  if (process->is_ended && !is_open) forget_process(process);
}

static void close_stream(struct process *process, int number) {
  if (process->stream[number] < 0) return;
  forget_stream(process, number);
  tell_number(process->id, 'e', (uint64_t)number);
}

void close_streams(struct process *process) {
  for (int number = 1; number < 4; number++) close_stream(process, number);
  forget_if_done(process);
}

/* Passes on what is in a pipe, up to its limit. False: nothing is left for now. */
static bool relay_some(struct process *process, int number) {
  if (process->stream[number] < 0) return false;
  unsigned char *body = next_body();
  long count = sys(read, process->stream[number], body + 1, MOST_DATA);
  if (count == -EAGAIN || count == -EINTR) return false;
  if (count <= 0) {
    close_stream(process, number);
    return false;
  }
  uint64_t kept = (uint64_t)count < process->left[number] ? (uint64_t)count : process->left[number];
  if (kept == 0) return true;
  process->left[number] -= kept;
  body[0] = (unsigned char)('0' + number);
  add_message(process->id, 'd', kept + 1);
  return true;
}

void relay(size_t slot, int number) {
  struct process *process = process_in(slot);
  if (!process) return;
  relay_some(process, number);
  forget_if_done(process);
}

/*
 * Reports the end of a process. First what is left in its pipes is passed on, as the reader waits only 100 ms after that; its children may keep
 * writing to the first two.
 */
static void end_of(struct process *process, int status) {
  for (int number = 3; number > 0; number--)
    for (int times = 0; times < 16 && relay_some(process, number); times++) continue;
  close_stream(process, 3);
  process->is_ended = true;
  close_file(process->hand);
  process->hand = -1;
  tell_number(process->id, 'x', (uint64_t)status);
  forget_if_done(process);
}

enum { WITHOUT_WAITING = 1, KILLED = 9 };

static void holder_is_up(struct process *process, const struct note *note) {
  int status = KILLED;
  process->is_launching = false;
  process->pid = note->value;
  forget_stream(process, 2);
  char *body = (char *)next_body(), *at = put_number(body, (uint64_t)note->value);
  for (uint32_t i = 0; i < note->count && i < MOST_DEVICES; i++) {
    *at++ = ' ';
    at = put_number(at, note->devices[i]);
  }
  add_message(process->id, 'p', (size_t)(at - body));
  if (process->is_killed) sys(kill, note->value, SIGKILL);
  // It may have ended, and been collected, before the starter knew its number.
  long ended = sys(wait4, note->value, &status, WITHOUT_WAITING, 0);
  if (ended != 0) end_of(process, status);
}

void hear_notes(void) {
  struct note note;
  while (sys(read, starter.note_in, &note, sizeof note) == sizeof note) {
    struct process *process = process_with_id(note.id);
    if (note.kind == NOTE_REMOVED && process) {
      remover_is_free(process->pid);
      end_of(process, note.value);
    } else if (note.kind == NOTE_RENEWED && process) tell(note.id, 'r', "");
    else if (note.kind == NOTE_HELD && process && process->is_launching) holder_is_up(process, &note);
  }
}

/* The process that makes a sandbox has ended. If there is no first process by then, it has said why. */
static void launcher_ended(uint32_t id) {
  hear_notes();
  struct process *process = process_with_id(id);
  if (!process || !process->is_launching) return;
  unsigned char *body = next_body();
  long length = sys(read, process->stream[2], body, MOST_DATA);
  add_message(id, 'f', length > 0 ? (size_t)length : 0);
  forget_process(process);
}

/* Collects orphans too: what a command leaves behind when it is killed becomes a child of the starter. */
void collect_ended(int signals) {
  char ignored[1024];
  int pid, status = 0;
  sys(read, signals, ignored, sizeof ignored);
  hear_notes();
  while ((pid = (int)sys(wait4, -1, &status, WITHOUT_WAITING, 0)) > 0) {
    bool is_busy;
    uint32_t id;
    struct process *process = NULL;
    if (!remover_ended(pid, &is_busy, &id)) process = process_with_pid(pid);
    else if (is_busy && (process = process_with_id(id))) status = status != 0 ? status : 256;
    if (process && process->is_launching) launcher_ended(process->id);
    else if (process) end_of(process, status);
  }
}
