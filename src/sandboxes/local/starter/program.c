/* Becoming a program, found as `execvp` of the C library finds it. */
#include "starter.h"

/* A copy of a list with a null behind it, and room for more before that. */
char **with_end(struct list list, size_t more) {
  char **copy = new_memory((list.count + more + 1) * sizeof *copy);
  if (!copy) fail("memory", NULL, -ENOMEM);
  for (size_t i = 0; i < list.count; i++) copy[i] = list.words[i];
  return copy;
}

const char *variable(char **env, const char *name) {
  size_t length = length_of(name);
  for (; *env; env++)
    if (starts_with(*env, name) && (*env)[length] == '=') return *env + length + 1;
  return NULL;
}

/* A file without a first line that names its program is one for the shell. */
static long run_file(const char *path, char **argv, char **env) {
  long error = sys(execve, path, argv, env);
  if (error != -ENOEXEC) return error;
  size_t count = 0;
  while (argv[count]) count++;
  char **words = with_end((struct list){0}, count + 2);
  words[0] = (char *)"/bin/sh";
  words[1] = (char *)path;
  for (size_t i = 1; i < count; i++) words[i + 1] = argv[i];
  return sys(execve, words[0], words, env);
}

static long run_found(char **argv, char **env) {
  const char *name = argv[0], *dirs = variable(env, "PATH");
  static char path[4096];
  if (!name || *name == 0) return -ENOENT;
  if (find_char(name, '/')) return run_file(name, argv, env);
  if (!dirs) dirs = "/bin:/usr/bin";
  bool is_denied = false;
  for (;;) {
    const char *end = find_char(dirs, ':');
    size_t length = end ? (size_t)(end - dirs) : length_of(dirs);
    if (length + length_of(name) + 2 <= sizeof path) {
      memcpy(path, dirs, length);
      char *at = path + length;
      if (length > 0) *at++ = '/';
      memcpy(at, name, length_of(name) + 1);
      long error = run_file(path, argv, env);
      if (error == -EACCES) is_denied = true;
      else if (error != -ENOENT && error != -ENOTDIR && error != -ESTALE && error != -ENODEV && error != -ETIMEDOUT)
        return error;
    }
    if (!end) return is_denied ? -EACCES : -ENOENT;
    dirs = end + 1;
  }
}

_Noreturn void run_program(char **argv, char **env) {
  long error = run_found(argv, env);
  if (error == -ENOENT) report_word = "missing";
  fail("cannot run", argv[0] ? argv[0] : "", error);
}
