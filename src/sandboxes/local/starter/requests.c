/*
 * Requests: a number, a verb and words, each ended by a NUL. The number is the sender's name for the process. Only the process that the
 * starter works for sends any; what is malformed is refused all the same.
 */
#include "starter.h"

static char **words;
static size_t word_room;

static bool split(char *text, size_t length, size_t *count) {
  *count = 0;
  if (length == 0 || text[length - 1] != 0) return false;
  for (size_t at = 0; at < length; at += length_of(text + at) + 1) {
    if (*count == word_room) {
      size_t more = word_room == 0 ? 4096 : word_room * 2;
      char **larger = word_room == 0 ? new_memory(more * sizeof *words)
                                     : grow_memory(words, word_room * sizeof *words, more * sizeof *words);
      if (!larger) fail("memory", NULL, -ENOMEM);
      words = larger;
      word_room = more;
    }
    words[(*count)++] = text + at;
  }
  return true;
}

/* Takes the next list: its length, and so many words. */
static bool take_list(struct list *rest, struct list *list) {
  uint64_t count;
  if (rest->count == 0 || !parse_number(rest->words[0], rest->count - 1, &count)) return false;
  *list = (struct list){.words = rest->words + 1, .count = count};
  rest->words += 1 + count;
  rest->count -= 1 + count;
  return true;
}

static bool parse_request(struct list rest, struct request *request) {
  uint64_t first;
  if (rest.count < 4 || !parse_number(rest.words[1], UINT32_MAX, &first)) return false;
  if (!parse_number(rest.words[3], INT64_MAX, &request->limit)) return false;
  request->home = rest.words[0];
  request->first = (unsigned)first;
  request->userns = rest.words[2];
  rest.words += 4;
  rest.count -= 4;
  struct list *lists[] = {&request->plan,  &request->streams, &request->join, &request->namespaces, &request->files,
                          &request->text,  &request->env,     &request->argv, &request->inside,     &request->terminal};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (!take_list(&rest, lists[i])) return false;
  bool has_parts = request->inside.count == 0 || (request->inside.count >= 5 && (request->inside.count - 5) % 3 == 0);
  return rest.count == 0 && request->plan.count % 3 == 0 && request->files.count % 2 == 0 && has_parts;
}

static void close_ends(struct ends *ends) {
  for (int i = 0; i < 4; i++) close_file(ends->stream[i]);
  close_file(ends->terminal);
  close_file(ends->control);
}

/* Makes a pipe for each stream. Ours never blocks: a program may leave it open and silent. */
static long open_streams(const struct request *request, struct ends *theirs, int *ours) {
  for (size_t i = 0; i < request->streams.count; i++) {
    uint64_t number;
    int ends[2];
    if (!parse_number(request->streams.words[i], 3, &number) || number == 0 || ours[number] >= 0) return -EINVAL;
    long result = sys(pipe2, ends, O_CLOEXEC);
    if (result < 0) return result;
    ours[number] = ends[0];
    theirs->stream[number] = ends[1];
    sys(fcntl, ends[0], 4, O_NONBLOCK);
    // So that it can be opened again inside, as /dev/stderr.
    sys(fchown, ends[1], request->first, request->first);
  }
  return 0;
}

struct started {
  int pid, hand;
  int ours[4];
};

static int fork_for(uint32_t id, bool is_holder, const struct request *request, const struct ends *theirs) {
  if (request->inside.count > 0) return fork_inside(request, theirs);
  int pid = fork_process();
  if (pid != 0) return pid;
  if (is_holder) hold(id, request, theirs);
  become(request, theirs);
}

/* Opens what a child needs, and forks. Returns what failed, or null. */
static const char *launch(uint32_t id, bool is_holder, const struct request *request, struct started *started, long *why) {
  struct ends theirs = {.stream = {-1, -1, -1, -1}, .terminal = -1, .control = -1};
  int control[2];
  const char *failed = NULL;
  if ((*why = open_streams(request, &theirs, started->ours)) < 0) failed = "pipe";
  else if (request->terminal.count > 0 && (*why = theirs.terminal = far_end(request)) < 0) failed = "terminal";
  else if (is_holder && (*why = sys(pipe2, control, O_CLOEXEC)) < 0) failed = "pipe";
  if (!failed && is_holder) {
    theirs.control = control[0];
    started->hand = control[1];
  }
  if (!failed) {
    if (request->plan.count > 0) make_stage(request->home);
    *why = started->pid = fork_for(id, is_holder, request, &theirs);
    if (started->pid < 0) failed = "fork";
  }
  close_ends(&theirs);
  return failed;
}

static void start(uint32_t id, bool is_holder, struct list rest) {
  struct request request;
  struct started started = {.hand = -1, .ours = {-1, -1, -1, -1}};
  long why = -EINVAL;
  struct process *process = NULL;
  const char *failed = "request";
  if (parse_request(rest, &request)) {
    failed = "memory";
    why = -ENOMEM;
    process = new_process(id);
  }
  if (process) failed = launch(id, is_holder, &request, &started, &why);
  if (failed) {
    for (int number = 1; number < 4; number++) close_file(started.ours[number]);
    close_file(started.hand);
    if (process) forget_process(process);
    return refuse_request(id, failed, why);
  }
  uint64_t near_end;
  process->pid = started.pid;
  process->hand = started.hand;
  process->is_launching = is_holder;
  if (request.terminal.count > 0 && parse_number(request.terminal.words[0], INT32_MAX, &near_end))
    process->near_end = (int)near_end;
  // What a holder says is read only if it fails.
  if (is_holder) process->stream[2] = started.ours[2];
  for (int number = 1; number < 4 && !is_holder; number++) {
    if (started.ours[number] < 0) continue;
    long watched = watch_stream(process, number, started.ours[number], request.limit + 1);
    if (watched < 0) why = watched;
  }
  if (why < 0) {
    // Nobody would read what it writes.
    sys(kill, started.pid, SIGKILL);
    forget_process(process);
    return refuse_request(id, "watch", why);
  }
  char text[24];
  *put_number(text, (uint64_t)started.pid) = 0;
  if (!is_holder) tell(id, 'p', text);
}

static void resize(struct process *process, struct list rest) {
  uint64_t columns, rows;
  if (rest.count != 2 || process->is_ended || process->near_end < 0) return;
  if (parse_number(rest.words[0], 65535, &columns) && parse_number(rest.words[1], 65535, &rows))
    resize_terminal(process->near_end, (unsigned)columns, (unsigned)rows);
  tell(process->id, 'r', "");
}

static void kill_process(uint32_t id) {
  hear_notes();
  struct process *process = process_with_id(id);
  if (!process || process->is_ended) return;
  process->is_killed = true;
  sys(kill, process->pid, SIGKILL);
}

void handle_request(char *text, size_t length) {
  size_t count;
  uint64_t id;
  if (!split(text, length, &count) || count < 2 || !parse_number(words[0], UINT32_MAX, &id)) return;
  const char *verb = words[1];
  struct list rest = {.words = words + 2, .count = count - 2};
  if (equals(verb, "start")) return start((uint32_t)id, false, rest);
  if (equals(verb, "hold")) return start((uint32_t)id, true, rest);
  if (equals(verb, "remove") && rest.count == 1) return start_removal((uint32_t)id, rest.words[0]);
  if (equals(verb, "kill")) return kill_process((uint32_t)id);
  struct process *process = process_with_id((uint32_t)id);
  if (!process) return;
  if (equals(verb, "renew") && process->hand >= 0) sys(write, process->hand, "r", 1);
  else if (equals(verb, "resize")) resize(process, rest);
  else if (equals(verb, "drop")) close_streams(process);
}
